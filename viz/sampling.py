"""Figures of one choice: bars through the stages, the cumulative curve, draws, the nucleus."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from viz.style import LIGHT, Theme, beside, escaped, hatched, panel, row_axis, shortened, styled, token_axis


def stage_bars(
    names: Sequence[str], labels: Sequence[str], bars: np.ndarray, rest: str, theme: Theme = LIGHT
) -> go.Figure:
    """The likeliest tokens after each stage, side by side; what is outside has its own bar.

    Args:
        names: the stages, in order.
        labels: the tokens, likeliest first.
        bars: (stages, tokens + 1) probabilities, the last column the rest; NaN where cut.
        rest: label of the rest.
    """
    rows = [*(escaped(shortened(label)) for label in labels), rest]
    figure = go.Figure([_stage(values, column, theme) for column, values in enumerate(bars, start=1)])
    x = {"range": [0, 1.28], "showticklabels": False, "showgrid": False}
    more = {"margin": {"t": 40}, "bargap": 0.3} | beside(names, 0.02, theme)
    return styled(figure, theme, 60 + 30 * len(rows), x, row_axis(rows), **more)


def _stage(values: np.ndarray, column: int, theme: Theme) -> go.Bar:
    colours = [theme.colour("attention")] * (len(values) - 1) + [theme.colour("muted")]
    patterns = [""] * (len(values) - 1) + ["/"]
    return go.Bar(
        x=np.nan_to_num(values),
        y=list(range(len(values))),
        orientation="h",
        marker={
            "color": colours,
            "pattern": hatched(patterns, theme),
        },
        text=["cut" if np.isnan(value) else percent(value) for value in values],
        textposition="outside",
        cliponaxis=False,
        hovertemplate="%{x:.5f}<extra></extra>",
        **panel(column),
    )


def percent(value: float) -> str:
    """A probability with as many digits as it needs to be told from zero."""
    if value >= 0.0995:
        return f"{value:.0%}"
    return f"{value:.1%}" if value >= 0.001 else f"{value:.0e}"


def cumulative_curve(
    ranks: np.ndarray, total: np.ndarray, *, kept: int, reached: float, top_p: float, theme: Theme = LIGHT
) -> go.Figure:
    """How much probability the likeliest tokens hold together, and where the cut is.

    Args:
        ranks, total: the curve; ranks from 1.
        kept: how many tokens are left at the end.
        reached: the probability they hold together under the temperature.
        top_p: drawn as a level where it is below 1.
    """
    figure = go.Figure(
        go.Scatter(
            x=ranks,
            y=total,
            mode="lines",
            line={"color": theme.colour("attention"), "width": 3 * theme.scale, "shape": "hv"},
            hovertemplate="the %{x:,} likeliest hold %{y:.4f}<extra></extra>",
        )
    )
    figure.add_trace(
        go.Scatter(
            x=[kept],
            y=[reached],
            mode="markers+text",
            marker={"color": theme.colour("pin"), "size": 12 * theme.scale, "symbol": "diamond"},
            text=[f"{kept:,} kept, {reached:.1%}"],
            textposition="bottom left" if kept > 300 else "bottom right",
            hoverinfo="skip",
        )
    )
    level = _level(top_p, theme) if top_p < 1 else {}
    x = {"type": "log", "title": "tokens, likeliest first (logarithmic)", "dtick": 1, "exponentformat": "none"}
    y = {"title": "probability together", "range": [0, 1.06]}
    return styled(figure, theme, 280, x, y, **level)


def _level(top_p: float, theme: Theme) -> dict:
    """A line across the figure at ``top_p``, its name above its left end."""
    line = {"color": theme.colour("muted"), "dash": "dash", "width": 1.5}
    shape = {"type": "line", "x0": 0, "x1": 1, "xref": "x domain", "y0": top_p, "y1": top_p, "yref": "y", "line": line}
    name = {
        "text": f"top-p {top_p:.2f}",
        "x": 0,
        "xref": "x domain",
        "xanchor": "left",
        "y": top_p,
        "yref": "y",
        "yanchor": "bottom",
        "showarrow": False,
    }
    return {"shapes": [shape], "annotations": [name]}


def draws_chart(
    labels: Sequence[str], counts: np.ndarray, probabilities: np.ndarray, rest: str, theme: Theme = LIGHT
) -> go.Figure:
    """How often each token came in many draws, beside what its probability says.

    Args:
        labels: the tokens; the last count and probability belong to ``rest``.
        counts, probabilities: (tokens + 1,).
    """
    names = [*(escaped(shortened(label)) for label in labels), rest][: len(counts)]
    draws = max(int(counts.sum()), 1)
    places = list(range(len(counts)))
    figure = go.Figure(
        go.Bar(
            x=counts / draws,
            y=places,
            orientation="h",
            marker={"color": theme.colour("attention"), "opacity": 0.75},
            hovertemplate="%{x:.1%} of the draws<extra></extra>",
        )
    )
    mark = {"symbol": "line-ns", "size": 22 * theme.scale, "line": {"color": theme.colour("ink"), "width": 3}}
    figure.add_trace(
        go.Scatter(
            x=probabilities, y=places, mode="markers", marker=mark, hovertemplate="probability %{x:.4f}<extra></extra>"
        )
    )
    beyond = np.maximum(counts / draws, probabilities)  # so that no number lies on a mark
    numbers = [f"  {count:,}" for count in counts]
    figure.add_trace(
        go.Scatter(x=beyond, y=places, mode="text", text=numbers, textposition="middle right", hoverinfo="skip")
    )
    x = {"title": "share of the draws", "range": [0, 1.2 * float(max(counts.max() / draws, probabilities.max()))]}
    return styled(figure, theme, 60 + 30 * len(names), x, row_axis(names), bargap=0.3)


def nucleus_columns(
    sizes: np.ndarray, labels: Sequence[str], first: int, selected: int, theme: Theme = LIGHT
) -> go.Figure:
    """How many tokens make up 90 % after each position: a tall column is an open question.

    Args:
        sizes: one whole number a position.
        labels: visible labels of those positions.
        first: position of the first.
        selected: the position that is selected.
    """
    positions = [first + place for place in range(len(sizes))]
    colours = [theme.colour("pin") if position == selected else theme.colour("attention") for position in positions]
    figure = go.Figure(
        go.Bar(
            x=positions,
            y=sizes,
            marker={"color": colours},
            text=[f"{size:,}" for size in sizes] if len(sizes) <= 32 else None,
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{y:,} tokens<extra></extra>",
        )
    )
    x = token_axis(labels, "after this token", first)
    y = {
        "type": "log",
        "title": "tokens (logarithmic)",
        "range": [-0.15, float(np.log10(max(sizes.max(), 10))) + 0.3],
        "dtick": 1,
        "exponentformat": "none",
    }
    return styled(figure, theme, 300, x, y, bargap=0.25, clickmode="event+select")


def stage_table(names: Sequence[str], labels: Sequence[str], bars: np.ndarray, rest: str) -> pd.DataFrame:
    """The bars as a table: one row a token, one column a stage; cut tokens are missing."""
    table = pd.DataFrame({"token": [*labels, rest]})
    for name, values in zip(names, bars, strict=True):
        table[f"after {name}"] = values
    return table


def draws_table(labels: Sequence[str], counts: np.ndarray, probabilities: np.ndarray, rest: str) -> pd.DataFrame:
    """Draws and probabilities as a table."""
    names = [*labels, rest][: len(counts)]
    return pd.DataFrame({"token": names, "draws": counts, "share": counts / counts.sum(), "probability": probabilities})


def curve_table(ranks: np.ndarray, total: np.ndarray) -> pd.DataFrame:
    """The cumulative curve as a table."""
    return pd.DataFrame({"likeliest tokens": ranks, "probability together": total})


def nucleus_table(sizes: np.ndarray, labels: Sequence[str], first: int) -> pd.DataFrame:
    """The nucleus sizes as a table."""
    return pd.DataFrame({"position": range(first, first + len(sizes)), "after": labels, "tokens for 90 %": sizes})
