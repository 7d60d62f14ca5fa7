"""The maps of what a context gives back: probability, time and bytes by depth and length."""

from statistics import mean

import streamlit as st

from model.recall import DEPTHS, Recalled, Row, rows_of
from pages.shared import anatomy, prose
from pages.shared.frame import Lesson
from pages.shared.store import Points
from viz import recall as figures
from viz.sampling import percent

#: The first column of each map, and the others.
COLUMNS = ("no fact", *(f"{depth:.0%}" for depth in DEPTHS))
ASKED = {"answer": "the answer, once the reply has begun", "reply": "the whole reply, word for word"}
SHORT = {"answer": "the answer alone", "reply": "the whole reply"}


def maps(lesson: Lesson, points: Points, shown: str) -> None:
    """All maps as far as they are measured, each with its sentence.

    Args:
        shown: whose probability, a key of :data:`ASKED`.
    """
    rows = rows_of(points.items)
    _probability_map(lesson, rows, shown)
    if len(points.items) == points.planned:
        _sentence(lesson, rows, shown)
    time, memory = st.columns(2, gap="medium")
    with time:
        _small_map(
            lesson,
            rows,
            key="recall_time",
            title="What it takes: prefill, milliseconds",
            mark=prose.TIMED_HERE,
            of=lambda cell: 1e3 * cell.seconds,
            unit="ms",
            form=",.0f",
        )
    with memory:
        _small_map(
            lesson,
            rows,
            key="recall_bytes",
            title="What it keeps: KV cache, MB (10⁶ bytes)",
            mark=prose.FROM_THE_MODEL,
            of=lambda cell: cell.cache_bytes / 1e6,
            unit="MB",
            form=".1f",
        )
    _cost_sentence(rows)


def _chance(cell: Recalled, shown: str) -> float:
    return cell.answer.probability if shown == "answer" else cell.reply


def _line(row: Row) -> tuple[Recalled | None, ...]:
    """The cells of a row as they stand: without the fact first."""
    return (row.without, *row.cells)


def _values(rows: list[Row], of) -> list[list[float]]:
    return [[float("nan") if cell is None else of(cell) for cell in _line(row)] for row in rows]


def _names(rows: list[Row]) -> list[str]:
    return [f"{row.tokens:,}" for row in rows]


def _probability_map(lesson: Lesson, rows: list[Row], shown: str) -> None:
    values = _values(rows, lambda cell: _chance(cell, shown))
    marked = [[cell is not None and cell.is_found for cell in _line(row)] for row in rows]
    cells = [cell for row in rows for cell in row.cells if cell is not None]
    best = max((_chance(cell, shown) for cell in cells), default=0.0)
    anatomy.figure(
        figures.number_map(
            values,
            figures.chance_words(values, marked),
            _names(rows),
            COLUMNS,
            row_title="tokens of the prompt",
            column_title="share of the filler before the fact",
            limits=(0.0, 1.0),
            apart=1,
            row_height=52,
            theme=lesson.theme,
        ),
        key="recall_map",
        title="The probability of {what}: {goal}",
        mark=prose.FROM_THE_MODEL,
        alt=f"Probability by depth and length; the highest with the fact in it is {best:.3f}.",
        table=lambda: figures.map_table(values, _names(rows), COLUMNS, "tokens of the prompt"),
        what=prose.Html(ASKED[shown]),
        goal=lesson.view.fact_goal,
    )
    prose.aside("✓: each token of the answer was the likeliest in its place; greedy writing would say it.")


def _sentence(lesson: Lesson, rows: list[Row], shown: str) -> None:
    """The map read aloud, whichever way it went."""
    cells = [(row, cell) for row in rows for cell in row.cells]
    best, worst = (pick(cells, key=lambda each: _chance(each[1], shown)) for pick in (max, min))
    short, long = (mean(_chance(cell, shown) for cell in row.cells) for row in (rows[0], rows[-1]))
    told = (
        "Over all depths the mean goes from {short:.0%} in {few:,} tokens to {long:.0%} in {many:,}: here more text "
        + ("did no harm. " if long > 0.9 * short else "made it harder. ")
        if len(rows) > 1
        else ""
    )
    prose.read_aloud(
        "Without the fact {answer} has {guess}; no length helps where nothing is said. With it, the best placing gives "
        "<b>{best}</b> ({best_depth:.0%} deep in {best_tokens:,} tokens), the worst <b>{worst}</b> "
        "({worst_depth:.0%} deep in {worst_tokens:,} tokens). "
        + told
        + "Greedy writing would say the answer in {found} of {all} placings.",
        answer=lesson.view.fact_goal,
        guess=prose.Html(percent(max(_chance(row.without, shown) for row in rows))),
        best=prose.Html(percent(_chance(best[1], shown))),
        best_depth=best[1].depth,
        best_tokens=best[1].tokens,
        worst=prose.Html(percent(_chance(worst[1], shown))),
        worst_depth=worst[1].depth,
        worst_tokens=worst[1].tokens,
        short=short,
        long=long,
        few=rows[0].tokens,
        many=rows[-1].tokens,
        found=sum(cell.is_found for _, cell in cells),
        all=len(cells),
    )


def _small_map(lesson: Lesson, rows: list[Row], *, key: str, title: str, mark: str, of, unit: str, form: str) -> None:
    values = _values(rows, of)
    anatomy.figure(
        figures.number_map(
            values,
            figures.plain_words(values, form),
            _names(rows),
            COLUMNS,
            row_title="tokens of the prompt",
            column_title="share of the filler before the fact",
            apart=1,
            row_height=38,
            theme=lesson.theme,
        ),
        key=key,
        title=title,
        mark=mark,
        alt=f"From {values[0][0]:.1f} to {values[-1][0]:.1f} {unit}.",
        table=lambda: figures.map_table(values, _names(rows), COLUMNS, "tokens of the prompt"),
    )


def _cost_sentence(rows: list[Row]) -> None:
    if len(rows) < 2:
        return
    first, last = rows[0], rows[-1]
    prose.read_aloud(
        "Where the fact stands does not change what must be read; how much stands around it does. From {few:,} to "
        "{many:,} tokens the median prefill grew from {short:,.0f} to {long:,.0f} ms, one take a cell, and the cache "
        "from {small:,} to {large:,} bytes.",
        few=first.tokens,
        many=last.tokens,
        short=1e3 * first.prefill,
        long=1e3 * last.prefill,
        small=first.cells[0].cache_bytes if first.cells[0] else first.without.cache_bytes,
        large=last.cells[0].cache_bytes if last.cells[0] else last.without.cache_bytes,
    )
