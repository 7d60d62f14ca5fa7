"""The page that is written, in Markdown: what was measured on which machine, and what a missed goal is owed to.

Every number on it is a row's or a fact's of this run; the words around them have none.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.bench.report import Row, caution

NO_REASON = "Why is not known."
#: Characters of a line of prose.
WIDTH = 115

HEAD = """# What it costs

What the app's parts took on one machine, beside the nearest thing to compare each with. `make bench` wrote this
page from one run; nothing on it was typed."""

AGAIN = """## To measure it again

```
make bench
```

runs all of it and writes this page anew: some minutes, best on a machine that does nothing else.
`python -m tests.bench --only NAME` runs one topic, and `--quick` fewer repeats without the browser; both print
and write nothing, unless `--write PATH` says where to. Nothing is downloaded but the libraries."""

READ = """## How to read it

{caution}

Where two things are compared, they took turns, and the ratio is that of neighbours in time: what stands first
divided by what stands beside it. A ratio holds on other machines more or less, a time on this one only. Times are
those of a clock on the wall unless they are said to be the processor's, which are the work of all cores together
and hardly change with the load of a machine. A goal was set beforehand and is for the median. kB, MB and GB are
powers of ten."""


@dataclass(frozen=True)
class Section:
    """One topic of the page.

    Attributes:
        title: its heading.
        says: what is compared, and how.
        rows: what was found.
        headings: of the columns, in the order of a row's fields.
    """

    title: str
    says: str
    rows: Sequence[Row]
    headings: Sequence[str]


def markdown(sections: Sequence[Section], facts: Mapping[str, str], reasons: Mapping[str, str]) -> str:
    """The whole page.

    Args:
        facts: what is to be known of the machine and the run, by name.
        reasons: why a goal is missed, by the row's name; told where it was missed in this run.
    """
    rows = [row for section in sections for row in section.rows]
    parts = [
        HEAD,
        _outcome(rows),
        "## The machine",
        _table(("", ""), [(name, value) for name, value in facts.items()]),
        AGAIN,
        READ.format(caution=_wrapped(caution(rows))),
    ]
    for section in sections:
        parts += [f"## {section.title}", _wrapped(section.says), _rows(section), *_missed(section, reasons)]
    return "\n\n".join(parts) + "\n"


def _outcome(rows: Sequence[Row]) -> str:
    goals = [row for row in rows if row.met is not None]
    return f"Goals met in this run: {sum(row.met for row in goals)} of {len(goals)}."


def _rows(section: Section) -> str:
    """The rows as a table, without the columns in which none has anything."""
    met = {True: "met", False: "**missed**", None: ""}
    lines = [(_name(row), row.ours, row.beside, row.ratio, row.goal, met[row.met]) for row in section.rows]
    filled = [column for column in range(len(section.headings)) if any(line[column] for line in lines)]
    headings = [section.headings[column] for column in filled]
    return _table(headings, [[line[column] for column in filled] for line in lines])


def _name(row: Row) -> str:
    """A row that belongs to the one above it is indented when printed; here it has a dash."""
    return f"– {row.what.strip()}" if row.what.startswith(" ") else row.what


def _missed(section: Section, reasons: Mapping[str, str]) -> Iterator[str]:
    for row in section.rows:
        if row.met is False:
            yield _wrapped(f"Missed, *{row.what.strip()}*: {reasons.get(row.what, NO_REASON)}")


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _table(headings: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    marks = ["---", *["---:"] * (len(headings) - 1)] if any(headings) else ["---"] * len(headings)
    return "\n".join(_line(cells) for cells in (headings, marks, *lines))


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
