"""Figures of a broken run beside the whole one: what follows, what was foreseen, and which part matters."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from viz import palette
from viz.sampling import percent
from viz.style import (
    LIGHT,
    Theme,
    click_targets,
    colour_bar,
    escaped,
    hatched,
    legend_above,
    row_axis,
    shortened,
    styled,
    token_axis,
    upright,
)

#: The two runs: name, role of the colour, hatch.
RUNS = (("whole", "accent", ""), ("broken", "pin", "/"))


@dataclass(frozen=True)
class Pair:
    """The same numbers from the whole run and from the broken one.

    Attributes:
        labels: what the numbers are of, one a row.
        whole, broken: the numbers.
    """

    labels: Sequence[str]
    whole: Sequence[float]
    broken: Sequence[float]


def _bar(name: str, role: str, hatch: str, theme: Theme, **more) -> go.Bar:
    return go.Bar(
        name=name,
        marker={
            "color": theme.colour(role),
            "pattern": hatched(hatch, theme),
        },
        cliponaxis=False,
        **more,
    )


def next_token_bars(pair: Pair, theme: Theme = LIGHT) -> go.Figure:
    """The likeliest next tokens of either run, the two probabilities under each other."""
    rows = list(range(len(pair.labels)))
    figure = go.Figure()
    for (name, role, hatch), values in zip(RUNS, (pair.whole, pair.broken), strict=True):
        numbers = [percent(value) for value in values]
        bar = _bar(name, role, hatch, theme, x=list(values), y=rows, orientation="h", text=numbers)
        bar.update(textposition="outside", constraintext="none", hovertemplate="%{x:.5f}<extra></extra>")
        figure.add_trace(bar)
    return styled(
        figure,
        theme,
        70 + 44 * len(rows),
        {"range": [0, 1.15], "showgrid": False, "tickformat": ".0%", "title": "probability"},
        row_axis([escaped(shortened(label)) for label in pair.labels], 0.5),
        bargap=0.3,
        **_grouped(theme),
    )


def _grouped(theme: Theme) -> dict:
    """The layout of bars beside each other, told apart by a legend above them."""
    return {"barmode": "group", "margin": {"t": 40 * theme.scale}} | legend_above(traceorder="normal")


def foreseen_columns(pair: Pair, first: int = 1, theme: Theme = LIGHT) -> go.Figure:
    """The probability of each token of the text before it came, in both runs.

    Args:
        first: position of the first label.
    """
    places = [first + place for place in range(len(pair.labels))]
    figure = go.Figure()
    for (name, role, hatch), values in zip(RUNS, (pair.whole, pair.broken), strict=True):
        figure.add_trace(
            _bar(name, role, hatch, theme, x=places, y=list(values), hovertemplate="%{y:.4f}<extra></extra>")
        )
    x = token_axis(pair.labels, "the token that came", first)
    y = {"range": [0, 1.05], "tickformat": ".0%", "title": "its probability before"}
    return styled(figure, theme, 300, x, y, bargap=0.25, **_grouped(theme))


def pair_table(pair: Pair, what: str) -> pd.DataFrame:
    """Both runs' numbers as a table."""
    change = np.array(pair.broken) - np.array(pair.whole)
    return pd.DataFrame({what: pair.labels, "whole": pair.whole, "broken": pair.broken, "change": change})


