"""The figures of the lesson on context: what is drawn is what was given, zeros as paper, text as text."""

import numpy as np
import pytest

from viz import context, crack
from viz.style import LIGHT, Theme

LABELS = ["The", "␣capital", "␣of", "␣France→Italy", "␣is"]
VALUES = np.array([[0, 0, 0, 0.8, 0], [0, 0, 0, 0.7, 0.1], [0, 0, 0, 0.3, 0.6]], dtype=np.float32)
DRAWN = np.where(VALUES == 0, np.nan, VALUES)


def crack_map(drawn=DRAWN, values=VALUES, labels=LABELS, theme=LIGHT, **more):
    settings = {"first": 0, "untouched": 3, "edited": [3], "layer": 1, "position": 4} | more
    return crack.crack_map(drawn, values, labels, theme=theme, **settings)


def words(figure) -> list[str]:
    return [each.text for each in figure.layout.annotations]


def test_exact_zeros_are_paper_and_the_embedding_is_at_the_bottom():
    figure = crack_map()
    heat = figure.data[0]
    assert np.isnan(heat.z[:, :3]).all() and np.isnan(heat.z[0, 4])
    assert heat.z[1, 4] == np.float32(0.1)
    assert heat.y0 == -1 and figure.layout.yaxis.ticktext[0] == "embedding"
    assert (heat.zmin, heat.zmax) == (0.0, 1.0)
    assert "untouched" in words(figure)[0]


def test_every_cell_can_be_clicked_and_says_what_it_is():
    targets = crack_map().data[1]
    assert len(targets.x) == VALUES.size
    said = dict(zip(zip(targets.x, targets.y, strict=True), targets.customdata, strict=True))
    assert "exactly 0" in said[0, 1] and "0.6000" in said[4, 1]
    assert "embedding" in said[3, -1]


def test_the_ruler_the_cell_and_the_edit_are_marked():
    figure = crack_map()
    boxes = [(s.x0, s.x1, s.y0, s.y1) for s in figure.layout.shapes]
    assert (-0.5, 4.5, 0.5, 1.5) in boxes, "the ruler crosses all columns after layer 1"
    assert (3.5, 4.5, 0.5, 1.5) in boxes, "the selected cell"
    assert any("edited" in word for word in words(figure))


def test_columns_begin_where_the_window_does():
    figure = crack_map(first=100, edited=[103], position=7)
    assert figure.data[0].x0 == 100 and list(figure.layout.xaxis.range) == [99.5, 104.5]
    assert figure.layout.xaxis.ticktext[3] == "103 ␣France→Italy"
    assert min(figure.data[1].x) == 100
    assert crack.crack_table(VALUES, LABELS, 100).columns[1] == "100 The"


def test_shifted_positions_are_said_to_be():
    values = VALUES.copy()
    values[:, 3] = np.nan
    figure = crack_map(drawn=values, values=values)
    assert any(shape.label.text == "shifted" for shape in figure.layout.shapes)
    assert "shifted" in " ".join(figure.data[1].customdata)
    bars = crack.ruler_bars(values[1], LABELS, first=0, position=4, most=1.0)
    assert bars.data[0].text[3] == "–"


def test_nothing_at_all_to_draw_is_drawn():
    nothing = np.full((3, 5), np.nan)
    crack_map(drawn=nothing, values=np.zeros((3, 5)), untouched=5, edited=[])
    crack_map(drawn=nothing, values=nothing, untouched=0, edited=[])


def test_the_colours_reach_beyond_one_only_if_they_must():
    assert crack.largest_colour(VALUES) == 1.0
    assert crack.largest_colour(VALUES * 2) == pytest.approx(1.6)


def test_the_table_is_the_picture_with_the_embedding_last():
    table = crack.crack_table(VALUES, LABELS, 0)
    assert table["after layer"].tolist() == ["1", "0", "embedding"]
    assert table.iloc[0, 5] == pytest.approx(0.6)
    assert crack.ruler_table(VALUES[2], LABELS, 0)["difference"].tolist() == pytest.approx(VALUES[2].tolist())


