"""Figures of the four ways to carry a conversation on: what each costs."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go

from viz.bars import named_bars
from viz.style import LIGHT, Theme


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
    counts = [way.tokens for way in ways]
    x = {"title": "tokens of the request", "range": [0, 1.15 * max(counts)], "showgrid": False}
    return named_bars([way.name for way in ways], counts, [f"{each:,}" for each in counts], "cache", 46, theme, x)


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
