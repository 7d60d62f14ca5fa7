"""How every plotly figure looks: one font, few lines, the page behind it, its own size said."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from viz import palette


@dataclass(frozen=True)
class Theme:
    """What a figure is drawn for.

    Attributes:
        name: ``light`` or ``dark``.
        scale: factor on type and marks; 1.35 in classroom mode.
    """

    name: str = "light"
    scale: float = 1.0

    def colour(self, role: str) -> str:
        """The colour of a role of :mod:`viz.palette`."""
        return palette.ROLES[role].on(self.name)


LIGHT = Theme()

#: All that the figures take from a template. Without one of their own, each would carry Streamlit's.
_TEMPLATE = go.layout.Template(data={"scatter": [{"marker": {"line": {"width": 0}}}]})


def styled(
    figure: go.Figure, theme: Theme, height: int, x: dict | None = None, y: dict | None = None, **layout
) -> go.Figure:
    """Give ``figure`` the look of the app, and all else that its layout says.

    Args:
        height: in pixels, before the theme's scale.
        x, y: what every x axis and every y axis takes.
        layout: anything more for plotly's layout, the axes of single panels included, as ``xaxis2``.
    """
    # Put together as one dictionary and set once: plotly's own updates take ten times as long.
    whole = figure.layout.to_plotly_json() | {"template": _TEMPLATE}
    more = {name: _plain(value) for name, value in layout.items()}
    _merge(whole, _look(theme, height))
    for name in _axes(whole | more):
        axis = whole.setdefault(name, {})
        _merge(axis, _axis_look(theme))
        _merge(axis, (x if name.startswith("x") else y) or {})
    _merge(whole, more)
    figure.layout = whole
    return figure


def _look(theme: Theme, height: int) -> dict:
    """The layout that all figures share."""
    ink = theme.colour("ink")
    return {
        "height": round(height * theme.scale),
        "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "Source Sans, sans-serif", "size": 14 * theme.scale, "color": ink},
        "hoverlabel": {"bgcolor": theme.colour("surface"), "font": {"size": 14 * theme.scale, "color": ink}},
        "showlegend": False,
        "dragmode": False,
        "modebar": {"remove": ["select2d", "lasso2d", "zoom2d", "pan2d", "autoScale2d"]},
    }


def _axis_look(theme: Theme) -> dict:
    line = theme.colour("line")
    return {"gridcolor": line, "linecolor": line, "zerolinecolor": line, "automargin": True, "fixedrange": True}


def _axes(layout: dict) -> list[str]:
    """The names of the axes: the two that every figure has, and those of further panels."""
    return ["xaxis", "yaxis", *(name for name in layout if name.startswith(("xaxis", "yaxis")) and name[5:])]


def _plain(value: object) -> object:
    """A part of a layout as plotly writes it, dictionaries all the way down."""
    return value.to_plotly_json() if hasattr(value, "to_plotly_json") else value


def _merge(into: dict, more: dict) -> None:
    """Put ``more`` into ``into``, dictionaries one in the other."""
    for name, value in more.items():
        if isinstance(value, dict):
            if not isinstance(into.get(name), dict):
                into[name] = {}  # its own: another axis is given the same dictionary
            _merge(into[name], value)
        else:
            into[name] = value


def escaped(text: str) -> str:
    """A token's label for plotly, which reads tags and entities in every text it draws.

    An empty label would be no tick at all, so it becomes ``∅``.
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("$", "&#36;") or "∅"


def shortened(text: str, longest: int = 14) -> str:
    """A label cut to ``longest`` characters, the cut shown."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def token_axis(labels: Sequence[str], title: str, first: int = 0, most: int = 48) -> dict:
    """An axis whose coordinates are positions and whose tick labels are tokens.

    Tokens as coordinates would merge repeated ones, and turn numbers into a number line. Beyond
    ``most`` tokens every n-th is named, so that names stay legible.

    Args:
        labels: visible labels, one a position.
        first: position of the first label.
    """
    every = max(1, -(-len(labels) // most))
    places = list(range(0, len(labels), every))
    return {
        "title": title,
        "type": "linear",
        "tickmode": "array",
        "tickvals": [first + place for place in places],
        "ticktext": [escaped(shortened(labels[place])) for place in places],
        "range": [first - 0.5, first + len(labels) - 0.5],
        "showgrid": False,
        "zeroline": False,
    }


def row_axis(names: Sequence[str], margin: float = 0.6) -> dict:
    """An axis of rows under each other, the first at the top, each with its name.

    Args:
        names: as plotly reads them: text of others has been escaped.
        margin: room from the middle of the first and the last row to the edge; 0.5 ends at a cell's.
    """
    return {
        "tickmode": "array",
        "tickvals": list(range(len(names))),
        "ticktext": list(names),
        "range": [len(names) - 1 + margin, -margin],
        "showgrid": False,
        "zeroline": False,
    }


def nth(number: int) -> str:
    """What plotly puts behind an axis's name for a panel, from 1: the number, or nothing for the first."""
    return str(number) if number > 1 else ""


def panel(number: int) -> dict:
    """The axes of a trace that stands in a panel, from 1."""
    return {"xaxis": f"x{nth(number)}", "yaxis": f"y{nth(number)}"}


