"""Figures of the four ways to carry a conversation on: what each costs."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go

from viz.style import LIGHT, Theme, escaped, styled

#: Hatch of each way, in order.
HATCHES = ("", "/", "x", ".")


@dataclass(frozen=True)
class WayCost:
    """What one way costs for one request.

    Attributes:
        name: the way's, for people.
        tokens: of the prompt.
        operations: of its prefill.
        cache_bytes: of its keys and values.
    """

    name: str
    tokens: int
    operations: int
    cache_bytes: int


def way_bars(ways: Sequence[WayCost], theme: Theme = LIGHT) -> go.Figure:
    """Tokens of each way's request; work and cache are written beside them."""
    rows = list(range(len(ways)))
    bar = go.Bar(
        x=[way.tokens for way in ways],
        y=rows,
        orientation="h",
        text=[f"{way.tokens:,}" for way in ways],
        textposition="outside",
        constraintext="none",
        cliponaxis=False,
        marker={
            "color": theme.colour("cache"),
            "pattern": {
                "shape": [HATCHES[place % 4] for place in rows],
                "fgcolor": theme.colour("background"),
                "fillmode": "overlay",
            },
        },
        hoverinfo="skip",
    )
    figure = styled(go.Figure(bar), theme, 70 + 46 * len(rows), bargap=0.35)
    most = max(way.tokens for way in ways)
    figure.update_xaxes(title="tokens of the request", range=[0, 1.15 * most], showgrid=False)
    return figure.update_yaxes(
        tickmode="array",
        tickvals=rows,
        ticktext=[escaped(way.name) for way in ways],
        range=[len(rows) - 0.5, -0.5],
        showgrid=False,
        zeroline=False,
    )


def way_table(ways: Sequence[WayCost]) -> pd.DataFrame:
    """The bars as a table, with work and cache."""
    return pd.DataFrame(
        {
            "way": [way.name for way in ways],
            "tokens": [way.tokens for way in ways],
            "operations of the prefill": [way.operations for way in ways],
            "bytes of the cache": [way.cache_bytes for way in ways],
        }
    )
