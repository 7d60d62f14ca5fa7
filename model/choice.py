"""One choice of a next token as plain arrays, for drawing and for sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from model.sampling import (
    Draw,
    Settings,
    Stages,
    draw_at,
    entropy_bits,
    nucleus_size,
    sampling_stages,
    uniform_at,
    uniforms,
)
from model.tracing import Trace


@dataclass(frozen=True, eq=False)
class Choice:
    """What can follow one position, under given settings.

    Attributes:
        logits: float32 (vocabulary size,).
        settings: how the token is picked.
        labels: a visible label for every row of the embedding table.
        index: which number of the seed's generator draws: 0 for the first token written, then 1 …
    """

    logits: torch.Tensor
    settings: Settings
    labels: Sequence[str]
    index: int = 0

    @cached_property
    def stages(self) -> Stages:
        return sampling_stages(self.logits, self.settings)

    @cached_property
    def draw(self) -> Draw:
        """The token that the settings' seed draws."""
        return draw_at(self.stages, self.uniform)

    @property
    def uniform(self) -> float | None:
        """The number drawn; None if greedy."""
        return None if self.settings.greedy else uniform_at(self.settings.seed, self.index)

    @property
    def drawn_label(self) -> str:
        return self.labels[self.draw.id]

    def likeliest(self, count: int) -> list[tuple[str, int, float]]:
        """(label, token ID, probability) of the likeliest tokens under the final distribution."""
        ids, probabilities = self.stages.order[:count].tolist(), self.stages.probabilities[:count].tolist()
        return [(self.labels[id], id, p) for id, p in zip(ids, probabilities, strict=False)]

    def rest(self, count: int) -> float:
        """Probability of all tokens but the ``count`` likeliest, under the final distribution."""
        return max(0.0, 1.0 - float(self.stages.probabilities[:count].sum()))

    def probability_of(self, id: int) -> float:
        """Probability of one token under the final distribution; 0 if it was cut."""
        rank = int((self.stages.order == id).nonzero()[0])
        return float(self.stages.probabilities[rank]) if rank < self.stages.candidates else 0.0

    def stage_bars(self, count: int) -> tuple[list[str], list[str], np.ndarray]:
        """The likeliest tokens through the stages, and the rest.

        Returns:
            Names of the stages; labels of the ``count`` likeliest tokens; and
            (stages, count + 1) probabilities, the last column the sum of all other tokens; NaN
            where a token has been cut, or nothing is left.
        """
        bars = np.full((len(self.stages.stages), count + 1), np.nan)
        for row, stage in enumerate(self.stages.stages):
            shown = min(count, stage.candidates)
            bars[row, :shown] = stage.probabilities[:shown].numpy()
            if stage.candidates > count:
                bars[row, count] = float(stage.probabilities[count:].sum())
        labels = [self.labels[id] for id in self.stages.order[:count].tolist()]
        return [stage.name for stage in self.stages.stages], labels, bars

    def cumulative(self) -> tuple[np.ndarray, np.ndarray]:
        """Ranks from 1, and the probability of that many likeliest tokens under the temperature.

        Thinned to about 400 points on a logarithmic rank, the first hundred ranks all kept.
        """
        total = self.stages.stages[0].probabilities.cumsum(0).numpy()
        spaced = np.geomspace(1, len(total), 300).round().astype(int)
        ranks = np.unique(np.concatenate([np.arange(1, min(100, len(total)) + 1), spaced]))
        return ranks, total[ranks - 1]

    def many_draws(self, draws: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw again and again: how often each of the likeliest came, beside its probability.

        Args:
            draws: how many, with the numbers of the settings' own generator.
            count: how many tokens are told apart; the last entry is all others together.

        Returns:
            (count + 1,) counts and (count + 1,) probabilities.
        """
        probabilities = self.stages.probabilities
        ends = probabilities.cumsum(0)
        ends = ends / ends[-1]
        numbers = uniforms(self.settings.seed, draws)
        ranks = torch.searchsorted(ends, numbers, right=True).clamp(max=len(ends) - 1)
        if self.settings.greedy:
            ranks = torch.zeros_like(ranks)
        counts = torch.bincount(ranks.clamp(max=count), minlength=count + 1)
        wanted = torch.zeros(count + 1, dtype=torch.float64)
        shown = min(count, len(probabilities))
        wanted[:shown], wanted[count] = probabilities[:shown], probabilities[count:].sum()
        return counts.numpy(), wanted.numpy()

    @property
    def entropy(self) -> float:
        """Entropy of the final distribution, bits."""
        return self.stages.entropy

    @property
    def entropy_before(self) -> float:
        """Entropy under the temperature alone, bits."""
        return entropy_bits(self.stages.stages[0].probabilities)


#: Positions whose nucleus is worked out: each sorts the whole vocabulary, about 4 ms.
NUCLEUS_POSITIONS = 64


@torch.inference_mode()
def nucleus_sizes(run: Trace, temperature: float, share: float = 0.9) -> tuple[int, np.ndarray]:
    """How many tokens make up ``share`` of the probability, at each of the last positions.

    Returns:
        The first position worked out, and a whole number for it and each one after.
    """
    first = max(0, len(run) - NUCLEUS_POSITIONS)
    logits = run.model.unembed(run.streams[-1][first:])
    if temperature == 0:
        return first, np.ones(len(run) - first, dtype=int)
    return first, nucleus_size(logits / temperature, share).cpu().numpy()
