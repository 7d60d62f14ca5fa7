"""Figures of what a context gives back: every number stands in its cell, and words stay words."""

import numpy as np
import pytest
from plotly.colors import sample_colorscale, unlabel_rgb

from viz import carrying, palette, recall
from viz.style import Theme

NAN = float("nan")
VALUES = np.array([[1e-9, 0.5, NAN], [0.0, 1.0, 0.123]])


def drawn(**more):
    words = recall.chance_words(VALUES, [[False, True, False]] * 2)
    options = {"row_title": "r", "column_title": "c", "limits": (0, 1)} | more
    return recall.number_map(VALUES, words, ["100", "200"], ["no fact", "0%", "50%"], **options)


def test_every_number_is_written_in_its_cell_and_the_unknown_is_nothing():
    figure = drawn()
    cells, words = figure.data
    assert list(words.text) == ["1e-09", "50%<br>✓", "0e+00", "100%<br>✓", "12%"]
    assert list(zip(words.x, words.y)) == [(0, 0), (1, 0), (0, 1), (1, 1), (2, 1)]
    assert np.isnan(cells.z[0][2])
    assert (figure.layout.coloraxis.cmin, figure.layout.coloraxis.cmax) == (0, 1)


def test_the_first_row_is_at_the_top():
    axis = drawn().layout.yaxis
    assert axis.range[0] > axis.range[1] and list(axis.ticktext) == ["100", "200"]


def test_columns_that_stand_apart_keep_their_names_under_them():
    figure = drawn(apart=1)
    alone, others, words = figure.data
    assert list(words.x[:2]) == [0, 1 + recall.GAP]
    assert [alone.x0, others.x0] == [0, 1 + recall.GAP]
    assert list(figure.layout.xaxis.tickvals) == [0, 1 + recall.GAP, 2 + recall.GAP]
    assert figure.layout.xaxis.range[1] == pytest.approx(2.5 + recall.GAP)
    assert np.shape(alone.z) == (2, 1) and np.shape(others.z) == (2, 2)


def test_nothing_known_yet_is_a_figure_too():
    empty = np.full((1, 2), NAN)
    figure = recall.number_map(
        empty, recall.plain_words(empty, ".1f"), ["a"], ["b", "c"], row_title="", column_title=""
    )
    assert figure.layout.coloraxis.cmax > 0


def test_names_that_look_like_markup_are_words():
    figure = recall.number_map([[0.5]], [["<b>"]], ["<i>x</i>"], ["<b> $x$"], row_title="", column_title="")
    assert figure.layout.xaxis.ticktext == ("&lt;b&gt;<br>&#36;x&#36;",)
    assert figure.layout.yaxis.ticktext == ("&lt;i&gt;x&lt;/i&gt;",)
    assert figure.data[1].text[0] == "&lt;b&gt;"


def test_the_table_holds_the_same_numbers():
    table = recall.map_table(VALUES, ["100", "200"], ["no fact", "0%", "50%"], "tokens")
    assert table["0%"].tolist() == [0.5, 1.0] and table["tokens"].tolist() == ["100", "200"]


@pytest.mark.parametrize("theme", [Theme(), Theme("dark"), Theme("light", 1.35)])
def test_words_are_never_small(theme):
    figure = drawn(theme=theme)
    assert figure.data[1].textfont.size >= 13 and figure.layout.font.size >= 13


def test_bars_carry_their_number_and_a_hatch():
    figure = recall.chance_bars(["with", "without"], [0.33, 1e-4])
    (bar,) = figure.data
    assert list(bar.text) == ["33%", "1e-04"] and bar.marker.pattern.shape[0] != bar.marker.pattern.shape[1]
    assert recall.chance_table(["a"], [0.5]).iloc[0].tolist() == ["a", 0.5]


def test_ways_are_drawn_by_tokens_and_told_with_everything():
    ways = [carrying.WayCost("Everything", 1_200, 10**9, 500), carrying.WayCost("A summary", 60, 10**7, 25)]
    figure = carrying.way_bars(ways)
    assert list(figure.data[0].x) == [1_200, 60] and figure.data[0].text[0] == "1,200"
    assert figure.layout.xaxis.range[1] > 1_200
    assert carrying.way_table(ways)["bytes of the cache"].tolist() == [500, 25]


@pytest.mark.parametrize("share", [place / 50 for place in range(51)])
def test_words_stand_out_against_every_colour(share):
    red, green, blue = unlabel_rgb(sample_colorscale(palette.SEQUENTIAL, share)[0])
    ground = f"#{round(red):02X}{round(green):02X}{round(blue):02X}"
    assert palette.contrast(recall.ink_on(share), ground) >= 4.5


def test_ink_is_light_on_blue_and_dark_on_yellow():
    assert recall.ink_on(0.0) == "#FFFFFF" and recall.ink_on(1.0) == "#000000"


def test_long_names_are_cut_nearest_their_middle():
    names = recall.number_map(
        [[0.1, 0.2]],
        [["", ""]],
        ["a"],
        ["The last turns", "Everything"],
        row_title="",
        column_title="",
    ).layout.xaxis.ticktext
    assert names == ("The last<br>turns", "Everything")
