"""The table that is printed: one row a number, its goal beside it, and whether it was met."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version

from tests.bench.measure import Pairs, Spread

HEADINGS = ("What", "Ours", "Beside it", "Ratio", "Goal", "Met")


@dataclass(frozen=True)
class Row:
    """One line of the table, as text.

    Attributes:
        what: what was measured.
        ours: the number.
        beside: the same of what it is compared with.
        ratio: ours divided by that.
        goal: what was aimed at.
        met: whether it was reached; None where there is no goal.
        noise: how many times slower the slowest turn of the yardstick was than its fastest.
    """

    what: str
    ours: str
    beside: str = ""
    ratio: str = ""
    goal: str = ""
    met: bool | None = None
    noise: float = 1.0


# ---- numbers in words ----------------------------------------------------------------------------


def seconds(value: float) -> str:
    """A time with three digits that tell: 1.25 ms, 87.0 ms, 3.42 s."""
    value, unit = (value, "s") if value >= 1 else (value * 1000, "ms")
    return f"{value:.{max(0, 2 - max(0, len(str(int(value))) - 1))}f} {unit}"


def size(value: float) -> str:
    """Bytes, in powers of ten."""
    for factor, unit in ((1e6, "MB"), (1e3, "kB")):
        if value >= factor:
            return f"{value / factor:.3g} {unit}" if value < 999.5 * factor else f"{value / factor:,.0f} {unit}"
    return f"{value:.0f} B"


def plain(value: float) -> str:
    return f"{value:.2f}"


def spread(values: Spread, shown: Callable[[float], str] = seconds) -> str:
    """The median, and in brackets the least and the most."""
    if len(values.values) == 1:
        return shown(values.median)
    return f"{shown(values.median)} ({shown(values.low)} – {shown(values.high)})"


# ---- rows ----------------------------------------------------------------------------------------


def compared(what: str, pairs: Pairs, goal: float | None = None, per: int = 1) -> Row:
    """Two things timed turn by turn.

    Args:
        goal: the ratio aimed at, at most.
        per: what the times are divided by: the tokens of one turn.
    """
    ours, theirs = (Spread(tuple(v / per for v in times.values)) for times in (pairs.ours, pairs.theirs))
    return Row(
        what,
        spread(ours),
        spread(theirs),
        spread(pairs.ratio, plain),
        "" if goal is None else f"ratio ≤ {goal:.2f}",
        None if goal is None else pairs.ratio.median <= goal,
        noise=theirs.high / theirs.low,
    )


def single(
    what: str, values: Spread, goal: float | None = None, shown: Callable[[float], str] = seconds, beside: str = ""
) -> Row:
    """One thing measured by itself; the goal is for its median."""
    met = None if goal is None else values.median <= goal
    return Row(what, spread(values, shown), beside, goal="" if goal is None else f"≤ {shown(goal)}", met=met)


# ---- the table -----------------------------------------------------------------------------------


def table(rows: Sequence[Row]) -> str:
    """Plain text with aligned columns."""
    met = {True: "yes", False: "NO", None: ""}
    lines = [HEADINGS, *((row.what, row.ours, row.beside, row.ratio, row.goal, met[row.met]) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    texts = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
    return "\n".join([texts[0], "  ".join("─" * width for width in widths), *texts[1:]])


def machine() -> str:
    """What the numbers were measured on, and how busy it is now."""
    import torch

    names = ("torch", "transformers", "streamlit", "plotly")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    return f"{os.cpu_count()} cores, torch on {torch.get_num_threads()} threads; {versions}; {load()}"


def load() -> str:
    """The load averages: how many threads wanted a core in the last 1, 5 and 15 minutes."""
    return "load " + " ".join(f"{average:.1f}" for average in os.getloadavg()) + time.strftime(" at %H:%M")


def caution(rows: Sequence[Row]) -> str:
    """How far the times of this run may be trusted."""
    worst = max((row.noise for row in rows), default=1.0)
    text = "Each number is a median, with the least and the most in brackets. The machine is noisy: judge by ratios"
    if worst == 1.0:
        return f"{text}, and repeat."
    return f"{text}. In this run the same plain work took up to {worst:.1f} times as long at one time as at another."
