"""Bars under each other, each with its name before it and its number behind it."""

from collections.abc import Sequence

import plotly.graph_objects as go

from viz.style import HATCHES, Theme, escaped, hatched, row_axis, styled


def named_bars(
    names: Sequence[str], values: Sequence[float], words: Sequence[str], role: str, row: int, theme: Theme
) -> go.Figure:
    """One bar a row, the first at the top, told apart by their hatches.

    Args:
        names: what each bar is of.
        values: their lengths.
        words: what is written behind each.
        role: of :mod:`viz.palette`, their colour.
        row: height of a row, in pixels.
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
    figure = styled(go.Figure(bar), theme, 70 + row * len(rows), bargap=0.35)
    return figure.update_yaxes(**row_axis([escaped(name) for name in names], 0.5))
