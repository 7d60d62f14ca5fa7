"""Which head matters: every head switched off alone, against as many plain forward passes."""

from collections.abc import Iterator

import torch

import model
from model.what_if import all_heads, sweep
from tests.bench import report
from tests.bench.bench import Bench
from tests.bench.measure import Pairs, Taken, alternated
from tests.bench.report import Row

PROMPT, TURNS = 16, 3
GOAL = 1.2


def rows(bench: Bench) -> Iterator[Row]:
    """The sweep's time over the number of heads × one plain pass of the same prompt."""
    ids = bench.ids(PROMPT)
    tokens, tried = model.trace(bench.lm, ids).tokens, all_heads(bench.lm)
    inputs = torch.tensor([ids])

    @torch.inference_mode()
    def plain() -> None:
        for _ in range(10):
            bench.plain(inputs, use_cache=False, logits_to_keep=1)

    pairs = alternated(lambda: list(sweep(bench.lm, tokens, tried)), plain, TURNS)
    times = len(tried) / 10
    beside = tuple(Taken(each.wall * times, each.processor * times) for each in pairs.theirs)
    what = f"all {len(tried)} heads off one by one, {PROMPT} tokens / as many plain passes"
    yield from report.compared(what, Pairs(pairs.ours, beside), GOAL)
