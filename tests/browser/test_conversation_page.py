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
        expect(page.get_by_text(re.compile(rf"The\s+{turn - 1}\s+prompts? have"))).to_be_visible()
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
