"""Figures of a feed-forward network: its strongest neurons, and one neuron along the text."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from viz.style import LIGHT, Theme, escaped, hatched, marked, row_axis, shortened, styled, token_axis


def strongest_bars(
    neurons: Sequence[int],
    strengths: np.ndarray,
    activations: np.ndarray,
    promoted: Sequence[Sequence[str]],
    *,
    chosen: int,
    theme: Theme = LIGHT,
) -> go.Figure:
    """The neurons that add the longest vectors, the longest first; under each name what it promotes.

    Args:
        neurons: their numbers.
        strengths, activations: of these neurons; a bar is hatched where the activation is negative.
        promoted: labels of the tokens each promotes most; empty where that is not known.
        chosen: the neuron that is outlined.
    """
    places = list(range(len(neurons)))
    names = [
        f"<b>{neuron}</b><br>{' · '.join(escaped(shortened(label, 9)) for label in labels)}"
        for neuron, labels in zip(neurons, promoted, strict=True)
    ]
    figure = go.Figure(
        go.Bar(
            x=[float(value) for value in strengths],
            y=places,
            orientation="h",
            marker={
                "color": theme.colour("accent"),
                "pattern": _hatched_below_zero(activations, theme),
                "line": {
                    "color": theme.colour("pin"),
                    "width": [3 * theme.scale if neuron == chosen else 0 for neuron in neurons],
                },
            },
            text=[f"{value:.3g}" for value in strengths],
            textposition="outside",
            cliponaxis=False,
            customdata=list(neurons),
            hovertemplate="neuron %{customdata}: adds a vector of size %{x:.4g}<extra></extra>",
            unselected={"marker": {"opacity": 1}},
        )
    )
    x = {"title": "size of what it adds", "range": [0, 1.2 * float(max(strengths)) or 1.0], "showgrid": False}
    height = 50 * len(neurons) + 60
    return styled(figure, theme, height, x, row_axis(names), clickmode="event+select", bargap=0.45)


def _hatched_below_zero(values: np.ndarray, theme: Theme) -> dict:
    """A hatch over the bar's own colour where the value is negative."""
    shapes = ["/" if value < 0 else "" for value in values]
    return hatched(shapes, theme, fgopacity=1, size=6)


def neurons_table(
    neurons: Sequence[int],
    gate: np.ndarray | None,
    up: np.ndarray,
    activation: np.ndarray,
    row_sizes: np.ndarray,
    promoted: Sequence[Sequence[str]],
) -> pd.DataFrame:
    """One row a neuron: what it read, what it makes of that, and what it writes."""
    columns = {"neuron": list(neurons)}
    if gate is not None:
        columns["gate"] = gate
    return pd.DataFrame(
        columns
        | {
            "up" if gate is not None else "in": up,
            "activation": activation,
            "size of its output row": row_sizes,
            "size of what it adds": np.abs(activation) * row_sizes,
            "promotes": [" · ".join(labels) for labels in promoted],
        }
    )


def activity_bars(values: np.ndarray, labels: Sequence[str], *, position: int, theme: Theme = LIGHT) -> go.Figure:
    """One neuron's activation at every position, around a true zero.

    Args:
        values: (positions,).
        labels: visible label of each token.
        position: the selected one, outlined.
    """
    few, dense = len(values) <= 20, len(values) > 64
    figure = go.Figure(
        go.Bar(
            x=list(range(len(values))),
            y=[float(value) for value in values],
            marker={
                "color": theme.colour("accent"),
                "pattern": None if dense else _hatched_below_zero(values, theme),
                "line": {
                    "color": theme.colour("pin"),
                    "width": [3 * theme.scale if place == position else 0 for place in range(len(values))],
                },
            },
            text=[f"{value:.2f}".replace("-", "−") for value in values] if few else None,
            textposition="outside",
            cliponaxis=False,
            hovertemplate="position %{x}: %{y:.4f}<extra></extra>",
            unselected={"marker": {"opacity": 1}},
        )
    )
    half = max(0.5, len(values) / 120)
    low, high = min(0.0, float(values.min())), max(0.0, float(values.max()))
    room = 0.15 * ((high - low) or 1.0)
    return styled(
        figure,
        theme,
        260,
        token_axis(labels, "position", most=24) | {"tickangle": -45 if len(labels) > 6 else 0},
        {"title": "activation", "range": [low - room if low else 0, high + room], "zeroline": True},
        clickmode="event+select",
        bargap=0 if dense else 0.25,
        shapes=[marked(position - half, position + half, theme)],
    )


def activity_table(values: np.ndarray, labels: Sequence[str]) -> pd.DataFrame:
    """One row a position."""
    return pd.DataFrame({"position": range(len(values)), "token": list(labels), "activation": values})
