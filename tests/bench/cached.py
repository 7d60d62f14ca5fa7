"""What the KV cache saves, and how near a decode step comes to the limit that memory sets."""

from collections.abc import Iterator

from transformers import DynamicCache

from model.cost import work
from model.forward import forward
from model.machine import measure_machine
from tests.bench import report
from tests.bench.bench import Bench
from tests.bench.measure import Pairs, Spread, Taken, alternated, spread_of
from tests.bench.report import Row

LENGTHS = (256, 1_024)
TURNS = 12
#: Context of the step that is held against the bandwidth.
SHORT = 32


def rows(bench: Bench) -> Iterator[Row]:
    """The step that adds one token to a text, computing all positions again, against one that reads the cache."""
    for length in LENGTHS:
        pairs = _uncached_and_cached(bench, length)
        yield from report.compared(f"a step at {length:,} tokens without the cache / with it", pairs)
    yield from _against_bandwidth(bench)


def _uncached_and_cached(bench: Bench, length: int) -> Pairs:
    ids = bench.ids(length + 1)
    cache = DynamicCache(config=bench.lm.module.config)
    forward(bench.lm, [ids[:-1]], cache)

    def cached() -> None:
        forward(bench.lm, [ids[-1:]], cache)
        cache.crop(-1)  # back to where it was, so that every turn does the same

    return alternated(lambda: forward(bench.lm, [ids]), cached, bench.turns(TURNS), patience=40)


def _against_bandwidth(bench: Bench) -> Iterator[Row]:
    """One step's time over the time that reading its bytes takes at the bandwidth measured turn by turn."""
    lm, ids = bench.lm, bench.ids(SHORT + 1)
    cache = DynamicCache(config=lm.module.config)
    forward(bench.lm, [ids[:-1]], cache)
    step_bytes = work(lm.architecture, 1, SHORT, bytes_per_value=lm.bytes_per_value).bytes
    limits: list[Taken] = []

    def step() -> None:
        forward(bench.lm, [ids[-1:]], cache)
        cache.crop(-1)

    def reading() -> None:
        *_, machine = measure_machine(lm, takes=1)
        seconds = step_bytes / machine.bandwidth.median
        limits.append(Taken(seconds, seconds))

    taken = alternated(step, reading, bench.turns(TURNS))
    beside = tuple(limits[-len(taken.ours) :])
    ratio = Pairs(taken.ours, beside).ratio()
    yield Row(
        "a token after a short text / reading the weights at the measured bandwidth",
        report.spread(spread_of(taken.ours)),
        report.spread(spread_of(beside)),
        report.spread(ratio, report.factor),
    )
    rates = Spread(tuple(step_bytes / each.wall for each in beside))
    yield Row("  the bandwidth measured, GB a second", report.spread(rates, lambda value: f"{value / 1e9:.1f}"))