def effect_map(
    change: np.ndarray, *, layer: int, head: int, marked: Sequence[tuple[int, int]] = (), theme: Theme = LIGHT
) -> go.Figure:
    """What each head is worth: layers from left to right, heads from top to bottom.

    Args:
        change: (layers, heads) change of the probability when that head alone is off; NaN where
            not tried yet.
        layer, head: the one that is looked at.
        marked: heads that are off.
    """
    layers, heads = change.shape
    bound = float(np.nanmax(np.abs(change), initial=1e-6))
    figure = go.Figure(
        go.Heatmap(
            z=change.T.astype(np.float32),
            zmin=-bound,
            zmax=bound,
            colorscale=palette.diverging(theme.name),
            colorbar=colour_bar("change of probability", theme, tickformat="+.0%"),
            hoverinfo="skip",
            hoverongaps=False,
            xgap=1,
            ygap=1,
        )
    )
    figure.add_trace(_targets(change))
    framed = [(each, "ink") for each in marked] + [((layer, head), "accent")]
    y = {"title": "head", "dtick": max(1, heads // 12), "range": [heads - 0.4, -0.6], "showgrid": False}
    return styled(
        figure,
        theme,
        int(min(640, 110 + 26 * heads)),
        layer_axis(layers),
        y | {"zeroline": False},
        clickmode="event+select",
        hoverdistance=-1,
        shapes=[_frame(*where, theme.colour(role), theme) for where, role in framed],
    )


def _targets(change: np.ndarray) -> go.Scatter:
    """What is clicked, and what a cell says."""
    places = [(layer, head) for layer in range(change.shape[0]) for head in range(change.shape[1])]
    places = [where for where in places if not np.isnan(change[where])]
    words = [f"layer {layer}, head {head}: {change[layer, head]:+.2%}" for layer, head in places]
    return click_targets([layer for layer, _ in places], [head for _, head in places], words, 20)


def _frame(layer: int, head: int, colour: str, theme: Theme) -> dict:
    line = {"color": colour, "width": 2.5 * theme.scale}
    return {
        "type": "rect",
        "x0": layer - 0.5,
        "x1": layer + 0.5,
        "y0": head - 0.5,
        "y1": head + 0.5,
        "line": line,
    }


def effect_table(change: np.ndarray) -> pd.DataFrame:
    """The map as a table, the largest change first."""
    rows = [
        {"layer": layer, "head": head, "change of probability": float(change[layer, head])}
        for layer in range(change.shape[0])
        for head in range(change.shape[1])
        if not np.isnan(change[layer, head])
    ]
    return pd.DataFrame(rows).sort_values("change of probability", key=abs, ascending=False)


def effect_columns(
    series: dict[str, np.ndarray], axis: dict, *, selected: int | None = None, theme: Theme = LIGHT
) -> go.Figure:
    """The change that each layer, or each position, makes when it is taken away.

    Args:
        series: name → one change of probability a place; NaN where not tried yet.
        axis: plotly's description of the axis of places.
        selected: the place that is looked at.
    """
    looks = {0: ("attention", ""), 1: ("value", "/")}
    figure = go.Figure()
    for number, (name, values) in enumerate(series.items()):
        role, hatch = looks[number]
        places = list(range(len(values)))
        bar = _bar(name, role, hatch, theme, x=places, y=values, hovertemplate="%{y:+.2%}<extra></extra>")
        figure.add_trace(bar)
    line = {"color": theme.colour("ink"), "dash": "dot", "width": 1.5}
    more = {"clickmode": "event+select", "shapes": [] if selected is None else [upright(selected, **line)]}
    y = {"tickformat": "+.0%", "title": "change of probability", "zeroline": True}
    more |= _grouped(theme) | {"showlegend": len(series) > 1}
    return styled(figure, theme, 320, axis, y, bargap=0.25, **more)


def columns_table(series: dict[str, np.ndarray], labels: Sequence[str], what: str) -> pd.DataFrame:
    """The columns as a table."""
    return pd.DataFrame({what: labels, **{f"change: {name}": values for name, values in series.items()}})


def layer_axis(layers: int) -> dict:
    """The axis of layers."""
    return {"title": "layer", "dtick": max(1, layers // 15), "range": [-0.6, layers - 0.4], "showgrid": False}


def position_axis(labels: Sequence[str]) -> dict:
    """The axis of positions."""
    return token_axis(labels, "the position that is hidden")


def written_table(rows: Sequence[tuple[int, str, str]]) -> pd.DataFrame:
    """Two continuations side by side: (index, whole, broken)."""
    return pd.DataFrame(rows, columns=["token", "whole", "broken"])
