"""From logits to one token: the stages of sampling, each kept, and the draw.

All stages work on the whole vocabulary. The logits are float32; probabilities are worked out in
float64, as a browser does, so that the picture that moves there and the referee here cut at the
same token. The rules are those of transformers' logits processors, in their order:

    repetition penalty → temperature → top-k → top-p → min-p → renormalise → draw
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch

from model.errors import SettingRefused

#: Slack in the comparison with top-p: one rounding of a float32 probability. Without it,
#: probabilities .5 .3 .2 would need a third token to reach .8.
ROUNDING = 1e-7


@dataclass(frozen=True)
class Settings:
    """How the next token is picked.

    Attributes:
        temperature: 0 is greedy; 1 leaves the model's distribution as it is.
        top_k: keep the k likeliest tokens, and those equal to the k-th; 0 is off.
        top_p: keep the fewest tokens that together reach this probability; 1 is off.
        min_p: keep tokens at least this share as likely as the likeliest; 0 is off.
        seed: of the generator that draws.
        repetition_penalty: how much less likely a token becomes that has stood before; 1 is off.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int = 0
    repetition_penalty: float = 1.0

    def __post_init__(self):
        checks = (
            (math.isfinite(self.temperature) and self.temperature >= 0, "The temperature is a number from 0 up."),
            (self.top_k >= 0, "Top-k is 0 (off) or a whole number of tokens to keep."),
            (0 < self.top_p <= 1, "Top-p is above 0 and at most 1 (off)."),
            (0 <= self.min_p <= 1, "Min-p is from 0 (off) to 1."),
            (0 < self.repetition_penalty < math.inf, "The repetition penalty is a number above 0; 1 is off."),
        )
        for holds, sentence in checks:
            if not holds:
                raise SettingRefused(sentence)

    @property
    def greedy(self) -> bool:
        return self.temperature == 0


@dataclass(frozen=True)
class Stage:
    """What is left after one stage.

    Attributes:
        name: ``temperature``, ``top-k``, ``top-p`` or ``min-p``.
        candidates: how many tokens are left.
        kept: the probability they had together before the stage cut, of 1.
        remaining: the probability they have together under the temperature alone.
        probabilities: renormalised over what is left, in the order of ``Stages.order``; the
            tokens that are left come first, and the tensor has just their length.
    """

    name: str
    candidates: int
    kept: float
    remaining: float
    probabilities: torch.Tensor


@dataclass(frozen=True)
class Stages:
    """All stages of one choice.

    Attributes:
        settings: what was asked for.
        order: token IDs, likeliest first, ties by the smaller ID; (vocabulary size,).
        logits: the logits in that order, float32.
        stages: temperature, top-k, top-p, min-p.
    """

    settings: Settings
    order: torch.Tensor
    logits: torch.Tensor
    stages: tuple[Stage, ...]

    @property
    def candidates(self) -> int:
        """How many tokens can be drawn."""
        return self.stages[-1].candidates

    @property
    def probabilities(self) -> torch.Tensor:
        """Probability of each candidate, float64, in the order of ``order``."""
        return self.stages[-1].probabilities

    @property
    def entropy(self) -> float:
        """Entropy of the final distribution in bits."""
        return entropy_bits(self.probabilities)


@dataclass(frozen=True)
class Draw:
    """One draw.

    Attributes:
        id: the token drawn.
        rank: its place in the order, 0 for the likeliest.
        probability: its probability in the final distribution.
        uniform: the number drawn, from 0 up to 1; None if greedy.
        start, end: the stretch of 0 to 1 that belongs to the token.
    """

    id: int
    rank: int
    probability: float
    uniform: float | None
    start: float
    end: float


@torch.inference_mode()
def penalised(logits: torch.Tensor, seen: Iterable[int], penalty: float) -> torch.Tensor:
    """Logits with those of tokens that have stood before made smaller (Keskar et al. 2019).

    A positive logit is divided by the penalty and a negative one multiplied, once for each
    distinct token however often it stood.

    Args:
        logits: (vocabulary size,).
        seen: token IDs of the text so far.
        penalty: 1 changes nothing; above 1 makes repetition less likely.
    """
    if penalty == 1:
        return logits
    ids = torch.tensor(sorted(set(seen)), device=logits.device)
    changed, old = logits.clone(), logits[ids]
    changed[ids] = torch.where(old > 0, old / penalty, old * penalty)
    return changed


