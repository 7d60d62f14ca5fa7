"""Curves of a plan for serving a model, each between two assumptions; and how an estimate is written."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

import pandas as pd
import plotly.graph_objects as go

from viz.style import LIGHT, Theme, escaped, styled, upright

#: Steps between powers of ten on a logarithmic axis, the more the shorter it is.
_STEPS = ((1, 1.5, 2, 3, 4, 5, 6, 8), (1, 2, 5), (1, 3), (1,))
_MOST_TICKS = 7


def estimate(value: float) -> str:
    """Two digits and no more: what an estimate is worth."""
    if value == 0:
        return "0"
    digits = 1 - floor(log10(abs(value)))
    value = round(value, digits)
    return f"{value:,.{max(0, 1 - floor(log10(abs(value))))}f}"


def between(low: float, high: float) -> str:
    """A range of estimates, or one where both are the same to two digits."""
    first, last = estimate(low), estimate(high)
    return first if first == last else f"{first}–{last}"


def time_between(low: float, high: float) -> str:
    """A range of seconds in the unit that suits its upper end."""
    for factor, unit in ((1 / 3600, "h"), (1 / 60, "min"), (1, "s"), (1e3, "ms")):
        if high * factor >= (2 if factor < 1 else 1):
            return f"{between(low * factor, high * factor)} {unit}"
    return f"{between(1e6 * low, 1e6 * high)} µs"


@dataclass(frozen=True)
class Band:
    """A result over something moved, between two assumptions.

    Attributes:
        places: what is moved.
        low, high: the result's two ends at each.
        now: place of the plan, one of ``places``.
        full: the last place that fits into memory; 0 if none does.
    """

    places: Sequence[int]
    low: Sequence[float]
    high: Sequence[float]
    now: int
    full: int


def band_chart(band: Band, place_title: str, result_title: str, label: str, theme: Theme = LIGHT) -> go.Figure:
    """Both ends of a result as lines, what lies between them filled, the plan marked, the end of memory a line.

    Args:
        label: the plan's result in words, beside its mark.
    """
    figure = go.Figure()
    colour = theme.colour("accent")
    hover = "%{x:,}: %{y:.3g}<extra></extra>"
    line = {"color": colour, "width": 2 * theme.scale}
    figure.add_trace(
        go.Scatter(x=list(band.places), y=list(band.low), mode="lines", name="lower", line=line, hovertemplate=hover)
    )
    figure.add_trace(
        go.Scatter(
            x=list(band.places),
            y=list(band.high),
            mode="lines",
            name="upper",
            line=line | {"dash": "dash"},
            fill="tonexty",
            fillcolor=_faint(colour),
            hovertemplate=hover,
        )
    )
    place = list(band.places).index(band.now)
    low, high = min(band.low), max(band.high)
    bottom, top = log10(low) - 0.08, log10(high) + 0.22 * max(log10(high / low), 0.6)
    figure.add_trace(_now(band, place, theme))
    figure.add_trace(_to_its_label(band.now, band.high[place], 10**top, theme))
    start, end = log10(band.places[0]), log10(band.places[-1])
    x = {"type": "log", "title": place_title, "range": [start - 0.03, end + 0.03], "showgrid": False}
    y = {"type": "log", "title": result_title, "range": [bottom, top]}
    right = log10(band.now) > (start + end) / 2
    words = {
        "x": log10(band.now),
        "y": 1,
        "yref": "paper",
        "text": f" {escaped(label)} ",
        "showarrow": False,
        "xanchor": "right" if right else "left",
        "yanchor": "top",
        "font": {"color": theme.colour("pin")},
    }
    ends = band.places[0] <= band.full < band.places[-1]
    return styled(
        figure,
        theme,
        340,
        x | round_ticks(band.places[0], band.places[-1]),
        y | round_ticks(10**bottom, 10**top),
        margin={"r": 16, "t": 12},
        shapes=[_end_of_memory(band.full, theme)] if ends else [],
        annotations=[words, *([_memory_full(band.full, start, end, theme)] if ends else [])],
    )


def _now(band: Band, place: int, theme: Theme) -> go.Scatter:
    return go.Scatter(
        x=[band.now, band.now],
        y=[band.low[place], band.high[place]],
        mode="lines+markers",
        name="the plan",
        line={"color": theme.colour("pin"), "width": 3 * theme.scale},
        marker={"symbol": "diamond", "size": 10 * theme.scale},
        hoverinfo="skip",
    )


def _to_its_label(now: int, high: float, top: float, theme: Theme) -> go.Scatter:
    line = {"color": theme.colour("pin"), "width": 1, "dash": "dot"}
    return go.Scatter(x=[now, now], y=[high, top], mode="lines", name="to its label", line=line, hoverinfo="skip")


def _end_of_memory(full: int, theme: Theme) -> dict:
    """The line beyond which nothing fits."""
    return upright(full, color=theme.colour("cache"), width=2 * theme.scale, dash="dot")


def _memory_full(full: int, start: float, end: float, theme: Theme) -> dict:
    """The words at the foot of that line, on the side where there is room."""
    left = log10(full) > (start + end) / 2
    return {
        "x": log10(full),
        "y": 0,
        "yref": "paper",
        "yanchor": "bottom",
        "xanchor": "right" if left else "left",
        "text": f" memory full: {full:,} ",
        "showarrow": False,
        "font": {"color": theme.colour("cache")},
    }


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.22)"


def round_ticks(low: float, high: float) -> dict:
    """A few round numbers on a logarithmic axis, written out."""
    for steps in _STEPS:
        powers = range(floor(log10(low)) - 1, floor(log10(high)) + 2)
        found = [step * 10.0**power for power in powers for step in steps if low <= step * 10.0**power <= high]
        if len(found) <= _MOST_TICKS:
            break
    found = found[:: -(-len(found) // _MOST_TICKS)] if found else [low]
    return {"tickmode": "array", "tickvals": found, "ticktext": [_tick(value) for value in found]}


def _tick(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def band_table(band: Band, place_title: str, result_title: str) -> pd.DataFrame:
    """The curve as a table."""
    return pd.DataFrame(
        {
            place_title: band.places,
            f"{result_title}, lower": [float(f"{value:.3g}") for value in band.low],
            f"{result_title}, upper": [float(f"{value:.3g}") for value in band.high],
            "fits": [place <= band.full for place in band.places],
        }
    )
