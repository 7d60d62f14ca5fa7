"""What figures share: the hatch over a colour, the legend in its line, bars with their names."""

from itertools import pairwise

import plotly.graph_objects as go

from viz.bars import named_bars
from viz.style import (
    HATCHES,
    LIGHT,
    Theme,
    below,
    beside,
    click_targets,
    hatched,
    legend_above,
    panel,
    panel_name,
    row_axis,
    styled,
)


def test_a_hatch_lies_over_the_colour_that_is_there():
    for theme in (LIGHT, Theme("dark")):
        pattern = hatched(["", "/"], theme, size=7)
        bar = go.Bar(x=[1, 2], marker={"color": "red", "pattern": pattern}).marker
        assert bar.pattern.shape == ("", "/") and bar.pattern.size == 7 and bar.color == "red"
        assert bar.pattern.fillmode == "overlay" and bar.pattern.fgcolor == theme.colour("background")
    assert hatched("/", LIGHT, fgcolor=LIGHT.colour("cache"))["fgcolor"] == LIGHT.colour("cache")


def test_a_legend_is_shown_above_and_takes_more():
    figure = styled(go.Figure(go.Bar(x=[1], name="one")), LIGHT, 200, **legend_above(traceorder="reversed"))
    assert figure.layout.showlegend and figure.layout.legend.traceorder == "reversed"
    assert figure.layout.legend.orientation == "h" and figure.layout.legend.y > 1
    assert figure.layout.legend.yanchor == "bottom"


def test_a_figure_carries_no_template_but_its_own():
    figure = styled(go.Figure(go.Scatter(x=[1], y=[1])), LIGHT, 200).to_dict()
    assert figure["layout"]["template"] == {
        "data": {"scatter": [{"type": "scatter", "marker": {"line": {"width": 0}}}]}
    }


def test_what_all_axes_take_reaches_each_and_a_panel_can_say_more():
    panels = {"xaxis2": {"title": {"text": "second"}}, "yaxis2": {"range": [3, 4]}}
    layout = styled(go.Figure(), LIGHT, 200, {"title": {"text": "all"}}, {"range": [0, 1]}, **panels).layout
    assert (layout.xaxis.title.text, layout.xaxis2.title.text) == ("all", "second")
    assert (layout.yaxis.range, layout.yaxis2.range) == ((0, 1), (3, 4))


def test_panels_beside_each_other_share_their_rows_and_stand_under_their_titles():
    for count in range(1, 12):  # no end lies beyond the figure by a rounding error, which plotly would refuse
        styled(go.Figure(), LIGHT, 200, **beside(["name"] * count, 0.03, LIGHT))
        styled(go.Figure(), LIGHT, 200, **below(range(1, count + 1), 0.03))
    layout = styled(go.Figure(), LIGHT, 200, **beside(["one", "two", "three"], 0.1, LIGHT)).layout
    ends = [layout[name].domain for name in ("xaxis", "xaxis2", "xaxis3")]
    assert ends[0][0] == 0 and abs(ends[-1][1] - 1) < 1e-9
    assert all(abs(right[0] - left[1] - 0.1) < 1e-9 for left, right in pairwise(ends))
    assert layout.yaxis.matches is None and layout.yaxis3.matches == "y" and not layout.yaxis3.showticklabels
    assert [each.text for each in layout.annotations] == ["one", "two", "three"]
    assert all(start < each.x < end for each, (start, end) in zip(layout.annotations, ends, strict=True))


def test_panels_below_each_other_are_as_high_as_said():
    layout = styled(go.Figure(go.Bar(x=[1], **panel(2))), LIGHT, 200, **below([2, 1], 0.1)).layout
    (bottom, top), (end, start) = layout.yaxis.domain, layout.yaxis2.domain
    assert top == 1 and abs(end) < 1e-9 and abs(bottom - start - 0.1) < 1e-9
    assert abs((top - bottom) - 2 * (start - end)) < 1e-9
    assert layout.yaxis2.anchor == "x2" and layout.xaxis.domain == layout.xaxis2.domain == (0, 1)
    assert panel(1) == {"xaxis": "x", "yaxis": "y"} and panel(2) == {"xaxis": "x2", "yaxis": "y2"}


def test_named_bars_stand_in_order_with_their_names_and_numbers():
    names = ["<b>", "two", "two", "four", "five"]
    figure = named_bars(names, [5, 4, 3, 2, 1], list("vwxyz"), "cache", 50, LIGHT)
    (bar,) = figure.data
    assert list(bar.x) == [5, 4, 3, 2, 1] and list(bar.y) == [0, 1, 2, 3, 4] and list(bar.text) == list("vwxyz")
    assert figure.layout.yaxis.ticktext == ("&lt;b&gt;", "two", "two", "four", "five"), "text only as text"
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1], "the first at the top"
    assert bar.marker.pattern.shape == (*HATCHES, HATCHES[0])


def test_rows_have_their_names_and_the_first_is_at_the_top():
    axis = go.Figure().update_yaxes(**row_axis(["same", "same", "other"])).layout.yaxis
    assert axis.tickvals == (0, 1, 2) and axis.ticktext == ("same", "same", "other"), "equal names stay two rows"
    assert axis.range == (2.6, -0.6)
    assert row_axis(["one", "two"], 0.5)["range"] == [1.5, -0.5]


def test_what_is_clicked_cannot_be_seen():
    marks = click_targets([1, 2], [3, 4], ["one", "two"], 20)
    assert (marks.mode, marks.marker.opacity, marks.marker.size) == ("markers", 0, 20)
    assert marks.selected.marker.opacity == marks.unselected.marker.opacity == 0
    assert list(marks.customdata) == ["one", "two"]
    assert click_targets([1], [1], ["one"], 9, mode="markers+text", text=["1"]).mode == "markers+text"


def test_a_panels_name_stands_above_its_own_panel():
    first, second = (panel_name("what it shows", row, LIGHT) for row in (1, 2))
    assert (first["yref"], second["yref"]) == ("y domain", "y2 domain")
    assert first["y"] == 1 and first["yanchor"] == "bottom"
