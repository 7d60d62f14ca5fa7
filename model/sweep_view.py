"""The effects of a sweep in the shape that a figure takes: changes of a probability, NaN where not tried."""

import numpy as np

from model.architecture import Architecture
from model.edits import AttentionOff, FeedForwardOff, HeadOff, KeyHidden
from model.what_if import Sweep


def by_head(found: Sweep, shape: Architecture) -> np.ndarray:
    """(layers, query heads) change of the target's probability with that head off."""
    change = np.full((shape.layers, shape.query_heads), np.nan)
    for effect in found.effects:
        if isinstance(effect.edit, HeadOff):
            change[effect.edit.layer, effect.edit.head] = effect.probability - found.probability
    return change


def by_layer(found: Sweep, layers: int) -> dict[str, np.ndarray]:
    """One change a layer, with its attention off and with its feed-forward network off."""
    series = {"attention off": np.full(layers, np.nan), "feed-forward off": np.full(layers, np.nan)}
    names = {AttentionOff: "attention off", FeedForwardOff: "feed-forward off"}
    for effect in found.effects:
        if type(effect.edit) in names:
            series[names[type(effect.edit)]][effect.edit.layer] = effect.probability - found.probability
    return series


def by_position(found: Sweep, count: int) -> np.ndarray:
    """(count,) change with that position hidden from the others."""
    change = np.full(count, np.nan)
    for effect in found.effects:
        if isinstance(effect.edit, KeyHidden):
            change[effect.edit.position] = effect.probability - found.probability
    return change
