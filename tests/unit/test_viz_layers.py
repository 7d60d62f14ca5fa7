"""The figures of the lesson on layers: what is drawn is what was given, and what is clicked says where."""

import numpy as np
import pytest

from model.lens import LensColumn, LensGrid, window_around
from viz import layers, lens, neurons
from viz.style import Theme

SIZES = np.array([2.0, 10.0, 40.0, 30.0])
ATTENTION, FEED_FORWARD = np.array([1.0, 20.0, 5.0]), np.array([8.0, 15.0, 25.0])


def by_name(figure):
    return {trace.name: trace for trace in figure.data}


def test_sizes_are_drawn_at_their_layers_and_what_enters_before_the_first():
    figure = layers.stream_sizes(SIZES, ATTENTION, FEED_FORWARD, layer=1)
    traces = by_name(figure)
    stream = traces["the stream, as it leaves the layer"]
    assert list(stream.x) == [-1, 0, 1, 2] and list(stream.y) == SIZES.tolist()
    assert list(traces["added by attention"].y) == ATTENTION.tolist()
    assert list(traces["added by the feed-forward network"].x) == [0, 1, 2]
    assert figure.layout.yaxis.type == "log" and "logarithmic" in figure.layout.yaxis.title.text
    assert (figure.layout.shapes[0].x0, figure.layout.shapes[0].x1) == (0.5, 1.5)
    assert figure.layout.xaxis.ticktext[0] == "in" and figure.layout.xaxis.tickvals[0] == -1


def test_lines_differ_by_more_than_colour():
    figure = layers.stream_sizes(SIZES, ATTENTION, FEED_FORWARD, layer=1)
    assert len({trace.line.dash for trace in figure.data}) == len({trace.marker.symbol for trace in figure.data}) == 3


def test_additions_that_are_not_known_are_not_drawn():
    figure = layers.stream_sizes(SIZES, None, None, layer=0)
    assert [trace.name for trace in figure.data] == ["the stream, as it leaves the layer"]


def test_names_of_layers_do_not_touch():
    figure = layers.stream_sizes(np.ones(31), np.ones(30), np.ones(30), layer=3)
    places = list(figure.layout.xaxis.tickvals)
    assert min(b - a for a, b in zip(places, places[1:])) >= 3


def test_turns_have_room_for_what_points_backwards():
    figure = layers.stream_turns(np.array([-0.4, 0.9]), np.array([0.1, 0.2, 1.0]), layer=0)
    low, high = figure.layout.yaxis.range
    assert low < -0.4 and high > 1


def test_the_tables_are_the_figures():
    table = layers.stream_table(SIZES, ATTENTION, FEED_FORWARD, np.array([0.1, 0.9, 0.8]), np.array([0, 0.2, 0.5, 1]))
    assert table["size in"].tolist() == [2, 10, 40] and table["size out"].tolist() == [10, 40, 30]
    assert table["cosine, out with the end"].tolist() == [0.2, 0.5, 1]


def test_strips_hold_every_number_and_print_their_scale():
    before, after = np.linspace(-4, 4, 500), np.linspace(-1, 1, 500)
    figure = layers.norm_strips([("before", before), ("after", after)])
    drawn = figure.data[0].z.ravel()
    assert np.allclose(drawn[~np.isnan(drawn)], before)
    assert figure.data[0].zmin == -figure.data[0].zmax and figure.data[0].zmid == 0
    words = [each.text for each in figure.layout.annotations]
    assert words[0].startswith("before: full colour at ±3.9") and words[1].startswith("after: full colour at ±0.9")
    assert layers.norm_table([("before", before), ("after", after)])["after"].tolist() == after.tolist()


# ---- the lens ----

GUESSES = [["a", "<b>"], ["x", ""], ["a very long guess", "你好你好你好"]]
CHANCES = np.array([[1.0, 0.5], [0.1, 0.2], [0.9, 0.0]])


def grid(**options):
    return lens.lens_grid(GUESSES, CHANCES, ["one", "$two"], 5, layer=1, position=6, **options)


def test_the_grid_has_layers_down_and_positions_across():
    figure = grid()
    heat, words = figure.data
    assert heat.z.tolist() == CHANCES.astype(np.float32).tolist()
    assert list(heat.x) == [5, 6] and list(heat.y) == [-1, 0, 1]
    assert (heat.zmin, heat.zmax) == (0, 1), "a colour means the same in every run"
    assert list(zip(words.x, words.y, strict=True)) == [(5, -1), (6, -1), (5, 0), (6, 0), (5, 1), (6, 1)]
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1], "layer 0 is above layer 1"
    box = figure.layout.shapes[0]
    assert (box.x0, box.x1, box.y0, box.y1) == (5.5, 6.5, 0.5, 1.5)


def test_guesses_are_escaped_shortened_and_never_nothing():
    words = grid().data[1].text
    assert words[1] == "&lt;b&gt;" and words[3] == "∅"
    assert words[4] == "a very …" and words[5] == "你好你…"
    assert "$" not in "".join(grid().layout.xaxis.ticktext).replace("&#36;", "")
    assert all(len(name) <= 30 for name in grid().layout.xaxis.ticktext)


@pytest.mark.parametrize("chance", np.linspace(0, 1, 21))
def test_a_guess_is_legible_on_its_cell(chance):
    assert lens._ink_on(chance) in ("#000000", "#FFFFFF")
    assert lens._ink_on(0.0) == "#FFFFFF" and lens._ink_on(1.0) == "#000000"


