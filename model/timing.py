"""Writing, timed: each forward pass by the clock, several times over, with the cache and without.

Every measurement is an iterator of snapshots: who draws it sees it grow, and who stops asking
stops it, with everything measured so far in hand.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

import torch
from transformers import DynamicCache

from model.architecture import Architecture
from model.clock import Takes
from model.cost import work
from model.generation import Step, Stop, generate
from model.kv_cache import CacheRows, rows_of
from model.language_model import LanguageModel
from model.sampling import Settings
from model.tokens import Tokens
from model.tracing import as_tokens


@dataclass(frozen=True)
class TimedPass:
    """One forward pass of a way of writing, timed in one or more takes.

    Attributes:
        index: 0 for the prefill, then 1, 2, … for the decodes.
        computed: positions worked out.
        read: positions read from the cache.
        token: the token drawn from it.
        times: of the pass and the draw together, one number a take.
        held: positions in each layer's cache afterwards; empty without a cache.
        cache_bytes: bytes of the cache's tensors afterwards.
    """

    index: int
    computed: int
    read: int
    token: int
    times: Takes
    held: tuple[int, ...]
    cache_bytes: int

    @property
    def seconds(self) -> float:
        """The median of the takes."""
        return self.times.median


@dataclass(frozen=True, eq=False)
class TimedWriting:
    """The same text written several times in one way.

    Attributes:
        use_cache: the way: with the KV cache or without.
        passes: prefill first.
        stop: why writing stopped, or None while it has not.
        logits: the model's logits of each pass, float32 (passes, vocabulary size).
        rows: what the cache held at the end; None without a cache and while writing goes on.
        architecture: of the model that wrote.
    """

    use_cache: bool
    passes: tuple[TimedPass, ...]
    stop: Stop | None
    logits: torch.Tensor = field(repr=False)
    rows: CacheRows | None = field(repr=False)
    architecture: Architecture = field(repr=False)

    @property
    def tokens(self) -> tuple[int, ...]:
        """The token IDs written."""
        return tuple(each.token for each in self.passes)

    @property
    def takes(self) -> int:
        """How many times the writing was timed from its first pass to its last."""
        return min(len(each.times) for each in self.passes)

    @property
    def first_token(self) -> Takes:
        """Time to first token: the prefill and the first draw."""
        return self.passes[0].times

    @property
    def between(self) -> tuple[float, ...]:
        """Time between tokens: the median of each decode. The first token's time is no part of it."""
        return tuple(each.seconds for each in self.passes[1:])

    @property
    def typical_decode(self) -> float | None:
        """The median of the times between tokens, seconds; None if there was only one."""
        return median(self.between) if self.between else None

    @property
    def seconds(self) -> float:
        """Time of the whole writing: the sum of its passes' medians."""
        return sum(each.seconds for each in self.passes)

    @property
    def total(self) -> Takes:
        """Time of the whole writing, take by take."""
        return Takes.summed([each.times for each in self.passes])

    @property
    def prefill_rate(self) -> float:
        """Prompt tokens read a second."""
        return self.passes[0].computed / self.first_token.median

    @property
    def decode_rate(self) -> float | None:
        """Tokens written a second after the first; None if there was only one."""
        return len(self.between) / sum(self.between) if self.between else None

    @property
    def rows_computed(self) -> int:
        """Positions worked out, all passes together."""
        return sum(each.computed for each in self.passes)

    @property
    def in_cache(self) -> int:
        """Positions that the last pass had before it or worked out: the last token drawn is not among them."""
        return self.passes[-1].read + self.passes[-1].computed

    @property
    def operations(self) -> int:
        """Work of all passes together, by formula."""
        return sum(work(self.architecture, each.computed, each.read).operations for each in self.passes)

    @property
    def nbytes(self) -> int:
        return self.logits.nbytes + (self.rows.nbytes if self.rows else 0)


