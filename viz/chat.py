"""Figures of a conversation: what each turn sends, what fills the context, and one answer with and without."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from viz.sampling import percent
from viz.style import LIGHT, Theme, escaped, hatched, legend_above, shortened, styled, upright

#: What a part of the context is drawn as: role of its colour, hatch.
LOOKS = {
    "template": ("muted", "."),
    "system": ("key", "/"),
    "document": ("value", "x"),
    "history": ("cache", "\\"),
    "question": ("accent", ""),
}


@dataclass(frozen=True)
class TurnBar:
    """One turn.

    Attributes:
        reused: tokens at the beginning of its prompt that a kept cache served.
        new: the others.
        whole, rest: milliseconds of the prefill of all tokens, and of the new ones only.
    """

    reused: int
    new: int
    whole: float
    rest: float


def turn_bars(turns: Sequence[TurnBar], theme: Theme = LIGHT) -> go.Figure:
    """Tokens of each turn's prompt: those sent again and kept, and the new ones."""
    places = list(range(1, len(turns) + 1))
    figure = go.Figure()
    for name, values, role, hatch in (
        ("sent again, served by the kept cache", [turn.reused for turn in turns], "cache", "/"),
        ("new, to be worked out", [turn.new for turn in turns], "accent", ""),
    ):
        marker = {
            "color": theme.colour(role),
            "pattern": hatched(hatch, theme, size=7),
            "opacity": 0.55 if hatch else 1,
        }
        figure.add_trace(
            go.Bar(
                x=places,
                y=values,
                name=name,
                marker=marker,
                text=values,
                textposition="inside",
                hovertemplate="turn %{x}: %{y} tokens<extra></extra>",
            )
        )
    return styled(
        figure,
        theme,
        300,
        {"title": "turn", "tickmode": "array", "tickvals": places, "showgrid": False},
        {"title": "tokens of the prompt", "rangemode": "tozero"},
        barmode="stack",
        bargap=0.3,
        margin={"t": 40 * theme.scale},
        **legend_above(traceorder="normal"),
    )


def turn_times(turns: Sequence[TurnBar], theme: Theme = LIGHT) -> go.Figure:
    """Time of each turn's prefill, from nothing and after what was kept."""
    places = list(range(1, len(turns) + 1))
    figure = go.Figure()
    for name, values, role, dash, symbol in (
        ("everything again", [turn.whole for turn in turns], "pin", "dash", "square"),
        ("only what is new", [turn.rest for turn in turns], "accent", "solid", "circle"),
    ):
        figure.add_trace(
            go.Scatter(
                x=places,
                y=values,
                name=name,
                mode="lines+markers",
                line={"color": theme.colour(role), "dash": dash, "width": 2.5 * theme.scale},
                marker={"symbol": symbol, "size": 10 * theme.scale},
                hovertemplate="turn %{x}: %{y:.0f} ms<extra></extra>",
            )
        )
    ends = [0.7, len(turns) + 0.3]
    return styled(
        figure,
        theme,
        300,
        {"title": "turn", "tickmode": "array", "tickvals": places, "range": ends, "showgrid": False},
        {"title": "milliseconds", "rangemode": "tozero"},
        margin={"t": 40 * theme.scale},
        **legend_above(traceorder="normal"),
    )


def turn_table(turns: Sequence[TurnBar]) -> pd.DataFrame:
    """The turns as a table, with what has been sent and worked out so far."""
    table = pd.DataFrame(
        {
            "turn": range(1, len(turns) + 1),
            "tokens sent": [turn.reused + turn.new for turn in turns],
            "sent again, kept": [turn.reused for turn in turns],
            "new": [turn.new for turn in turns],
            "ms, everything": [turn.whole for turn in turns],
            "ms, only new": [turn.rest for turn in turns],
        }
    )
    table["sent so far"] = table["tokens sent"].cumsum()
    table["worked out so far"] = table["new"].cumsum()
    return table


