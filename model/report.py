"""A plan as one page to hand on: Markdown, and HTML that prints on one sheet. Strings in, a string out.

All text in a report may be a visitor's: it is escaped here, whoever wrote it, so that it is read
as it stands and nothing in it becomes a link, a picture, a tag or a formula.
"""

import string
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import accumulate

#: Characters of one answer that a report takes, so that it stays one page; wide ones count twice.
LONGEST_ANSWER = 160
#: More letters than this in all answers together are printed smaller, to stay on the sheet.
_MANY = 400
_MARKED = str.maketrans({mark: f"\\{mark}" for mark in string.punctuation})


@dataclass(frozen=True)
class Answered:
    """One question of the checklist.

    Attributes:
        question: as asked.
        number: what the plan says to it.
        choice: what was chosen, or nothing.
        words: what was written, or nothing.
    """

    question: str
    number: str
    choice: str = ""
    words: str = ""


@dataclass(frozen=True)
class Report:
    """What goes on the page.

    Attributes:
        title: of the page.
        verdict: the answer in a sentence or two.
        inputs: names and values.
        results: names, formulas with their numbers put in, and results.
        answers: the checklist.
        assumptions: what the numbers rest on, and where they stop.
    """

    title: str
    verdict: str
    inputs: Sequence[tuple[str, str]]
    results: Sequence[tuple[str, str, str]]
    answers: Sequence[Answered]
    assumptions: Sequence[str]


def one_line(text: str, longest: int | None = None) -> str:
    """Text on one line, without characters that control what shows it, cut to a width of ``longest`` letters."""
    kept = (" " if mark.isspace() else mark for mark in text if mark.isspace() or _is_shown(mark))
    line = " ".join("".join(kept).split())
    if longest is None or sum(map(_width, line)) <= longest:
        return line
    widths = accumulate(map(_width, line))
    return line[: sum(width < longest for width in widths)] + "…"


def _width(mark: str) -> int:
    """Letters that a character takes the room of."""
    return 2 if unicodedata.east_asian_width(mark) in "WF" else 1


def _is_shown(mark: str) -> bool:
    """Neither a control character nor one that turns the direction of writing, nor half a character.

    What joins characters (in emoji and in some scripts) stays.
    """
    return mark == "\u200d" or unicodedata.category(mark) not in ("Cc", "Cf", "Cs", "Co", "Cn")


def as_markdown(report: Report) -> str:
    """The report as Markdown: every text escaped mark by mark."""
    parts = [f"# {_md(report.title)}", _md(report.verdict), "## The plan"]
    parts.append(_md_table(("Input", "Value"), report.inputs))
    parts += ["## What it comes to", _md_table(("Result", "Formula with the numbers put in", ""), report.results)]
    parts.append("## The checklist")
    for place, each in enumerate(report.answers, 1):
        said = " — ".join(_md(text) for text in (each.choice, each.words) if text.strip()) or "not answered"
        parts.append(f"{place}. **{_md(each.question)}** {_md(each.number)}\n   {said}")
    parts += ["## Assumed, and left out", "\n".join(f"- {_md(each)}" for each in report.assumptions)]
    return "\n\n".join(parts) + "\n"


def _md(text: str) -> str:
    return one_line(text).translate(_MARKED)


def _md_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads)]
    return "\n".join(
        "| " + " | ".join(cells) + " |" for cells in (*lines, *([_md(cell) for cell in row] for row in rows))
    )


#: Everything a browser needs is in the file: it runs nothing and asks nobody for anything.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
@page { size: A4; margin: 11mm 13mm; }
* { box-sizing: border-box; }
body { font: 14px/1.4 sans-serif; color: #1F2933; background: #fff; max-width: 52rem; margin: 1.5rem auto;
  padding: 0 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.5em; margin: 0 0 .3em; } h2 { font-size: 1.1em; margin: .9em 0 .3em; }
p { margin: .3em 0; } .verdict { border-left: 4px solid #0B62A4; padding-left: .7em; }
table { border-collapse: collapse; width: 100%; } td { vertical-align: top; border-top: 1px solid #D5DCE4;
  padding: .12em .6em .12em 0; } td:last-child { padding-right: 0; } td.formula { color: #52606D; }
.results td:last-child { text-align: right; font-weight: 600; white-space: nowrap; }
@media (min-width: 40rem) { .results td:first-child { white-space: nowrap; padding-right: 1.5em; } }
dl { columns: 2; column-gap: 2em; margin: 0; } dl div { break-inside: avoid; display: flex; gap: 1em;
  justify-content: space-between; border-top: 1px solid #D5DCE4; } dd { margin: 0; font-weight: 600;
  text-align: right; }
ol, ul { margin: 0; padding-left: 1.5em; } .said { color: #0B62A4; }
@media (max-width: 40rem) { dl { columns: 1; } }
@media print { body { font-size: 8.2pt; line-height: 1.2; margin: 0; padding: 0; max-width: none; }
  h1 { font-size: 1.4em; } dl { columns: 2; } body.dense { font-size: 7.5pt; line-height: 1.16; } }
"""


def as_html(report: Report) -> str:
    """The report as one HTML file, for a screen and for one sheet of A4."""
    inputs = "".join(f"<div><dt>{_html(name)}</dt><dd>{_html(value)}</dd></div>" for name, value in report.inputs)
    results = "".join(
        f'<tr><td>{_html(name)}</td><td class="formula">{_html(formula)}</td><td>{_html(result)}</td></tr>'
        for name, formula, result in report.results
    )
    answers = "".join(f"<li>{_html_answer(each)}</li>" for each in report.answers)
    assumptions = "".join(f"<li>{_html(each)}</li>" for each in report.assumptions)
    title = _html(report.title)
    dense = ' class="dense"' if sum(_width(mark) for each in report.answers for mark in each.words) > _MANY else ""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(one_line(report.title))}</title><style>{_STYLE}</style></head>\n<body{dense}>\n"
        f'<h1>{title}</h1>\n<p class="verdict">{_html(report.verdict)}</p>\n'
        f"<h2>The plan</h2>\n<dl>{inputs}</dl>\n"
        f'<h2>What it comes to</h2>\n<table class="results">{results}</table>\n'
        f"<h2>The checklist</h2>\n<ol>{answers}</ol>\n"
        f"<h2>Assumed, and left out</h2>\n<ul>{assumptions}</ul>\n</body></html>\n"
    )


def _html(text: str) -> str:
    return f"<bdi>{escape(one_line(text))}</bdi>"


def _html_answer(each: Answered) -> str:
    said = " — ".join(_html(text) for text in (each.choice, each.words) if text.strip()) or "not answered"
    return f'<b>{_html(each.question)}</b> {_html(each.number)} <span class="said">{said}</span>'
