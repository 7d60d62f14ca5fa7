"""One head of a run as plain arrays, for drawing and for sentences."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from model.lens import window_around
from model.overview import Overview
from model.tracing import Trace

#: Cells along the side of a map that is drawn whole; of a longer text each stands for a block.
CELLS = 256
#: Positions along the side of what is shown cell by cell of a longer text.
CLOSE = 48


@dataclass(frozen=True, eq=False)
class HeadView:
    """One head, and the query position that is looked at.

    Attributes:
        run: the trace.
        layer, head: which head.
        query: the position that looks.
        first_aside: leave the first token's column out of what is drawn; nothing is renormalised.
    """

    run: Trace
    layer: int
    head: int
    query: int
    first_aside: bool = False

    @cached_property
    def visible(self) -> np.ndarray:
        """(queries, keys), True where the query can see the key."""
        return self.run.visible(self.layer).cpu().numpy()

    @cached_property
    def scores(self) -> np.ndarray:
        """(queries, keys) scaled scores of all pairs, before the mask."""
        return self.run.scores(self.layer, self.head).float().cpu().numpy()

    @cached_property
    def weights(self) -> np.ndarray:
        """(queries, keys) attention weights, NaN where masked."""
        return np.where(self.visible, self.run.attention(self.layer, self.head).cpu().numpy(), np.nan)

    @property
    def masked_scores(self) -> np.ndarray:
        """The scores with NaN where masked."""
        return np.where(self.visible, self.scores, np.nan)

    @property
    def drawn_weights(self) -> np.ndarray:
        """The weights, the first column left out if it is set aside."""
        if not self.first_aside:
            return self.weights
        weights = self.weights.copy()
        weights[:, 0] = np.nan
        return weights

    def step(self, name: str) -> np.ndarray:
        """One of the three steps of a head, (queries, keys): ``scores``, ``mask`` or ``weights``."""
        return {"scores": self.scores, "mask": self.masked_scores, "weights": self.drawn_weights}[name]

    @property
    def block(self) -> int:
        """Positions along the side of one cell of the whole map."""
        return -(-len(self.run) // CELLS)

    def close(self, key: int) -> tuple[range, range]:
        """The queries and the keys shown cell by cell: all, or of a long text those around the selected cell."""
        n = len(self.run)
        most = n if self.block == 1 else CLOSE
        return window_around(self.query, n, most), window_around(key, n, most)

    @property
    def most(self) -> float:
        """The weight that the brightest colour stands for."""
        if not self.first_aside or np.isnan(self.drawn_weights).all():
            return 1.0
        return max(float(np.nanmax(self.drawn_weights)), 0.01)

    @property
    def row(self) -> np.ndarray:
        """The query's weights over the keys up to itself, 0 where a window hides one."""
        return np.nan_to_num(self.weights[self.query, : self.query + 1])

    @property
    def row_scores(self) -> np.ndarray:
        """The query's scores over the keys up to itself."""
        return self.scores[self.query, : self.query + 1]

    @property
    def strongest(self) -> list[int]:
        """The keys of the row, the one with the largest weight first."""
        return [int(place) for place in np.argsort(-self.row, kind="stable")]

    def key_or_strongest(self, key: int) -> int:
        """``key`` if the query can see it, else the strongest one that is drawn."""
        if 0 <= key <= self.query and self.visible[self.query, key]:
            return key
        drawn = [place for place in self.strongest if not (self.first_aside and place == 0)]
        return drawn[0] if drawn else 0

    @property
    def seen_keys(self) -> list[int]:
        """The keys that the query can see."""
        return [int(key) for key in np.flatnonzero(self.visible[self.query])]

    @property
    def struck_out(self) -> int:
        """How many pairs the mask strikes out."""
        return int((~self.visible).sum())

    @property
    def row_sum_error(self) -> float:
        """How far the rows' sums are from 1, at most: rounding."""
        return float(np.abs(np.nansum(self.weights, axis=1) - 1).max())


def pooled(values: np.ndarray, block: int) -> np.ndarray:
    """The largest value of each block of a map, so that a thin line stays visible.

    Args:
        values: (queries, keys), NaN where masked.
        block: positions along the side of a block; those at the end may be smaller.

    Returns:
        (⌈queries / block⌉, ⌈keys / block⌉), NaN where a whole block is masked.
    """
    padding = [(0, -size % block) for size in values.shape]
    padded = np.pad(np.nan_to_num(values, nan=-np.inf), padding, constant_values=-np.inf)
    rows, columns = padded.shape
    largest = padded.reshape(rows // block, block, columns // block, block).max(axis=(1, 3))
    return np.where(np.isneginf(largest), np.nan, largest)


def drawn_maps(overview: Overview, first_aside: bool) -> tuple[np.ndarray, float]:
    """The overview's small maps, and the weight that their brightest colour stands for."""
    maps = overview.maps.numpy()
    if not first_aside or maps.shape[-1] == 1:
        return maps, 1.0
    maps = maps.copy()
    maps[..., 0] = np.nan
    return maps, max(float(np.nanmax(maps)), 0.01)
