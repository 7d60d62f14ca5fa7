"""What stands in front of Streamlit: headers for every answer, and no socket for another site's page."""

import asyncio
import tomllib
from concurrent.futures import ThreadPoolExecutor

import pytest
import streamlit as st
from starlette.datastructures import Headers

import server
from model.transcript import MAX_BYTES
from pages.shared import frame


def asked(kind: str, **headers: str) -> tuple[list[dict], bool]:
    """What a client is sent, and whether it came as far as the app."""
    sent, reached = [], []

    async def app(scope, receive, send):
        reached.append(scope)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-own", b"1")]})

    async def send(message):
        sent.append(message)

    scope = {"type": kind, "headers": [(name.encode(), value.encode()) for name, value in headers.items()]}
    with ThreadPoolExecutor(1) as alone:  # where a browser test has run before, this thread has a loop that runs
        alone.submit(lambda: asyncio.run(server.Guard(app)(scope, None, send))).result()
    return sent, bool(reached)


FOREIGN = ["http://evil.example", "null", "", "http://", "http://app.example.evil.example", "http://[", "app.example"]


@pytest.mark.parametrize("origin", FOREIGN)
def test_another_sites_page_gets_no_socket(origin):
    assert asked("websocket", host="app.example", origin=origin) == ([{"type": "websocket.close", "code": 1008}], False)


@pytest.mark.parametrize("headers", [{}, {"origin": "https://app.example"}, {"origin": "http://app.example"}])
def test_the_apps_own_page_and_programs_get_one(headers):
    assert asked("websocket", host="app.example", **headers)[1]


def test_the_operator_may_name_another_origin(monkeypatch):
    headers = Headers({"host": "127.0.0.1:8501", "origin": "https://class.example"})
    assert server._is_from_another_site(headers)
    monkeypatch.setattr(st, "get_option", {"server.corsAllowedOrigins": ["https://class.example"]}.get)
    assert not server._is_from_another_site(headers)


def test_every_answer_has_the_headers_and_keeps_its_own():
    [start] = asked("http", host="app.example", origin="http://evil.example")[0]
    headers = Headers(scope=start)
    assert headers["x-own"] == "1" and headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"


def test_the_policy_names_no_other_host():
    policy = server._HEADERS["Content-Security-Policy"]
    allowed = {"'self'", "'none'", "'unsafe-inline'", "'unsafe-eval'", "data:", "blob:"}
    for directive in policy.split("; "):
        name, *sources = directive.split()
        assert sources and allowed.issuperset(sources), directive
        assert name == "img-src" or name in ("font-src", "connect-src") or "data:" not in sources


def test_what_protects_is_on_and_nothing_is_reported():
    settings = tomllib.loads((frame.VIZ.parent / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert settings["server"]["enableCORS"] and settings["server"]["enableXsrfProtection"]
    assert settings["server"]["address"] == "127.0.0.1"
    assert settings["server"]["maxUploadSize"] == 1 > MAX_BYTES / 1e6
    assert settings["browser"]["gatherUsageStats"] is False
    assert settings["client"]["showErrorDetails"] == "none"
