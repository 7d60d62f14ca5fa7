"""The token strip, a component: one chip a token, one of them selected."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from viz.components import component


@dataclass(frozen=True)
class Chip:
    """One token as the strip shows it.

    Attributes:
        position: place in the sequence.
        id: token ID.
        label: the token as a visible string.
        kind: ``starts``, ``continues``, ``mark``, ``control``, ``bytes`` or ``written``.
        group: tokens with the same group are parts of one character.
        title: what the browser shows on pointing at the chip.
    """

    position: int
    id: int
    label: str
    kind: str
    group: int
    title: str


def token_strip(chips: Sequence[Chip], selected: int, key: str, on_select: Callable[[], None]):
    """Show the strip; its state ``selected`` is the position clicked or stepped to.

    Args:
        selected: position that is selected.
        on_select: called when another one is.
    """
    label = f"{len(chips)} tokens; arrow keys move the selection"
    places = {chip.position: place for place, chip in enumerate(chips)}
    data = {"tokens": [asdict(chip) for chip in chips], "selected": places.get(selected, -1), "label": label}
    return component("strip")(key=key, data=data, on_selected_change=on_select)
