"""Before and after an edit: what changed in the answer, in the prompt's own tokens, and which part matters.

Everything is told in probabilities of the whole vocabulary. KL divergence (Kullback and Leibler
1951) is Σ p log(p / q), here in nats, of the edited distribution q from the unedited p.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch

from model.edits import AttentionOff, Edit, Edits, FeedForwardOff, HeadOff, KeyHidden, MaskLifted, check
from model.forward import forward
from model.generation import generate
from model.language_model import LanguageModel
from model.sampling import Settings
from model.tokens import Tokens
from model.tracing import Trace

#: Tokens of one batch of a sweep, all rows together: enough to use the matrices well.
BATCH_TOKENS = 512
#: Rows at most: each is given the whole vocabulary's logits.
BATCH_ROWS = 32


@torch.inference_mode()
def divergence(before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
    """KL divergence of ``after`` from ``before``, nats, from logits (…, vocabulary size)."""
    true, seen = before.double().log_softmax(-1), after.double().log_softmax(-1)
    return (true.exp() * (true - seen)).sum(-1).clamp(min=0)


@dataclass(frozen=True)
class Following:
    """What follows the text in the whole run and in the broken one.

    Attributes:
        ids: the likeliest token IDs of either run, the whole run's likeliest first.
        whole, broken: their probabilities.
        best: the broken run's likeliest.
        divergence: of the broken distribution from the whole one, nats.
    """

    ids: tuple[int, ...]
    whole: tuple[float, ...]
    broken: tuple[float, ...]
    best: int
    divergence: float

    @property
    def target(self) -> int:
        """The whole run's likeliest."""
        return self.ids[0]


@torch.inference_mode()
def following(whole: Trace, broken: Trace, count: int) -> Following:
    """The ``count`` likeliest next tokens of each run, with the probabilities that both give them."""
    before, after = (run.last_logits.double().softmax(-1) for run in (whole, broken))
    ids = sorted({*before.topk(count).indices.tolist(), *after.topk(count).indices.tolist()}, key=lambda i: -before[i])
    return Following(
        tuple(ids),
        tuple(before[ids].tolist()),
        tuple(after[ids].tolist()),
        int(after.argmax()),
        float(divergence(whole.last_logits, broken.last_logits)),
    )


@dataclass(frozen=True)
class Reading:
    """How well a run foresaw its own text.

    Attributes:
        log_probabilities: natural logarithm of the probability of each token but the first, given
            those before it (and, under a lifted mask, those after it).
    """

    log_probabilities: tuple[float, ...]

    @property
    def perplexity(self) -> float | None:
        """exp of the mean surprise: as if so many tokens had been equally likely each time."""
        if not self.log_probabilities:
            return None
        return math.exp(-sum(self.log_probabilities) / len(self.log_probabilities))

    @property
    def probabilities(self) -> list[float]:
        return [math.exp(each) for each in self.log_probabilities]


@torch.inference_mode()
def reading(run: Trace) -> Reading:
    """The probability that ``run`` gave each token of its own text, before it came."""
    found: list[float] = []
    ids = torch.tensor(run.tokens.ids[1:], device=run.last_logits.device)
    for block in run.all_logits():
        following = ids[len(found) : len(found) + len(block)]
        probabilities = block[: len(following)].double().log_softmax(-1)
        found += probabilities.gather(1, following[:, None])[:, 0].tolist()
    return Reading(tuple(found))


