"""Bars under each other, each with its name before it and its number behind it."""

from collections.abc import Sequence

import plotly.graph_objects as go

from viz.style import HATCHES, Theme, escaped, hatched, row_axis, styled


def named_bars(
    names: Sequence[str],
    values: Sequence[float],
    words: Sequence[str],
    role: str,
    row: int,
    theme: Theme,
    x: dict | None = None,
) -> go.Figure:
    """One bar a row, the first at the top, told apart by their hatches.

    Args:
        names: what each bar is of.
        values: their lengths.
        words: what is written behind each.
        role: of :mod:`viz.palette`, their colour.
        row: height of a row, in pixels.
        x: what plotly's x axis takes.
    """
    rows = list(range(len(names)))
    bar = go.Bar(
        x=list(values),
        y=rows,
        orientation="h",
        text=list(words),
        textposition="outside",
        constraintext="none",
        cliponaxis=False,
        marker={
            "color": theme.colour(role),
            "pattern": hatched([HATCHES[place % len(HATCHES)] for place in rows], theme),
        },
        hoverinfo="skip",
    )
    y = row_axis([escaped(name) for name in names], 0.5)
    return styled(go.Figure(bar), theme, 70 + row * len(rows), x, y, bargap=0.35)
