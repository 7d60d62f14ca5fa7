"""How near a decode step comes to the limit that memory sets."""

from collections.abc import Iterator

from transformers import DynamicCache

from model.cost import Work, work
from model.forward import forward
from model.machine import measure_machine
from tests.bench import report
from tests.bench.bench import Bench
from tests.bench.measure import Pairs, Spread, Taken, alternated, spread_of
from tests.bench.report import Row

#: Tokens in the cache before the step.
CONTEXTS = (32, 512, 2_048)
TURNS = 12


def rows(bench: Bench) -> Iterator[Row]:
    """A step's time over the time that reading its bytes takes at the bandwidth measured turn by turn."""
    rates: list[float] = []
    for context in CONTEXTS:
        done = work(bench.lm.architecture, 1, context, bytes_per_value=bench.lm.bytes_per_value)
        pairs = _step_and_reading(bench, done)
        yield Row(
            f"a step after {context:,} tokens / reading its bytes at the measured bandwidth",
            report.spread(spread_of(pairs.ours)),
            report.spread(spread_of(pairs.theirs)),
            report.spread(pairs.ratio(), report.factor),
        )
        yield Row("  what it reads", f"weights {report.size(done.weight_bytes)}, cache {report.size(done.read_bytes)}")
        rates += [_bytes_read(done) / each.wall for each in pairs.theirs]
    yield Row("the read bandwidth, measured between the steps", report.spread(Spread(tuple(rates)), report.rate))


def _bytes_read(done: Work) -> int:
    return done.weight_bytes + done.read_bytes


def _step_and_reading(bench: Bench, done: Work) -> Pairs:
    """The step, and the seconds that its bytes take at the rate at which a large matrix was read just then."""
    lm, ids = bench.lm, bench.ids(done.read + 1)
    cache = DynamicCache(config=lm.module.config)
    forward(lm, [ids[:-1]], cache)
    limits: list[Taken] = []

    def step() -> None:
        forward(lm, [ids[-1:]], cache)
        cache.crop(-1)  # back to where it was, so that every turn does the same

    def reading() -> None:
        *_, machine = measure_machine(lm, takes=1)
        seconds = _bytes_read(done) / machine.bandwidth.median
        limits.append(Taken(seconds, seconds))

    timed = alternated(step, reading, bench.turns(TURNS))
    return Pairs(timed.ours, tuple(limits[-len(timed.ours) :]))  # without the turn that is not counted
