"""The lesson on context as a person meets it: the ruler moves, a cell opens, a phone shows it."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import settled

pytestmark = [pytest.mark.browser, pytest.mark.default_model]


def titled(page, text: str):
    return page.locator(".figure-title").filter(has_text=re.compile(text)).first


def test_the_ruler_moves_and_a_cell_opens_both_runs(visit, server):
    page = visit(f"{server}/context?position=4")
    slider = page.get_by_role("slider", name=re.compile("The ruler"))
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(titled(page, "The ruler's row: after layer 22")).to_be_visible()
    expect(page).to_have_url(re.compile(r"layer=22\b"))
    settled(page)
    # The column of 'France→Italy' is the fourth of five: its cell in the middle of the picture.
    plot = page.locator(".st-key-crack .nsewdrag").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    plot.click(position={"x": box["width"] * 3.5 / 5, "y": box["height"] / 2})
    expect(page).to_have_url(re.compile(r"position=3\b"))
    expect(titled(page, r"where ␣Italy looks, in the edited text")).to_be_visible()
    settled(page)


def test_a_phone_shows_the_crack(visit, server):
    page = visit(f"{server}/context", is_mobile=True, has_touch=True, screen={"width": 390, "height": 844})
    page.set_viewport_size({"width": 390, "height": 844})
    expect(titled(page, "How far the two runs' vectors differ")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 1
