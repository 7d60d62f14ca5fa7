"""Writing: the loop of forward pass and draw, one step at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from time import perf_counter

import torch
from transformers import Cache, DynamicCache

from model.edits import Edit
from model.forward import forward
from model.kv_cache import cache_bytes, held_positions
from model.language_model import LanguageModel
from model.sampling import Draw, Settings, draw_at, penalised, sampling_stages, uniforms
from model.tokens import Tokens
from model.tracing import as_tokens


class Stop(StrEnum):
    """Why writing stopped."""

    END_TOKEN = "the model drew its end token"
    LENGTH = "the number of tokens asked for was reached"
    CONTEXT = "the model's context is full"


@dataclass(frozen=True)
class Step:
    """One turn of the loop.

    Attributes:
        index: 0 for the step that reads the prompt (prefill), then 1, 2, …
        draw: the token drawn, and how.
        logits: the model's own, before any setting acts, float32 (vocabulary size,).
        computed: positions this forward pass computed.
        cached: positions read from the KV cache.
        stop: why writing stops after this step, or None.
        pass_seconds: time of the forward pass on this machine, waiting for the device included,
            for other visitors not.
        draw_seconds: time of the draw, from the logits to the token.
        held: positions that each layer's cache holds after this step; empty without a cache.
        cache_bytes: bytes of the cache's own tensors after this step.
    """

    index: int
    draw: Draw
    logits: torch.Tensor
    computed: int
    cached: int
    stop: Stop | None
    pass_seconds: float
    draw_seconds: float
    held: tuple[int, ...]
    cache_bytes: int

    @property
    def seconds(self) -> float:
        """Time of the whole step: forward pass and draw."""
        return self.pass_seconds + self.draw_seconds


def generate(
    lm: LanguageModel,
    text_or_ids: str | Tokens | Sequence[int],
    settings: Settings | None = None,
    use_cache: bool = True,
    max_tokens: int = 64,
    edits: tuple[Edit, ...] = (),
    first_number: int = 0,
    cache: Cache | None = None,
) -> Iterator[Step]:
    """Write on, step by step; the caller may stop asking at any step.

    The same settings, seed and prompt give the same tokens with the cache and without, up to
    rounding: without it every step computes all positions again.

    Args:
        max_tokens: how many tokens to write at most.
        first_number: index of the generator's number that draws the first token; above 0 to go
            on where an earlier call with the same seed stopped.
        cache: an empty cache of transformers to use, to be looked at afterwards or of another
            kind; by default one in the model's own precision.

    Raises:
        TextRefused: if there is nothing to run, or more than the model was made for.
    """
    settings = settings or Settings()
    sequence = list(as_tokens(lm, text_or_ids).ids)
    lm.check_length(len(sequence))
    if use_cache:
        cache = DynamicCache(config=lm.module.config) if cache is None else cache
    else:
        cache = None
    numbers = uniforms(settings.seed, first_number + max_tokens)[first_number:]
    cached = 0
    for index in range(max_tokens):
        passed = forward(lm, [sequence[cached:]], cache, edits=edits)
        logits = passed.last
        computed = len(sequence) - cached
        begun = perf_counter()
        number = None if settings.greedy else float(numbers[index])
        choice = penalised(logits, sequence, settings.repetition_penalty)
        drawn = draw_at(sampling_stages(choice, settings), number)
        stop = _why_stop(lm, drawn.id, index + 1 == max_tokens, len(sequence) + 1)
        draw_seconds = perf_counter() - begun
        held, size = held_positions(cache), cache_bytes(cache)
        yield Step(index, drawn, logits, computed, cached, stop, passed.seconds, draw_seconds, held, size)
        if stop:
            return
        cached = len(sequence) if use_cache else 0
        sequence.append(drawn.id)


def _why_stop(lm: LanguageModel, id: int, last: bool, length: int) -> Stop | None:
    if id in lm.end_ids:
        return Stop.END_TOKEN
    if length >= lm.architecture.positions:
        return Stop.CONTEXT
    return Stop.LENGTH if last else None