def test_type_never_falls_under_thirteen_pixels():
    assert grid().data[1].textfont.size >= 13
    assert grid(theme=Theme("dark", 1.35)).data[1].textfont.size >= 17


@pytest.mark.parametrize(
    "label, fits", [("12345678", "12345678"), ("123456789", "1234567…"), ("", ""), ("你好吗你", "你好吗你")]
)
def test_what_fits_is_not_cut(label, fits):
    assert lens.fitting(label, 8) == fits


def test_the_lens_table_names_guess_and_probability():
    table = lens.lens_table(GUESSES, CHANCES, ["one", "two"], 5)
    assert table["layer"].tolist() == ["in", "0", "1"]
    assert table["6 two"].tolist() == ["<b>", "", "你好你好你好"] and table["5 probability"].tolist() == [1.0, 0.1, 0.9]


def test_the_verdict_counts_places_on_a_logarithmic_axis_with_the_first_on_top():
    figure = lens.late_verdict(np.array([900, 34, 7, 3, 1]), layer=2, vocabulary=49_152)
    assert list(figure.data[0].y) == [900, 34, 7, 3, 1] and list(figure.data[0].x) == [-1, 0, 1, 2, 3]
    assert list(figure.data[0].text) == ["", "34", "7", "3", "1"]
    assert figure.layout.yaxis.range[0] > np.log10(49_152) and figure.layout.yaxis.range[1] < 0
    assert figure.layout.yaxis.type == "log"
    assert lens.verdict_table(np.array([2, 1]), np.array([0.1, 0.9]))["place"].tolist() == [2, 1]


@pytest.mark.parametrize("count", [1, 5, 16, 17, 300])
def test_the_window_holds_the_selected_position_and_no_more_than_fit(count):
    for position in range(count):
        shown = window_around(position, count, 16)
        assert position in shown and len(shown) == min(16, count)
        assert shown.start >= 0 and shown.stop <= count


def test_the_window_stands_still_for_most_neighbours():
    windows = [window_around(position, 300, 16) for position in range(300)]
    moves = sum(a != b for a, b in zip(windows, windows[1:]))
    assert moves <= 300 / 8


def column(ids, chances, ranks):
    best = np.stack([np.array(ids), np.zeros(len(ids), int)], axis=1)
    return LensColumn(
        best, np.stack([chances, np.zeros(len(ids))], axis=1), ids[-1], np.array(ranks), np.array(chances)
    )


def test_settled_is_the_first_step_of_the_last_stretch_in_the_first_place():
    assert column([1, 7, 2, 7], [0.5] * 4, [3, 1, 2, 1]).settled == 3
    assert column([7, 7], [0.5] * 2, [1, 1]).settled == 0


def test_what_misleads_most_is_the_surest_guess_that_is_not_the_answer():
    columns = [
        column([9, 3, 7, 7], [1.0, 0.6, 0.9, 0.9], [9, 9, 1, 1]),
        column([5, 4, 2, 4], [0.9, 0.5, 0.8, 0.4], [9, 1, 2, 1]),
    ]
    assert LensGrid(10, columns).most_misleading == (2, 11)
    assert LensGrid(0, [column([5, 7, 7], [1.0, 0.9, 0.9], [2, 1, 1])]).most_misleading is None


# ---- neurons ----


def test_bars_are_the_strengths_and_name_what_is_promoted():
    figure = neurons.strongest_bars(
        [7, 3], np.array([9.0, 4.0]), np.array([2.0, -1.0]), [["a", "<b>"], ["c"]], chosen=3
    )
    bar = figure.data[0]
    assert list(bar.x) == [9, 4] and list(bar.y) == [0, 1] and list(bar.customdata) == [7, 3]
    assert list(figure.layout.yaxis.ticktext) == ["<b>7</b><br>a · &lt;b&gt;", "<b>3</b><br>c"]
    assert list(bar.marker.pattern.shape) == ["", "/"], "negative is hatched"
    assert bar.marker.pattern.fillmode == "overlay", "the hatch lies over a colour"
    assert bar.marker.line.width[0] == 0 < bar.marker.line.width[1]


def test_a_bar_for_every_position_around_zero():
    values = np.array([0.5, -2.0, 1.0])
    figure = neurons.activity_bars(values, ["a", "a", "b"], position=1)
    assert list(figure.data[0].x) == [0, 1, 2] and list(figure.data[0].y) == values.tolist()
    low, high = figure.layout.yaxis.range
    assert low < -2 and high > 1
    assert figure.layout.shapes[0].x0 == 0.5
    assert neurons.activity_table(values, ["a", "a", "b"])["token"].tolist() == ["a", "a", "b"]


@pytest.mark.parametrize("values", [np.zeros(1), np.full(512, -1.0)])
def test_activity_of_nothing_and_of_many_is_drawn(values):
    figure = neurons.activity_bars(values, ["x"] * len(values), position=0)
    low, high = figure.layout.yaxis.range
    assert low < high and len(figure.data[0].y) == len(values)


def test_the_table_of_neurons_has_a_gate_where_there_is_one():
    one = np.array([1.0])
    assert "gate" in neurons.neurons_table([3], one, one, one, one, [["a"]])
    table = neurons.neurons_table([3], None, one, -2 * one, 3 * one, [["a", "b"]])
    assert (
        "gate" not in table
        and table["size of what it adds"].tolist() == [6]
        and table["promotes"].tolist() == ["a · b"]
    )