@dataclass(frozen=True)
class Stretch:
    """One part of the context.

    Attributes:
        name: one of ``LOOKS``.
        tokens: how many.
        work, memory: its share of the prefill's operations and of the cache, 0 to 1.
    """

    name: str
    tokens: int
    work: float
    memory: float


def context_bar(stretches: Sequence[Stretch], limit: int, theme: Theme = LIGHT) -> go.Figure:
    """What fills the context, as one bar of tokens; the model's limit at its end if it is near.

    Args:
        limit: tokens that the model was made for.
    """
    figure = go.Figure()
    start = 0
    for each in stretches:
        role, hatch = LOOKS.get(each.name, ("muted", ""))
        marker = {"color": theme.colour(role), "pattern": hatched(hatch, theme, size=7), "opacity": 0.75}
        figure.add_trace(
            go.Bar(
                x=[each.tokens],
                y=[0],
                base=[start],
                orientation="h",
                name=f"{each.name} {each.tokens:,}",
                marker=marker,
                hovertemplate=f"{each.name}: {each.tokens:,} tokens<extra></extra>",
            )
        )
        start += each.tokens
    near = start > limit / 4
    return styled(
        figure,
        theme,
        190,
        {"title": "tokens", "range": [0, (limit if near else start) * 1.02]},
        {"visible": False},
        barmode="overlay",
        bargap=0.2,
        margin={"t": 56 * theme.scale},
        **legend_above(traceorder="normal"),
        **(_limit_mark(limit, theme) if near else {}),
    )


def _limit_mark(limit: int, theme: Theme) -> dict:
    """A line where the model's limit is, its name at the line's upper end."""
    name = {
        "text": f"limit {limit:,}",
        "x": limit,
        "xref": "x",
        "xanchor": "left",
        "y": 1,
        "yref": "y domain",
        "yanchor": "top",
        "showarrow": False,
    }
    return {"shapes": [upright(limit, color=theme.colour("pin"), width=2)], "annotations": [name]}


def context_table(stretches: Sequence[Stretch]) -> pd.DataFrame:
    """The parts of the context as a table."""
    return pd.DataFrame(
        {
            "part": [each.name for each in stretches],
            "tokens": [each.tokens for each in stretches],
            "share of the prefill's operations": [each.work for each in stretches],
            "share of the cache": [each.memory for each in stretches],
        }
    )


def answer_columns(labels: Sequence[str], series: dict[str, Sequence[float]], theme: Theme = LIGHT) -> go.Figure:
    """The probability of each token of one answer, under two contexts.

    Args:
        labels: the answer's tokens.
        series: name → one probability a token; two of them.
    """
    places = list(range(len(labels)))
    looks = (("accent", ""), ("pin", "/"))
    figure = go.Figure()
    for (name, values), (role, hatch) in zip(series.items(), looks, strict=False):
        figure.add_trace(
            go.Bar(
                x=places,
                y=list(values),
                name=name,
                marker={"color": theme.colour(role), "pattern": hatched(hatch, theme, size=7)},
                text=[percent(value) for value in values],
                textposition="outside",
                constraintext="none",
                cliponaxis=False,
                hovertemplate="%{y:.5f}<extra></extra>",
            )
        )
    names = [escaped(shortened(label)) for label in labels]
    return styled(
        figure,
        theme,
        300,
        {"tickmode": "array", "tickvals": places, "ticktext": names, "title": "the answer", "showgrid": False},
        {"range": [0, 1.12], "tickformat": ".0%", "title": "probability"},
        barmode="group",
        bargap=0.3,
        margin={"t": 48 * theme.scale},
        **legend_above(traceorder="normal"),
    )


def answer_table(labels: Sequence[str], series: dict[str, Sequence[float]]) -> pd.DataFrame:
    """The answer's probabilities as a table, the whole answer's product last."""
    rows = {"token": [*labels, "all together"]}
    return pd.DataFrame(rows | {name: [*values, float(np.prod(values))] for name, values in series.items()})