@dataclass(frozen=True)
class Continuations:
    """The same text written on without the edits and with them, as far as it has come.

    Attributes:
        before, after: the token IDs written.
        planned: how many each will have.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    planned: int
    nbytes: int = 10_000

    @property
    def departs(self) -> int | None:
        """Index of the first token that differs; None while none does."""
        pairs = zip(self.before, self.after, strict=False)
        return next((place for place, (one, other) in enumerate(pairs) if one != other), None)


def continuations(
    lm: LanguageModel, tokens: Tokens, settings: Settings, edits: Edits, count: int = 16
) -> Iterator[Continuations]:
    """Write on twice, token by token: first without the edits, then with them.

    With a lifted mask no cache is used: each new token would change what the earlier ones see.
    """
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    for step in generate(lm, tokens, settings, max_tokens=count):
        before = (*before, step.draw.id)
        yield Continuations(before, after, count)
    for step in generate(lm, tokens, settings, MaskLifted() not in edits, count, edits):
        after = (*after, step.draw.id)
        yield Continuations(before, after, count)


@dataclass(frozen=True)
class Effect:
    """What one edit alone does to the next-token distribution.

    Attributes:
        edit: which.
        probability: of the token asked for, with the edit.
        divergence: of the edited distribution from the unedited one, nats.
    """

    edit: Edit
    probability: float
    divergence: float


@dataclass(frozen=True)
class Sweep:
    """Effects of many edits, each tried alone, as far as tried.

    Attributes:
        target: the token ID whose probability is asked for.
        probability: of it without any of them.
        effects: in the order of the edits.
        planned: how many edits there are.
    """

    target: int
    probability: float
    effects: tuple[Effect, ...]
    planned: int

    @property
    def nbytes(self) -> int:
        return 200 * self.planned

    @property
    def most(self) -> Effect:
        """The edit after which the target's probability has changed most."""
        return max(self.effects, key=lambda effect: abs(effect.probability - self.probability))

    @property
    def halving(self) -> int:
        """How many of the edits leave the target less than half of its probability."""
        return sum(effect.probability < self.probability / 2 for effect in self.effects)


def all_heads(lm: LanguageModel) -> list[Edit]:
    """Every query head off, layer by layer."""
    shape = lm.architecture
    return [HeadOff(layer, head) for layer in range(shape.layers) for head in range(shape.query_heads)]


def all_layers(lm: LanguageModel) -> list[Edit]:
    """Every layer's attention off, then every layer's feed-forward network."""
    layers = range(lm.architecture.layers)
    return [AttentionOff(layer) for layer in layers] + [FeedForwardOff(layer) for layer in layers]


def all_keys(tokens: Tokens) -> list[Edit]:
    """Every position hidden from the others; not the last, which the answer is read from."""
    return [KeyHidden(position) for position in range(len(tokens) - 1)]


def sweep(
    lm: LanguageModel, tokens: Tokens, tried: Sequence[Edit], target: int | None = None, edits: Edits = ()
) -> Iterator[Sweep]:
    """Try each edit alone on the same text, many in one pass; a snapshot after each batch.

    Args:
        tried: the edits. All must act on a row of a batch, as removed positions do not.
        target: the token ID whose probability is asked for; None is the likeliest.
        edits: what is broken in all of them, and in what they are compared with.

    Raises:
        TextRefused: if there is nothing to run, or more than the model was made for.
        ValueError: if an edit names what is not there.
    """
    lm.check_length(len(tokens))
    check((*tried, *edits), lm.architecture, len(tokens))
    before = _last_logits(lm, tokens, ((),), edits)[0]
    target = int(before.argmax()) if target is None else target
    state = Sweep(target, float(before.double().softmax(-1)[target]), (), len(tried))
    yield state
    rows = max(1, min(BATCH_ROWS, BATCH_TOKENS // len(tokens)))
    for start in range(0, len(tried), rows):
        batch = tried[start : start + rows]
        after = _last_logits(lm, tokens, tuple((edit,) for edit in batch), edits)
        chances = after.double().softmax(-1)[:, target].tolist()
        apart = divergence(before, after).tolist()
        effects = (Effect(*each) for each in zip(batch, chances, apart, strict=True))
        state = Sweep(target, state.probability, (*state.effects, *effects), len(tried))
        yield state


def _last_logits(lm: LanguageModel, tokens: Tokens, rows: tuple[Edits, ...], edits: Edits) -> torch.Tensor:
    """The logits after the last position, one row for each set of edits, float32."""
    return forward(lm, [tokens.ids] * len(rows), edits=edits, row_edits=rows).logits[:, -1]
