"""The staircase of work: one rectangle a forward pass, as wide as its time, as high as its positions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from viz import palette
from viz.style import LIGHT, Theme, below, colour_bar, escaped, hatched, nth, panel, panel_title, styled, token_axis


@dataclass(frozen=True)
class Rectangle:
    """One forward pass.

    Attributes:
        milliseconds: its time, the median of the takes.
        least, most: the shortest and the longest take, milliseconds.
        read: positions read from the cache.
        again: positions computed that an earlier pass had computed already.
        new: positions computed for the first time.
        token: label of the token drawn from it.
        kept: whether what was computed went into a cache.
    """

    milliseconds: float
    least: float
    most: float
    read: int
    again: int
    new: int
    token: str
    kept: bool

    @property
    def positions(self) -> int:
        return self.read + self.again + self.new


@dataclass(frozen=True)
class Lane:
    """One way of writing.

    Attributes:
        name: of the way, over the lane.
        passes: prefill first.
        note: what stands at the lane's end, as what the cache holds; may be empty.
    """

    name: str
    passes: tuple[Rectangle, ...]
    note: str = ""

    @property
    def starts(self) -> np.ndarray:
        """Milliseconds at which each pass begins."""
        return np.cumsum([0.0, *(each.milliseconds for each in self.passes[:-1])])

    @property
    def total(self) -> float:
        return float(sum(each.milliseconds for each in self.passes))


#: The parts of a rectangle from the bottom up: field, words, role of its colour, hatch.
PARTS = (
    ("read", "read from the cache", "cache", "/"),
    ("again", "computed again", "pin", "x"),
    ("new", "computed, and kept in the cache", "accent", ""),
    ("new", "computed for the first time", "accent", ""),
)


def staircase(lanes: Sequence[Lane], *, selected: int | None = None, theme: Theme = LIGHT) -> go.Figure:
    """The lanes under each other on one axis of time.

    Args:
        selected: index of the pass that is opened up, outlined in the first lane.
    """
    longest, highest = max(lane.total for lane in lanes), max(p.positions for lane in lanes for p in lane.passes)
    bars = [bar for row, lane in enumerate(lanes, start=1) for bar in _bars(lane, row, theme)]
    opened = selected is not None and selected < len(lanes[0].passes)
    return styled(
        go.Figure(_named_once(bars)),
        theme,
        250 * len(lanes) + 90,
        {"range": [0, longest * 1.02], "showgrid": False},
        {"range": [0, highest * 1.3], "title": "positions", "rangemode": "tozero"},
        barmode="overlay",
        clickmode="event+select",
        bargap=0,
        margin={"r": 16, "t": 32 * theme.scale},
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": -0.3 / len(lanes), "yanchor": "top", "traceorder": "normal"},
        shapes=[_outline(lanes[0], selected, theme)] if opened else [],
        **_panels(lanes, longest, theme),
    )


def _panels(lanes: Sequence[Lane], longest: float, theme: Theme) -> dict:
    """Layout of the lanes, each under its name, on the last one's axis of time, and what they note."""
    layout = below([1] * len(lanes), 0.16)
    names, notes = [], []
    for row, lane in enumerate(lanes, start=1):
        names.append(panel_title(lane.name, theme, top=layout[f"yaxis{nth(row)}"]["domain"][1]))
        if lane.note:
            notes.append(_note(lane, longest, theme) | {"xref": f"x{nth(row)}", "yref": f"y{nth(row)}"})
        if row < len(lanes):
            layout[f"xaxis{nth(row)}"] |= {"matches": f"x{len(lanes)}", "showticklabels": False}
    layout[f"xaxis{nth(len(lanes))}"]["title"] = "milliseconds"
    return layout | {"annotations": names + notes}


def _bars(lane: Lane, row: int, theme: Theme) -> list[go.Bar]:
    """One trace for each part that the lane has."""
    kept = bool(lane.passes) and lane.passes[0].kept
    widths = np.array([each.milliseconds for each in lane.passes])
    middles = lane.starts + widths / 2
    base, bars = np.zeros(len(lane.passes)), []
    for field, words, role, hatch in PARTS:
        if field == "new" and kept != words.endswith("cache"):
            continue
        heights = np.array([getattr(each, field) for each in lane.passes])
        if heights.any():
            bars.append(_bar(lane, row, words, role, hatch, middles, widths, base.copy(), heights, theme))
        base += heights
    return bars


def _bar(lane, row, words, role, hatch, middles, widths, base, heights, theme) -> go.Bar:
    named = [f"step {place}, {each.milliseconds:.1f} ms: {words}" for place, each in enumerate(lane.passes)]
    return go.Bar(
        x=middles,
        y=heights,
        base=base,
        width=widths,
        name=words,
        customdata=named,
        marker={
            "color": theme.colour(role),
            "opacity": 0.45 if hatch else 1.0,
            "line": {"color": theme.colour("background"), "width": 1},
            "pattern": hatched(hatch, theme, size=7),
        },
        hovertemplate="%{customdata} %{y} positions<extra></extra>",
        selected={"marker": {"opacity": 0.45 if hatch else 1.0}},
        unselected={"marker": {"opacity": 0.45 if hatch else 1.0}},
        **panel(row),
    )


def _note(lane: Lane, longest: float, theme: Theme) -> dict:
    """What stands over the lane's end, on the side where there is room."""
    return {
        "x": lane.total,
        "y": lane.passes[-1].positions,
        "text": escaped(lane.note),
        "xanchor": "right" if lane.total > longest / 2 else "left",
        "yanchor": "bottom",
        "yshift": 6,
        "showarrow": False,
        "font": {"size": 14 * theme.scale, "color": theme.colour("ink")},
    }


