"""Writing with a record of every step, against transformers' own ``generate``."""

from collections.abc import Iterator
from itertools import count

import torch

import model
from tests.bench import report
from tests.bench.bench import Bench
from tests.bench.measure import alternated
from tests.bench.report import Row

GOAL = 1.10
PROMPT, WRITTEN = 32, 48


def rows(bench: Bench) -> Iterator[Row]:
    """Seconds a token, the reading of the prompt included: the time of a whole text / its tokens.

    Both sample from the whole vocabulary at temperature 1, with a KV cache.
    """
    ids = bench.ids(PROMPT)
    settings = _settings_that_write_on(bench, ids)
    inputs = torch.tensor([ids])

    def ours():
        return list(model.generate(bench.lm, ids, settings, max_tokens=WRITTEN))

    def theirs():
        return bench.plain.generate(
            inputs,
            attention_mask=torch.ones_like(inputs),
            do_sample=True,
            temperature=1.0,
            top_k=0,
            top_p=1.0,
            min_new_tokens=WRITTEN,
            max_new_tokens=WRITTEN,
        )

    pairs = alternated(ours, theirs, bench.turns(9))
    yield report.compared(f"a token, {WRITTEN} written with records / generate", pairs, GOAL, per=WRITTEN)


def _settings_that_write_on(bench: Bench, ids: list[int]) -> model.Settings:
    """Settings with the first seed that does not draw the end token before the last step."""
    for seed in count():
        settings = model.Settings(seed=seed)
        if sum(1 for _ in model.generate(bench.lm, ids, settings, max_tokens=WRITTEN)) == WRITTEN:
            return settings
