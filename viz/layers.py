"""Figures of the residual stream: how long it is, where it points, and what a normalisation does to it."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from viz.embeddings import BARS_A_LINE, in_lines, saturation, signed_cells
from viz.style import LIGHT, Theme, below, escaped, legend_above, marked, panel, panel_name, styled

#: Name, colour role, line style and mark of what is drawn by layer.
_STREAM = ("the stream, as it leaves the layer", "ink", "solid", "circle")
_ATTENTION = ("added by attention", "attention", "dash", "square")
_FEED_FORWARD = ("added by the feed-forward network", "accent", "dot", "diamond")
_BEFORE = ("with what entered the layer", "accent", "dash", "square")
_FINAL = ("with what leaves the last layer", "ink", "solid", "circle")


def stream_sizes(
    sizes: np.ndarray,
    attention: np.ndarray | None,
    feed_forward: np.ndarray | None,
    *,
    layer: int,
    theme: Theme = LIGHT,
) -> go.Figure:
    """Sizes of the stream and of what is added to it, by layer, on a logarithmic axis.

    Args:
        sizes: (layers + 1,); the first is what enters layer 0, drawn at “in”.
        attention, feed_forward: (layers,), or None where they are not known.
        layer: the selected one.
    """
    figure = go.Figure()
    layers = len(sizes) - 1
    for what, added in ((_ATTENTION, attention), (_FEED_FORWARD, feed_forward)):
        if added is not None:
            figure.add_trace(_line(what, range(layers), added, "%{y:.4g}", theme))
    figure.add_trace(_line(_STREAM, range(-1, layers), sizes, "%{y:.4g}", theme))
    y = {"title": "size (logarithmic)", "type": "log", "exponentformat": "none", "dtick": 1, "nticks": 8}
    return by_layer(figure, layers, layer, theme, 330, y, **legend_above(itemclick=False))


def stream_turns(with_before: np.ndarray, with_final: np.ndarray, *, layer: int, theme: Theme = LIGHT) -> go.Figure:
    """Where the stream points, by layer: cosine with the layer before, and with the end.

    Args:
        with_before: (layers,).
        with_final: (layers + 1,); the first is what enters layer 0, drawn at “in”.
    """
    figure = go.Figure()
    figure.add_trace(_line(_BEFORE, range(len(with_before)), with_before, "%{y:.3f}", theme))
    figure.add_trace(_line(_FINAL, range(-1, len(with_before)), with_final, "%{y:.3f}", theme))
    lowest = float(min(with_before.min(), with_final.min(), 0.0))
    y = {"title": "cosine", "range": [lowest - 0.06, 1.06], "zeroline": True}
    return by_layer(figure, len(with_before), layer, theme, 320, y, **legend_above(itemclick=False))


def _line(what: tuple[str, str, str, str], layers: Sequence[int], values: np.ndarray, form: str, theme: Theme):
    name, role, dash, symbol = what
    return go.Scatter(
        x=list(layers),
        y=[float(value) for value in values],
        name=name,
        mode="lines+markers",
        line={"color": theme.colour(role), "dash": dash, "width": 2 * theme.scale},
        marker={"color": theme.colour(role), "symbol": symbol, "size": 8 * theme.scale},
        hovertemplate=f"layer %{{x}}, {name}: {form}<extra></extra>",
        unselected={"marker": {"opacity": 1}},
    )


def by_layer(figure: go.Figure, layers: int, layer: int, theme: Theme, height: int, y: dict, **layout) -> go.Figure:
    """Give ``figure`` its look and an axis of layers, with “in” before the first and the selected one marked.

    Args:
        y: what the other axis takes.
        layout: anything more for plotly's layout.
    """
    every = max(1, -(-layers // 10))
    ticks = list(range(0 if every == 1 else every, layers, every))  # 0 would touch "in"
    x = {
        "title": "layer",
        "tickmode": "array",
        "tickvals": [-1, *ticks],
        "ticktext": ["in", *map(str, ticks)],
        "tickangle": 0,
        "range": [-1.6, layers - 0.4],
        "showgrid": False,
        "zeroline": False,
    }
    return styled(
        figure,
        theme,
        height,
        x,
        y,
        clickmode="event+select",
        hoverdistance=-1,
        margin={"t": 8, "r": 16},
        shapes=[marked(layer - 0.5, layer + 0.5, theme)],
        **layout,
    )


def stream_table(
    sizes: np.ndarray,
    attention: np.ndarray,
    feed_forward: np.ndarray,
    with_before: np.ndarray,
    with_final: np.ndarray,
) -> pd.DataFrame:
    """One row a layer: sizes in and out, what was added, and directions."""
    return pd.DataFrame(
        {
            "layer": range(len(attention)),
            "size in": sizes[:-1],
            "attention adds": attention,
            "feed-forward adds": feed_forward,
            "size out": sizes[1:],
            "cosine, in with out": with_before,
            "cosine, out with the end": with_final[1:],
        }
    )


def norm_strips(strips: Sequence[tuple[str, np.ndarray]], theme: Theme = LIGHT) -> go.Figure:
    """Vectors under one another, each all its numbers on a colour scale of its own, which is printed.

    Args:
        strips: (name, (hidden size,)) from top to bottom.
    """
    length = max(BARS_A_LINE, -(-len(strips[0][1]) // 8))
    drawn = [in_lines(values.astype(np.float32), length) for _, values in strips]
    pixels = [14 * len(lines) for lines in drawn]
    gap = 34 / (sum(pixels) + 34 * (len(strips) - 1))
    figure, names = go.Figure(), []
    for row, ((name, values), lines) in enumerate(zip(strips, drawn, strict=True), start=1):
        limit = saturation(values)
        figure.add_trace(signed_cells(lines, limit, theme, xgap=0, ygap=1, **panel(row)))
        names.append(panel_name(f"{escaped(name)}: full colour at ±{limit:.3g}", row, theme))
    height = sum(pixels) + 34 * (len(strips) - 1) + 36
    x, y = {"visible": False}, {"visible": False, "autorange": "reversed"}
    more = {"margin": {"t": 28, "b": 4}, "annotations": names}
    return styled(figure, theme, height, x, y, **more, **below(pixels, gap))


def norm_table(strips: Sequence[tuple[str, np.ndarray]]) -> pd.DataFrame:
    """The strips as a table: one row a number of the vector."""
    return pd.DataFrame({"number": range(len(strips[0][1])), **{name: values for name, values in strips}})
