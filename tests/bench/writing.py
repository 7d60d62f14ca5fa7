"""Writing with a record of every step, against transformers' own ``generate``."""

from collections.abc import Iterator
from itertools import count

import torch
from greenlet import getcurrent, greenlet
from transformers.generation.streamers import BaseStreamer

import model
from tests.bench import report
from tests.bench.bench import Bench
from tests.bench.measure import Pairs, Taken, taken, total, turns
from tests.bench.report import Row

GOAL = 1.10
PROMPT, WRITTEN = 32, 48
TEXTS = 6


def rows(bench: Bench) -> Iterator[Row]:
    """Seconds a token: the time of a whole text, the reading of its prompt included, / its tokens.

    Both sample from the whole vocabulary at temperature 1, with a KV cache, and write the same
    number of tokens. They take turns at every token, because a text takes seconds, in which the
    load of a shared machine changes.
    """
    ids = bench.ids(PROMPT)
    settings = _settings_that_write_on(bench, ids)
    _texts_by_turns(bench, ids, settings)  # not counted
    texts = [_texts_by_turns(bench, ids, settings) for _ in turns(bench.turns(TEXTS))]
    pairs = Pairs(*zip(*texts, strict=True))
    yield from report.compared(f"a token of {WRITTEN}, written with records / generate", pairs, GOAL, per=WRITTEN)


def _settings_that_write_on(bench: Bench, ids: list[int]) -> model.Settings:
    """Settings with the first seed that does not draw the end token before the last step."""
    for seed in count():
        settings = model.Settings(seed=seed)
        if sum(1 for _ in model.generate(bench.lm, ids, settings, max_tokens=WRITTEN)) == WRITTEN:
            return settings


def _texts_by_turns(bench: Bench, ids: list[int], settings: model.Settings) -> tuple[Taken, Taken]:
    """One text of ours and one of theirs, written in turn, a token at a time."""
    ours = model.generate(bench.lm, ids, settings, max_tokens=WRITTEN)
    theirs = _generate_by_steps(bench, ids)
    steps = [(taken(lambda: next(ours)), taken(lambda: next(theirs))) for _ in range(WRITTEN)]
    for _ in theirs:
        pass  # to where generate returns
    return total(step[0] for step in steps), total(step[1] for step in steps)


class _Pause(BaseStreamer):
    """Goes back to whoever waits, each time ``generate`` reports something."""

    def __init__(self):
        self._home = getcurrent()

    def put(self, value):
        self._home.switch()

    def end(self):
        """The end is no token."""


def _generate_by_steps(bench: Bench, ids: list[int]) -> Iterator[None]:
    """transformers' ``generate``, one token for each ``next``; what it does before is in the first."""
    inputs = torch.tensor([ids])
    writing = greenlet(bench.plain.generate)
    writing.switch(
        inputs,
        attention_mask=torch.ones_like(inputs),
        do_sample=True,
        temperature=1.0,
        top_k=0,
        top_p=1.0,
        min_new_tokens=WRITTEN,
        max_new_tokens=WRITTEN,
        streamer=_Pause(),
    )  # up to the prompt, which is reported first
    while not writing.dead:
        writing.switch()
        yield