def test_the_rulers_row_has_its_numbers():
    figure = crack.ruler_bars(VALUES[2], LABELS, first=0, position=4, most=1.0)
    assert list(figure.data[0].text) == ["0", "0", "0", "0.30", "0.60"]
    assert figure.data[0].marker.cmax == 1.0


def test_cosine_lines_have_the_pair_its_scale_and_the_mark():
    likeness = np.array([1.0, 0.9, 0.7])
    curves = [np.array([[1.0, 0.98, 0.95]]), np.array([[1.0, 0.9, 0.8], [1.0, 0.85, 0.75]])]
    figure = context.cosine_lines(likeness, ["river", "money"], curves, 1)
    lines = [each for each in figure.data if "lines" in each.mode]
    assert [list(each.y) for each in lines] == [*curves[0].tolist(), *curves[1].tolist(), likeness.tolist()]
    assert list(lines[0].x) == [-1, 0, 1]
    assert len({each.line.dash for each in lines}) == 3, "told apart by more than colour"
    assert words(figure) == ["<b>0.700</b>"]
    table = context.cosine_table(likeness, [["a"], ["b", "c"]], curves)
    assert table["after layer"].tolist() == ["embedding", "0", "1"] and table["c"].iloc[2] == 0.75


def test_cosine_lines_without_a_scale():
    figure = context.cosine_lines(np.ones(4), [], [], 0)
    assert len(figure.data) == 2


def test_ladders_name_the_token_of_every_layer():
    shares = np.array([[0.5, 0.9], [0.2, 0.4]])
    figure = context.lens_ladders(["one", "two"], [0, 1], [["a", "b"], ["c", "<i>"]], shares)
    assert [list(each.x) for each in figure.data] == shares.tolist()
    assert figure.data[1].text[1].startswith("&lt;i&gt;")
    assert context.lens_table(["same", "same"], [0, 1], [["a", "b"], ["c", "d"]], shares).shape == (2, 5)


def test_word_bars_have_repeated_words_apart_and_room_below_zero():
    figure = context.word_bars(["the", "the", "a"], np.array([0.5, -0.2, 1.0]))
    assert list(figure.data[0].x) == [0, 1, 2]
    assert figure.layout.yaxis.range[0] < -0.2


@pytest.mark.parametrize("layers", [1, 2, 3, 30, 80])
def test_an_axis_of_layers_names_some_and_the_embedding(layers):
    axis = context.layer_axis(layers)
    assert axis["tickvals"][0] == -1 and axis["ticktext"][0] == "embedding"
    assert len(axis["tickvals"]) <= 12 and max(axis["tickvals"]) < layers


def test_token_text_is_escaped_in_every_figure():
    bad = ["<b>x</b>", "$a$", "a", "b", "c"]
    figures = [
        crack_map(labels=bad),
        crack.ruler_bars(VALUES[1], bad, first=0, position=0, most=1.0),
        context.word_bars(bad, np.ones(5)),
    ]
    for figure in figures:
        texts = [*figure.layout.xaxis.ticktext, *(figure.data[1].customdata if len(figure.data) > 1 else ())]
        assert not any("<b>x" in text or "$" in text for text in texts), texts


@pytest.mark.parametrize("theme", [LIGHT, Theme("dark", 1.35)])
def test_no_figure_has_type_under_thirteen(theme):
    for figure in (
        crack_map(theme=theme),
        crack.ruler_bars(VALUES[1], LABELS, first=0, position=0, most=1.0, theme=theme),
        context.cosine_lines(np.ones(3), [], [], 0, theme),
        context.lens_ladders(["a"], [0], [["x"]], np.ones((1, 1)), theme),
        context.word_bars(["a"], np.ones(1), theme),
    ):
        assert figure.layout.font.size >= 13
        assert all(each.font.size is None or each.font.size >= 13 for each in figure.layout.annotations)
