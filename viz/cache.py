"""Figures of a KV cache as it fills: which positions each layer holds, its bytes, and its rows."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from viz import palette
from viz.sampling import percent
from viz.style import LIGHT, Theme, beside, colour_bar, escaped, hatched, panel, row_axis, shortened, styled, token_axis

#: Beyond this many positions, lines between them would be all there is to see.
LINED = 96
#: Colour role, letter and hatch of what was written in the two phases.
PHASES = {"prefill": ("cache", "P", ""), "decode": ("accent", "D", "/")}


def held_grid(
    held: Sequence[int], seen: int, computed: int, prompt: int, labels: Sequence[str], theme: Theme = LIGHT
) -> go.Figure:
    """Which positions each layer's cache holds after one forward pass.

    Args:
        held: positions in each layer's cache.
        seen: positions that have been through the model.
        computed: how many of them in this pass; they are outlined.
        prompt: how many of them were read in the prefill.
        labels: of all positions, those still to come included, so that the axis stands still.
    """
    figure = go.Figure()
    for phase, (first, end) in {"prefill": (0, min(prompt, seen)), "decode": (prompt, seen)}.items():
        figure.add_trace(_held_bars(phase, held, seen, first, end, theme))
    if len(labels) <= LINED:
        figure.add_trace(_between(len(labels), len(held), theme))
    return styled(
        figure,
        theme,
        140 + max(8, min(22, 420 // len(held))) * len(held),
        token_axis(labels, "position", most=32) | {"tickangle": -60 if len(labels) > 8 else 0},
        _layers(len(held)),
        barmode="overlay",
        bargap=0.14,
        margin={"t": 56},
        shapes=[_outline(seen - computed - 0.5, seen - 0.5, -0.5, len(held) - 0.5, theme)],
        annotations=_phase_names(seen, computed, prompt, len(labels), theme),
    )


def _layers(count: int) -> dict:
    """The axis of layers, the first at the top, a few of them named."""
    return {
        "title": "layer",
        "range": [count - 0.4, -0.6],
        "tickmode": "array",
        "tickvals": list(range(0, count, max(1, -(-count // 8)))),
        "showgrid": False,
        "zeroline": False,
    }


def _held_bars(phase: str, held: Sequence[int], seen: int, first: int, end: int, theme: Theme) -> go.Bar:
    """One horizontal bar a layer, over the positions from ``first`` to ``end`` that it still holds."""
    role, _, hatch = PHASES[phase]
    starts = np.maximum(first, seen - np.asarray(held))
    counts = np.maximum(0, end - starts)
    return go.Bar(
        orientation="h",
        name=phase,
        y=list(range(len(held))),
        base=starts - 0.5,
        x=counts,
        customdata=np.stack([counts, starts], axis=1),
        marker={
            "color": theme.colour(role),
            "pattern": hatched(hatch, theme, solidity=0.25),
        },
        hovertemplate=f"layer %{{y}}: %{{customdata[0]}} positions from the {phase}<extra></extra>",
    )


def _between(columns: int, layers: int, theme: Theme) -> go.Scatter:
    """Thin lines of the page's colour that make cells of the bars."""
    x = [value for place in range(1, columns) for value in (place - 0.5, place - 0.5, None)]
    y = [-0.5, layers - 0.5, None] * (columns - 1)
    line = {"color": theme.colour("background"), "width": 2}
    return go.Scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip")


def _outline(x0: float, x1: float, y0: float, y1: float, theme: Theme) -> dict:
    line = {"color": theme.colour("ink"), "width": 2.5 * theme.scale}
    return {"type": "rect", "x0": x0, "x1": x1, "y0": y0, "y1": y1, "line": line}


def _phase_names(seen: int, computed: int, prompt: int, columns: int, theme: Theme) -> list[dict]:
    """A letter over each phase's positions, with its word where there is room; an arrow at the new ones."""
    names = []
    for phase, (first, end) in {"prefill": (0, min(prompt, seen)), "decode": (prompt, seen)}.items():
        role, letter, _ = PHASES[phase]
        if end > first:
            word = f"<b>{letter}</b> {phase}" if (end - first) / columns > 0.22 else f"<b>{letter}</b>"
            names.append({"x": (first + end - 1) / 2, "text": word, "font": {"color": theme.colour(role)}})
    names.append({"x": seen - (computed + 1) / 2, "text": "new ↓", "yshift": 20 * theme.scale})
    place = {"y": 1.0, "yref": "paper", "yanchor": "bottom", "showarrow": False}
    return [place | name for name in names]