@dataclass(frozen=True, eq=False)
class Measurement:
    """A measurement as far as it has come.

    Attributes:
        prompt: the tokens that were given.
        cached: with the cache; None before its first pass.
        uncached: without; None before its first pass, and where it was not asked for.
        done, planned: forward passes, those to warm up included.
        doing: what the next pass is, a phrase.
    """

    prompt: Tokens
    cached: TimedWriting | None
    uncached: TimedWriting | None
    done: int
    planned: int
    doing: str

    @property
    def finished(self) -> bool:
        return self.done >= self.planned

    @property
    def nbytes(self) -> int:
        return sum(writing.nbytes for writing in (self.cached, self.uncached) if writing is not None)

    @property
    def same_tokens(self) -> bool:
        """Whether both ways wrote the same tokens, as far as both have come."""
        both = zip(self.cached.tokens, self.uncached.tokens, strict=False)
        return all(first == second for first, second in both)

    @property
    def logit_difference(self) -> tuple[float, float]:
        """The largest difference of any logit between both ways, and the largest logit, for scale."""
        count = min(len(self.cached.passes), len(self.uncached.passes))
        first, second = self.cached.logits[:count], self.uncached.logits[:count]
        return float((first - second).abs().max()), float(first.abs().max())

    @property
    def times_the_operations(self) -> float:
        """How many times the operations of the way with the cache the other way took."""
        return self.uncached.operations / self.cached.operations

    @property
    def times_the_time(self) -> float:
        """How many times the time of the way with the cache the other way took."""
        return self.uncached.seconds / self.cached.seconds


def measure_writing(
    lm: LanguageModel,
    text_or_ids: str | Tokens | Sequence[int],
    settings: Settings | None = None,
    *,
    tokens: int = 16,
    takes: int = 3,
    both: bool = False,
    first_number: int = 0,
) -> Iterator[Measurement]:
    """Write ``tokens`` tokens ``takes`` times, and time each forward pass.

    A prefill and two decodes come first and are thrown away: the first run of a model pays for
    what every later one finds ready. With ``both`` the two ways take turns, in alternating order,
    so that whatever slows the machine meets them alike.

    Raises:
        TextRefused: if there is nothing to run, or if the prompt and what is to be written are
            more than the model was made for.
    """
    prompt = as_tokens(lm, text_or_ids)
    lm.check_length(len(prompt))
    lm.check_length(len(prompt) + tokens)
    settings = settings or Settings()
    ways = (True, False) if both else (True,)
    state = _State(lm, prompt, planned=len(ways) * (min(3, tokens) + takes * tokens))
    for use_cache in ways:
        for _ in generate(lm, prompt, settings, use_cache, min(3, tokens), first_number=first_number):
            yield state.after_pass("warming up")
    for take in range(takes):
        for use_cache in ways if take % 2 == 0 else reversed(ways):
            cache = DynamicCache(config=lm.module.config) if use_cache else None
            for step in generate(lm, prompt, settings, use_cache, tokens, first_number=first_number, cache=cache):
                state.record(use_cache, step, cache)
                yield state.after_pass(f"take {take + 1} of {takes}, {'with' if use_cache else 'without'} the cache")
    if not state.is_full:  # the model drew its end token: there was less to do than planned
        state.planned = state.done
        yield state.snapshot("done")


class _State:
    """What has been measured so far, made into a snapshot after each pass."""

    def __init__(self, lm: LanguageModel, prompt: Tokens, planned: int):
        self.architecture = lm.architecture
        self.prompt, self.planned, self.done = prompt, planned, 0
        self.steps: dict[bool, list[Step]] = {True: [], False: []}
        self.times: dict[bool, list[list[float]]] = {True: [], False: []}
        self.rows: CacheRows | None = None

    @property
    def is_full(self) -> bool:
        return self.done == self.planned

    def record(self, use_cache: bool, step: Step, cache: DynamicCache | None) -> None:
        steps, times = self.steps[use_cache], self.times[use_cache]
        if step.index == len(steps):
            steps.append(step)
            times.append([])
        times[step.index].append(step.seconds)
        if step.stop and cache is not None:
            self.rows = rows_of(cache)

    def after_pass(self, doing: str) -> Measurement:
        self.done += 1
        return self.snapshot(doing)

    def snapshot(self, doing: str) -> Measurement:
        return Measurement(self.prompt, self._writing(True), self._writing(False), self.done, self.planned, doing)

    def _writing(self, use_cache: bool) -> TimedWriting | None:
        steps = self.steps[use_cache]
        if not steps:
            return None
        passes = tuple(
            TimedPass(
                step.index, step.computed, step.cached, step.draw.id, Takes(tuple(times)), step.held, step.cache_bytes
            )
            for step, times in zip(steps, self.times[use_cache], strict=True)
        )
        logits = torch.stack([step.logits for step in steps])
        rows = self.rows if use_cache else None
        return TimedWriting(use_cache, passes, steps[-1].stop, logits, rows, self.architecture)
