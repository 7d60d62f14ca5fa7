"""Figures of the memory calculator: bytes against tokens, a machine's memory, what makes a cache smaller."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from viz.style import LIGHT, Theme, escaped, hatched, legend_above, row_axis, shortened, styled, upright

GB, GIB = 10**9, 2**30
#: Requests drawn one by one; more of them are one block.
MOST_SEGMENTS = 16

_UNITS = ((GB, "GB", GIB, "GiB"), (10**6, "MB", 2**20, "MiB"), (10**3, "kB", 2**10, "KiB"))


def both_units(size: float) -> str:
    """A number of bytes in powers of ten and of two, as ``42.9 GB = 40 GiB``."""
    for ten, name, two, binary in _UNITS:
        if abs(size) >= ten:
            return f"{rounded(size / ten)} {name} = {rounded(size / two)} {binary}"
    return f"{size:,.0f} bytes"


def rounded(value: float) -> str:
    """Three digits, or all of a larger whole number."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def in_gb(size: float) -> str:
    """Bytes in GB alone, for labels inside a figure whose title or table has both."""
    return f"{rounded(size / GB)} GB" if abs(size) >= GB / 100 else f"{rounded(size / 10**6)} MB"


def growth_curve(
    tokens: np.ndarray, everywhere: np.ndarray, windowed: np.ndarray, chosen: int, theme: Theme = LIGHT
) -> go.Figure:
    """Bytes of the cache against tokens; layers with a window lie below the others, hatched.

    Args:
        tokens: from none to the longest context.
        everywhere, windowed: bytes in the layers that see everything and in those with a window.
        chosen: number of tokens that is marked, where it is on the axis.
    """
    figure = go.Figure()
    for name, values, role, hatch in (
        ("layers with a window", windowed, "accent", "/"),
        ("layers that see everything", everywhere, "cache", ""),
    ):
        if not values.any():
            continue
        figure.add_trace(
            go.Scatter(
                x=tokens,
                y=values / GB,
                stackgroup="bytes",
                mode="lines",
                name=name,
                line={"color": theme.colour(role), "width": 2.5 * theme.scale},
                fillpattern={"shape": hatch, "fgcolor": theme.colour(role)} if hatch else None,
                fillcolor=None if hatch else _faint(theme.colour(role)),
                hovertemplate=f"{name}, %{{x:,}} tokens: %{{y:.4g}} GB<extra></extra>",
            )
        )
    total = everywhere + windowed
    if 0 < chosen <= tokens[-1]:
        figure.add_trace(_chosen_point(tokens, total, chosen, theme))
    x = {"title": "tokens of a request", "range": [0, 1.02 * tokens[-1]], "tickformat": ",", "nticks": 6}
    y = {"title": "GB", "range": [0, 1.2 * float(total.max()) / GB or 1], "nticks": 6, "tickformat": "~g"}
    legend = legend_above() if windowed.any() and everywhere.any() else {}
    return styled(figure, theme, 320, x, y, **legend)


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.35)"


def _chosen_point(tokens: np.ndarray, total: np.ndarray, chosen: int, theme: Theme) -> go.Scatter:
    size = float(np.interp(chosen, tokens, total))
    right = chosen > 0.45 * tokens[-1]
    return go.Scatter(
        x=[chosen],
        y=[size / GB],
        mode="markers+text",
        marker={"color": theme.colour("pin"), "size": 12 * theme.scale, "symbol": "diamond"},
        text=[f"{chosen:,} tokens: {both_units(size)}"],
        textposition="top left" if right else "top right",
        cliponaxis=False,
        showlegend=False,
        hoverinfo="skip",
    )


def curve_table(tokens: np.ndarray, everywhere: np.ndarray, windowed: np.ndarray) -> pd.DataFrame:
    """The curve as a table, bytes and both units."""
    total = everywhere + windowed
    return pd.DataFrame(
        {
            "tokens": tokens,
            "bytes in layers that see everything": everywhere,
            "bytes in layers with a window": windowed,
            "GB": np.round(total / GB, 4),
            "GiB": np.round(total / GIB, 4),
        }
    )


