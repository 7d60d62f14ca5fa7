"""Figures of vectors: a row of the embedding table, its neighbours, and how order is told."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.colors import hex_to_rgb

from viz import palette
from viz.style import LIGHT, Theme, below, escaped, legend_above, panel, panel_name, row_axis, shortened, styled

#: Numbers written out under a bar-code, and how many stand in one line: legible on a phone.
CELLS, CELLS_A_LINE = 24, 8

#: Numbers in one line of a bar-code, unless that made more than eight lines.
BARS_A_LINE = 192

#: A dial of :func:`clocks`, in pixels.
DIAL = 24


def saturation(values: np.ndarray) -> float:
    """Where colour saturates: the 98th percentile of the values' size, so that one cannot dim the rest."""
    return float(np.percentile(np.abs(values), 98)) or 1.0


def row_strip(values: np.ndarray, theme: Theme = LIGHT) -> go.Figure:
    """A vector as a bar-code of all its numbers, and the first of them written out.

    The bar-code is read like lines of text. Blue is below zero, orange above.

    Args:
        values: (hidden size,).
    """
    bars = in_lines(values, max(BARS_A_LINE, -(-len(values) // 8)))
    cells = in_lines(values[:CELLS], CELLS_A_LINE)
    heights = [20 * len(bars), 28 * len(cells)]
    limit = saturation(values)
    figure = go.Figure(
        [
            signed_cells(bars, limit, theme, xgap=0, ygap=3, **panel(1)),
            signed_cells(cells, limit, theme, xgap=2, ygap=3, **panel(2)),
            _written(cells, limit, theme, **panel(2)),
        ]
    )
    panels = below(heights, 40 / (sum(heights) + 40))
    for name, lines in (("yaxis", bars), ("yaxis2", cells)):
        starts = [str(lines.shape[1] * i) for i in range(len(lines))]
        panels[name] |= {"tickvals": list(range(len(lines))), "ticktext": starts}
    shown = f"the first {min(CELLS, len(values))}, outlined above, to read"
    return styled(
        figure,
        theme,
        sum(heights) + 68,
        {"visible": False},
        {"autorange": "reversed", "showgrid": False, "zeroline": False, "ticks": ""},
        margin={"t": 26 * theme.scale, "b": 2},
        shapes=[_outline(min(CELLS, bars.shape[1]), theme)],
        annotations=[panel_name("all of them, line by line", 1, theme), panel_name(shown, 2, theme)],
        **panels,
    )


def _outline(count: int, theme: Theme) -> dict:
    """The frame around the first ``count`` numbers of the first panel."""
    line = {"color": theme.colour("ink"), "width": 2}
    corners = {"x0": -0.5, "x1": count - 0.5, "y0": -0.5, "y1": 0.5}
    return {"type": "rect", "xref": "x", "yref": "y", "line": line} | corners


def in_lines(values: np.ndarray, length: int) -> np.ndarray:
    """Values broken into lines of ``length``, the last one filled with nothing, (lines, length)."""
    length = min(length, len(values))
    padded = np.full(-(-len(values) // length) * length, np.nan, dtype=np.float32)
    padded[: len(values)] = values
    return padded.reshape(-1, length)


def signed_cells(lines: np.ndarray, limit: float, theme: Theme, **more) -> go.Heatmap:
    """Lines of :func:`in_lines` as colours around a true zero, full at ±``limit``.

    Args:
        more: anything else that plotly's heatmap takes, as ``xgap`` and ``ygap`` between the cells.
    """
    first = np.arange(lines.size).reshape(lines.shape)
    return go.Heatmap(
        z=lines,
        zmid=0,
        zmin=-limit,
        zmax=limit,
        colorscale=palette.diverging(theme.name),
        showscale=False,
        customdata=first,
        hovertemplate="number %{customdata}: %{z:.4f}<extra></extra>",
        hoverongaps=False,
        **more,
    )


def _written(lines: np.ndarray, limit: float, theme: Theme, **more) -> go.Scatter:
    """The numbers of :func:`signed_cells` in two decimals, each in what is legible on its colour."""
    y, x = np.nonzero(~np.isnan(lines))
    values = lines[y, x]
    return go.Scatter(
        x=x,
        y=y,
        mode="text",
        text=[f"{value:.2f}".replace("-", "−") for value in values],
        textfont={"size": 14 * theme.scale, "color": [_on(_ground(value / limit, theme)) for value in values]},
        hoverinfo="skip",
        **more,
    )


def _ground(share: float, theme: Theme) -> str:
    """The diverging colour of ``share`` of the scale, −1 to 1, as ``#RRGGBB``."""
    low, middle, high = (colour for _, colour in palette.diverging(theme.name))
    end, far = (high if share > 0 else low), min(abs(share), 1.0)
    mixed = (round(a + far * (b - a)) for a, b in zip(hex_to_rgb(middle), hex_to_rgb(end), strict=True))
    return "#" + "".join(f"{channel:02X}" for channel in mixed)


def _on(ground: str) -> str:
    """Black or white, whichever is more legible on ``ground``."""
    return max(("#000000", "#FFFFFF"), key=lambda colour: palette.contrast(colour, ground))


def neighbour_bars(
    labels: Sequence[str], ids: Sequence[int], similarities: Sequence[float], theme: Theme = LIGHT
) -> go.Figure:
    """Bars of cosine similarity, the nearest on top, each with its label, number and token ID."""
    places = list(range(len(labels)))
    numbers = [
        f"{value:.2f}  <span style='color:{theme.colour('muted')}'>ID {id}</span>"
        for value, id in zip(similarities, ids, strict=True)
    ]
    figure = go.Figure(
        go.Bar(
            x=list(similarities),
            y=places,
            orientation="h",
            marker={"color": theme.colour("accent")},
            width=0.62,
            text=numbers,
            textposition="outside",
            cliponaxis=False,
            textfont={"size": 14 * theme.scale},
            hoverinfo="skip",
        )
    )
    low = min(0.0, *similarities)
    x = {"title": "cosine similarity", "range": [1.1 * low, 1.38], "tickvals": [0, 0.25, 0.5, 0.75, 1]}
    y = row_axis([escaped(shortened(label, 18)) for label in labels])
    return styled(figure, theme, 28 * len(labels) + 56, x, y)


def vector_map(
    points: np.ndarray,
    explained: tuple[float, float],
    labels: Sequence[str],
    own: int,
    links: Sequence[tuple[int, int]],
    theme: Theme = LIGHT,
) -> go.Figure:
    """Vectors laid flat: the text's as filled diamonds, their neighbours as rings.

    Both axes have one scale, so that distances are what they are. Names go first to the text's
    tokens, then to the first one's neighbours; a name that finds no room shows on pointing.

    Args:
        points: (vectors, 2); the text's own first, the selected one at the very start.
        explained: share of the variance along each axis.
        own: how many vectors are the text's.
        links: (vector of the text, its neighbour), places in ``points``.
    """
    figure = go.Figure()
    _draw_links(figure, points, links, theme)
    names = np.array([escaped(shortened(label)) for label in labels], dtype=object)
    of_first = [near for start, near in links if start == 0]
    places = _label_places(points, labels, list(dict.fromkeys([*range(own), *of_first, *range(len(points))])))
    groups = (
        ("rows near them", range(own, len(points)), "circle-open", "muted", 9),
        ("tokens of your text", range(1, own), "diamond", "accent", 13),
        ("the selected token", range(1), "star-diamond", "pin", 18),
    )
    for name, members, symbol, role, size in groups:
        who = list(members)
        figure.add_scatter(
            x=points[who, 0],
            y=points[who, 1],
            mode="markers+text",
            name=name,
            hovertext=names[who],
            hovertemplate="%{hovertext}<extra></extra>",
            text=[names[i] if i in places else "" for i in who],
            textposition=[places.get(i, "top center") for i in who],
            textfont={
                "size": (16 if role == "pin" else 14) * theme.scale,
                "color": theme.colour("muted" if role == "muted" else "ink"),
            },
            marker={
                "symbol": symbol,
                "size": size * theme.scale,
                "color": theme.colour(role),
                "line": {"width": 2 if role == "muted" else 0},
            },
        )
    room = 0.14 * (float(np.ptp(points, axis=0).max()) or 1.0)
    x, y = (
        {
            "title": f"{which} direction: {share:.0%} of the variance",
            "showticklabels": False,
            "showgrid": False,
            "zeroline": False,
            "range": [float(values.min()) - room, float(values.max()) + room],
        }
        for which, share, values in zip(("first", "second"), explained, points.T, strict=True)
    )
    return styled(figure, theme, 420, x, y | {"scaleanchor": "x"}, **legend_above(traceorder="reversed"))


def _draw_links(figure: go.Figure, points: np.ndarray, links: Sequence[tuple[int, int]], theme: Theme) -> None:
    ends = [[points[start], points[end], (None, None)] for start, end in links]
    x, y = zip(*(end for link in ends for end in link), strict=True) if ends else ((), ())
    figure.add_scatter(
        x=x, y=y, mode="lines", line={"color": theme.colour("line"), "width": 1}, hoverinfo="skip", showlegend=False
    )


#: Where a label may stand beside its point, in order of preference, and that way in label sizes.
_BESIDE = {
    "top center": (0, 1),
    "bottom center": (0, -1),
    "middle right": (0.6, 0),
    "middle left": (-0.6, 0),
    "top right": (0.6, 0.7),
    "top left": (-0.6, 0.7),
    "bottom right": (0.6, -0.7),
    "bottom left": (-0.6, -0.7),
}


def _label_places(points: np.ndarray, labels: Sequence[str], shown: Sequence[int]) -> dict[int, str]:
    """A plotly text position for each label that finds room; a label that finds none is left out.

    Boxes are estimated for a phone, 270 pixels of points across, with 14-pixel type. The first in ``shown``
    always keeps its name.
    """
    span = np.maximum(np.ptp(points, axis=0), 1e-12)
    pixels = (points - points.min(0)) * np.min((270, 330) / span)
    marks = [(x, y, 10, 10) for x, y in pixels]
    taken: list[tuple[float, float, float, float]] = []
    places: dict[int, str] = {}
    for i in shown:
        boxes = _boxes(*pixels[i], width=8.5 * min(len(labels[i]), 14) + 8)
        others = [*marks[:i], *marks[i + 1 :], *taken]
        free = [place for place, box in boxes.items() if not any(_overlap(box, other) for other in others)]
        if not free and places:
            continue
        places[i] = free[0] if free else "top center"
        taken.append(boxes[places[i]])
    return places


def _boxes(x: float, y: float, width: float, height: float = 19) -> dict[str, tuple[float, float, float, float]]:
    return {
        place: (x + right * (width + 14), y + up * (height + 2), width, height)
        for place, (right, up) in _BESIDE.items()
    }


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    """Whether two boxes (centre x, centre y, width, height) overlap."""
    return abs(a[0] - b[0]) < (a[2] + b[2]) / 2 and abs(a[1] - b[1]) < (a[3] + b[3]) / 2


def clocks(
    angles: np.ndarray,
    labels: Sequence[str],
    positions: Sequence[int],
    pairs: Sequence[int],
    selected: int,
    theme: Theme = LIGHT,
) -> go.Figure:
    """One dial for each position and pair, its hand at the angle; zero is straight up, clockwise.

    Args:
        angles: radians, (positions, pairs).
        labels: the tokens at ``positions``.
        positions: the rows.
        pairs: the columns.
        selected: the position that is picked out.
    """
    rows, columns = (grid.ravel() for grid in np.mgrid[0 : len(positions), 0 : len(pairs)])
    colours = np.where(np.array(positions)[rows] == selected, theme.colour("query"), theme.colour("muted"))
    size = DIAL * theme.scale
    figure = go.Figure()
    figure.add_scatter(
        x=columns,
        y=rows,
        mode="markers",
        hoverinfo="skip",
        marker={"symbol": "circle-open", "size": size, "color": theme.colour("line"), "line": {"width": 1.5}},
    )
    figure.add_scatter(
        x=columns,
        y=rows,
        mode="markers",
        customdata=np.degrees(angles.ravel()),
        hovertemplate="%{customdata:,.1f}°<extra></extra>",
        marker=_hand(angles, size, colours),
    )
    names = [escaped(f"{shortened(label, 10)}  {at}") for label, at in zip(labels, positions, strict=True)]
    x = {
        "title": "pair, from fast to slow",
        "tickvals": list(range(len(pairs))),
        "ticktext": [str(p) for p in pairs],
        "tickangle": 0,
        "showgrid": False,
        "zeroline": False,
        "range": [-0.6, len(pairs) - 0.4],
        "side": "top",
    }
    y = {
        "tickvals": list(range(len(positions))),
        "ticktext": names,
        "showgrid": False,
        "zeroline": False,
        "range": [len(positions) - 0.4, -0.6],
    }
    return styled(figure, theme, 34 * len(positions) + 72, x, y)


def _hand(angles: np.ndarray, dial: float, colours: np.ndarray) -> dict:
    """The marker of a clock's hand: plotly's upright line, turned and pushed out from the centre.

    The line is 1.4 × size long, and ``standoff`` pushes against the direction of ``angle``.
    """
    length = 0.46 * dial
    return {
        "symbol": "line-ns",
        "size": length / 1.4,
        "angle": (np.degrees(angles.ravel()) + 180) % 360,
        "standoff": length / 2,
        "line": {"width": 2.5, "color": colours},
    }


def turned_arrow(
    before: tuple[float, float], after: tuple[float, float], angle: float, theme: Theme = LIGHT
) -> go.Figure:
    """One pair of a query in its plane, before (dashed) and after turning (solid), with the arc between.

    Args:
        before, after: (x, y).
        angle: radians from one to the other, anticlockwise; more than a turn is drawn as a spiral.
    """
    start, length = np.arctan2(before[1], before[0]), np.hypot(*before) or 1.0
    sweep = np.linspace(0, angle, 24 + round(12 * abs(angle)))
    radius = length * (0.42 + 0.1 * sweep / max(abs(angle), 2 * np.pi))
    figure = go.Figure()
    whole = np.linspace(0, 2 * np.pi, 121)
    figure.add_scatter(
        x=length * np.cos(whole),
        y=length * np.sin(whole),
        mode="lines",
        hoverinfo="skip",
        line={"color": theme.colour("line"), "width": 1.5},
    )
    figure.add_scatter(
        x=radius * np.cos(start + sweep),
        y=radius * np.sin(start + sweep),
        mode="lines",
        hoverinfo="skip",
        line={"color": theme.colour("muted"), "width": 2 * theme.scale},
    )
    names = []
    for (x, y), name, role, dash in ((before, "before", "muted", "dash"), (after, "after", "query", "solid")):
        colour = theme.colour(role)
        _arrow(figure, x, y, colour, dash, theme)
        place = {"x": 1.2 * x, "y": 1.2 * y, "showarrow": False}
        names.append(place | {"text": f"<b>{name}</b>", "font": {"color": colour}})
    both = {"range": [-1.42 * length, 1.42 * length], "constrain": "domain"}
    across, up = {"title": "first number of the pair"}, {"title": "second number", "scaleanchor": "x"}
    return styled(figure, theme, 360, both | across, both | up, annotations=names)


def _arrow(figure: go.Figure, x: float, y: float, colour: str, dash: str, theme: Theme) -> None:
    figure.add_scatter(
        x=[0, x],
        y=[0, y],
        mode="lines+markers",
        line={"color": colour, "width": 3 * theme.scale, "dash": dash},
        marker={"symbol": "arrow", "angleref": "previous", "size": [0, 15 * theme.scale], "opacity": 1},
        hovertemplate=f"({x:.3f}, {y:.3f})<extra></extra>",
    )


def shift_lines(shifts: np.ndarray, together: np.ndarray, apart: np.ndarray, theme: Theme = LIGHT) -> go.Figure:
    """A score as both positions move (flat), beside the score as the query alone moves away.

    Args:
        shifts: (shifts,), in positions.
        together, apart: scores, (shifts,).
    """
    figure = go.Figure()
    lines = (
        (apart, "only the query moves: the distance grows", "key", "dash"),
        (together, "both move: the distance stays", "query", "solid"),
    )
    for scores, name, role, dash in lines:
        figure.add_scatter(
            x=shifts,
            y=scores,
            mode="lines",
            name=name,
            hovertemplate="moved by %{x}: %{y:.4f}<extra></extra>",
            line={"color": theme.colour(role), "width": 3 * theme.scale, "dash": dash},
        )
    x = {"title": "moved by s positions", "zeroline": False, "rangemode": "tozero"}
    y = {"title": "attention score", "zeroline": False}
    return styled(figure, theme, 340, x, y, **legend_above(traceorder="reversed"))


def added_strips(names: Sequence[str], rows: np.ndarray, theme: Theme = LIGHT) -> go.Figure:
    """Vectors under one another on one colour scale, as a sum: token + position = what enters.

    Args:
        names: one a vector.
        rows: (vectors, numbers).
    """
    figure = go.Figure(signed_cells(rows[:, :BARS_A_LINE], saturation(rows), theme, xgap=0, ygap=8))
    x = {"title": "number", "showgrid": False, "zeroline": False}
    y = {
        "tickvals": list(range(len(rows))),
        "ticktext": [escaped(name) for name in names],
        "autorange": "reversed",
        "showgrid": False,
        "zeroline": False,
    }
    return styled(figure, theme, 44 * len(rows) + 40, x, y)


def table(columns: dict[str, Sequence]) -> pd.DataFrame:
    """The numbers of a figure, for its table twin."""
    return pd.DataFrame(columns)


def map_table(labels: Sequence[str], ids: Sequence[int], own: int, points: np.ndarray) -> pd.DataFrame:
    """The vectors of :func:`vector_map`, a row each, with both coordinates.

    Args:
        own: how many vectors are the text's; they come first.
        points: (vectors, 2).
    """
    return table(
        {
            "token": labels,
            "ID": ids,
            "in the text": [place < own for place in range(len(labels))],
            "first direction": points[:, 0],
            "second direction": points[:, 1],
        }
    )


def angle_table(angles: np.ndarray, positions: Sequence[int], pairs: Sequence[int]) -> pd.DataFrame:
    """Angles in degrees, a row a position, a column a pair."""
    columns = {f"pair {pair}, °": np.degrees(angles[:, place]) for place, pair in enumerate(pairs)}
    return table({"position": positions, **columns})
