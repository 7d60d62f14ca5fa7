"""All layers × heads at a glance, a component: one small attention map a head."""

from collections.abc import Callable

import numpy as np
import plotly.colors

from viz import palette
from viz.components import component, packed


def head_grid(
    maps: np.ndarray,
    on_first: np.ndarray,
    distance: np.ndarray,
    *,
    most: float,
    kv_heads: int,
    layer: int,
    head: int,
    alt: str,
    key: str,
    on_choose: Callable[[], None],
):
    """Show every head's map; the state ``chosen`` holds the layer and head clicked or stepped to.

    Args:
        maps: (layers, query heads, c, c) attention weights, NaN where masked.
        on_first: (layers, query heads) share of the weight on the first token.
        distance: (layers, query heads) tokens looked back on average.
        most: weight that the brightest colour stands for.
        layer, head: which one is open.
    """
    data = {
        "maps": packed(maps),
        "onFirst": np.round(on_first, 4).ravel().tolist(),
        "distance": np.round(distance, 2).ravel().tolist(),
        "most": most,
        "kvHeads": kv_heads,
        "layer": layer,
        "head": head,
        "alt": alt,
        "scale": colour_table(),
    }
    return component("heads")(key=key, data=data, on_chosen_change=on_choose)


def colour_table() -> list[list[int]]:
    """The sequential map as 256 colours, [red, green, blue] each."""
    shades = plotly.colors.sample_colorscale(palette.SEQUENTIAL, np.linspace(0, 1, 256).tolist())
    return [[round(channel) for channel in plotly.colors.unlabel_rgb(shade)] for shade in shades]
