"""Every head of a run at a glance: small maps, and a few numbers for each head."""

import math
from dataclasses import dataclass

import torch

from model.tracing import Trace

#: Cells along the side of a small map.
CELLS = 24


@dataclass(frozen=True)
class Overview:
    """All heads of one run.

    Attributes:
        maps: (layers, query heads, c, c) attention weights; row = query, column = key. With more
            than ``CELLS`` tokens each cell is the largest weight in its block of tokens, so that
            a thin line stays visible; NaN where a whole block is masked.
        block: tokens along the side of one cell.
        on_first: (layers, query heads) mean weight that queries after the first put on position 0.
        on_previous: (layers, query heads) mean weight that they put on the position before them.
        first_on_itself: (layers, query heads) weight of the first token on itself.
        distance: (layers, query heads) mean number of tokens looked back.
        entropy: (layers, query heads) mean entropy of a row, in bits.
    """

    maps: torch.Tensor
    block: int
    on_first: torch.Tensor
    on_previous: torch.Tensor
    first_on_itself: torch.Tensor
    distance: torch.Tensor
    entropy: torch.Tensor

    @property
    def sinks(self) -> int:
        """How many heads put more than half of their weight on the first token."""
        return int((self.on_first > 0.5).sum())

    @property
    def strongest_sink_layer(self) -> tuple[int, float]:
        """The layer whose heads put most of their weight on the first token, and how much."""
        means = self.on_first.mean(1)
        return int(means.argmax()), float(means.max())

    @property
    def previous_token_head(self) -> tuple[int, int, float]:
        """(layer, head, weight) of the head that looks most at the token just before."""
        best = int(self.on_previous.argmax())
        return *divmod(best, self.on_previous.shape[1]), float(self.on_previous.max())


@torch.inference_mode()
def attention_overview(run: Trace, cells: int = CELLS) -> Overview:
    """Small maps and summaries of all heads, one layer in memory at a time."""
    block = -(-len(run) // cells)
    rows = [_layer_overview(run, layer, block) for layer in range(run.model.architecture.layers)]
    maps, *summaries = (torch.stack(each).cpu() for each in zip(*rows, strict=True))
    return Overview(maps, block, *summaries)


def _layer_overview(run: Trace, layer: int, block: int) -> tuple[torch.Tensor, ...]:
    weights = run.layer_attention(layer)  # (heads, queries, keys)
    position = torch.arange(len(run), device=weights.device)
    back = (position[:, None] - position[None, :]).float()
    later = weights[:, 1:] if len(run) > 1 else weights
    previous = weights.diagonal(offset=-1, dim1=1, dim2=2) if len(run) > 1 else weights[..., 0]
    return (
        _pooled(weights, run.visible(layer), block),
        later[..., 0].mean(-1),
        previous.mean(-1),
        weights[:, 0, 0],
        (weights * back).sum(-1).mean(-1),
        torch.special.entr(weights).sum(-1).mean(-1) / math.log(2),
    )


def _pooled(weights: torch.Tensor, visible: torch.Tensor, block: int) -> torch.Tensor:
    """Largest visible weight of each block × block square, NaN where none is visible."""
    masked = weights.masked_fill(~visible, -1.0)
    if block > 1:
        masked = torch.nn.functional.max_pool2d(masked[None], block, ceil_mode=True)[0]
    return masked.masked_fill(masked < 0, torch.nan)
