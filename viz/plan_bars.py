"""Levers of a plan side by side, and what was predicted beside what was timed."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10

import pandas as pd
import plotly.graph_objects as go

from viz.plan import round_ticks
from viz.style import LIGHT, Theme, beside, escaped, hatched, legend_above, nth, panel, row_axis, styled


@dataclass(frozen=True)
class Column:
    """One result of all levers.

    Attributes:
        title: what it is.
        low, high: its two ends; the same where it is exact.
        labels: each written out.
    """

    title: str
    low: Sequence[float]
    high: Sequence[float]
    labels: Sequence[str]


def lever_bars(names: Sequence[str], columns: Sequence[Column], theme: Theme = LIGHT) -> go.Figure:
    """Levers as rows, results as columns of bars: solid to the lower end, hatched to the upper."""
    figure, panels = go.Figure(), beside([each.title for each in columns], 0.03, theme, size=14)
    places = list(range(len(names)))
    for column, each in enumerate(columns, 1):
        rest = [high - low for low, high in zip(each.low, each.high, strict=True)]
        for part, values, hatch in (("lower end", each.low, ""), ("to the upper end", rest, "/")):
            figure.add_trace(_lever_part(places, part, values, hatch, theme, **panel(column)))
        figure.add_trace(
            go.Scatter(
                x=list(each.high),
                y=places,
                mode="text",
                text=[f" {label}" for label in each.labels],
                textposition="middle right",
                cliponaxis=False,
                hoverinfo="skip",
                **panel(column),
            )
        )
        panels[f"xaxis{nth(column)}"]["range"] = [0, 1.75 * (max(each.high) or 1)]
    ticks = [f"<b>{escaped(name)}</b>" if place == 0 else escaped(name) for place, name in enumerate(names)]
    x, more = {"showticklabels": False, "showgrid": False}, {"barmode": "stack", "bargap": 0.34, "margin": {"t": 32}}
    return styled(figure, theme, 60 + 32 * len(names), x, row_axis(ticks), **more, **panels)


def _lever_part(places: list[int], name: str, values: Sequence[float], hatch: str, theme: Theme, **more) -> go.Bar:
    background = theme.colour("background")
    colours = [theme.colour("cache" if place == 0 else "accent") for place in places]
    pattern = hatched(hatch, theme, fgcolor=colours) if hatch else None
    return go.Bar(
        orientation="h",
        name=name,
        y=places,
        x=list(values),
        marker={
            "color": background if hatch else colours,
            "pattern": pattern,
            "line": {"color": colours, "width": 1},
        },
        hoverinfo="skip",
        **more,
    )


def lever_table(names: Sequence[str], columns: Sequence[Column], prices: Sequence[str]) -> pd.DataFrame:
    """The levers as a table, with what each costs."""
    return pd.DataFrame({"what": names} | {each.title: each.labels for each in columns} | {"its price": prices})


def predicted_chart(
    names: Sequence[str], predicted: Sequence[float], timed: Sequence[float], theme: Theme = LIGHT
) -> go.Figure:
    """Predictions and timings of the same things as pairs of marks, the ratio written beside each.

    Args:
        predicted, timed: milliseconds.
    """
    places = list(range(len(names)))
    figure = go.Figure()
    for place, low, high in zip(places, predicted, timed, strict=True):
        line = {"color": theme.colour("line"), "width": 4 * theme.scale}
        figure.add_trace(
            go.Scatter(x=[low, high], y=[place, place], mode="lines", line=line, showlegend=False, hoverinfo="skip")
        )
    for name, values, role, symbol in (
        ("predicted, by formula", predicted, "accent", "diamond-open"),
        ("timed here", timed, "cache", "circle"),
    ):
        figure.add_trace(
            go.Scatter(
                x=list(values),
                y=places,
                mode="markers",
                name=name,
                marker={"color": theme.colour(role), "symbol": symbol, "size": 13 * theme.scale, "line": {"width": 3}},
                hovertemplate="%{x:.3g} ms<extra>" + name + "</extra>",
            )
        )
    figure.add_trace(
        go.Scatter(
            x=[max(pair) for pair in zip(predicted, timed, strict=True)],
            y=places,
            mode="text",
            text=[f"    {time / guess:.1f} ×" for guess, time in zip(predicted, timed, strict=True)],
            textposition="middle right",
            cliponaxis=False,
            showlegend=False,
            hoverinfo="skip",
        )
    )
    low, high = min(*predicted, *timed), max(*predicted, *timed)
    x = {"type": "log", "title": "milliseconds (logarithmic)", "range": [log10(low) - 0.1, log10(high) + 0.35]}
    x |= round_ticks(low * 0.8, high * 2)
    y = row_axis([escaped(name) for name in names])
    return styled(figure, theme, 110 + 34 * len(names), x, y, **legend_above())


def predicted_table(names: Sequence[str], predicted: Sequence[float], timed: Sequence[float]) -> pd.DataFrame:
    """The pairs as a table."""
    return pd.DataFrame(
        {
            "what": names,
            "predicted, ms": [float(f"{value:.3g}") for value in predicted],
            "timed, ms": [float(f"{value:.3g}") for value in timed],
            "timed / predicted": [round(time / guess, 2) for guess, time in zip(predicted, timed, strict=True)],
        }
    )


def published_table(rows: Sequence[tuple[str, str, str, str, str]]) -> pd.DataFrame:
    """Published figures beside those worked out here."""
    return pd.DataFrame(rows, columns=["what", "put in", "as published", "worked out here", "source"])
