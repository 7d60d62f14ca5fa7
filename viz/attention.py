"""Figures of one attention head: its map, one row of it, and lines between tokens."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from viz import palette
from viz.style import LIGHT, Theme, click_targets, colour_bar, escaped, shortened, styled, token_axis

#: Beyond this many tokens, cells are too small to click, and marks for clicking too many to send.
CLICKABLE = 64
#: Beyond this many tokens, lines are drawn for the selected query alone.
ALL_LINES = 24
#: Beyond this many tokens, names are too close to be read, and those without a line are left out.
MOST_NAMES = 48
#: Smaller weights have no line.
THINNEST = 0.02


def attention_map(
    values: np.ndarray,
    labels: Sequence[str],
    *,
    kind: str,
    query: int,
    key: int | None = None,
    most: float | None = None,
    block: int = 1,
    first: tuple[int, int] = (0, 0),
    theme: Theme = LIGHT,
) -> go.Figure:
    """One head's map: rows are queries, the first at the top; columns are keys.

    Args:
        values: (queries, keys), NaN where masked: such a cell stays empty.
        labels: visible label of each token of the text.
        kind: ``weights`` (0 to ``most``, sequential) or ``scores`` (around a true zero).
        query, key: the selected cell, by position in the text.
        most: weight of the brightest colour; None is 1.
        block: positions along the side of one cell.
        first: the position of the first query and of the first key, for a part of a map.
    """
    shown = [labels[start : start + block * count] for start, count in zip(first, values.shape, strict=True)]
    n = len(shown[0])
    figure = go.Figure(_heat(values, first, block, kind, most, theme))
    if n <= CLICKABLE and block == 1:
        figure.add_trace(_targets(values, labels, first))
    vertical = token_axis(shown[0], "query: the token that looks", first[0], most=24)
    horizontal = token_axis(shown[1], "key: the token looked at", first[1], most=24)
    return styled(
        figure,
        theme,
        int(min(640, max(320, 40 * n + 120))),
        horizontal | {"side": "top", "tickangle": -45 if n > 6 else 0},
        vertical | {"range": vertical["range"][::-1]},
        clickmode="event+select",
        hoverdistance=-1,  # wherever a cell is hit, its mark is the nearest: no distance is too far
        shapes=[_row_mark(query, first[1], len(shown[1]), theme), *_cell_marks(query, key, theme)],
    )


def _heat(values, first, block, kind, most, theme) -> go.Heatmap:
    if kind == "weights":
        limits = {"zmin": 0.0, "zmax": most or 1.0, "colorscale": palette.SEQUENTIAL}
        bar = colour_bar("attention weight", theme)
    else:
        bound = float(np.nanmax(np.abs(values))) or 1.0
        limits = {"zmin": -bound, "zmax": bound, "colorscale": palette.diverging(theme.name)}
        bar = colour_bar("attention score", theme)
    clickable = len(values) <= CLICKABLE and block == 1
    middle = (block - 1) / 2
    return go.Heatmap(
        z=values.astype(np.float32),
        x0=first[1] + middle,
        dx=block,
        y0=first[0] + middle,
        dy=block,
        xgap=1 if clickable else 0,
        ygap=1 if clickable else 0,
        colorbar=bar,
        hoverongaps=False,
        hoverinfo="skip" if clickable else None,
        hovertemplate=None if clickable else "query %{y}, key %{x}<br>%{z:.4f}<extra></extra>",
        **limits,
    )


def _targets(values: np.ndarray, labels: Sequence[str], first: tuple[int, int]) -> go.Scatter:
    """What is clicked, and what a cell says."""
    names = [escaped(label) for label in labels]
    rows, columns = np.nonzero(~np.isnan(values))
    queries, keys = rows + first[0], columns + first[1]
    words = [
        f"{names[q]} looks at {names[k]}<br>{value:.4f}"
        for q, k, value in zip(queries, keys, values[rows, columns], strict=True)
    ]
    return click_targets(keys, queries, words, 18)


def _row_mark(query: int, first: int, n: int, theme: Theme) -> dict:
    line = {"color": theme.colour("query"), "width": 2.5 * theme.scale}
    rows = {"y0": query - 0.5, "y1": query + 0.5}
    return {"type": "rect", "x0": first - 0.5, "x1": first + n - 0.5, **rows, "line": line}


def _cell_marks(query: int, key: int | None, theme: Theme) -> list[dict]:
    if key is None:
        return []
    line = {"color": theme.colour("key"), "width": 3 * theme.scale, "dash": "dot"}
    rows = {"y0": query - 0.5, "y1": query + 0.5}
    return [{"type": "rect", "x0": key - 0.5, "x1": key + 0.5, **rows, "line": line}]


def attention_row(
    weights: np.ndarray, labels: Sequence[str], *, key: int | None = None, theme: Theme = LIGHT
) -> go.Figure:
    """Where one query looks: a bar for each key it can see.

    Args:
        weights: (visible keys,) attention weights; they sum to 1.
        labels: visible label of each of those keys.
        key: the selected one.
    """
    colours = [theme.colour("attention")] * len(weights)
    outline = [3 * theme.scale if place == key else 0 for place in range(len(weights))]
    figure = go.Figure(
        go.Bar(
            x=list(range(len(weights))),
            y=weights.astype(np.float32),
            marker={"color": colours, "line": {"color": theme.colour("key"), "width": outline}},
            text=[f"{w:.2f}" for w in weights] if len(weights) <= 24 else None,
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{y:.4f}<extra></extra>",
        )
    )
    # Left to itself plotly turns labels the other way, and drops the last one where it leaves the figure.
    x = token_axis(labels, "key: the token looked at", most=24) | {"tickangle": -45 if len(labels) > 6 else 0}
    most = max(0.05, 1.15 * float(weights.max()))
    y = {"title": "attention weight", "rangemode": "tozero", "range": [0, most]}
    return styled(figure, theme, 240, x, y, clickmode="event+select", bargap=0.25)


def attention_lines(
    weights: np.ndarray, labels: Sequence[str], *, query: int, theme: Theme = LIGHT, hide_first: bool = False
) -> go.Figure:
    """Lines from each query (right) to the keys it looks at (left); width and shade are the weight.

    Args:
        weights: (queries, keys), NaN where masked.
        query: the selected one, drawn in colour; the others are drawn behind it, in grey.
        hide_first: leave out lines to the first key.

    Of a long text only the selected query and the keys that its lines lead to are named.
    """
    every_query = len(labels) <= ALL_LINES
    if len(labels) > MOST_NAMES:
        weights, labels, query = _joined_by_lines(weights, labels, query)
    n = len(labels)
    figure = go.Figure()
    if every_query:
        others = [(q, k) for q in range(n) for k in range(q + 1) if q != query]
        _add_lines(
            figure, weights, [pair for pair in others if not (hide_first and pair[1] == 0)], theme, "muted", 0.35
        )
    own = [(query, k) for k in range(n) if not np.isnan(weights[query, k]) and not (hide_first and k == 0)]
    _add_lines(figure, weights, own, theme, "attention", 1.0)
    keys, queries = _names(labels, 0, "right", theme, "key"), _names(labels, 1, "left", theme, "query", query)
    x, y = {"visible": False, "range": [-0.6, 1.6]}, {"visible": False, "range": [n - 0.4, -1.2]}
    return styled(figure, theme, int(min(900, max(220, 26 * n + 60))), x, y, annotations=keys + queries)


def _joined_by_lines(weights: np.ndarray, labels: Sequence[str], query: int) -> tuple[np.ndarray, list[str], int]:
    """The selected query and the keys it looks at, with their positions written before their names."""
    keys = np.flatnonzero(np.nan_to_num(weights[query]) >= THINNEST)
    kept = sorted({*keys.tolist(), query})
    return weights[np.ix_(kept, kept)], [f"{place} {labels[place]}" for place in kept], kept.index(query)


def _add_lines(figure, weights, pairs, theme, role, opacity) -> None:
    # plotly draws one width a trace, so lines are put into a few classes of width.
    for low, high in ((THINNEST, 0.1), (0.1, 0.25), (0.25, 0.5), (0.5, 1.01)):
        x: list[float | None] = []
        y: list[float | None] = []
        for q, k in pairs:
            if low <= weights[q, k] < high:
                x += [0.02, 0.98, None]
                y += [k, q, None]
        if x:
            line = {"color": theme.colour(role), "width": 8 * (low + high) / 2 * theme.scale}
            shade = opacity * min(1.0, 0.4 + 0.6 * high)
            figure.add_trace(go.Scatter(x=x, y=y, mode="lines", line=line, opacity=shade, hoverinfo="skip"))


def _names(labels, x, anchor, theme, colour, selected=None) -> list[dict]:
    """A column of names with its heading, as plotly's annotations."""
    side = {"x": x, "xanchor": anchor, "showarrow": False}
    heading = "looked at (K)" if x == 0 else "looks (Q)"
    names = [escaped(shortened(label, 18)) for label in labels]
    return [side | {"y": -0.9, "text": heading, "font": {"color": theme.colour(colour)}}] + [
        side | {"y": place, "text": f"<b>{name}</b>" if place == selected else name} for place, name in enumerate(names)
    ]


