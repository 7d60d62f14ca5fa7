"""The page of measurements: one table a topic, a reason beside a missed goal, and no number that was not measured."""

import re
from argparse import Namespace
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.bench import report
from tests.bench.__main__ import PAGE, where
from tests.bench.measure import Spread
from tests.bench.page import NO_REASON, Section, markdown
from tests.bench.report import HEADINGS, Row
from tests.bench.topics import IN_BROWSER, REASONS, TOPICS

#: All topics, with nothing found yet that has a digit.
EVERY = {**TOPICS, **IN_BROWSER}
SAYS = "This beside that."


def section(*rows: Row, headings=HEADINGS, title="A topic") -> Section:
    return Section(title, SAYS, rows, headings)


def tables(page: str) -> list[list[list[str]]]:
    """Every table of the page as a reader's program understands it: its lines, each a list of cells."""
    found = []
    for token in MarkdownIt().enable("table").parse(page):
        match token.type:
            case "table_open":
                found.append([])
            case "tr_open":
                found[-1].append([])
            case "inline" if found and token.level == 4 + ("thead" in token.meta):
                found[-1][-1].append(token.content)
    return found


def test_a_topic_is_a_heading_a_sentence_and_a_table_of_the_columns_that_have_something():
    page = markdown([section(Row("one", "5 ms", goal="≤ 6 ms", met=True), Row("  of it", "4 ms"))], {}, {})
    assert "## A topic\n\nThis beside that.\n\n| What |" in page
    assert tables(page)[-1] == [
        ["What", "Ours", "Goal", "Met"],
        ["one", "5 ms", "≤ 6 ms", "met"],
        ["– of it", "4 ms", "", ""],
    ]


def test_each_topic_has_a_table_of_its_own_with_its_own_headings():
    pair = Row("Tokens", "2 MB", "1 kB")
    page = markdown([section(pair), section(pair, headings=("Page", "First", "Second", *HEADINGS[3:]))], {}, {})
    *_, first, second = tables(page)
    assert (first[0], second[0]) == (["What", "Ours", "Beside it"], ["Page", "First", "Second"])
    assert first[1] == second[1] == ["Tokens", "2 MB", "1 kB"]


def test_the_machine_is_told_as_it_was_given():
    page = markdown([section(Row("one", "5 ms"))], {"Cores": "7 of a | kind", "Load before": "0.1"}, {})
    assert tables(page)[0][1:] == [["Cores", "7 of a | kind"], ["Load before", "0.1"]]


def test_a_reason_is_printed_only_where_the_goal_was_missed():
    reasons = {"slow": "It has to wait.", "quick": "Never told.", "  part": "Its own reason."}
    rows = (
        report.single("quick", Spread((1.0,)), 2.0),
        report.single("slow", Spread((3.0,)), 2.0),
        report.single("  part", Spread((3.0,)), 2.0),
        report.single("strange", Spread((3.0,)), 2.0),
        report.single("free", Spread((3.0,))),
    )
    page = markdown([section(*rows)], {}, reasons)
    assert re.findall(r"^Missed, \*(.*?)\*: (.*)$", page, re.MULTILINE) == [
        ("slow", "It has to wait."),
        ("part", "Its own reason."),
        ("strange", NO_REASON),
    ]
    assert "Never told" not in page
    assert [line[-1] for line in tables(page)[-1][1:]] == ["met", "**missed**", "**missed**", "**missed**", ""]
    assert "Goals met in this run: 1 of 4." in page


def test_no_number_on_the_page_is_written_in_the_code():
    """All topics and all reasons, with results that have no digits: no digit is left but the count of goals."""
    missed = [Row(name, "so long", goal="less", met=False) for name in REASONS]
    sections = [Section(topic.title, topic.says, [Row("all", "so long")], topic.headings) for topic in EVERY.values()]
    page = markdown([*sections, section(*missed)], {"Cores": "some"}, REASONS)
    page = " ".join(page.split())  # names are broken over lines
    for name in REASONS:
        page = page.replace(name.strip(), "")
    assert re.findall(r"\d+", page) == ["0", str(len(missed))]


def test_the_caution_tells_how_unsteady_the_run_was():
    page = markdown([section(Row("one", "5 ms", noise=2.34), Row("two", "5 ms", noise=1.2))], {}, {})
    assert "up to 2.34 times as long" in page and "1.20 times" not in page


@pytest.mark.parametrize(
    "quick, found, write, path",
    [
        (False, len(EVERY), None, PAGE),
        (True, len(TOPICS), None, None),  # --quick
        (False, 1, None, None),  # --only, or all but one broke
        (False, len(TOPICS), None, None),  # there is no browser
        (True, 1, Path("elsewhere.md"), Path("elsewhere.md")),
    ],
)
def test_only_a_whole_run_takes_the_place_of_the_last_page(quick, found, write, path):
    assert where(Namespace(quick=quick, write=write), found) == path


@pytest.mark.parametrize(
    "value, text",
    [(0, "0 B"), (999, "999 B"), (1_470, "1.47 kB"), (94.4e6, "94.4 MB"), (25.3e9, "25.3 GB"), (1.2e12, "1200 GB")],
)
def test_sizes_are_in_powers_of_ten(value, text):
    assert report.size(value) == text
