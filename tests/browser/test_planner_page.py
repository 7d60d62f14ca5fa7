"""The planner as a person meets it: a configuration is pasted, questions answered, and the report taken away."""

import json
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from model.report import LONGEST_ANSWER
from tests.browser.conftest import settled
from tests.unit.test_config_reader import REAL

pytestmark = [pytest.mark.browser, pytest.mark.default_model]

#: As much as an answer may have, of the widest letter.
WIDE = "W" * LONGEST_ANSWER


def report_of(page: Page, label: str, folder: Path) -> str:
    """The report as it is downloaded."""
    with page.expect_download() as download:
        page.get_by_role("button", name=label).click()
    assert not download.value.failure()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path.read_text(encoding="utf-8")


def test_a_pasted_configuration_reaches_the_report(visit, server, tmp_path):
    page = visit(f"{server}/planner?requests=8", accept_downloads=True)
    page.get_by_text("Another model: paste its config.json").click()
    box = page.get_by_role("textbox", name=re.compile("config.json, at most"))
    box.fill(json.dumps(REAL["Mistral-7B-v0.1"]))
    box.press("Control+Enter")
    expect(page.get_by_text("7,241,732,096 parameters")).to_be_visible()
    settled(page)
    page.get_by_role("textbox", name=re.compile("In words")).first.fill(
        "<b>only</b> the last turns [x](http://e.example)"
    )
    page.keyboard.press("Tab")
    expect(page.get_by_text("1 of 6 questions are answered")).to_be_visible()
    settled(page)
    html = report_of(page, "Report to print (HTML)", tmp_path)
    for part in (
        "mistral (pasted)",
        "7.24 × 10⁹",
        "4 × NVIDIA H100 SXM",
        "Time between tokens",
        "&lt;b&gt;only&lt;/b&gt;",
    ):
        assert part in html, part
    assert "<b>only" not in html and "<script" not in html, "it is taken away as it was made"
    markdown = report_of(page, "Report as Markdown", tmp_path)
    assert "7\\.24 × 10⁹" in markdown and "\\<b\\>only" in markdown and "\\[x\\]" in markdown
    assert "mistral" not in page.url and "only" not in page.url


def test_the_longest_report_prints_on_one_sheet(visit, server, tmp_path, browser):
    """With every answer as long and as wide as it may be, and a mixture of experts in many machines."""
    page = visit(f"{server}/planner?shape=DeepSeek-V3&gpus=16&requests=64", accept_downloads=True)
    for place in range(6):
        page.get_by_role("textbox", name=re.compile("In words")).nth(place).fill(WIDE)
        page.keyboard.press("Tab")
        expect(page.get_by_text(f"{place + 1} of 6 questions are answered")).to_be_visible()
        settled(page)
    html = report_of(page, "Report to print (HTML)", tmp_path)
    assert html.count(WIDE) == 6
    context = browser.new_context(java_script_enabled=False, offline=True)
    sheet = context.new_page()
    sheet.set_content(html)
    printed = sheet.pdf(prefer_css_page_size=True)
    context.close()
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1


def test_numbers_typed_move_the_plan_and_reach_the_address(visit, server):
    page = visit(f"{server}/planner?prompt={quote('Hello there')}")
    requests = page.get_by_role("textbox", name="Requests at once")
    requests.fill("32")
    requests.press("Enter")
    expect(page).to_have_url(re.compile("requests=32"))
    expect(page.get_by_text("It holds while requests are typical: 32 are asked for.")).to_be_visible()
    page.get_by_role("button", name="A chatbot with 32 users").click()
    expect(page.get_by_text("Llama-3.1-8B on 1 NVIDIA L40S")).to_be_visible()
    settled(page)


def test_a_phone_shows_the_plan_and_its_levers(visit, server):
    page = visit(f"{server}/planner", is_mobile=True, has_touch=True, screen={"width": 390, "height": 844})
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.get_by_role("heading", name="The checklist")).to_be_visible()
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 1
    smallest = page.evaluate(
        "Math.min(...[...document.querySelectorAll('table.results td, table.results th, .js-plotly-plot text')]"
        ".filter(node => node.textContent.trim()).map(node => parseFloat(getComputedStyle(node).fontSize)))"
    )
    assert smallest >= 13