def map_table(
    values: np.ndarray, labels: Sequence[str], first: tuple[int, int] = (0, 0), block: int = 1
) -> pd.DataFrame:
    """The map as a table: one row a query, one column a key; masked cells are missing.

    Args:
        first, block: as :func:`attention_map` takes them; a block is named by its first token.
    """
    queries, keys = (
        [f"{place} {labels[place]}" for place in range(start, start + block * count, block)]
        for start, count in zip(first, values.shape, strict=True)
    )
    frame = pd.DataFrame(np.round(values.astype(float), 4), columns=keys)
    frame.insert(0, "query", queries)
    return frame


def row_table(weights: np.ndarray, scores: np.ndarray, labels: Sequence[str]) -> pd.DataFrame:
    """One query's row as a table: each key it can see, with score and weight."""
    places = range(len(weights))
    return pd.DataFrame({"position": places, "key": list(labels), "score": scores, "weight": weights})


def heads_table(
    on_first: np.ndarray, on_previous: np.ndarray, distance: np.ndarray, entropy: np.ndarray
) -> pd.DataFrame:
    """One row a head: what it does on average."""
    layers, heads = on_first.shape
    return pd.DataFrame(
        {
            "layer": np.repeat(np.arange(layers), heads),
            "head": np.tile(np.arange(heads), layers),
            "weight on the first token": np.round(on_first.ravel(), 4),
            "weight on the token before": np.round(on_previous.ravel(), 4),
            "tokens looked back, mean": np.round(distance.ravel(), 2),
            "entropy of a row, bits": np.round(entropy.ravel(), 3),
        }
    )
