"""What the figures of the embeddings page hold, by their data."""

import numpy as np
import pytest

from viz import embeddings as figures
from viz import palette
from viz.style import Theme

HOSTILE = ["<b>x</b>", "$y$", "&amp;", "", "x" * 60, "‹F0 9F›"]
VALUES = np.random.default_rng(0).normal(size=576).astype(np.float32)


def test_the_bar_code_holds_every_value_and_the_cells_the_first():
    bars, cells, numbers = figures.row_strip(VALUES).data
    assert np.array_equal(np.asarray(bars.z).ravel(), VALUES)
    assert np.array_equal(np.asarray(cells.z).ravel(), VALUES[:24])
    assert numbers.text[0] == f"{VALUES[0]:.2f}".replace("-", "−") and len(numbers.text) == 24
    assert bars.zmid == 0 and bars.zmax == -bars.zmin == pytest.approx(np.percentile(np.abs(VALUES), 98))


@pytest.mark.parametrize("size", [1, 5, 100, 1000, 5120])
def test_any_hidden_size_fits_in_eight_lines(size):
    values = np.linspace(-1, 1, size, dtype=np.float32)
    bars = np.asarray(figures.row_strip(values).data[0].z)
    assert len(bars) <= 8
    assert np.array_equal(bars[~np.isnan(bars)], values)


@pytest.mark.parametrize("name", ["light", "dark"])
def test_numbers_in_cells_are_legible_on_their_colour(name):
    grounds = [figures._ground(share, Theme(name)) for share in np.linspace(-1.5, 1.5, 61)]
    assert min(palette.contrast(figures._on(ground), ground) for ground in grounds) >= 4.5
    assert grounds[0] == palette.diverging(name)[0][1] and grounds[-1] == palette.diverging(name)[2][1]


def test_zeros_have_a_scale():
    assert figures.saturation(np.zeros(4)) == 1.0


def test_bars_stand_in_order_with_escaped_labels():
    figure = figures.neighbour_bars(HOSTILE, range(6), [0.9, 0.8, 0.7, 0.6, 0.5, 0.4])
    assert list(figure.data[0].x) == [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
    assert len(figure.layout.yaxis.tickvals) == 6
    assert figure.layout.yaxis.ticktext[0] == "&lt;b&gt;x&lt;/b&gt;"
    assert figure.layout.yaxis.ticktext[3] == "∅"
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1], "the nearest is on top"


def test_the_map_marks_the_selected_the_texts_own_and_the_rest():
    points = np.random.default_rng(1).normal(size=(6, 2))
    figure = figures.vector_map(points, (0.4, 0.2), HOSTILE, own=2, links=[(0, 2), (1, 3), (0, 4)])
    links, near, own, selected = figure.data
    assert (len(near.x), len(own.x), len(selected.x)) == (4, 1, 1)
    assert len({near.marker.symbol, own.marker.symbol, selected.marker.symbol}) == 3
    assert len({near.marker.color, own.marker.color, selected.marker.color}) == 3
    assert selected.text[0] == "&lt;b&gt;x&lt;/b&gt;"
    assert "40%" in figure.layout.xaxis.title.text and "20%" in figure.layout.yaxis.title.text
    assert figure.layout.yaxis.scaleanchor == "x"
    assert len([x for x in links.x if x is not None]) == 6


def test_names_on_the_map_do_not_lie_on_one_another():
    points = np.array([[0.0, 0.0]] * 12)
    named = figures._label_places(points, ["word"] * 12, range(12))
    assert 1 <= len(named) < 12 and 0 in named


def test_a_map_of_one_point_is_drawn():
    figure = figures.vector_map(np.zeros((1, 2)), (0.0, 0.0), ["a"], own=1, links=[])
    assert figure.data[-1].x[0] == 0 and np.isfinite(figure.layout.xaxis.range).all()


def test_hands_stand_at_their_angles():
    angles = np.array([[0.0, 0.0], [1.0, 7.0]])
    dials, hands = figures.clocks(angles, ["a", "<i>"], [3, 4], [0, 5], selected=4).data
    assert list(hands.customdata) == pytest.approx(np.degrees([0, 0, 1, 7]))
    assert np.mod(hands.marker.angle, 360) == pytest.approx((np.degrees([0, 0, 1, 7]) + 180) % 360)
    assert hands.marker.line.color[2] != hands.marker.line.color[0], "the selected position is picked out"
    assert len(dials.x) == 4


def test_arrows_end_where_the_numbers_say():
    figure = figures.turned_arrow((1.0, 0.0), (0.0, 1.0), np.pi / 2)
    before, after = figure.data[-2:]
    assert (before.x[1], before.y[1], after.x[1], after.y[1]) == (1.0, 0.0, 0.0, 1.0)
    assert before.line.dash != after.line.dash
    assert figure.layout.yaxis.scaleanchor == "x"
    assert figures.turned_arrow((0.0, 0.0), (0.0, 0.0), 0.0).data


def test_shift_lines_carry_both_scores():
    shifts = np.arange(3)
    apart, together = figures.shift_lines(shifts, np.ones(3), np.array([1.0, 2.0, 3.0])).data
    assert list(together.y) == [1, 1, 1] and list(apart.y) == [1, 2, 3]
    assert together.line.dash != apart.line.dash


def test_strips_that_add_up_share_one_scale():
    rows = np.stack([VALUES, 2 * VALUES, 3 * VALUES])
    drawn = figures.added_strips(["token", "position", "sum"], rows).data[0]
    assert np.asarray(drawn.z).shape == (3, figures.BARS_A_LINE)
    assert drawn.zmax == pytest.approx(figures.saturation(rows))


def test_the_table_of_the_map_tells_the_texts_own():
    table = figures.map_table(["a", "b", "c"], (5, 6, 7), 2, np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]))
    assert table["in the text"].tolist() == [True, True, False]
    assert table["second direction"].tolist() == [1.0, 3.0, 5.0]


def test_tables_hold_the_numbers():
    table = figures.angle_table(np.array([[0.0, np.pi]]), [4], [0, 31])
    assert list(table.columns) == ["position", "pair 0, °", "pair 31, °"]
    assert table.iloc[0].tolist() == [4.0, 0.0, 180.0]
