"""Ways to break the mechanism, so as to see what it was for.

An edit acts where the run is observed, in :mod:`model.taps`: the weights on disk and in memory
stay as they are, and nobody else's run is touched. Edits combine in any number and order.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import torch

from model.architecture import Architecture


@dataclass(frozen=True)
class HeadOff:
    """Query head ``head`` of ``layer`` gives zeros, before the output projection mixes heads."""

    layer: int
    head: int

    def __str__(self) -> str:
        return f"layer {self.layer}, head {self.head} switched off"


@dataclass(frozen=True)
class AttentionOff:
    """The attention of ``layer`` adds nothing to the residual stream."""

    layer: int

    def __str__(self) -> str:
        return f"layer {self.layer}, attention switched off"


@dataclass(frozen=True)
class FeedForwardOff:
    """The feed-forward network of ``layer`` adds nothing to the residual stream."""

    layer: int

    def __str__(self) -> str:
        return f"layer {self.layer}, feed-forward network switched off"


@dataclass(frozen=True)
class KeyHidden:
    """No other position can look at ``position``, in any layer.

    The position itself still sees itself: a query with nothing to look at has no softmax.
    """

    position: int

    def __str__(self) -> str:
        return f"position {self.position} hidden from the other positions"


@dataclass(frozen=True)
class Window:
    """Every layer looks back over ``length`` positions at most, the looking one included."""

    length: int

    def __str__(self) -> str:
        return f"a window of {self.length} positions in every layer"


@dataclass(frozen=True)
class MaskLifted:
    """Every position can look at every other, those after it included."""

    def __str__(self) -> str:
        return "the causal mask lifted"


@dataclass(frozen=True)
class PositionsRemoved:
    """No position is told apart from another: queries and keys are not turned (RoPE), or nothing is
    added to the embeddings (learned positions). What order there is, the mask alone tells."""

    def __str__(self) -> str:
        return "positions removed"


Edit = HeadOff | AttentionOff | FeedForwardOff | KeyHidden | Window | MaskLifted | PositionsRemoved
Edits = tuple[Edit, ...]

#: How an edit is spelled in an address: a letter, and its numbers joined by dots.
_LETTERS = {
    "h": HeadOff,
    "a": AttentionOff,
    "f": FeedForwardOff,
    "k": KeyHidden,
    "w": Window,
    "m": MaskLifted,
    "p": PositionsRemoved,
}


def spelled(edits: Iterable[Edit]) -> str:
    """Edits as one short word for an address: ``h12.4~k0~m``."""
    letters = {kind: letter for letter, kind in _LETTERS.items()}
    return "~".join(letters[type(edit)] + ".".join(map(str, vars(edit).values())) for edit in edits)


def read(text: str) -> Edits:
    """Edits from such a word, each once; the opposite of :func:`spelled`.

    Raises:
        ValueError: for what is no edit.
    """
    found = {}
    for word in filter(None, text.split("~")):
        match = re.fullmatch(r"([hafkwmp])((?:\d{1,9})?(?:\.\d{1,9})*)", word, re.ASCII)
        if not match:
            raise ValueError(f"{word!r} is no edit.")
        try:
            found[_LETTERS[match[1]](*(int(number) for number in match[2].split(".") if number))] = None
        except TypeError as reason:  # too many numbers or too few
            raise ValueError(f"{word!r} is no edit.") from reason
    return tuple(found)


def inside(edit: Edit, shape: Architecture, positions: int) -> bool:
    """Whether what the edit names is there, in a run of so many positions."""
    match edit:
        case HeadOff(layer, head):
            return 0 <= layer < shape.layers and 0 <= head < shape.query_heads
        case AttentionOff(layer) | FeedForwardOff(layer):
            return 0 <= layer < shape.layers
        case KeyHidden(position):
            return 0 <= position < positions
        case Window(length):
            return length >= 1
        case PositionsRemoved():
            return shape.position_encoding in ("RoPE", "learned")
        case MaskLifted():
            return True
    raise ValueError(f"{edit!r} is not an edit this program knows.")


def check(edits: Edits, shape: Architecture, positions: int) -> None:
    """Raise ``ValueError`` if an edit names a layer, head or position that is not there."""
    for edit in edits:
        if not inside(edit, shape, positions):
            raise ValueError(
                f"{edit} is outside this run: {shape.layers} layers, {shape.query_heads} heads, {positions} "
                f"positions, {shape.position_encoding} position encoding."
            )


def change_mask(edits: Edits) -> bool:
    """Whether any of the edits changes who can see whom."""
    return any(isinstance(edit, KeyHidden | Window | MaskLifted) for edit in edits)


def edited_mask(visible: torch.Tensor, edits: Edits) -> torch.Tensor:
    """Who can see whom, (queries, keys), True where it can, once the edits have acted.

    The last row is the last position, so with a KV cache there may be more keys than queries.
    A lifted mask comes first, then windows, then hidden positions.
    """
    queries, keys = visible.shape
    query = torch.arange(keys - queries, keys, device=visible.device)[:, None]
    key = torch.arange(keys, device=visible.device)[None, :]
    if MaskLifted() in edits:
        visible = torch.ones_like(visible)
    for edit in edits:
        if isinstance(edit, Window):
            visible = visible & (key > query - edit.length)
    for edit in edits:
        if isinstance(edit, KeyHidden):
            visible = visible & ((key != edit.position) | (query == edit.position))
    return visible


def heads_off(layer: int, edits: Edits) -> list[int]:
    """The query heads switched off in ``layer``."""
    return [edit.head for edit in edits if isinstance(edit, HeadOff) and edit.layer == layer]
