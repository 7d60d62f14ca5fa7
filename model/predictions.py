"""The planner turned on this machine: what it predicts from the rates measured, beside what was timed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from model.architecture import Architecture
from model.machine import Roofline
from model.plan import Plan, Shares
from model.published import Gpu

#: The rates put in are the measured ones: all of them is what is reached.
ALL = Shares(1.0, 1.0)


@dataclass(frozen=True)
class Prediction:
    """One thing that was timed.

    Attributes:
        kind: ``prefill`` or ``decode``.
        size: tokens of the prompt, or requests at once.
        predicted, timed: seconds.
    """

    kind: str
    size: int
    predicted: float
    timed: float

    @property
    def ratio(self) -> float:
        return self.timed / self.predicted


@dataclass(frozen=True)
class Reached:
    """What several predictions come to.

    Attributes:
        prefills, decodes: the least and the most times that one took what was predicted.
        matrix_share: share of the machine's matrix rate that the longest prefill reached.
        bandwidth_share: share of its bandwidth that the decodes reached, in the middle.
    """

    prefills: tuple[float, float]
    decodes: tuple[float, float]
    matrix_share: float
    bandwidth_share: float


def reached(found: Sequence[Prediction]) -> Reached | None:
    """The predictions together; None while there is no prefill or no decode among them."""
    prefills, decodes = ([each.ratio for each in found if each.kind == kind] for kind in ("prefill", "decode"))
    if not prefills or not decodes:
        return None
    longest = max((each for each in found if each.kind == "prefill"), key=lambda each: each.size)
    return Reached((min(prefills), max(prefills)), (min(decodes), max(decodes)), 1 / longest.ratio, 1 / median(decodes))


def predictions(shape: Architecture, bytes_per_value: int, measured: Roofline) -> Iterator[Prediction]:
    """Prefills by length, then decodes by number of requests, as far as measured."""
    if measured.machine is None:
        return
    rates = measured.machine
    here = Gpu("this machine", rates.matrix_rate.median, rates.bandwidth.median, 1, "timed here")
    bits = {"weight_bits": 8 * bytes_per_value, "cache_bits": 8 * bytes_per_value}
    for each in measured.prefills:
        plan = Plan(shape, here, best=ALL, worst=ALL, **bits)
        yield Prediction("prefill", each.work.computed, plan.reading(each.work.computed, ALL), each.times.median)
    for each in measured.batches:
        plan = Plan(shape, here, requests=each.requests, best=ALL, worst=ALL, **bits)
        tokens = each.decode.work.read
        yield Prediction("decode", each.requests, plan.step(tokens, ALL), each.decode.times.median)
