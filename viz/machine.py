"""Figures of what a machine can do: how time grows with length, and the roofline."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from viz.style import LIGHT, Theme, styled

DASHES = ("dash", "dot", "dashdot", "longdash")


@dataclass(frozen=True)
class Timed:
    """Something timed at several sizes.

    Attributes:
        sizes: tokens.
        milliseconds, least, most: median, shortest and longest take of each.
    """

    sizes: Sequence[int]
    milliseconds: Sequence[float]
    least: Sequence[float]
    most: Sequence[float]


def growth_chart(timed: Timed, size_title: str, theme: Theme = LIGHT) -> go.Figure:
    """Time against size, both from zero, so that a straight line is a straight line."""
    middle = np.array(timed.milliseconds)
    figure = go.Figure(
        go.Scatter(
            x=list(timed.sizes),
            y=middle,
            mode="lines+markers",
            line={"color": theme.colour("accent"), "width": 2.5 * theme.scale},
            marker={"size": 9 * theme.scale},
            error_y={
                "type": "data",
                "symmetric": False,
                "array": np.array(timed.most) - middle,
                "arrayminus": middle - np.array(timed.least),
                "color": theme.colour("muted"),
            },
            hovertemplate="%{x:,} tokens: %{y:,.1f} ms<extra></extra>",
        )
    )
    x = {"title": size_title, "rangemode": "tozero", "tickformat": ",d"}
    return styled(figure, theme, 300, x, {"title": "milliseconds", "rangemode": "tozero", "tickformat": ","})


def parts_chart(sizes: Sequence[int], linear: Sequence[float], quadratic: Sequence[float], theme: Theme = LIGHT):
    """Operations of a prefill by formula: the part that grows as the length, and the part that grows as its square.

    Args:
        linear, quadratic: thousand million operations at each size.
    """
    figure, words = go.Figure(), []
    for name, values, role, dash in (
        ("matrices: linear", linear, "accent", "solid"),
        ("attention: quadratic", quadratic, "attention", "dash"),
    ):
        line = {"color": theme.colour(role), "width": 2.5 * theme.scale, "dash": dash}
        hover = "%{x:,} tokens: %{y:,.2f} thousand million<extra></extra>"
        figure.add_trace(
            go.Scatter(x=list(sizes), y=list(values), mode="lines", name=name, line=line, hovertemplate=hover)
        )
        words.append(
            {
                "x": sizes[-1],
                "y": values[-1],
                "text": name,
                "showarrow": False,
                "xanchor": "right",
                "yanchor": "bottom",
                "yshift": 4,
                "font": {"color": theme.colour(role)},
            }
        )
    x = {"title": "tokens of the prompt", "rangemode": "tozero", "tickformat": ",d"}
    y = {"title": "10⁹ operations", "rangemode": "tozero", "tickformat": ","}
    return styled(figure, theme, 300, x, y, annotations=words)


def timed_table(timed: Timed, size_title: str) -> pd.DataFrame:
    """The times as a table."""
    return pd.DataFrame(
        {
            size_title: timed.sizes,
            "milliseconds, median": timed.milliseconds,
            "least": timed.least,
            "most": timed.most,
        }
    )


def parts_table(sizes: Sequence[int], linear: Sequence[float], quadratic: Sequence[float]) -> pd.DataFrame:
    """The operations as a table."""
    return pd.DataFrame({"tokens of the prompt": sizes, "matrices, 10⁹": linear, "attention, 10⁹": quadratic})


@dataclass(frozen=True)
class Roof:
    """A machine's limit.

    Attributes:
        name: of the machine.
        operations: a second, at most.
        bandwidth: bytes a second.
    """

    name: str
    operations: float
    bandwidth: float

    def at(self, intensity: np.ndarray) -> np.ndarray:
        return np.minimum(self.operations, self.bandwidth * intensity)


@dataclass(frozen=True)
class Reached:
    """What a run reached.

    Attributes:
        kind: ``prefill`` or ``decode``.
        label: shown beside the point.
        intensity: operations for each byte moved, by formula.
        operations: a second: operations by formula over the time by the clock.
    """

    kind: str
    label: str
    intensity: float
    operations: float


def roofline_chart(here: Roof, others: Sequence[Roof], points: Sequence[Reached], theme: Theme = LIGHT) -> go.Figure:
    """Rates against intensity, both logarithmic: this machine's roof, others by formula, what runs reached."""
    span = np.logspace(-1, 3.5, 120)
    figure = go.Figure()
    for place, roof in enumerate(others):
        figure.add_trace(_roof(roof, span, theme.colour("muted"), DASHES[place % len(DASHES)], 1.5))
    figure.add_trace(_roof(here, span, theme.colour("ink"), "solid", 3 * theme.scale))
    for kind, role, symbol in (("prefill", "accent", "square"), ("decode", "cache", "circle")):
        figure.add_trace(
            _reached([each for each in points if each.kind == kind], kind, theme.colour(role), symbol, theme)
        )
    low = min([each.operations for each in points] + [here.bandwidth * 0.3]) / 2
    high = max([roof.operations for roof in (here, *others)]) * 2
    x = {"type": "log", "title": "operations for each byte moved (logarithmic)", "range": [-1, 3.5], "dtick": 1}
    y = {
        "type": "log",
        "title": "operations a second (logarithmic)",
        "range": [np.log10(low), np.log10(high)],
        "dtick": 1,
        "exponentformat": "power",
    }
    legend = {"orientation": "h", "y": -0.2, "x": 0}
    return styled(figure, theme, 460, x, y, showlegend=True, legend=legend, margin={"r": 16, "t": 16})


def _roof(roof: Roof, span: np.ndarray, colour: str, dash: str, width: float) -> go.Scatter:
    return go.Scatter(
        x=span,
        y=roof.at(span),
        mode="lines",
        name=roof.name,
        line={"color": colour, "dash": dash, "width": width},
        hovertemplate=f"{roof.name}<extra></extra>",
    )


def _reached(points: Sequence[Reached], kind: str, colour: str, symbol: str, theme: Theme) -> go.Scatter:
    return go.Scatter(
        x=[each.intensity for each in points],
        y=[each.operations for each in points],
        mode="markers+text",
        name=f"{kind}, timed here",
        text=[each.label for each in points],
        textposition="bottom right",
        marker={"color": colour, "symbol": symbol, "size": 12 * theme.scale},
        hovertemplate="%{text}: %{x:.2f} operations a byte, %{y:.3s} a second<extra></extra>",
    )


def roofline_table(here: Roof, others: Sequence[Roof], points: Sequence[Reached]) -> pd.DataFrame:
    """Roofs and points as one table."""
    roofs = [
        {
            "what": roof.name,
            "operations a second": roof.operations,
            "bytes a second": roof.bandwidth,
            "operations a byte": roof.operations / roof.bandwidth,
        }
        for roof in (here, *others)
    ]
    reached = [
        {
            "what": f"{each.kind}: {each.label}",
            "operations a second": each.operations,
            "operations a byte": each.intensity,
        }
        for each in points
    ]
    return pd.DataFrame(roofs + reached)