def _named_once(bars: list[go.Bar]) -> list[go.Bar]:
    """Each part once in the legend, however many lanes have it."""
    seen = set()
    for trace in bars:
        trace.legendgroup, trace.showlegend = trace.name, trace.name not in seen
        seen.add(trace.name)
    return bars


def _outline(lane: Lane, place: int, theme: Theme) -> dict:
    start, each = float(lane.starts[place]), lane.passes[place]
    return {
        "type": "rect",
        "xref": "x",
        "yref": "y",
        "x0": start,
        "x1": start + each.milliseconds,
        "y0": 0,
        "y1": each.positions,
        "line": {"color": theme.colour("ink"), "width": 2.5 * theme.scale},
    }


def pass_at(lane: Lane, milliseconds: float) -> int:
    """Index of the pass that goes on at a moment of the lane."""
    return int(np.clip(np.searchsorted(lane.starts, milliseconds, side="right") - 1, 0, len(lane.passes) - 1))


def staircase_table(lanes: Sequence[Lane]) -> pd.DataFrame:
    """Every pass of every lane, a row each."""
    rows = [
        {
            "way": lane.name,
            "step": place,
            "kind": "prefill" if place == 0 else "decode",
            "token drawn": each.token,
            "milliseconds, median": each.milliseconds,
            "least": each.least,
            "most": each.most,
            "positions read": each.read,
            "computed again": each.again,
            "computed first": each.new,
            "kept": each.new if each.kept else 0,
        }
        for lane in lanes
        for place, each in enumerate(lane.passes)
    ]
    return pd.DataFrame(rows)


def times_chart(lane: Lane, *, selected: int | None = None, theme: Theme = LIGHT) -> go.Figure:
    """The time of every pass, with the shortest and the longest take."""
    colours = [theme.colour("ink" if place == selected else "accent") for place in range(len(lane.passes))]
    times = np.array([each.milliseconds for each in lane.passes])
    figure = go.Figure(
        go.Bar(
            x=list(range(len(times))),
            y=times,
            marker={"color": colours},
            error_y={
                "type": "data",
                "symmetric": False,
                "array": np.array([each.most for each in lane.passes]) - times,
                "arrayminus": times - np.array([each.least for each in lane.passes]),
                "color": theme.colour("muted"),
                "thickness": 1.5,
                "width": 4,
            },
            hovertemplate="step %{x}: %{y:.1f} ms<extra></extra>",
        )
    )
    names = ["prefill", *(str(place) for place in range(1, len(times)))]
    x = {"title": "step", "tickmode": "array", "tickvals": list(range(len(names))), "ticktext": names}
    y = {"title": "milliseconds", "rangemode": "tozero"}
    return styled(figure, theme, 260, x | {"showgrid": False}, y, bargap=0.25)


def work_triangle(
    weights: np.ndarray, labels: Sequence[str], *, first: int, last: int, theme: Theme = LIGHT
) -> go.Figure:
    """One head's attention map as it stands after a pass: the rows of this pass in colour.

    Args:
        weights: (positions, positions) attention weights, NaN where masked.
        labels: visible label of each position.
        first, last: the rows this pass works out, both ends included. Earlier ones are pale: they
            were worked out before. Later ones are not there yet.
    """
    now, before = np.full_like(weights, np.nan), np.full_like(weights, np.nan)
    now[first : last + 1] = weights[first : last + 1]
    before[:first] = np.where(np.isnan(weights[:first]), np.nan, 1.0)
    pale, gap = theme.colour("line"), 1 if len(labels) <= 32 else 0
    figure = go.Figure(
        go.Heatmap(z=before, colorscale=[[0, pale], [1, pale]], showscale=False, hoverinfo="skip", xgap=gap, ygap=gap)
    )
    figure.add_trace(
        go.Heatmap(
            z=now.astype(np.float32),
            zmin=0,
            zmax=1,
            colorscale=palette.SEQUENTIAL,
            colorbar=colour_bar("attention weight", theme),
            hovertemplate="query %{y}, key %{x}<br>%{z:.4f}<extra></extra>",
            hoverongaps=False,
            xgap=gap,
            ygap=gap,
        )
    )
    n = len(labels)
    x = token_axis(labels, "key", most=24) | {"side": "top", "tickangle": -45 if n > 6 else 0}
    y = token_axis(labels, "query", most=24)
    y["range"] = y["range"][::-1]
    shapes = [_read_mark(first, last, theme)] if first > 0 else []
    return styled(figure, theme, int(min(560, max(300, 22 * n + 110))), x, y, shapes=shapes)


def _read_mark(first: int, last: int, theme: Theme) -> dict:
    """Around the columns whose keys and values come from the cache."""
    line = {"color": theme.colour("cache"), "width": 2.5 * theme.scale, "dash": "dot"}
    return {"type": "rect", "x0": -0.5, "x1": first - 0.5, "y0": first - 0.5, "y1": last + 0.5, "line": line}


def triangle_table(weights: np.ndarray, labels: Sequence[str], first: int, last: int) -> pd.DataFrame:
    """The pairs this pass works out."""
    rows = [
        {"query": labels[q], "query position": q, "key": labels[k], "key position": k, "weight": float(weights[q, k])}
        for q in range(first, last + 1)
        for k in range(len(labels))
        if not np.isnan(weights[q, k])
    ]
    return pd.DataFrame(rows)
