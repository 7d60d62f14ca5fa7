"""Figures of the lens: what each layer would answer at each position, and when the answer is settled."""

import unicodedata
from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.colors import hex_to_rgb

from viz import palette
from viz.layers import by_layer
from viz.style import LIGHT, Theme, click_targets, colour_bar, escaped, styled, token_axis

#: Room for a guess in a cell, in characters, and the width of a column it needs, in rem of 16 pixels.
CELL_CHARACTERS, COLUMN_REM, AXIS_REM = 8, 3.6, 3.2

#: Up to this many columns their names stand upright; slanted ones need room at the right.
UPRIGHT = 6


def lens_grid(
    guesses: Sequence[Sequence[str]],
    probabilities: np.ndarray,
    labels: Sequence[str],
    first: int,
    *,
    layer: int,
    position: int,
    theme: Theme = LIGHT,
) -> go.Figure:
    """Layers from top to bottom, positions from left to right; a cell is a guess, its colour its probability.

    Args:
        guesses: labels of the likeliest token, (layers + 1, positions); the first row is before layer 0.
        probabilities: theirs, (layers + 1, positions).
        labels: of the tokens read at these positions.
        first: the first of the positions.
        layer, position: the selected cell.
    """
    steps, count = probabilities.shape
    rows = list(range(-1, steps - 1))
    columns = list(range(first, first + count))
    figure = go.Figure(
        go.Heatmap(
            z=probabilities.astype(np.float32),
            x=columns,
            y=rows,
            zmin=0,
            zmax=1,
            colorscale=palette.SEQUENTIAL,
            xgap=1,
            ygap=1,
            colorbar=colour_bar("", theme, orientation="h", x=0, xanchor="left", y=0, yanchor="top", len=0.5)
            | {"title": {"text": "probability of the guess", "side": "bottom"}, "tickformat": ".0%"},
            hoverinfo="skip",
        )
    )
    figure.add_trace(_words(guesses, probabilities, rows, columns, theme))
    named = [f"{place} {label}" for place, label in zip(columns, labels, strict=True)]
    slanted = count > UPRIGHT
    x = token_axis(named, "position and token read", first) | {
        "ticktext": [escaped(fitting(label, CELL_CHARACTERS + 2)) for label in named],
        "side": "top",
        "tickangle": -35 if slanted else 0,
        "ticklabeloverflow": "allow",
    }
    y = {
        "title": "layer",
        "tickmode": "array",
        "tickvals": rows,
        "ticktext": ["in", *map(str, rows[1:])],
        "range": [steps - 1.5, -1.5],
        "showgrid": False,
        "zeroline": False,
    }
    return styled(
        figure,
        theme,
        24 * steps + 150,
        x,
        y,
        clickmode="event+select",
        hoverdistance=-1,
        margin={"r": round((64 if slanted else 8) * theme.scale)},
        shapes=[_selected(layer, position, theme)],
    )


def _selected(layer: int, position: int, theme: Theme) -> dict:
    """The frame around the selected cell."""
    line = {"color": theme.colour("pin"), "width": 3 * theme.scale}
    corners = {"x0": position - 0.5, "x1": position + 0.5, "y0": layer - 0.5, "y1": layer + 0.5}
    return {"type": "rect", "line": line} | corners


def _words(guesses, probabilities: np.ndarray, rows: list[int], columns: list[int], theme: Theme) -> go.Scatter:
    """The guesses, written in what is legible on their cells; they are also what is clicked."""
    cells = [(i, j) for i in range(len(rows)) for j in range(len(columns))]
    words = [
        f"layer {rows[i] if rows[i] >= 0 else 'in'}, position {columns[j]}: {escaped(guesses[i][j])}<br>"
        f"{probabilities[i, j]:.4f}"
        for i, j in cells
    ]
    return click_targets(
        [columns[j] for _, j in cells],
        [rows[i] for i, _ in cells],
        words,
        20,
        mode="markers+text",
        text=[escaped(fitting(guesses[i][j], CELL_CHARACTERS)) for i, j in cells],
        textfont={"size": 13 * theme.scale, "color": [_ink_on(float(probabilities[i, j])) for i, j in cells]},
    )