def memory_bars(rows: Sequence[dict], memory: int, theme: Theme = LIGHT) -> go.Figure:
    """A machine's memory shared out, one bar a length of request; a line stands where the memory ends.

    Args:
        rows: one a bar: ``name``, and in bytes ``weights``, ``overhead``, ``a_request`` and
            ``left``; ``requests`` is how many fit. Where none fits, the first is drawn all the
            same, in outline, over the end.
        memory: bytes of the machine.
    """
    figure = go.Figure()
    for place, row in enumerate(rows):
        for part in _segments(row, theme):
            figure.add_trace(_segment(place, part, theme))
    longest = max(memory, *(row["weights"] + row["overhead"] + row["a_request"] for row in rows))
    words = {
        "x": memory / GB,
        "y": 1,
        "yref": "paper",
        "yanchor": "bottom",
        "xanchor": "right" if memory > 0.7 * longest else "center",
        "showarrow": False,
        "text": f"memory: {in_gb(memory)}",
        "font": {"color": theme.colour("pin")},
    }
    return styled(
        figure,
        theme,
        70 + 74 * len(rows),
        {"title": "GB", "range": [0, 1.12 * longest / GB], "nticks": 6},
        row_axis([row["name"] for row in rows]),
        barmode="overlay",
        bargap=0.35,
        margin={"t": 32},
        shapes=[upright(memory / GB, color=theme.colour("pin"), width=3 * theme.scale)],
        annotations=[words],
    )


def _segments(row: dict, theme: Theme) -> list[dict]:
    """The parts of one bar, from zero on: what each is, its bytes, its look, and its letter."""
    parts = [
        {"name": "weights", "size": row["weights"], "role": "muted", "hatch": "", "letter": " weights"},
        {"name": "overhead", "size": row["overhead"], "role": "ink", "hatch": "x", "letter": "rest"},
    ]
    fitting, each = row["requests"], row["a_request"]
    if fitting > MOST_SEGMENTS:
        name = f"caches of {fitting:,} requests"
        parts.append(
            {"name": name, "size": fitting * each, "role": "cache", "hatch": "/", "letter": f"{fitting:,} caches"}
        )
    else:
        parts += [
            {
                "name": f"cache of request {place + 1}",
                "size": each,
                "role": "cache",
                "hatch": "/",
                "letter": f"{place + 1}",
            }
            for place in range(fitting)
        ]
    if fitting == 0:
        parts.append(
            {"name": "cache that does not fit", "size": each, "role": "pin", "hatch": ".", "letter": "no room"}
        )
    elif row["left"] > 0:
        parts.append({"name": "left", "size": row["left"], "role": "line", "hatch": "", "letter": "left"})
    start = 0
    for part in parts:
        part["base"] = start
        start += part["size"]
    for part in parts:
        part["share"] = part["size"] / max(start, 1)
    return parts


def _segment(place: int, part: dict, theme: Theme) -> go.Bar:
    colour = theme.colour(part["role"])
    hollow = part["role"] == "pin"
    light = part["role"] == "line"
    edge = colour if hollow else theme.colour("background")
    return go.Bar(
        orientation="h",
        name=part["name"],
        y=[place],
        x=[part["size"] / GB],
        base=[part["base"] / GB],
        marker={
            "color": "rgba(0,0,0,0)" if hollow else colour,
            "pattern": hatched(part["hatch"], theme, fgcolor=edge, solidity=0.12),
            "line": {"color": edge, "width": 2},
        },
        text=[part["letter"] if part["share"] > 0.015 + 0.011 * len(part["letter"]) else ""],
        textposition="inside",
        insidetextanchor="middle" if part["base"] else "start",
        textangle=0,
        constraintext="none",
        textfont={"color": theme.colour("ink" if light or hollow else "background"), "size": 14 * theme.scale},
        hovertemplate=f"{part['name']}: {both_units(part['size'])}<extra></extra>",
    )


