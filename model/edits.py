"""Ways to break the mechanism, so as to see what it was for.

An edit acts where the run is observed, in :mod:`model.taps`: the weights on disk and in memory
stay as they are, and nobody else's run is touched.
"""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class HeadOff:
    """Query head ``head`` of ``layer`` gives zeros, before the output projection mixes heads."""

    layer: int
    head: int

    def __str__(self) -> str:
        return f"layer {self.layer}, head {self.head} switched off"


@dataclass(frozen=True)
class KeyHidden:
    """No later position can look at ``position``, in any layer.

    The position itself still sees itself: a query with nothing to look at has no softmax.
    """

    position: int

    def __str__(self) -> str:
        return f"position {self.position} hidden from later positions"


Edit = HeadOff | KeyHidden


def check(edits: tuple[Edit, ...], layers: int, heads: int, positions: int) -> None:
    """Raise ``ValueError`` if an edit names a layer, head or position that is not there."""
    for edit in edits:
        match edit:
            case HeadOff(layer, head):
                inside = 0 <= layer < layers and 0 <= head < heads
            case KeyHidden(position):
                inside = 0 <= position < positions
            case _:
                raise ValueError(f"{edit!r} is not an edit this program knows.")
        if not inside:
            raise ValueError(f"{edit} is outside this run: {layers} layers, {heads} heads, {positions} positions.")


def hide_keys(visible: torch.Tensor, edits: tuple[Edit, ...]) -> torch.Tensor:
    """``visible`` (queries, keys) without what :class:`KeyHidden` hides.

    The last row is the last position, so with a KV cache there may be more keys than queries.
    """
    queries, keys = visible.shape
    for edit in edits:
        if isinstance(edit, KeyHidden) and edit.position < keys:
            own_row = edit.position - (keys - queries)
            visible = visible.clone()
            visible[max(0, own_row + 1) :, edit.position] = False
    return visible


def heads_off(layer: int, edits: tuple[Edit, ...]) -> list[int]:
    """The query heads switched off in ``layer``."""
    return [edit.head for edit in edits if isinstance(edit, HeadOff) and edit.layer == layer]
