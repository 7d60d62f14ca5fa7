"""What becomes of the model's answers when its KV cache is kept in fewer bits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from transformers import DynamicCache

from model.errors import SettingRefused
from model.generation import generate
from model.kv_cache import cache_bytes, quantised_cache
from model.language_model import LanguageModel
from model.sampling import Settings
from model.tokens import Tokens
from model.tracing import as_tokens
from model.what_if import divergence

GREEDY = Settings(temperature=0)


@dataclass(frozen=True, eq=False)
class KeptIn:
    """A greedy continuation with the cache kept in so many bits.

    Attributes:
        bits: of a cached value: 32 or 16 for the model's own precision, else 8, 4 or 2.
        prompt_bytes: bytes of the cache's tensors after the prompt, scales and zeros included.
        tokens: the token IDs written.
        logits: of each pass, float32 (passes, vocabulary size).
    """

    bits: int
    prompt_bytes: int
    tokens: tuple[int, ...]
    logits: torch.Tensor = field(repr=False)

    def departs(self, other: "KeptIn") -> int | None:
        """Index of the first token that differs from ``other``'s; None if none does."""
        for place, (mine, theirs) in enumerate(zip(self.tokens, other.tokens, strict=False)):
            if mine != theirs:
                return place
        return None

    def divergence(self, exact: "KeptIn") -> list[float]:
        """KL divergence of this from ``exact``, nats, at each pass whose text is the same in both.

        The first is always 0: the prompt's own pass still reads the keys and values it has just
        worked out.
        """
        departed = self.departs(exact)
        shared = min(len(self.tokens), len(exact.tokens)) if departed is None else departed + 1
        return divergence(exact.logits[:shared], self.logits[:shared]).tolist()


def kept_in_fewer_bits(
    lm: LanguageModel, text: str | Tokens | Sequence[int], bits: Sequence[int] = (8, 4, 2), tokens: int = 16
) -> Iterator[KeptIn]:
    """The same greedy continuation with the cache in full precision, then in 8, 4 and 2 bits.

    Raises:
        TextRefused: as :func:`model.generate` does.
        SettingRefused: for a model with windows; see :func:`model.kv_cache.quantised_cache`.
    """
    prompt = as_tokens(lm, text)
    lm.check_length(len(prompt))
    lm.check_length(len(prompt) + tokens)
    own = 8 * lm.bytes_per_value
    caches = [(own, lambda: DynamicCache(config=lm.module.config))]
    caches += [(each, lambda each=each: quantised_cache(lm.module.config, lm.architecture, each)) for each in bits]
    for each in bits:  # refused before anything runs
        quantised_cache(lm.module.config, lm.architecture, each)
    for each, made in caches:
        yield _continued(lm, prompt, each, made(), tokens)


def _continued(lm: LanguageModel, prompt: Tokens, bits: int, cache, tokens: int) -> KeptIn:
    steps, size = [], 0
    for step in generate(lm, prompt, GREEDY, max_tokens=tokens, cache=cache):
        size = size or cache_bytes(cache)
        steps.append(step)
    return KeptIn(bits, size, tuple(step.draw.id for step in steps), torch.stack([step.logits for step in steps]))


def likeliest_together(runs: Sequence[KeptIn], step: int, shown: int) -> tuple[list[int], np.ndarray]:
    """The next token of several runs at one pass.

    Args:
        shown: how many of each run's likeliest tokens are told apart.

    Returns:
        The token IDs told apart, those of the first run first; probabilities (runs, tokens + 1),
        the last column all other tokens.
    """
    probabilities = [run.logits[step].softmax(-1) for run in runs]
    ids = list(dict.fromkeys(id for each in probabilities for id in each.topk(shown).indices.tolist()))
    bars = np.array([each[ids].tolist() for each in probabilities])
    return ids, np.column_stack([bars, 1 - bars.sum(axis=1)])


def why_not_in_fewer_bits(lm: LanguageModel) -> str:
    """Why this model's cache cannot be kept in fewer bits here; empty if it can."""
    try:
        quantised_cache(lm.module.config, lm.architecture, 8)
    except SettingRefused as problem:
        return str(problem)
    return ""
