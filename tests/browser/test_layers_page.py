"""The lesson on layers, as a person meets it: a cell of the lens, the layer's number, a phone."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import settled

pytestmark = [pytest.mark.browser, pytest.mark.default_model]


def test_a_cell_of_the_lens_selects_its_layer_and_position(visit, server):
    page = visit(f"{server}/layers")
    grid = page.locator(".st-key-lens_grid")
    expect(grid.get_by_text("␣Paris", exact=True)).to_be_visible()  # the last layer's answer, a cell's text
    cell = grid.get_by_text("␣dismant", exact=True)  # layer 10, position 0
    cell.scroll_into_view_if_needed()
    box = cell.bounding_box()
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(page).to_have_url(re.compile(r"layer=10\b.*position=0\b"))
    settled(page)
    expect(page.locator(".figure-title").filter(has_text="The residual stream of The (position 0)")).to_be_visible()
    expect(page.locator(".reading").filter(has_text="If layer 10 were the last")).to_be_visible()


def test_stepping_the_layer_changes_every_section_and_the_address(visit, server):
    page = visit(f"{server}/layers")
    stepper = page.locator(".st-key-layer_stream")
    stepper.get_by_role("button").last.click()
    expect(page.locator(".figure-title").filter(has_text=re.compile("^Layer 24 at"))).to_be_visible()
    expect(page).to_have_url(re.compile(r"layer=24\b"))
    expect(page.get_by_text("If layer 24 were the last")).to_be_visible()
    settled(page)


def test_on_a_phone_the_grid_moves_in_its_own_frame(visit, server):
    page = visit(
        f"{server}/layers?prompt=one%20two%20three%20one%20two%20three%20one%20two",
        is_mobile=True,
        has_touch=True,
        screen={"width": 390, "height": 844},
    )
    page.set_viewport_size({"width": 390, "height": 844})
    frame = page.locator(".st-key-sideways_lens")
    expect(frame).to_be_visible()
    assert frame.evaluate("box => box.scrollWidth > box.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 1
