"""Breaking and mending, as a person does it."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import settled

pytestmark = [pytest.mark.browser, pytest.mark.default_model]


def test_a_cold_link_opens_three_edits_and_a_click_mends_one(visit, server):
    page = visit(f"{server}/whatif?edits=h12.4~k0~w3")
    mend = page.get_by_role("button", name="layer 12, head 4 switched off")
    expect(mend).to_be_visible()
    expect(page.get_by_text("a window of 3 positions in every layer").first).to_be_visible()
    settled(page)
    mend.click()
    expect(page).to_have_url(re.compile(r"edits=k0(~|%7E)w3"))
    expect(mend).to_have_count(0)


def test_every_head_of_a_tiny_model_is_tried_and_one_is_chosen_by_a_click(visit, server):
    page = visit(f"{server}/whatif?model=folder-tiny&prompt={quote('the river the city')}&edits=none")
    page.get_by_role("button", name="Try all 18, each alone").click()
    expect(page.get_by_text(re.compile("The largest change of"))).to_be_visible()
    settled(page)
    page.get_by_label(re.compile(r"Head \(0–5\)")).last.fill("3")
    page.keyboard.press("Enter")
    expect(page.locator(".figure-title").filter(has_text=re.compile(r"head 3\b"))).to_be_visible()
    page.get_by_role("button", name="Switch it off").click()
    expect(page).to_have_url(re.compile(r"edits=h\d\.3"))
