"""Figures of one word in two texts: how its vectors part, what the lens reads, words in another order."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from viz.sampling import percent
from viz.style import LIGHT, Theme, beside, escaped, legend_above, panel, row_axis, shortened, styled, token_axis

#: Colour role, line style and mark of the further sentences, by sense.
_SENSES = (("ink", "dot", "circle"), ("muted", "dash", "square"))


def layer_axis(layers: int, first: int | None = None, most: int = 8) -> dict:
    """An axis of layers, 0-based; −1 is what enters layer 0, the embedding.

    Args:
        first: the first layer named where not all are, so that its name is clear of 'embedding'.
    """
    every = max(1, -(-layers // most))
    ticks = [-1, *range(first if first is not None and every > 1 else every - (every == 1), layers, every)]
    return {
        "tickmode": "array",
        "tickvals": ticks,
        "ticktext": ["embedding" if tick < 0 else str(tick) for tick in ticks],
        "showgrid": False,
        "zeroline": False,
    }


def cosine_lines(
    likeness: np.ndarray,
    senses: Sequence[str],
    curves: Sequence[np.ndarray],
    layer: int,
    theme: Theme = LIGHT,
) -> go.Figure:
    """How alike one word's vectors in two sentences are, by layer.

    Args:
        likeness: (layers + 1,) cosines, the first of what enters layer 0.
        senses, curves: names of the senses and (sentences, layers + 1) cosines with further
            sentences in each: the scale.
        layer: the one marked.
    """
    depth = list(range(-1, len(likeness) - 1))
    figure = go.Figure()
    for name, rows, (role, dash, symbol) in zip(senses, curves, _SENSES, strict=False):
        for place, row in enumerate(rows):
            figure.add_trace(
                go.Scatter(
                    x=depth,
                    y=row,
                    mode="lines+markers",
                    name=f"the first, and further sentences with {escaped(name)}",
                    legendgroup=name,
                    showlegend=place == 0,
                    opacity=0.75,
                    line={"color": theme.colour(role), "dash": dash, "width": 1.5 * theme.scale},
                    marker={"symbol": symbol, "size": 5 * theme.scale, "maxdisplayed": 8},
                    hovertemplate="layer %{x}: %{y:.3f}<extra></extra>",
                )
            )
    figure.add_trace(
        go.Scatter(
            x=depth,
            y=likeness,
            mode="lines",
            name="the first and the second sentence",
            line={"color": theme.colour("accent"), "width": 4 * theme.scale},
            hovertemplate="layer %{x}: %{y:.4f}<extra></extra>",
        )
    )
    figure.add_trace(_mark(layer, float(likeness[layer + 1]), theme))
    lowest = min([float(likeness.min()), *(float(rows.min()) for rows in curves)])
    span = max(1.0 - lowest, 0.02)
    return styled(
        figure,
        theme,
        420,
        {"title": "after layer", "range": [-1.6, len(likeness) - 1.4]} | layer_axis(len(likeness) - 1, first=8),
        {"title": "cosine", "range": [lowest - 0.16 * span, 1.0 + 0.08 * span]},
        annotations=[_mark_words(layer, float(likeness[layer + 1]), theme)],
        **legend_above(traceorder="reversed"),
    )


def _mark(layer: int, value: float, theme: Theme) -> go.Scatter:
    return go.Scatter(
        x=[layer],
        y=[value],
        mode="markers",
        marker={"color": theme.colour("pin"), "size": 12 * theme.scale, "symbol": "diamond"},
        showlegend=False,
        hoverinfo="skip",
    )


def _mark_words(layer: int, value: float, theme: Theme) -> dict:
    """The marked value below its mark, on the page's colour so that lines do not run through it."""
    return {
        "x": layer,
        "y": value,
        "text": f"<b>{value:.3f}</b>",
        "showarrow": False,
        "yanchor": "top",
        "yshift": -10 * theme.scale,
        "bgcolor": theme.colour("background"),
        "borderpad": 2,
        "font": {"color": theme.colour("pin"), "size": 15 * theme.scale},
    }


def cosine_table(
    likeness: np.ndarray, sentences: Sequence[Sequence[str]], curves: Sequence[np.ndarray]
) -> pd.DataFrame:
    """The cosines as a table: one row a depth, one column a sentence that the first is compared with."""
    table = pd.DataFrame({"after layer": ["embedding", *map(str, range(len(likeness) - 1))], "the second": likeness})
    for texts, rows in zip(sentences, curves, strict=True):
        for text, row in zip(texts, rows, strict=True):
            table[text] = row
    return table


def lens_ladders(
    names: Sequence[str],
    layers: Sequence[int],
    labels: Sequence[Sequence[str]],
    shares: np.ndarray,
    theme: Theme = LIGHT,
) -> go.Figure:
    """What the lens reads after each layer, in two runs side by side; the last layer on top.

    Args:
        names: of the runs.
        layers: which layers, rising.
        labels: by run, the likeliest token after each.
        shares: (runs, layers) its probability.
    """
    figure = go.Figure()
    rows = list(range(len(layers)))
    for column, (tokens, values) in enumerate(zip(labels, shares, strict=True), start=1):
        bar = go.Bar(
            x=values,
            y=rows,
            orientation="h",
            marker={"color": theme.colour("attention")},
            text=[f"{escaped(shortened(token, 12))}  {percent(value)}" for token, value in zip(tokens, values)],
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{x:.4f}<extra></extra>",
            **panel(column),
        )
        figure.add_trace(bar)
    panels = beside([escaped(shortened(name, 40)) for name in names], 0.04, theme)
    panels["yaxis"]["title"] = "after layer"
    x = {"range": [0, 2.4], "showticklabels": False, "showgrid": False, "zeroline": False}
    y = row_axis([str(layer) for layer in layers]) | {"range": [-0.6, len(layers) - 0.4]}
    return styled(figure, theme, 60 + 24 * len(layers), x, y, margin={"t": 40}, bargap=0.3, **panels)


def lens_table(
    names: Sequence[str], layers: Sequence[int], labels: Sequence[Sequence[str]], shares: np.ndarray
) -> pd.DataFrame:
    """The two ladders as a table, one row a layer."""
    table = pd.DataFrame({"after layer": list(layers)})
    for place, (name, tokens, values) in enumerate(zip(names, labels, shares, strict=True), start=1):
        table[f"{place}: {name}"], table[f"{place}: probability"] = list(tokens), values
    return table


def word_bars(words: Sequence[str], likeness: np.ndarray, theme: Theme = LIGHT) -> go.Figure:
    """How alike each word's vectors are in two orders of the same words.

    Args:
        likeness: (words,) cosines.
    """
    figure = go.Figure(
        go.Bar(
            x=list(range(len(words))),
            y=likeness,
            marker={"color": theme.colour("accent")},
            text=[f"{value:.2f}" for value in likeness] if len(words) <= 24 else None,
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{y:.4f}<extra></extra>",
        )
    )
    x = token_axis(words, "word, in the order of your text", most=24)
    y = {"title": "cosine, last layer", "range": [1.2 * min(0.0, float(likeness.min())), 1.18]}
    return styled(figure, theme, 280, x, y, bargap=0.3)


def word_table(
    words: Sequence[str], here: Sequence[int], there: Sequence[int], likeness: Sequence[float]
) -> pd.DataFrame:
    """The words as a table, with their positions in either order."""
    return pd.DataFrame(
        {"word": list(words), "position": list(here), "in the other order": list(there), "cosine": list(likeness)}
    )