def held_table(held: Sequence[int], seen: int, computed: int, prompt: int) -> pd.DataFrame:
    """The grid as a table, one row a layer."""
    starts = seen - np.asarray(held)
    return pd.DataFrame(
        {
            "layer": range(len(held)),
            "positions held": list(held),
            "first position held": starts,
            "last": seen - 1,
            "written in the prefill": np.maximum(0, min(prompt, seen) - starts),
            "written by decodes": seen - np.maximum(prompt, starts) if seen > prompt else 0,
            "new in this step": np.minimum(computed, np.asarray(held)),
        }
    )


def growth_bars(sizes: Sequence[int], formula: Sequence[int], theme: Theme = LIGHT) -> go.Figure:
    """Bytes of the cache after each forward pass, with what the formula says as a mark on each bar.

    Args:
        sizes: bytes of the cache's own tensors, the prefill's first.
        formula: bytes by formula.
    """
    steps = list(range(len(sizes)))
    phases = [PHASES["prefill"] if each == 0 else PHASES["decode"] for each in steps]
    figure = go.Figure(
        go.Bar(
            x=steps,
            y=list(sizes),
            marker={
                "color": [theme.colour(role) for role, _, _ in phases],
                "pattern": hatched([hatch for *_, hatch in phases], theme, solidity=0.25),
            },
            hovertemplate="after step %{x}: %{y:,} bytes in the tensors<extra></extra>",
        )
    )
    mark = {"symbol": "line-ew", "size": 11 * theme.scale, "line": {"color": theme.colour("pin"), "width": 3}}
    figure.add_trace(
        go.Scatter(
            x=steps, y=list(formula), mode="markers", marker=mark, hovertemplate="formula: %{y:,}<extra></extra>"
        )
    )
    ticks = [0, *range(4, len(sizes), 4)]
    names = ["0 (prefill)", *map(str, ticks[1:])]
    x = {"title": "step", "tickmode": "array", "tickvals": ticks, "ticktext": names}
    top = 1.15 * max(*sizes, *formula, 1)
    y = {"title": "bytes", "rangemode": "tozero", "range": [0, top], "tickformat": "~s", "nticks": 5}
    return styled(figure, theme, 240, x | {"showgrid": False, "zeroline": False}, y, bargap=0.3)


def growth_table(sizes: Sequence[int], formula: Sequence[int], seen: Sequence[int]) -> pd.DataFrame:
    """The growth as a table, one row a forward pass."""
    return pd.DataFrame(
        {
            "step": range(len(sizes)),
            "positions seen": list(seen),
            "bytes of the tensors": list(sizes),
            "bytes by formula": list(formula),
        }
    )


def saturation(rows: np.ndarray) -> float:
    """Size at which the colours of a strip are full: 98 of 100 values are smaller; never zero."""
    return float(np.quantile(np.abs(rows), 0.98)) or 1.0 if rows.size else 1.0


def row_strip(
    rows: np.ndarray,
    labels: Sequence[str],
    first: int,
    new: int,
    *,
    role: str,
    bound: float,
    theme: Theme = LIGHT,
) -> go.Figure:
    """Rows of a cache, one a position, as they are: colours around a true zero.

    Args:
        rows: (positions, head size).
        labels: of these positions.
        first: real position of the first row.
        new: real position of the first row written in this step; from there on rows are outlined.
        role: ``key`` or ``value``.
        bound: size at which colours are full.
    """
    positions = [first + place for place in range(len(rows))]
    names = [f"{position} {label}" for position, label in zip(positions, labels, strict=True)]
    figure = go.Figure(
        go.Heatmap(
            z=rows.astype(np.float32),
            y=positions,
            zmin=-bound,
            zmax=bound,
            colorscale=palette.diverging(theme.name),
            colorbar=colour_bar("", theme, tickvals=[-bound, 0, bound], tickformat=".2f"),
            hovertemplate="position %{y}, number %{x}: %{z:.4f}<extra></extra>",
        )
    )
    outlines = []
    if positions and new <= positions[-1]:
        outlines.append(_outline(-0.5, rows.shape[1] - 0.5, max(new, first) - 0.5, positions[-1] + 0.5, theme))
    x = {"title": "number in the vector", "showgrid": False, "zeroline": False}
    y = token_axis(names, f"{palette.ROLES[role].letter}: position", first, most=28)
    y["range"] = y["range"][::-1]
    return styled(figure, theme, 80 + int(min(560, max(60, 20 * len(rows)))), x, y, shapes=outlines)


