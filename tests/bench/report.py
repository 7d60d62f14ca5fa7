"""What the topics give, one row a number: its goal beside it, and whether it was met."""

import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from tests.bench.measure import Pairs, Spread, Taken, spread_of

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
        noise: how many times longer the slowest turn of the same work took than the fastest.
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
    return f"{value:.{max(0, 3 - len(str(int(value))))}f} {unit}"


def size(value: float) -> str:
    """Bytes, in powers of ten."""
    if value < 1e3:
        return f"{value:.0f} B"
    power, unit = next(each for each in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")) if value >= each[0])
    value /= power
    return f"{value:.{max(0, 3 - len(str(int(value))))}f} {unit}"


def rate(value: float) -> str:
    """Bytes a second, in powers of ten."""
    return f"{size(value)}/s"


def factor(value: float) -> str:
    """A ratio."""
    return f"{value:.2f}"


def spread(values: Spread, shown: Callable[[float], str] = seconds) -> str:
    """The median, and in brackets the least and the most."""
    if len(values.values) == 1:
        return shown(values.median)
    return f"{shown(values.median)} ({shown(values.low)} – {shown(values.high)})"


# ---- rows ----------------------------------------------------------------------------------------


def single(what: str, values: Spread, goal: float | None = None, shown: Callable[[float], str] = seconds) -> Row:
    """One number; the goal is for its median."""
    if goal is None:
        return Row(what, spread(values, shown))
    return Row(what, spread(values, shown), goal=f"≤ {shown(goal)}", met=values.median <= goal)


def repeated(what: str, times: Sequence[Taken], goal: float) -> Iterator[Row]:
    """One thing timed again and again, by both clocks."""
    yield single(what, spread_of(times), goal)
    yield single("  in processor time", spread_of(times, "processor"))


def compared(what: str, pairs: Pairs, goal: float | None = None, per: int = 1) -> Iterator[Row]:
    """Two things timed turn by turn, by both clocks.

    Args:
        goal: the ratio aimed at, at most, by the clock on the wall; None where there is none.
        per: what the times are divided by: the tokens of one turn.
    """
    for name, clock in ((what, "wall"), ("  in processor time", "processor")):
        ours, theirs = spread_of(pairs.ours, clock, per), spread_of(pairs.theirs, clock, per)
        row = Row(name, spread(ours), spread(theirs), spread(pairs.ratio(clock), factor))
        if clock == "wall" and goal is not None:
            met = pairs.ratio().median <= goal
            row = replace(row, goal=f"ratio ≤ {factor(goal)}", met=met, noise=theirs.high / theirs.low)
        yield row


# ---- the table -----------------------------------------------------------------------------------


def table(rows: Sequence[Row]) -> str:
    """Plain text with aligned columns."""
    met = {True: "yes", False: "NO", None: ""}
    lines = [HEADINGS, *((row.what, row.ours, row.beside, row.ratio, row.goal, met[row.met]) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADINGS))]
    texts = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
    return "\n".join([texts[0], "  ".join("─" * width for width in widths), *texts[1:]])


def machine() -> dict[str, str]:
    """What the numbers were measured on."""
    import torch

    names = [name for name in ("torch", "transformers", "streamlit", "plotly", "bertviz") if find_spec(name)]
    libraries = ", ".join(f"{name} {version(name)}" for name in names)
    return {
        "Date": time.strftime("%Y-%m-%d"),
        "Cores": f"{os.cpu_count()}{_processor()}",
        "Memory": size(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")),
        "Threads": f"torch on {torch.get_num_threads()}, OMP_WAIT_POLICY={os.environ['OMP_WAIT_POLICY']}",
        "Versions": f"Python {platform.python_version()}, {libraries}",
    }


def _processor() -> str:
    """The processor's name, where Linux tells it."""
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
        return f" of {name}"
    return ""


def load() -> str:
    """The load averages: how many threads wanted a core in the last 1, 5 and 15 minutes."""
    return " ".join(f"{average:.1f}" for average in os.getloadavg()) + time.strftime(" at %H:%M")


def caution(rows: Sequence[Row]) -> str:
    """How far the times of this run may be trusted."""
    text = "Each number is a median, with the least and the most in brackets. The machine is noisy: judge by ratios"
    worst = max((row.noise for row in rows), default=1.0)
    if worst == 1.0:
        return f"{text}, and repeat."
    return (
        f"{text}. In this run the same plain work took up to {factor(worst)} times as long at one time as at another."
    )
