"""The server and the page against what comes from outside: other sites, uploads, markup that is typed."""

import re
import urllib.error
import urllib.request
from email.message import Message
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.sync_api import expect
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

import server as app_server
from pages.shared.frame import PAGES
from tests.browser.conftest import settled
from tests.browser.test_app import PATHS
from tests.hostile import MARKUP

pytestmark = [pytest.mark.browser, pytest.mark.default_model]


def answer(address: str, data: bytes | None = None, method: str = "GET", **headers: str) -> tuple[int, Message]:
    """The status and the headers of an answer."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(address, data=data, method=method, headers=named)
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, response.headers
    except urllib.error.HTTPError as refused:
        return refused.code, refused.headers


def test_a_socket_from_another_site_is_refused(server):
    stream = f"{server.replace('http', 'ws', 1)}/_stcore/stream"
    for origin in ("http://evil.example", "null", f"{server}.evil.example"):
        with pytest.raises(InvalidStatus) as refused:
            connect(stream, origin=origin, subprotocols=["streamlit"])
        assert refused.value.response.status_code == 403
    with connect(stream, origin=server, subprotocols=["streamlit"], open_timeout=120):
        pass


def test_another_site_may_not_read(server):
    for path in ("/_stcore/health", "/_stcore/host-config", "/", "/attention"):
        status, headers = answer(f"{server}{path}", Origin="http://evil.example")
        assert status == 200 and "Access-Control-Allow-Origin" not in headers


FORM = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n%s\r\n--x--\r\n'


def test_an_upload_without_the_token_is_refused(server):
    place = f"{server}/_stcore/upload_file/no-session/no-file"
    kind = {"Content_Type": "multipart/form-data; boundary=x"}
    assert answer(place, FORM % b"User: hi", "PUT", **kind)[0] == 403
    token = answer(f"{server}/_stcore/health")[1]["Set-Cookie"].split(";")[0]
    assert answer(place, FORM % b"User: hi", "PUT", Cookie=token, **kind)[0] == 403, "the cookie alone comes by itself"
    both = {**kind, "Cookie": token, "X_Xsrftoken": token.partition("=")[2]}
    assert answer(place, FORM % b"User: hi", "PUT", **both)[0] == 400, (
        "with the token it is the session that is missing"
    )


def test_every_page_comes_with_its_policy(server):
    """What it forbids, the browser logs, and that fails any test that visits a page; as does a foreign request."""
    for slug in PAGES:
        status, headers = answer(f"{server}{PATHS[slug]}")
        assert status == 200
        assert headers["Content-Security-Policy"] == app_server._HEADERS["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"


#: About 400 tokens of what most wants to be a script, a picture or a link.
NASTY = [text for text in MARKUP if any(word in text for word in ("alert", "onerror", "href", "://", "src="))]


def test_markup_that_is_typed_does_nothing(server, visit):
    page = visit(f"{server}/tokens", refuse_dialogs=True)
    asked = []
    page.on("request", lambda request: asked.append(urlsplit(request.url)))
    pictures = page.locator("img").count()
    for start in (0, 14, 28, 42):
        text = "\n".join(each[:50].strip() for each in NASTY[start : start + 14])
        box = page.get_by_role("textbox", name="Your text (at most")
        box.fill(text)
        box.press("Control+Enter")
        page.wait_for_url(lambda url, text=text: parse_qs(urlsplit(url).query).get("prompt") == [text])
        settled(page)
        first = re.compile(f"bytes {text.encode()[:1].hex().upper()}")
        expect(page.locator(".strip").get_by_role("option").first).to_have_attribute("title", first)
        shown = "".join(page.locator(".strip .text").all_inner_texts())
        assert shown.replace("␣", " ").replace("⏎", "\n")[:20] == text[:20]
        nothing_came_of_it(page, pictures)
    words = "www.evil.example :streamlit: :material/home: <img src=//evil.example/x onerror=alert(1)>"[:60]
    page.goto(f"{server}/context?one=a&word={quote(words)}&model={quote(words)}")
    expect(page.get_by_text("does not stand in the first sentence")).to_be_visible()
    expect(page.get_by_text("There is no model")).to_contain_text("streamlit: ")
    settled(page)
    nothing_came_of_it(page, pictures)
    assert {each.netloc for each in asked if each.scheme not in ("data", "blob")} == {urlsplit(server).netloc}


def nothing_came_of_it(page, pictures: int) -> None:
    """No picture, no link elsewhere, no frame, no event handler and no icon from the text."""
    expect(page.locator("img")).to_have_count(pictures)
    expect(page.locator("iframe, object, embed, .katex")).to_have_count(0)
    assert page.evaluate(
        """() => [...document.querySelectorAll('a[href]')].every(link => link.host === location.host)
            && ![...document.querySelectorAll('*')].some(node => [...node.attributes].some(a => /^on/i.test(a.name)))"""
    )
    for alert in page.get_by_test_id("stAlertContentWarning").get_by_test_id("stMarkdownContainer").all():
        expect(alert.locator("[role=img], a, img")).to_have_count(0)
