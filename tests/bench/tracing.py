"""A trace, which keeps what the model computed, against the same forward pass that keeps nothing."""

from collections.abc import Iterator

import torch

import model
from tests.bench import report
from tests.bench.bench import Bench
from tests.bench.measure import Pairs, alternated
from tests.bench.report import Row

GOAL = 1.15
#: Tokens, and how many turns.
LENGTHS = {16: 30, 64: 20, 256: 8, 512: 5, 1024: 4, 2048: 3}
#: From here on what is kept is as large as what the pass itself works with.
LONG = 512


def name(count: int) -> str:
    """The row of ``count`` tokens."""
    return f"trace of {count:,} tokens / plain forward pass"


def rows(bench: Bench) -> Iterator[Row]:
    for count, turns in LENGTHS.items():
        ids = bench.ids(count)
        yield from report.compared(name(count), _timed(bench, ids, turns), GOAL)
        kept = model.trace(bench.lm, ids).nbytes
        yield Row("  kept in memory", f"{report.size(kept)}, {report.size(kept / count)} a token")


def _timed(bench: Bench, ids: list[int], turns: int) -> Pairs:
    """``model.trace`` of token IDs, beside transformers' model on them with sdpa and without cache.

    Both work out the logits of the last position only. Tokenizing is part of neither.
    """
    inputs = torch.tensor([ids])

    @torch.inference_mode()
    def forward():
        return bench.plain(inputs, use_cache=False, logits_to_keep=1)

    return alternated(lambda: model.trace(bench.lm, ids), forward, bench.turns(turns), patience=30)