@torch.inference_mode()
def sampling_stages(logits: torch.Tensor, settings: Settings | None = None) -> Stages:
    """Every stage from logits to the distribution that is drawn from.

    Args:
        logits: (vocabulary size,), any float dtype; −∞ is allowed, NaN is not.
    """
    settings = settings or Settings()
    logits = logits.detach().float().cpu()
    order = torch.sort(logits, descending=True, stable=True).indices
    ordered = logits[order]
    tempered = _tempered(ordered, settings.temperature)
    stages = [Stage("temperature", len(tempered), 1.0, 1.0, tempered)]
    for name, count in (("top-k", _top_k), ("top-p", _top_p), ("min-p", _min_p)):
        before = stages[-1].probabilities
        left = count(before, ordered, settings)
        kept = before[:left]
        remaining = float(tempered[:left].sum())
        stages.append(Stage(name, left, float(kept.sum()), remaining, kept / kept.sum()))
    return Stages(settings, order, ordered, tuple(stages))


def _tempered(ordered: torch.Tensor, temperature: float) -> torch.Tensor:
    if temperature == 0:
        return torch.ones(1, dtype=torch.float64)
    scaled = ordered.double() / temperature
    weights = (scaled - scaled[0]).exp()
    return weights / weights.sum()


def _top_k(probabilities: torch.Tensor, ordered: torch.Tensor, settings: Settings) -> int:
    k = settings.top_k
    if k == 0 or k >= len(probabilities):
        return len(probabilities)
    return int((ordered[: len(probabilities)] >= ordered[k - 1]).sum())


def _top_p(probabilities: torch.Tensor, ordered: torch.Tensor, settings: Settings) -> int:
    if settings.top_p >= 1:
        return len(probabilities)
    reached = probabilities.cumsum(0) >= settings.top_p - ROUNDING
    return int(reached.int().argmax()) + 1 if bool(reached.any()) else len(probabilities)


def _min_p(probabilities: torch.Tensor, ordered: torch.Tensor, settings: Settings) -> int:
    return max(1, int((probabilities >= settings.min_p * probabilities[0]).sum()))


def entropy_bits(probabilities: torch.Tensor) -> float:
    """Shannon entropy −Σ p log₂ p in bits; a probability of 0 adds nothing."""
    p = probabilities[probabilities > 0].double()
    return float(-(p * p.log2()).sum().clamp(max=0)) + 0.0


def uniforms(seed: int, count: int = 1) -> torch.Tensor:
    """The first ``count`` numbers, each from 0 up to 1, of the generator of ``seed``, float64.

    The generator is the draw's own: nothing else in the process is seeded or disturbed. Numbers
    repeat on the CPU for a given seed; torch promises that for one version and one device only.
    """
    return torch.rand(count, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def uniform_at(seed: int, index: int) -> float:
    """Number ``index`` of the generator of ``seed``: the one that draws the (index + 1)-th token."""
    return float(uniforms(seed, index + 1)[index])


def draw(stages: Stages, seed: int | None = None) -> Draw:
    """Draw one token: the one on whose stretch of 0 to 1 the generator's number falls.

    Args:
        seed: of the generator; None takes the settings' own.
    """
    seed = stages.settings.seed if seed is None else seed
    return draw_at(stages, None if stages.settings.greedy else float(uniforms(seed)[0]))


def draw_at(stages: Stages, uniform: float | None) -> Draw:
    """The token on whose stretch ``uniform`` falls; the likeliest if it is None."""
    probabilities = stages.probabilities
    ends = probabilities.cumsum(0)
    ends = ends / ends[-1]  # so that the last stretch ends at exactly 1, and no token of probability 0 is hit
    rank = 0
    if uniform is not None:
        rank = min(int(torch.searchsorted(ends, uniform, right=True)), len(ends) - 1)
    probability, end = float(probabilities[rank]), float(ends[rank])
    return Draw(int(stages.order[rank]), rank, probability, uniform, end - probability, end)


def nucleus_size(logits: torch.Tensor, share: float = 0.9) -> torch.Tensor:
    """How many of the likeliest tokens make up ``share`` of the probability.

    Args:
        logits: (..., vocabulary size).

    Returns:
        (...,) whole numbers.
    """
    ordered = logits.double().softmax(-1).sort(-1, descending=True).values
    return (ordered.cumsum(-1) < share - ROUNDING).sum(-1) + 1