def beside(titles: Sequence[str], gap: float, theme: Theme, size: int = 15) -> dict:
    """Layout of panels from left to right that share the first one's y axis, each under its title.

    Plotly's own ``make_subplots`` does the same in ten times the time.

    Args:
        titles: as plotly reads them: text of others has been escaped.
        gap: between two panels, a share of the figure's width.
        size: of the titles' type.
    """
    width = (1 - gap * (len(titles) - 1)) / len(titles)
    layout = {"annotations": []}
    for number, title in enumerate(titles, start=1):
        start, n = (number - 1) * (width + gap), nth(number)
        shared = {} if number == 1 else {"matches": "y", "showticklabels": False}
        layout[f"xaxis{n}"] = {"anchor": f"y{n}", "domain": [start, min(1.0, start + width)]}
        layout[f"yaxis{n}"] = {"anchor": f"x{n}", "domain": [0.0, 1.0]} | shared
        middle = {"x": start + width / 2, "xanchor": "center"}
        layout["annotations"].append(panel_title(title, theme, size) | middle)
    return layout


def panel_title(text: str, theme: Theme, size: int = 15, top: float = 1.0) -> dict:
    """An annotation: the title over a panel, at its left end.

    Args:
        text: as plotly reads it: text of others has been escaped.
        size: of its type.
        top: upper edge of the panel, a share of the figure's height.
    """
    return {
        "text": text,
        "x": 0,
        "xref": "paper",
        "xanchor": "left",
        "y": top,
        "yref": "paper",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": size * theme.scale, "color": theme.colour("ink")},
    }


def below(heights: Sequence[float], gap: float) -> dict:
    """Layout of panels from top to bottom.

    Args:
        heights: of the panels, in any unit.
        gap: between two panels, a share of the figure's height.
    """
    unit = (1 - gap * (len(heights) - 1)) / sum(heights)
    top, layout = 1.0, {}
    for number, height in enumerate(heights, start=1):
        n = nth(number)
        bottom = max(0.0, top - height * unit)  # the last one's could be a rounding error below
        layout[f"xaxis{n}"] = {"anchor": f"y{n}", "domain": [0.0, 1.0]}
        layout[f"yaxis{n}"] = {"anchor": f"x{n}", "domain": [bottom, top]}
        top = bottom - gap
    return layout


def panel_name(text: str, row: int, theme: Theme) -> dict:
    """An annotation: what one panel of a figure of rows shows, written above its left end.

    Args:
        text: as plotly reads it: text of others has been escaped.
        row: of the panel, from 1.
    """
    return {
        "text": text,
        "x": 0,
        "xref": "x domain",
        "xanchor": "left",
        "y": 1,
        "yref": f"y{nth(row)} domain",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"color": theme.colour("muted")},
    }


def colour_bar(title: str, theme: Theme, **more) -> dict:
    """A slim colour bar with its title."""
    return {"title": {"text": title, "side": "right"}, "thickness": 12 * theme.scale, "outlinewidth": 0, **more}


#: Hatches that tell the rows of a figure apart, in order; after the last the first again.
HATCHES = ("", "/", "x", ".")


def hatched(shape: str | Sequence[str], theme: Theme, **more) -> dict:
    """A hatch of plotly's in the background's colour, over the colour that a bar has anyway.

    Args:
        shape: one for all bars of a trace, or one each; empty for none.
        more: anything else that plotly's pattern takes, or ``fgcolor`` for another colour.
    """
    return {"shape": shape, "fgcolor": theme.colour("background"), "fillmode": "overlay", **more}


def legend_above(**more) -> dict:
    """Settings for :func:`styled`: the legend, in a line above the figure.

    Args:
        more: anything else that plotly's legend takes.
    """
    line = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"}
    return {"showlegend": True, "legend": line | more}


def upright(x: float, **line) -> dict:
    """A shape: a line from the bottom of the figure to its top.

    Args:
        line: what plotly's line takes.
    """
    return {"type": "line", "x0": x, "x1": x, "xref": "x", "y0": 0, "y1": 1, "yref": "y domain", "line": line}


def marked(first: float, last: float, theme: Theme) -> dict:
    """A shape: a pale ground behind the places from ``first`` to ``last``, from the bottom to the top."""
    return {
        "type": "rect",
        "x0": first,
        "x1": last,
        "xref": "x",
        "y0": 0,
        "y1": 1,
        "yref": "y domain",
        "fillcolor": theme.colour("line"),
        "opacity": 0.7,
        "line": {"width": 0},
        "layer": "below",
    }


def click_targets(x: Sequence, y: Sequence, words: Sequence[str], size: int, **more) -> go.Scatter:
    """Invisible marks over a heatmap's cells that say what a cell is: the heatmap gives no event when clicked.

    Args:
        words: of each cell, shown when it is pointed at.
        size: of a mark, in pixels.
        more: anything else that plotly's scatter takes.
    """
    return go.Scatter(
        x=x,
        y=y,
        marker={"symbol": "square", "size": size, "opacity": 0.0},
        customdata=words,
        hovertemplate="%{customdata}<extra></extra>",
        selected={"marker": {"opacity": 0.0}},
        unselected={"marker": {"opacity": 0.0}},
        **{"mode": "markers", **more},
    )
