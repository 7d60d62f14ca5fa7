"""The clock: how long work took on this machine, and what several takes say together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter
from typing import TypeVar

import torch

Result = TypeVar("Result")


def wait_for(device: str) -> None:
    """Return when the device has done all it was given. A CPU has done it already.

    An accelerator works on while Python goes ahead: a clock read without waiting would time the
    giving of orders.
    """
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
    elif device.startswith("mps"):
        torch.mps.synchronize()


def seconds_of(device: str, work: Callable[[], Result]) -> tuple[Result, float]:
    """What ``work`` gives, and the seconds it took on ``device``."""
    wait_for(device)
    begun = perf_counter()
    result = work()
    wait_for(device)
    return result, perf_counter() - begun


@dataclass(frozen=True)
class Takes:
    """The same thing timed several times.

    Attributes:
        seconds: one number a take, in order.
    """

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return median(self.seconds)

    @property
    def least(self) -> float:
        return min(self.seconds)

    @property
    def most(self) -> float:
        return max(self.seconds)

    def __len__(self) -> int:
        return len(self.seconds)

    @classmethod
    def summed(cls, takes: Sequence["Takes"]) -> "Takes":
        """Take by take the sum of several things that were timed one after the other.

        Only takes that all of them have count: the last may have been stopped half way.
        """
        return cls(tuple(sum(each) for each in zip(*(take.seconds for take in takes), strict=False)))
