"""The app as a person meets it: in a browser, by links, keys and clicks."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from pages.shared.frame import PAGES
from tests.browser.conftest import served, settled

pytestmark = [pytest.mark.browser, pytest.mark.default_model]


def chips(page: Page) -> Locator:
    """The tokens of the strip."""
    return page.locator(".strip").get_by_role("option")


PATHS = {slug: "/" if slug == "home" else f"/{slug}" for slug in PAGES}


@pytest.mark.parametrize("slug", ["attention", "planner"])
def test_the_first_visit_of_a_fresh_process_goes_straight_to_a_page(slug, visit, tmp_path):
    """What Streamlit knows of the pages depends on what this process has shown before."""
    with served(tmp_path / "log") as address:
        page = visit(f"{address}{PATHS[slug]}")
        is_whole(page, slug)
        page.close()  # before its server goes: a page left alone asks for it again and again
    assert "Traceback" not in (tmp_path / "log").read_text()  # G07: nothing is logged at the start


@pytest.mark.parametrize("slug", PAGES)
def test_a_cold_deep_link_opens_the_whole_page(slug, visit, server):
    page = visit(f"{server}{PATHS[slug]}?layer=3&head=2&prompt={quote('The cat sat on the mat')}")
    is_whole(page, slug)
    expect(chips(page)).to_have_count(6)
    for other in PAGES.values():
        expect(page.get_by_test_id("stSidebar").get_by_role("link", name=other.name)).to_be_visible()
    settled(page)
    assert "layer=3" in page.url and "head=2" in page.url


def is_whole(page: Page, slug: str) -> None:
    """The page asked for has come, to its end."""
    expect(page.get_by_role("heading", level=1)).to_have_text(PAGES[slug].question)
    expect(page.get_by_role("heading", name="Where it stops being true")).to_be_visible()


#: Kinds A25, A26, A31 and A05 in one text.
LITERAL = (
    "cost $x and y$ end :smile: :red[x] :material/home: <- <b>x</b> &lt; a<br>b <script>alert(1)</script> مرحبا بالعالم"
)
HOSTILE = (
    "layer=999&head=-4&position=1e9&key=x&branch=77&t=nan&top_p=inf&seed=-1&model=..%2F..%2Fetc%2Fpasswd"
    f"&written=9.9.9~x&unknown=1&unknown=2&prompt={quote(LITERAL)}"
)
PHONE = {"width": 390, "height": 844}


@pytest.mark.parametrize("slug", PAGES)
def test_a_hostile_address_on_a_phone(slug, visit, server):
    """Nothing runs, nothing overflows, and no formula, emoji, colour or tag comes of what a visitor typed."""
    page = visit(
        f"{server}{PATHS[slug]}?{HOSTILE}",
        refuse_dialogs=True,
        is_mobile=True,
        has_touch=True,
        screen=PHONE,
        viewport=PHONE,
    )
    is_whole(page, slug)
    expect(chips(page)).not_to_have_count(0)
    assert "".join(chips(page).locator(".text").all_inner_texts()).replace("␣", " ") == LITERAL
    main = page.get_by_test_id("stMain")
    expect(main.locator(".katex")).to_have_count(0)
    expect(main.get_by_text("😄")).to_have_count(0)
    assert not main.evaluate("node => [...node.querySelectorAll('b')].some(b => b.textContent === 'x')")
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 1


def test_two_visitors_with_other_texts_and_models_never_see_each_others_data(visit, server):
    """G01: two browsers, one server; each works on while the other does."""
    one = visit(f"{server}/attention?prompt={quote('Seven grey elephants')}")
    two = visit(f"{server}/attention?model=folder-tiny&prompt={quote('the river the river the city')}")
    expect(chips(one)).not_to_have_count(0)
    expect(chips(two)).not_to_have_count(0)
    for layers in ((22, 1), (21, 0)):
        for page in (one, two):
            page.get_by_role("button", name="Decrement").first.click()
        for page, layer in zip((one, two), layers, strict=True):
            expect(page).to_have_url(re.compile(rf"layer={layer}\b"))
            settled(page)
    expect(one.get_by_test_id("stSidebar").get_by_text("134,515,008 parameters")).to_be_visible()
    assert "".join(chips(one).locator(".text").all_inner_texts()) == "Seven␣grey␣elephants"
    assert "".join(chips(two).locator(".text").all_inner_texts()).replace("␣", " ") == ("the river the river the city")
    assert "river" not in one.get_by_test_id("stMain").inner_text()
    assert "elephants" not in two.get_by_test_id("stMain").inner_text()
    expect(two.get_by_text("learned positions")).to_be_visible()


@pytest.mark.parametrize("slug", PAGES)
def test_a_small_model_with_learned_positions_has_every_page(slug, visit, server):
    page = visit(f"{server}{PATHS[slug]}?model=folder-tiny&prompt={quote('the river the city')}")
    expect(page.get_by_role("heading", name="Where it stops being true")).to_be_visible()
    settled(page)


def test_the_strip_follows_the_keyboard_and_the_address_follows_the_strip(visit, server):
    page = visit(f"{server}/attention")
    chips(page).last.focus()
    page.keyboard.press("ArrowLeft")
    expect(page).to_have_url(re.compile("position=3"))
    settled(page)
    expect(chips(page).nth(3)).to_have_attribute("aria-selected", "true")
    expect(chips(page).nth(3)).to_be_focused()
    page.keyboard.press("Home")
    expect(page).to_have_url(re.compile("position=0"))


def test_a_head_chosen_in_the_overview_opens(visit, server):
    page = visit(f"{server}/attention?layer=5&head=3")
    page.get_by_role("application").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("Layer 6, head 3: weights").first).to_be_visible()
    expect(page).to_have_url(re.compile("layer=6"))
    page.keyboard.press("ArrowDown")
    expect(page.get_by_text("Layer 6, head 4: weights").first).to_be_visible()


def test_a_cell_of_the_map_is_clicked_and_the_strip_follows(visit, server):
    page = visit(f"{server}/attention?layer=5&head=3")
    plot = page.locator(".stPlotlyChart .nsewdrag").first
    expect(plot).to_be_visible()
    box = plot.bounding_box()
    plot.click(position={"x": box["width"] * 1.6 / 5, "y": box["height"] * 2.6 / 5})  # query 2, key 1
    expect(page).to_have_url(re.compile("position=2"))
    expect(page).to_have_url(re.compile("key=1"))
    expect(chips(page).nth(2)).to_have_attribute("aria-selected", "true")


def test_moving_the_temperature_needs_no_trip_to_the_server(visit, server):
    page = visit(f"{server}/sampling?seed=7")
    slider = page.get_by_role("slider", name="Temperature")
    expect(slider).to_be_visible()
    settled(page)
    sent = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    before = page.locator(".stage").filter(has=slider).inner_text()
    moved = slider.evaluate(
        """node => { const own = node.getRootNode(); const before = own.textContent;
           node.value = '1.9'; node.dispatchEvent(new Event('input', { bubbles: true }));
           return before !== own.textContent; }"""
    )
    assert moved and not sent, "the picture follows in the same turn, before anything is sent"
    expect(page).to_have_url(re.compile(r"t=1\.9"))  # and when the hand rests, Python hears of it
    assert page.locator(".stage").filter(has=slider).inner_text() != before


def test_next_token_and_page_switches_keep_everything(visit, server):
    page = visit(f"{server}/?t=0&seed=3")
    page.get_by_role("button", name="Next token").click()
    expect(chips(page)).to_have_count(6)
    expect(chips(page).last).to_contain_text("Paris")
    page.get_by_test_id("stSidebar").get_by_role("link", name="Sampling").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(PAGES["sampling"].question)
    settled(page)
    expect(page.get_by_label("Your text")).to_have_value("The capital of France is")
    expect(chips(page)).to_have_count(6)
    expect(page).to_have_url(re.compile("written=7042"))
    expect(page).to_have_url(re.compile(r"t=0\b"))
    page.reload()
    settled(page)
    expect(chips(page)).to_have_count(6)


def test_running_on_can_be_stopped_and_what_was_written_stays(visit, server):
    """G05: stopped in the middle, the text is whole and the page says why it stopped."""
    page = visit(f"{server}/?prompt={quote('Once upon a time there was a')}&seed=5")
    page.get_by_role("button", name="Run on").click()
    expect(page.get_by_text("of at most 48 tokens")).to_be_visible()
    page.get_by_test_id("stMain").get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Writing stopped")).to_be_visible()
    settled(page)
    shown = chips(page).count()
    written = re.search(r"written=([\d.]+)", page.url)
    assert written and shown == 7 + len(written[1].split("."))


def test_another_text_ends_the_writing(visit, server):
    page = visit(f"{server}/?prompt={quote('Once upon a time there was a')}&seed=5")
    page.get_by_role("button", name="Run on").click()
    expect(page.get_by_text("of at most 48 tokens")).to_be_visible()
    page.get_by_test_id("stMain").get_by_role("button", name="one two three").click()
    expect(chips(page)).to_have_count(8)
    settled(page)
    expect(chips(page)).to_have_count(8)
    assert "written" not in page.url


def test_a_model_that_is_absent_gets_a_sentence_and_the_page_stays(visit, server):
    page = visit(f"{server}/tokens")
    page.get_by_role("combobox", name=re.compile("Model")).click()
    page.get_by_role("option", name="GPT-2 small").click()
    expect(page.get_by_text("is not on this machine")).to_be_visible()
    expect(page.get_by_test_id("stSidebar").get_by_text("134,515,008")).to_be_visible()


def test_classroom_size_enlarges_everything(visit, server):
    page = visit(f"{server}/attention?classroom=1")
    size = page.locator(".lesson").nth(1).evaluate("node => getComputedStyle(node).fontSize")
    assert float(size.removesuffix("px")) == pytest.approx(18 * 1.35, abs=0.1)
