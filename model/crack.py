"""One word edited: how far the two runs' vectors differ, position by position and layer by layer.

The size of a difference is ‖a − b‖ / ((‖a‖ + ‖b‖) / 2): the length of the difference of two
vectors, their mean length being 1. It is 0 where they are the same and at most 2.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from model.context import is_unspaced
from model.tokens import Tokens
from model.tracing import Trace

#: Below this a relative difference left of the edit can only be rounding: kernels that add in
#: another order at another length gave at most 3e-5 on the default model (512 tokens).
ROUNDING = 1e-4

#: Columns drawn at most.
COLUMNS = 64


# ---- the edit ----------------------------------------------------------------------------------


def words(tokens: Tokens) -> list[tuple[int, int, int]]:
    """What can be edited, as (first position, start, end) in characters.

    A run of characters without white space, less the punctuation around it where a word remains;
    in a script that is written without spaces, a token.
    """
    found: list[tuple[int, int, int]] = []
    for start, end in _runs(tokens.text):
        inside = [at for at in range(start, end) if tokens.text[at].isalnum()]
        if inside:
            start, end = inside[0], inside[-1] + 1
        own = [t for t in tokens if t.start is not None and t.start < end and t.end > start]
        if any(map(is_unspaced, tokens.text[start:end])):
            found += [(t.position, max(start, t.start), min(end, t.end)) for t in own]
        elif own:
            found.append((own[0].position, start, end))
    return found


def _runs(text: str) -> list[tuple[int, int]]:
    runs, start = [], None
    for at, character in enumerate(text + " "):
        if character.isspace():
            if start is not None:
                runs.append((start, at))
            start = None
        elif start is None:
            start = at
    return runs


def chosen_word(tokens: Tokens, position: int) -> tuple[int, int, int] | None:
    """The word to edit: the one that holds ``position`` or begins last before it.

    A negative position chooses a name, a word that begins with a capital and is not the first;
    where there is none, the word in the middle. None if the text has no word.
    """
    found = words(tokens)
    if not found:
        return None
    if position >= 0:
        return ([word for word in found if word[0] <= position] or found[:1])[-1]
    named = [word for word in found[1:] if tokens.text[word[1]].isupper()]
    return named[0] if named else found[len(found) // 2]


def edited(text: str, start: int, end: int, replacement: str) -> str:
    """The text with its characters from ``start`` to ``end`` replaced; without a word too many spaces go, too."""
    replacement = replacement.strip()
    if not replacement and start and text[start - 1] == " ":
        start -= 1
    return text[:start] + replacement + text[end:]


# ---- the two runs side by side -----------------------------------------------------------------


@torch.inference_mode()
def relative_difference(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """‖a − b‖ / ((‖a‖ + ‖b‖) / 2) of the rows of two (rows, hidden size), float32 (rows,).

    Exactly 0 where two rows are the same.
    """
    first, second = first.float(), second.float()
    lengths = (first.norm(dim=-1) + second.norm(dim=-1)) / 2
    return (first - second).norm(dim=-1) / torch.where(lengths > 0, lengths, 1.0)


def common_prefix(first: Tokens, second: Tokens) -> int:
    """How many tokens two texts begin with in common."""
    pairs = zip(first.ids, second.ids, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))


@dataclass(frozen=True)
class PrefixDifference:
    """How far two runs differ over the tokens they begin with in common.

    Attributes:
        positions: how many tokens.
        vectors: how many vectors were compared: positions × (layers + 1).
        largest: largest |a − b| of any number in them; exactly 0.0 if all are the same.
        relative: largest relative difference of two vectors.
        scale: the largest |a| among those numbers.
    """

    positions: int
    vectors: int
    largest: float
    relative: float
    scale: float


@torch.inference_mode()
def prefix_difference(first: Trace, second: Trace, positions: int | None = None) -> PrefixDifference:
    """Compare all vectors of the common prefix, or of its first ``positions``, in all layers."""
    n = common_prefix(first.tokens, second.tokens) if positions is None else positions
    largest = relative = scale = 0.0
    for one, other in zip(first.streams, second.streams, strict=True):
        if n:
            one, other = one[:n].float(), other[:n].float()
            largest = max(largest, float((one - other).abs().max()))
            relative = max(relative, float(relative_difference(one, other).max()))
            scale = max(scale, float(one.abs().max()))
    return PrefixDifference(n, n * len(first.streams), largest, relative, scale)


@dataclass(frozen=True, eq=False)
class Crack:
    """Two runs of a text, one word of it edited.

    Attributes:
        first, second: the runs before and after the edit.
    """

    first: Trace
    second: Trace

    @cached_property
    def prefix(self) -> int:
        """How many tokens stand left of the edit in both."""
        return common_prefix(self.first.tokens, self.second.tokens)

    @property
    def aligned(self) -> bool:
        """Whether both have the same number of tokens, so that every position has its counterpart."""
        return len(self.first) == len(self.second)

    @property
    def same(self) -> bool:
        """Whether the edit changed nothing."""
        return self.first.tokens.ids == self.second.tokens.ids

    @property
    def count(self) -> int:
        """How many columns there are: the tokens of the text before the edit."""
        return len(self.first)

    @cached_property
    def changed(self) -> list[int]:
        """Positions whose token is another one; of texts of unequal length, where they part."""
        if not self.aligned:
            return [self.prefix] if self.prefix < self.count else []
        pairs = zip(self.first.tokens.ids, self.second.tokens.ids, strict=True)
        return [position for position, (a, b) in enumerate(pairs) if a != b]

    def counterpart(self, position: int) -> int | None:
        """The position of the second run that is compared with ``position``; None if it is shifted."""
        if self.aligned or position < self.prefix:
            return position
        return len(self.second) - 1 if position == self.count - 1 else None

    @cached_property
    def differences(self) -> np.ndarray:
        """Relative differences, float32 (layers + 1, positions); NaN where a position is shifted."""
        n = self.count if self.aligned else self.prefix
        rows = []
        for one, other in zip(self.first.streams, self.second.streams, strict=True):
            row = torch.full((self.count,), torch.nan)
            if n:
                row[:n] = relative_difference(one[:n], other[:n]).cpu()
            if n < self.count:
                row[-1:] = relative_difference(one[-1:], other[-1:]).cpu()
            rows.append(row)
        return torch.stack(rows).numpy()

    @cached_property
    def untouched(self) -> PrefixDifference:
        """What was measured left of the edit."""
        return prefix_difference(self.first, self.second, self.prefix)

    @cached_property
    def drawn(self) -> np.ndarray:
        """The differences with NaN, plain paper, where they are 0, and left of the edit where they round to it."""
        values = np.where(self.differences == 0, np.nan, self.differences)
        left = values[:, : self.prefix]
        values[:, : self.prefix] = np.where(left < ROUNDING, np.nan, left)
        return values

    @cached_property
    def window(self) -> slice:
        """The columns drawn: all, or ``COLUMNS`` of them around the edit."""
        return window_around(self.changed[0] if self.changed else 0, self.count)

    @property
    def right(self) -> list[int]:
        """The positions right of the edit that have a counterpart."""
        last = max(self.changed, default=self.count)
        return [p for p in range(last + 1, self.count) if self.counterpart(p) is not None]

    def mean_right(self, row: int) -> float:
        """Mean difference right of the edit in one row of the differences; there must be a position."""
        return float(self.differences[row, self.right].mean())

    @property
    def steepest(self) -> tuple[int, float, float] | None:
        """(layer, before, after): where the mean difference right of the edit grows most; None without any."""
        if not self.right:
            return None
        means = self.differences[:, self.right].mean(1)
        layer = int(np.diff(means).argmax())
        return layer, float(means[layer]), float(means[layer + 1])


def window_around(position: int, count: int) -> slice:
    """At most ``COLUMNS`` of ``count`` positions with ``position`` among them, more after it than before."""
    start = max(0, min(position - COLUMNS // 4, count - COLUMNS))
    return slice(start, min(start + COLUMNS, count))


def both_answers(first: torch.Tensor, second: torch.Tensor, count: int) -> tuple[list[int], np.ndarray]:
    """The likeliest next tokens of two runs, in both.

    Args:
        first, second: logits, (vocabulary size,).
        count: how many of either are taken.

    Returns:
        Token IDs, those of either run, likeliest first; and (2, tokens + 1) probabilities, the
        last column all other tokens.
    """
    shares = torch.stack([first, second]).double().softmax(-1).cpu()
    ids = sorted(
        {id for row in shares for id in row.topk(min(count, len(row))).indices.tolist()},
        key=lambda id: -float(shares[:, id].max()),
    )
    told = shares[:, ids]
    return ids, torch.cat([told, (1 - told.sum(1, keepdim=True)).clamp_min(0)], dim=1).numpy()
