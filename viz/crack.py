"""The crack: what one edited word changes, position by position and layer by layer, and what it cannot."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from viz import palette
from viz.context import layer_axis
from viz.style import LIGHT, Theme, click_targets, colour_bar, escaped, shortened, styled, token_axis


def crack_map(
    drawn: np.ndarray,
    values: np.ndarray,
    labels: Sequence[str],
    *,
    first: int,
    untouched: int,
    edited: Sequence[int],
    layer: int,
    position: int,
    theme: Theme = LIGHT,
) -> go.Figure:
    """How far two runs' vectors differ: columns are positions, rows layers, the embedding at the bottom.

    Args:
        drawn: (layers + 1, columns) relative differences, NaN where nothing is to be drawn.
        values: the same as they were measured, NaN where nothing was compared.
        labels: visible label of each column.
        first: position of the first column.
        untouched: how many of the columns stand left of the edit.
        edited: positions whose token was edited.
        layer: the ruler's.
        position: the one selected.
    """
    rows, columns = drawn.shape
    figure = go.Figure(
        go.Heatmap(
            z=drawn.astype(np.float32),
            x0=first,
            dx=1,
            y0=-1,
            dy=1,
            zmin=0.0,
            zmax=largest_colour(values),
            colorscale=palette.SEQUENTIAL,
            colorbar=colour_bar("relative difference", theme),
            xgap=2,
            ygap=1,
            hoverinfo="skip",
        )
    )
    figure.add_trace(_targets(values, labels, first))
    shapes, words = [], []
    if untouched:
        shapes.append(_paper(first, untouched, rows, theme))
        words.append(_untouched_words(first, untouched, columns, rows, theme))
    shapes += [_shifted(first + at, rows, theme) for at in range(columns) if np.isnan(values[:, at]).all()]
    shapes.append(_ruler(first, columns, layer, theme))
    if first <= position < first + columns:
        shapes.append(_cell(position, layer, theme))
    height = 150 + max(9, min(26, 480 // rows)) * rows
    return styled(
        figure,
        theme,
        height,
        _columns(labels, "position", first),
        {"title": "after layer", "range": [-1.6, rows - 0.1]} | layer_axis(rows - 1),
        clickmode="event+select",
        hoverdistance=-1,
        shapes=shapes,
        annotations=[*words, *_edit_marks(edited, first, columns, rows, theme)],
    )


def _columns(labels: Sequence[str], title: str, first: int) -> dict:
    """The axis of positions: the number, then the token, of edited ones both tokens."""
    axis = token_axis(labels, title, first, most=32)
    names = [f"{at} {shortened(labels[at - first], 18)}" for at in axis["tickvals"]]
    return {**axis, "ticktext": [escaped(name) for name in names], "tickangle": -45}


def largest_colour(values: np.ndarray) -> float:
    """The difference that the brightest colour stands for: 1, or the largest of all if that is more."""
    return max(1.0, float(np.nanmax(values))) if not np.isnan(values).all() else 1.0


def _targets(values: np.ndarray, labels: Sequence[str], first: int) -> go.Scatter:
    """What is clicked, and what a cell says."""
    depths, columns = np.indices(values.shape)
    names = [escaped(label) for label in labels]
    words = [
        f"position {first + at} {names[at]}, {_depth(depth - 1)}<br>{_said(values[depth, at])}"
        for depth, at in zip(depths.ravel(), columns.ravel(), strict=True)
    ]
    return click_targets(first + columns.ravel(), depths.ravel() - 1, words, 14)


def _depth(layer: int) -> str:
    return "embedding" if layer < 0 else f"after layer {layer}"


def _said(value: float) -> str:
    if np.isnan(value):
        return "shifted: not compared"
    return "exactly 0" if value == 0 else f"{value:.4f}" if value >= 1e-4 else f"{value:.1e}: rounding"


def _paper(first: int, untouched: int, rows: int, theme: Theme) -> dict:
    line = {"color": theme.colour("cache"), "width": 2 * theme.scale, "dash": "dash"}
    box = {"x0": first - 0.46, "x1": first + untouched - 0.54, "y0": -1.46, "y1": rows - 1.54}
    return {"type": "rect", **box, "line": line}


def _untouched_words(first: int, untouched: int, columns: int, rows: int, theme: Theme) -> dict:
    roomy = untouched / columns > 0.34
    return {
        "x": first + (untouched - 1) / 2,
        "y": rows / 2 - 1,
        "text": "untouched:<br>a cache may<br>reuse this" if roomy else "untouched: a cache may reuse this",
        "textangle": 0 if roomy else -90,
        "showarrow": False,
        "font": {"color": theme.colour("cache"), "size": 15 * theme.scale},
    }


def _shifted(column: int, rows: int, theme: Theme) -> dict:
    box = {"x0": column - 0.42, "x1": column + 0.42, "y0": -1.46, "y1": rows - 1.54}
    line = {"color": theme.colour("line"), "width": 1}
    word = {
        "text": "shifted",
        "textangle": -90,
        "textposition": "middle center",
        "font": {"color": theme.colour("muted"), "size": 14 * theme.scale},
    }
    return {"type": "rect", **box, "fillcolor": theme.colour("surface"), "line": line, "layer": "below", "label": word}


def _ruler(first: int, columns: int, layer: int, theme: Theme) -> dict:
    line = {"color": theme.colour("pin"), "width": 2.5 * theme.scale}
    box = {"x0": first - 0.5, "x1": first + columns - 0.5, "y0": layer - 0.5, "y1": layer + 0.5}
    return {"type": "rect", **box, "line": line}


def _cell(position: int, layer: int, theme: Theme) -> dict:
    line = {"color": theme.colour("query"), "width": 4 * theme.scale}
    box = {"x0": position - 0.5, "x1": position + 0.5, "y0": layer - 0.5, "y1": layer + 0.5}
    return {"type": "rect", **box, "line": line}


def _edit_marks(edited: Sequence[int], first: int, columns: int, rows: int, theme: Theme) -> list[dict]:
    """A word with an arrow over the first edited column, an arrow alone over the others."""
    shown = [at for at in edited if first <= at < first + columns]
    return [
        {
            "x": at,
            "y": rows - 1.45,
            "text": "<b>edited ↓</b>" if at == shown[0] else "<b>↓</b>",
            "showarrow": False,
            "yanchor": "bottom",
            "font": {"color": theme.colour("pin"), "size": 15 * theme.scale},
        }
        for at in shown
    ]


def ruler_bars(
    row: np.ndarray, labels: Sequence[str], *, first: int, position: int, most: float, theme: Theme = LIGHT
) -> go.Figure:
    """One row of the crack: each token shaded as there, its number on it.

    Args:
        row: (columns,) relative differences; NaN where nothing was compared.
        most: the difference that the brightest colour stands for.
    """
    columns = [first + at for at in range(len(row))]
    figure = go.Figure(
        go.Bar(
            x=columns,
            y=np.nan_to_num(row),
            marker={
                "color": np.nan_to_num(row),
                "colorscale": palette.SEQUENTIAL,
                "cmin": 0.0,
                "cmax": most,
                "line": {"color": theme.colour("ink"), "width": [2.5 if at == position else 0.5 for at in columns]},
            },
            text=[_short(value) for value in row] if len(row) <= 24 else None,
            textposition="outside",
            cliponaxis=False,
            hovertemplate="position %{x}: %{y:.4f}<extra></extra>",
        )
    )
    y = {"title": "difference", "range": [0, 1.25 * max(0.1, float(np.nan_to_num(row).max()))], "nticks": 4}
    return styled(figure, theme, 230, _columns(labels, "", first), y, bargap=0.2)


def _short(value: float) -> str:
    if np.isnan(value):
        return "–"
    return "0" if value == 0 else f"{value:.2f}" if value >= 0.005 else f"{value:.0e}"


def crack_table(values: np.ndarray, labels: Sequence[str], first: int) -> pd.DataFrame:
    """The picture as a table: one row a layer, the embedding last as at the bottom; missing where shifted."""
    columns = [f"{first + at} {shortened(label, 20)}" for at, label in enumerate(labels)]
    frame = pd.DataFrame(values.astype(float), columns=columns)
    frame.insert(0, "after layer", ["embedding", *map(str, range(len(values) - 1))])
    return frame[::-1]


def ruler_table(row: np.ndarray, labels: Sequence[str], first: int) -> pd.DataFrame:
    """The ruler's row as a table."""
    return pd.DataFrame({"position": range(first, first + len(row)), "token": list(labels), "difference": row})
