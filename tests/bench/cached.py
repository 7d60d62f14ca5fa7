"""What the KV cache saves."""

from collections.abc import Iterator

from transformers import DynamicCache

from model.forward import forward
from tests.bench import report
from tests.bench.bench import Bench
from tests.bench.measure import Pairs, alternated
from tests.bench.report import Row

LENGTHS = (256, 1_024)
TURNS = 8


def rows(bench: Bench) -> Iterator[Row]:
    """The step that adds one token to a text, computing all positions again, against one that reads the cache."""
    for length in LENGTHS:
        pairs = _uncached_and_cached(bench, length)
        yield from report.compared(f"a step at {length:,} tokens without the cache / with it", pairs)


def _uncached_and_cached(bench: Bench, length: int) -> Pairs:
    ids = bench.ids(length + 1)
    cache = DynamicCache(config=bench.lm.module.config)
    forward(bench.lm, [ids[:-1]], cache)

    def cached() -> None:
        forward(bench.lm, [ids[-1:]], cache)
        cache.crop(-1)  # back to where it was, so that every turn does the same

    return alternated(lambda: forward(bench.lm, [ids]), cached, bench.turns(TURNS), patience=40)