def rows_table(rows: np.ndarray, labels: Sequence[str], first: int) -> pd.DataFrame:
    """The rows as a table: one row a position, one column a number of the vector."""
    frame = pd.DataFrame(np.round(rows.astype(float), 5), columns=[str(place) for place in range(rows.shape[1])])
    frame.insert(0, "token", list(labels))
    frame.insert(0, "position", range(first, first + len(rows)))
    return frame


def answers(
    names: Sequence[str], labels: Sequence[str], bars: np.ndarray, rest: str, theme: Theme = LIGHT
) -> go.Figure:
    """The next token's probabilities from caches of other precision, side by side.

    Args:
        names: the caches, the exact one first.
        labels: the tokens that are told apart.
        bars: (caches, tokens + 1) probabilities, the last column all other tokens.
        rest: label of those.
    """
    rows = [*(escaped(shortened(label)) for label in labels), rest]
    figure = go.Figure()
    patterns = [""] * len(labels) + ["/"]
    for column, values in enumerate(bars, start=1):
        bar = go.Bar(
            x=values,
            y=list(range(len(rows))),
            orientation="h",
            marker={
                "color": [theme.colour("attention")] * len(labels) + [theme.colour("muted")],
                "pattern": hatched(patterns, theme),
            },
            text=[percent(value) for value in values],
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{x:.5f}<extra></extra>",
            **panel(column),
        )
        figure.add_trace(bar)
    x = {"range": [0, 1.4 * float(bars.max())], "showticklabels": False, "showgrid": False}
    more = {"margin": {"t": 40}, "bargap": 0.3} | beside(names, 0.02, theme)
    return styled(figure, theme, 60 + 30 * len(rows), x, row_axis(rows), **more)


def answers_table(names: Sequence[str], labels: Sequence[str], bars: np.ndarray, rest: str) -> pd.DataFrame:
    """The bars as a table: one row a token, one column a cache."""
    table = pd.DataFrame({"token": [*labels, rest]})
    for name, values in zip(names, bars, strict=True):
        table[name] = values
    return table


#: Line style and mark of each number of bits.
_LINES = {8: ("solid", "circle"), 4: ("dash", "square"), 2: ("dot", "diamond")}


def divergence_lines(curves: dict[int, Sequence[float]], theme: Theme = LIGHT) -> go.Figure:
    """KL divergence from the exact cache at each pass whose text is still the same.

    Args:
        curves: by bits; nats, the prefill's first. Zeros have no place on a logarithmic axis and
            are left out.
    """
    figure = go.Figure()
    for bits, values in curves.items():
        dash, symbol = _LINES[bits]
        steps = [step for step, value in enumerate(values) if value > 0]
        figure.add_trace(
            go.Scatter(
                x=steps,
                y=[values[step] for step in steps],
                mode="lines+markers+text",
                name=f"{bits} bits",
                line={"color": theme.colour("cache"), "dash": dash, "width": 2 * theme.scale},
                marker={"symbol": symbol, "size": 8 * theme.scale},
                text=[""] * (len(steps) - 1) + [f"  {bits} bits"],
                textposition="middle right",
                cliponaxis=False,
                hovertemplate=f"{bits} bits, step %{{x}}: %{{y:.2e}} nats<extra></extra>",
            )
        )
    longest = max((len(values) for values in curves.values()), default=1)
    x = {"title": "step", "range": [0.5, longest + 1.5], "showgrid": False}
    x |= {"tickmode": "array", "tickvals": list(range(1, longest, 2))}
    y = {"title": "KL, nats (logarithmic)", "type": "log", "dtick": 1, "exponentformat": "none"}
    return styled(figure, theme, 260, x, y)


def divergence_table(curves: dict[int, Sequence[float]]) -> pd.DataFrame:
    """The divergences as a table: one row a step; missing where the texts have parted."""
    longest = max((len(values) for values in curves.values()), default=0)
    table = pd.DataFrame({"step": range(longest)})
    for bits, values in curves.items():
        table[f"{bits} bits"] = pd.Series(values)
    return table