def memory_table(rows: Sequence[dict], memory: int) -> pd.DataFrame:
    """The bars as a table: one row a part, bytes and both units."""
    parts = []
    for row in rows:
        taken = {
            "weights": row["weights"],
            "overhead": row["overhead"],
            "cache of one request": row["a_request"],
            f"caches of the {row['requests']:,} that fit": row["requests"] * row["a_request"],
            "left": row["left"],
            "memory": memory,
        }
        parts += [{"bar": row["name"], "part": name, "bytes": size} for name, size in taken.items()]
    table = pd.DataFrame(parts)
    table["GB"], table["GiB"] = (table["bytes"] / GB).round(3), (table["bytes"] / GIB).round(3)
    return table


def size_bars(names: Sequence[str], sizes: Sequence[int], extra: Sequence[int], now: int, theme: Theme = LIGHT):
    """Sizes beside each other, one bar each, written out at its end.

    Args:
        sizes: bytes.
        extra: bytes of scales and zeros that come on top, hatched; 0 where there are none.
        now: index of the bar that is in force; the others are paler.
    """
    places = list(range(len(names)))
    shades = [1.0 if place == now else 0.6 for place in places]
    figure = go.Figure(
        go.Bar(
            orientation="h",
            y=places,
            x=[size / GB for size in sizes],
            marker={"color": theme.colour("cache"), "opacity": shades},
            hovertemplate="%{x:.4g} GB<extra></extra>",
        )
    )
    if any(extra):
        figure.add_trace(
            go.Bar(
                orientation="h",
                y=places,
                x=[size / GB for size in extra],
                marker={
                    "color": theme.colour("background"),
                    "pattern": hatched("/", theme, fgcolor=theme.colour("cache")),
                    "line": {"color": theme.colour("cache"), "width": 1},
                },
                hovertemplate="scales and zeros: %{x:.4g} GB<extra></extra>",
            )
        )
    totals = [size + more for size, more in zip(sizes, extra, strict=True)]
    figure.add_trace(
        go.Scatter(
            x=[total / GB for total in totals],
            y=places,
            mode="text",
            text=[f"  {both_units(total)}" for total in totals],
            textposition="middle right",
            cliponaxis=False,
            hoverinfo="skip",
        )
    )
    x = {"range": [0, 2.2 * max(totals) / GB], "showticklabels": False, "showgrid": False}
    y = row_axis([escaped(shortened(name, 34)) for name in names])
    return styled(figure, theme, 40 + 34 * len(names), x, y, barmode="stack", bargap=0.35)


def size_table(names: Sequence[str], sizes: Sequence[int], extra: Sequence[int], prices: Sequence[str]) -> pd.DataFrame:
    """The bars as a table, with what each costs elsewhere."""
    table = pd.DataFrame({"what": names, "bytes of the values": sizes, "bytes of scales and zeros": extra})
    total = table["bytes of the values"] + table["bytes of scales and zeros"]
    table["GB"], table["GiB"] = (total / GB).round(3), (total / GIB).round(3)
    table["its price"] = prices
    return table


def second_bars(names: Sequence[str], seconds: Sequence[float], theme: Theme = LIGHT) -> go.Figure:
    """Times beside each other, written out at their ends."""
    places = list(range(len(names)))
    figure = go.Figure(
        go.Bar(
            orientation="h",
            y=places,
            x=list(seconds),
            marker={
                "color": [theme.colour("cache")] + [theme.colour("pin")] * (len(names) - 1),
                "pattern": hatched([""] + ["/"] * (len(names) - 1), theme),
            },
            text=[milliseconds(value) for value in seconds],
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{x:.4g} s<extra></extra>",
        )
    )
    x = {"title": "seconds a step", "range": [0, 1.3 * max(seconds)], "nticks": 5, "tickformat": "~g"}
    return styled(figure, theme, 80 + 34 * len(names), x, row_axis(names), bargap=0.35)


def milliseconds(seconds: float) -> str:
    """A time in the unit that suits it."""
    return f"{rounded(seconds)} s" if seconds >= 1 else f"{rounded(1000 * seconds)} ms"


def second_table(names: Sequence[str], seconds: Sequence[float]) -> pd.DataFrame:
    """The times as a table."""
    return pd.DataFrame({"from": list(names), "seconds a step": list(seconds)})
