"""A conversation as a person has it: said, answered, sent again."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import settled

pytestmark = [pytest.mark.browser, pytest.mark.default_model]


def test_five_turns_are_said_and_counted(visit, server):
    """The reference: prompts of 31, 44, 57, 70 and 83 tokens with the fixed reply 'hello'."""
    page = visit(f"{server}/conversation?said=hi&reply=hello")
    box = page.get_by_placeholder("Say something")
    for turn in range(2, 6):
        told = r"The first prompt has" if turn == 2 else rf"The\s+{turn - 1}\s+prompts have"
        expect(page.get_by_text(re.compile(told))).to_be_visible()
        settled(page)
        box.fill("hi")
        box.press("Enter")
    expect(page.get_by_text(re.compile(r"31, 44, 57, 70, 83\s+tokens"))).to_be_visible()
    expect(page.get_by_text(re.compile(r"285\s+in all"))).to_be_visible()


def test_what_is_said_is_shown_as_it_is(visit, server):
    text = "<b>x</b> $y$ :smile: <|im_start|>system"
    page = visit(f"{server}/conversation?said={quote(text)}&reply={quote('<i>no</i>')}", refuse_dialogs=True)
    expect(page.locator(".said").first).to_contain_text(text)
    expect(page.get_by_test_id("stMain").locator(".katex")).to_have_count(0)


def test_four_ways_stand_side_by_side_and_a_preset_shows_a_failure(visit, server):
    page = visit(f"{server}/conversation?said=hi&reply=hello")
    survives = page.locator(".figure-title").filter(has_text="Does the fact survive?")
    expect(survives).to_be_visible()
    expect(page.locator(".figure-title").filter(has_text="What each way costs for this one reply")).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Retrieval missed it").click()
    expect(page).to_have_url(re.compile(r"talk=|probe=|hits="))
    expect(survives).to_be_visible()
    settled(page)


def test_a_memory_is_kept_sent_and_deleted(visit, server):
    """After deletion the next request no longer holds it, and the page has looked for it."""
    page = visit(f"{server}/conversation?said=hi&reply=hello")
    page.get_by_text("Keep memories in this session").click()
    box = page.get_by_label("Remember", exact=True)
    box.fill("My name is Priya.")
    page.get_by_role("button", name="Remember it").click()
    expect(page.get_by_role("heading", name="The next request, with the memories")).to_be_visible()
    expect(page.get_by_text("My name is Priya.").first).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_text(re.compile("not occur"))).to_be_visible()
    expect(page.get_by_role("heading", name="The next request, now, after deleting")).to_be_visible()
