"""Figures of what a context gives back: maps of probability, time and bytes, and the same answer two ways."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from viz import palette
from viz.bars import named_bars
from viz.sampling import percent
from viz.style import LIGHT, Theme, escaped, row_axis, shortened, styled

INKS = ("#000000", "#FFFFFF")
#: How far a column that stands apart is moved away from the others, in columns.
GAP = 0.35


def number_map(
    values: np.ndarray,
    words: Sequence[Sequence[str]],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    row_title: str,
    column_title: str,
    limits: tuple[float, float] | None = None,
    apart: int = 0,
    row_height: int = 46,
    theme: Theme = LIGHT,
) -> go.Figure:
    """A map with its number in every cell, the first row at the top.

    Args:
        values: (rows, columns); NaN where nothing is known yet, which is drawn as the page itself.
        words: what is written in each cell.
        limits: values at the ends of the colours; by default zero and the largest.
        apart: how many of the first columns stand apart from the others.
    """
    values = np.asarray(values, dtype=float)
    if limits is None:
        limits = (0.0, float(np.nanmax(values, initial=1e-9)))
    figure = go.Figure()
    for first, end, shift in ((0, apart, 0.0), (apart, len(columns), GAP if apart else 0.0)):
        if end > first:
            figure.add_trace(_cells(values[:, first:end], first + shift))
    places = [place + (GAP if apart and place >= apart else 0.0) for place in range(len(columns))]
    figure.add_trace(_words(values, words, places, limits, theme))
    x = {
        "title": column_title,
        "tickmode": "array",
        "tickvals": places,
        "ticktext": [_wrapped(name) for name in columns],
        "tickangle": 0,
        "range": [-0.5, places[-1] + 0.5],
        "showgrid": False,
        "zeroline": False,
    }
    y = {"title": row_title} | row_axis([escaped(shortened(name, 24)) for name in rows], 0.5)
    # No bar of colours: every cell says its number.
    scale = {"colorscale": palette.SEQUENTIAL, "cmin": limits[0], "cmax": limits[1], "showscale": False}
    return styled(figure, theme, 120 + row_height * len(rows), x, y, coloraxis=scale)


def _wrapped(name: str) -> str:
    """A column's name on two lines, cut nearest its middle, so that it need not be turned on a narrow screen."""
    name = shortened(name, 24)
    spaces = [place for place, character in enumerate(name) if character == " "]
    if not spaces:
        return escaped(name)
    cut = min(spaces, key=lambda place: abs(2 * place - len(name)))
    return f"{escaped(name[:cut])}<br>{escaped(name[cut + 1 :])}"


def _cells(values: np.ndarray, first: float) -> go.Heatmap:
    return go.Heatmap(
        z=values,
        x0=first,
        dx=1,
        y0=0,
        dy=1,
        coloraxis="coloraxis",
        hoverinfo="skip",
        hoverongaps=False,
        xgap=2,
        ygap=2,
    )


def _words(
    values: np.ndarray, words: Sequence[Sequence[str]], places: list[float], limits: tuple[float, float], theme: Theme
) -> go.Scatter:
    """What is written in the cells, each in the ink that stands out against its colour."""
    known = [(row, column) for row, column in np.ndindex(values.shape) if not np.isnan(values[row, column])]
    low, high = limits
    shares = [min(1.0, max(0.0, (values[cell] - low) / ((high - low) or 1.0))) for cell in known]
    return go.Scatter(
        x=[places[column] for _, column in known],
        y=[row for row, _ in known],
        text=[escaped(words[row][column]).replace(" ✓", "<br>✓") for row, column in known],
        mode="text",
        textfont={"size": 14 * theme.scale, "color": [ink_on(share) for share in shares]},
        hoverinfo="skip",
        cliponaxis=False,
    )


def ink_on(share: float) -> str:
    """The ink, dark or light, that is read best on a place of the sequential colours, from 0 to 1."""
    colour = sample_colorscale(palette.SEQUENTIAL, share, colortype="tuple")[0]  # each from 0 to 1
    ground = "#" + "".join(f"{round(255 * each):02X}" for each in colour)
    return max(INKS, key=lambda ink: palette.contrast(ink, ground))


def chance_words(values: np.ndarray, marked: Sequence[Sequence[bool]] | None = None) -> list[list[str]]:
    """Probabilities as they stand in cells, those marked with a tick; nothing where nothing is known."""
    return [
        [
            "" if np.isnan(value) else percent(value) + (" ✓" if marked is not None and marked[row][column] else "")
            for column, value in enumerate(line)
        ]
        for row, line in enumerate(np.asarray(values, dtype=float))
    ]


def plain_words(values: np.ndarray, form: str) -> list[list[str]]:
    """Numbers as they stand in cells."""
    return [["" if np.isnan(value) else format(value, form) for value in row] for row in np.asarray(values, float)]


def map_table(values: np.ndarray, rows: Sequence[str], columns: Sequence[str], row_title: str) -> pd.DataFrame:
    """The map as a table."""
    values = np.asarray(values, dtype=float)
    return pd.DataFrame({row_title: list(rows), **{name: values[:, place] for place, name in enumerate(columns)}})


def chance_bars(labels: Sequence[str], values: Sequence[float], theme: Theme = LIGHT) -> go.Figure:
    """The probability of one answer under several requests, one bar each, the number beside it."""
    names = [shortened(label, 28) for label in labels]
    x = {"range": [0, 1.15], "tickformat": ".0%", "title": "probability", "showgrid": False}
    return named_bars(names, values, [percent(value) for value in values], "attention", 52, theme, x)


def chance_table(labels: Sequence[str], values: Sequence[float], what: str = "request") -> pd.DataFrame:
    """The bars as a table."""
    return pd.DataFrame({what: list(labels), "probability": list(values)})
