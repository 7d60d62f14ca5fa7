"""What the model would say if a layer were its last: the logit lens (nostalgebraist 2020).

The final normalisation and the unembedding are put on the residual stream as it leaves each layer.
It is a way of reading, not something the model does: only the last layer was trained to be read so.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from model.tracing import Trace

#: Guesses kept at each step.
GUESSES = 5

#: Logits in memory at once, about: 64 MB of them. Several positions in one product take a third of the time.
LOGITS = 16_000_000


@dataclass(frozen=True, eq=False)
class LensColumn:
    """The lens at one position. Step 0 is before layer 0, step l + 1 after layer l.

    Attributes:
        ids: the likeliest tokens of each step, likeliest first, (layers + 1, guesses).
        probabilities: theirs, over the whole vocabulary, (layers + 1, guesses).
        final: the token that the model itself finds likeliest at the end.
        ranks: the place of ``final`` among all tokens at each step, 1 is first, (layers + 1,).
        chances: the probability of ``final`` at each step, (layers + 1,).
    """

    ids: np.ndarray
    probabilities: np.ndarray
    final: int
    ranks: np.ndarray
    chances: np.ndarray

    def best(self, layer: int) -> tuple[int, float]:
        """The likeliest token after ``layer`` (−1: before layer 0), and its probability."""
        return int(self.ids[layer + 1, 0]), float(self.probabilities[layer + 1, 0])

    @property
    def settled(self) -> int:
        """The first step from which ``final`` stays in the first place to the end."""
        behind = np.flatnonzero(self.ranks > 1)
        return int(behind[-1]) + 1 if len(behind) else 0


def lens_column(run: Trace, position: int) -> LensColumn:
    """The lens at ``position`` through all layers; the last step is the model's own answer."""
    return lens_columns(run, [position])[0]


@torch.inference_mode()
def lens_columns(run: Trace, positions: Sequence[int]) -> list[LensColumn]:
    """The lens at several positions, as many at once as :data:`LOGITS` allows."""
    shape = run.model.architecture
    block = max(1, LOGITS // ((shape.layers + 1) * shape.vocabulary_size))
    found = []
    for start in range(0, len(positions), block):
        some = list(positions[start : start + block])
        before = run.model.unembed(torch.stack([stream[some] for stream in run.streams[:-1]], dim=1))
        for position, logits in zip(some, before, strict=True):
            found.append(_column(torch.cat([logits, run.lens(shape.layers - 1, position)[None]])))
    return found


def _column(logits: torch.Tensor) -> LensColumn:
    """One position's column, from the logits of each step, (layers + 1, vocabulary size)."""
    probabilities = logits.softmax(-1)
    best = logits.topk(min(GUESSES, logits.shape[-1]), dim=-1).indices
    final = int(best[-1, 0])
    ranks = 1 + (logits > logits[:, final, None]).count_nonzero(-1)
    return LensColumn(
        ids=best.cpu().numpy(),
        probabilities=probabilities.gather(-1, best).cpu().numpy(),
        final=final,
        ranks=ranks.cpu().numpy(),
        chances=probabilities[:, final].cpu().numpy(),
    )


@dataclass(frozen=True, eq=False)
class LensGrid:
    """The lens at consecutive positions, rows are steps.

    Attributes:
        first: the first position.
        columns: one a position.
    """

    first: int
    columns: Sequence[LensColumn]

    @property
    def ids(self) -> np.ndarray:
        """The likeliest token of each cell, (layers + 1, positions)."""
        return np.stack([column.ids[:, 0] for column in self.columns], axis=1)

    @property
    def probabilities(self) -> np.ndarray:
        """Its probability, (layers + 1, positions)."""
        return np.stack([column.probabilities[:, 0] for column in self.columns], axis=1)

    @property
    def most_misleading(self) -> tuple[int, int] | None:
        """(step, position) of the surest guess that is not what the model says in the end.

        Step 0 is left out: there the token itself is looked up again.
        """
        finals = np.array([column.final for column in self.columns])
        wrong = np.where(self.ids[1:] == finals, -1.0, self.probabilities[1:])
        step, column = np.unravel_index(int(wrong.argmax()), wrong.shape)
        return (int(step) + 1, self.first + int(column)) if wrong[step, column] > 0 else None


def window_around(position: int, count: int, most: int) -> range:
    """At most ``most`` of ``count`` positions around ``position``.

    The window moves in steps of half its width, so that it stands still when a neighbour of what
    is selected is selected.
    """
    step = max(1, most // 2)
    first = max(0, min(position // step * step - step // 2, count - most))
    return range(first, min(count, first + most))