def _ink_on(share: float) -> str:
    """Black or white, whichever is more legible on the sequential colour of ``share``."""
    place = min(max(share, 0.0), 1.0) * (len(palette.SEQUENTIAL) - 1)
    low, high = palette.SEQUENTIAL[int(place)], palette.SEQUENTIAL[min(int(place) + 1, len(palette.SEQUENTIAL) - 1)]
    mixed = (a + (place % 1) * (b - a) for a, b in zip(hex_to_rgb(low), hex_to_rgb(high), strict=True))
    ground = "#" + "".join(f"{round(channel):02X}" for channel in mixed)
    return max(("#000000", "#FFFFFF"), key=lambda colour: palette.contrast(colour, ground))


def fitting(label: str, characters: int) -> str:
    """A label cut to what takes the room of ``characters`` letters, the cut shown; wide signs count twice."""
    room, kept = characters, []
    for place, sign in enumerate(label):
        room -= 2 if unicodedata.east_asian_width(sign) in "WF" else 1
        if room < 0 or (room == 0 and place < len(label) - 1):
            return "".join(kept) + "…"
        kept.append(sign)
    return label


def grid_rem(columns: int) -> float:
    """Width that the grid needs to be read, in rem; a narrower screen moves it sideways."""
    return AXIS_REM + COLUMN_REM * columns + (4 if columns > UPRIGHT else 0)


def lens_table(
    guesses: Sequence[Sequence[str]], probabilities: np.ndarray, labels: Sequence[str], first: int
) -> pd.DataFrame:
    """The grid as a table: one row a layer, for each position the guess and its probability."""
    table = pd.DataFrame({"layer": ["in", *map(str, range(len(probabilities) - 1))]})
    for column, label in enumerate(labels):
        table[f"{first + column} {label}"] = [row[column] for row in guesses]
        table[f"{first + column} probability"] = np.round(probabilities[:, column].astype(float), 4)
    return table


def late_verdict(ranks: np.ndarray, *, layer: int, vocabulary: int, theme: Theme = LIGHT) -> go.Figure:
    """The place of the model's own answer in the guesses of each layer, first at the top, on a logarithmic axis.

    Args:
        ranks: (layers + 1,), 1 is the likeliest; the first is before layer 0, drawn at “in”.
        vocabulary: how many tokens there are: the last place.
    """
    layers = len(ranks) - 1
    numbers = [""] * max(0, len(ranks) - 4) + [f"{rank:,}" for rank in ranks[-4:]]
    figure = go.Figure(
        go.Scatter(
            x=list(range(-1, layers)),
            y=[int(rank) for rank in ranks],
            mode="lines+markers+text",
            line={"color": theme.colour("attention"), "width": 2.5 * theme.scale},
            marker={"size": 9 * theme.scale, "color": theme.colour("attention")},
            text=numbers,
            textposition="top left",
            cliponaxis=False,
            hovertemplate="layer %{x}: place %{y:,}<extra></extra>",
            unselected={"marker": {"opacity": 1}, "textfont": {"color": theme.colour("ink")}},
        )
    )
    powers = [10**power for power in range(len(str(vocabulary)))]
    y = {
        "title": "place (logarithmic)",
        "type": "log",
        "tickmode": "array",
        "tickvals": powers,
        "ticktext": [f"{power:,}" for power in powers],
        "range": [np.log10(vocabulary) + 0.1, -0.4],
        "zeroline": False,
    }
    return by_layer(figure, layers, layer, theme, 300, y)


def verdict_table(ranks: np.ndarray, chances: np.ndarray) -> pd.DataFrame:
    """One row a step: the place of the model's own answer and its probability there."""
    steps = ["in", *map(str, range(len(ranks) - 1))]
    return pd.DataFrame({"after layer": steps, "place": ranks, "probability": chances})
