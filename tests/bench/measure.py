"""Timing: one thing again and again, or two things turn by turn."""

import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

#: Turns that are made even if they take longer than was meant.
FEWEST = 3


@dataclass(frozen=True)
class Spread:
    """Several measurements of one number."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def high(self) -> float:
        return max(self.values)


@dataclass(frozen=True)
class Pairs:
    """Two things timed turn by turn, in seconds.

    Attributes:
        ratio: ours divided by theirs of the same turn. The two are neighbours in time, so that
            somebody else's load meets both and mostly cancels.
    """

    ours: Spread
    theirs: Spread

    @property
    def ratio(self) -> Spread:
        return Spread(tuple(a / b for a, b in zip(self.ours.values, self.theirs.values, strict=True)))


def seconds_of(work: Callable[[], object]) -> float:
    """How long ``work`` takes; what it returns is dropped after the clock has stopped."""
    start = time.perf_counter()
    result = work()
    elapsed = time.perf_counter() - start
    del result
    return elapsed


def turns(count: int, patience: float = 25.0) -> Iterator[int]:
    """``count`` turns, fewer on a machine under load: no further one is begun after ``patience`` seconds."""
    start = time.perf_counter()
    for turn in range(count):
        if turn >= FEWEST and time.perf_counter() - start > patience:
            return
        yield turn


def repeated(work: Callable[[], object], count: int) -> Spread:
    """``work`` timed ``count`` times, after one turn that is not counted."""
    work()
    return Spread(tuple(seconds_of(work) for _ in turns(count)))


def alternated(ours: Callable[[], object], theirs: Callable[[], object], count: int) -> Pairs:
    """Both timed in turn, ours, theirs, ours, theirs …, after a turn of each that is not counted."""
    ours()
    theirs()
    return pairs((seconds_of(ours), seconds_of(theirs)) for _ in turns(count))


def pairs(times: Iterable[tuple[float, float]]) -> Pairs:
    """Times of turns, each ours and theirs."""
    return Pairs(*(Spread(values) for values in zip(*times, strict=True)))
