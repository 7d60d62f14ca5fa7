"""The pages that measure, as a person meets them: they finish by themselves, stop, and open step by step."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import settled

pytestmark = [pytest.mark.browser, pytest.mark.default_model]


def measured(page: Page) -> None:
    """Wait until the first measurement of the page has ended by itself."""
    expect(page.get_by_role("button", name="Measure again").first).to_be_visible()
    settled(page)


@pytest.mark.parametrize("path", ["/decode", "/cache"])
def test_a_step_moved_redraws_and_reaches_the_address(path, visit, server):
    """That no model runs for it is shown where passes can be counted, in the tests of the pages."""
    page = visit(server + path)
    measured(page)
    slider = page.get_by_role("slider", name=re.compile("Step")).first
    slider.focus()
    for step in (14, 13):
        page.keyboard.press("ArrowLeft")
        expect(page.locator(".figure-title").filter(has_text=re.compile(rf"[Ss]tep {step}\b")).first).to_be_visible()
        expect(page).to_have_url(re.compile(rf"step={step}\b"))


def test_a_link_to_a_step_opens_it(visit, server):
    page = visit(f"{server}/decode?step=2")
    measured(page)
    expect(page.locator(".figure-title").filter(has_text=re.compile(r"step 2: 1 of 7 rows")).first).to_be_visible()


def test_stopping_keeps_the_page_whole(visit, server):
    """G05: stopped in the middle, what was measured stays, and the page says that it was stopped."""
    page = visit(f"{server}/decode?prompt={quote('Nobody has measured this sentence before, and nobody will again.')}")
    page.get_by_test_id("stMain").get_by_role("button", name="Stop").click()
    expect(
        page.get_by_role("button", name="Measure again").or_(page.get_by_role("button", name="Measure")).first
    ).to_be_visible()
    settled(page)
    expect(page.get_by_role("heading", name="Where it stops being true")).to_be_visible()


def test_a_tiny_model_is_measured_too(visit, server):
    """Learned positions, as many KV heads as query heads, a vocabulary of 320."""
    page = visit(f"{server}/decode?model=folder-tiny&prompt={quote('the river the city')}")
    measured(page)
    expect(page.locator(".figure-title").filter(has_text="One rectangle a step")).to_be_visible()
    page.get_by_role("button", name="Write it both ways").click()
    expect(page.get_by_text("Both ways wrote")).to_be_visible()


def test_a_phone_shows_the_staircase(visit, server):
    page = visit(f"{server}/decode", is_mobile=True, has_touch=True, screen={"width": 390, "height": 844})
    page.set_viewport_size({"width": 390, "height": 844})
    measured(page)
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 1
