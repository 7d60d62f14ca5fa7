"""Timing: one thing again and again, or two things turn by turn."""

import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

#: Turns that are made even if they take longer than was meant.
FEWEST = 3
#: Seconds after which no further turn is begun, so that a machine under load is not measured for ever.
PATIENCE = 15.0

Clock = Literal["wall", "processor"]


@dataclass(frozen=True)
class Taken:
    """What one piece of work took, in seconds.

    Attributes:
        wall: from its beginning to its end, waiting for a core included.
        processor: on all cores of this process together. Other people's load hardly changes it.
    """

    wall: float
    processor: float


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
    """Two things timed turn by turn; the same place in both is the same turn."""

    ours: tuple[Taken, ...]
    theirs: tuple[Taken, ...]

    def ratio(self, clock: Clock = "wall") -> Spread:
        """Ours divided by theirs, turn by turn: neighbours in time, whom somebody else's load meets alike."""
        return Spread(tuple(getattr(a, clock) / getattr(b, clock) for a, b in zip(self.ours, self.theirs, strict=True)))


def spread_of(times: Iterable[Taken], clock: Clock = "wall", per: int = 1) -> Spread:
    """The times by one clock, each divided by ``per``."""
    return Spread(tuple(getattr(each, clock) / per for each in times))


def taken(work: Callable[[], object]) -> Taken:
    """How long ``work`` takes; what it returns is dropped after the clocks have stopped."""
    wall, processor = time.perf_counter(), time.process_time()
    result = work()
    times = Taken(time.perf_counter() - wall, time.process_time() - processor)
    del result
    return times


def total(times: Iterable[Taken]) -> Taken:
    """Several pieces of work as one."""
    times = list(times)
    return Taken(sum(each.wall for each in times), sum(each.processor for each in times))


def turns(count: int, patience: float = PATIENCE) -> Iterator[int]:
    """``count`` turns, or as many as are begun within ``patience`` seconds."""
    start = time.perf_counter()
    for turn in range(count):
        if turn >= FEWEST and time.perf_counter() - start > patience:
            return
        yield turn


def repeated(work: Callable[[], object], count: int) -> tuple[Taken, ...]:
    """``work`` timed ``count`` times, after one turn that is not counted."""
    work()
    return tuple(taken(work) for _ in turns(count))


def alternated(
    ours: Callable[[], object], theirs: Callable[[], object], count: int, patience: float = PATIENCE
) -> Pairs:
    """Both timed in turn, ours, theirs, ours, theirs …, after a turn of each that is not counted."""
    ours()
    theirs()
    return Pairs(*zip(*((taken(ours), taken(theirs)) for _ in turns(count, patience)), strict=True))
