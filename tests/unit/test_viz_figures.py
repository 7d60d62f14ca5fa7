"""Figures of attention and sampling: what is asserted is their data, on hand-made arrays."""

import numpy as np
import pytest

from viz import attention, sampling
from viz.heads import colour_table
from viz.style import Theme

LABELS = ["the", "␣the", "␣the", "<b>$5</b>"]
NAN = np.nan
WEIGHTS = np.array([[1, NAN, NAN, NAN], [0.6, 0.4, NAN, NAN], [0.5, 0.2, 0.3, NAN], [0.7, 0.05, 0.05, 0.2]])


class TestMap:
    @pytest.fixture
    def figure(self):
        return attention.attention_map(WEIGHTS, LABELS, kind="weights", query=3, key=0)

    def test_g11_cells_are_the_array_and_masked_ones_are_empty(self, figure):
        drawn = np.array(figure.data[0].z)
        assert np.array_equal(np.isnan(drawn), np.isnan(WEIGHTS))
        assert np.allclose(drawn, WEIGHTS, equal_nan=True, atol=1e-7)

    def test_the_first_query_is_at_the_top_and_keys_are_columns(self, figure):
        assert list(figure.layout.yaxis.range) == [3.5, -0.5]
        assert list(figure.layout.xaxis.range) == [-0.5, 3.5]
        assert "key" in figure.layout.xaxis.title.text and "query" in figure.layout.yaxis.title.text

    def test_a28_repeated_tokens_have_cells_of_their_own(self, figure):
        assert len(figure.layout.xaxis.ticktext) == 4
        assert figure.layout.xaxis.ticktext[3] == "&lt;b&gt;&#36;5&lt;/b&gt;"

    def test_only_visible_cells_can_be_clicked(self, figure):
        targets = set(zip(figure.data[1].x, figure.data[1].y, strict=True))
        assert targets == {(key, query) for query in range(4) for key in range(query + 1)}

    def test_weights_go_from_zero_and_scores_around_zero(self, figure):
        assert (figure.data[0].zmin, figure.data[0].zmax) == (0, 1)
        scores = attention.attention_map(WEIGHTS - 0.9, LABELS, kind="scores", query=0)
        assert scores.data[0].zmin == -scores.data[0].zmax == pytest.approx(-0.85)

    def test_a_long_text_sends_no_marks_for_clicking(self):
        n = attention.CLICKABLE + 1
        figure = attention.attention_map(np.ones((n, n)), ["a"] * n, kind="weights", query=0)
        assert len(figure.data) == 1 and figure.data[0].customdata is None


def test_the_row_is_one_bar_a_key():
    figure = attention.attention_row(WEIGHTS[3], LABELS, key=1)
    assert np.allclose(figure.data[0].y, WEIGHTS[3])
    assert [width > 0 for width in figure.data[0].marker.line.width] == [False, True, False, False]


def test_lines_join_each_query_with_the_keys_it_looks_at():
    figure = attention.attention_lines(WEIGHTS, LABELS, query=3)
    own = [trace for trace in figure.data if trace.line.color == Theme().colour("attention")]
    ends = {(trace.y[i], trace.y[i + 1]) for trace in own for i in range(0, len(trace.y), 3)}
    assert ends == {(0, 3), (1, 3), (2, 3), (3, 3)}
    without = attention.attention_lines(WEIGHTS, LABELS, query=3, hide_first=True)
    assert not any(trace.y[i] == 0 for trace in without.data for i in range(0, len(trace.y), 3))


def test_lines_of_a_long_text_name_only_what_they_join():
    n = 100
    weights = np.where(np.tri(n, dtype=bool), 0.001, NAN)
    weights[90, [3, 50]] = 0.5, 0.4
    figure = attention.attention_lines(weights, [f"w{place}" for place in range(n)], query=90)
    names = [note.text for note in figure.layout.annotations]
    assert names[1:4] == ["3 w3", "50 w50", "90 w90"] and names[-1] == "<b>90 w90</b>"


def test_tables_hold_what_the_figures_draw():
    table = attention.map_table(WEIGHTS, LABELS)
    assert table.shape == (4, 5) and table.iloc[2, 3] == 0.3 and np.isnan(table.iloc[0, 2])
    heads = attention.heads_table(*(np.arange(6.0).reshape(2, 3) for _ in range(4)))
    assert heads["layer"].tolist() == [0, 0, 0, 1, 1, 1] and heads["head"].tolist() == [0, 1, 2] * 2


def test_the_colour_table_runs_from_dark_to_bright():
    table = colour_table()
    assert len(table) == 256 and sum(table[0]) < 150 < 400 < sum(table[255])

    def test_a_part_and_a_map_of_blocks_stand_at_their_positions(self):
        labels = [f"t{place}" for place in range(12)]
        part = attention.attention_map(np.ones((2, 3)), labels, kind="weights", query=5, key=7, first=(4, 6))
        heat = part.data[0]
        assert (heat.y0, heat.dy, heat.x0, heat.dx) == (4, 1, 6, 1)
        assert list(part.layout.xaxis.ticktext) == ["t6", "t7", "t8"] and list(part.layout.yaxis.ticktext) == [
            "t4",
            "t5",
        ]
        assert list(part.data[1].x) == [6, 7, 8, 6, 7, 8] and "t5 looks at t8" in part.data[1].customdata[-1]
        whole = attention.attention_map(np.ones((4, 4)), labels, kind="weights", query=5, block=3)
        assert (whole.data[0].x0, whole.data[0].dx) == (1, 3), "a cell covers positions 0 to 2"
        assert tuple(whole.layout.xaxis.range) == (-0.5, 11.5) and len(whole.data) == 1
        table = attention.map_table(np.ones((4, 4)), labels, block=3)
        assert list(table["query"]) == ["0 t0", "3 t3", "6 t6", "9 t9"]


class TestSampling:
    NAMES = ["temperature", "top-k", "top-p", "min-p"]
    BARS = np.array([[0.5, 0.3, 0.2], [0.625, 0.375, NAN], [1.0, NAN, NAN], [1.0, NAN, NAN]])

    def test_stage_bars_show_the_rest_as_its_own_bar_and_cut_tokens_as_cut(self):
        figure = sampling.stage_bars(self.NAMES, ["a", "<b>"], self.BARS, "47 others")
        assert [list(trace.text) for trace in figure.data][1:3] == [["62%", "38%", "cut"], ["100%", "cut", "cut"]]
        assert list(figure.layout.yaxis.ticktext) == ["a", "&lt;b&gt;", "47 others"]
        assert figure.data[0].marker.pattern.shape == ("", "", "/")
        assert [title.text for title in figure.layout.annotations] == self.NAMES

    def test_the_curve_marks_what_is_kept(self):
        figure = sampling.cumulative_curve(
            np.array([1, 2, 3]), np.array([0.5, 0.8, 1.0]), kept=2, reached=0.8, top_p=0.8
        )
        assert (figure.data[1].x, figure.data[1].y) == ((2,), (0.8,))
        assert figure.layout.shapes[0].y0 == 0.8 and figure.layout.xaxis.type == "log"

    def test_draws_stand_beside_their_probabilities(self):
        figure = sampling.draws_chart(["a", "b"], np.array([70, 20, 10]), np.array([0.72, 0.2, 0.08]), "9 others")
        assert list(figure.data[0].x) == [0.7, 0.2, 0.1] and list(figure.data[1].x) == [0.72, 0.2, 0.08]
        assert figure.layout.yaxis.ticktext[2] == "9 others"

    def test_columns_are_positions(self):
        figure = sampling.nucleus_columns(np.array([3, 900, 1]), ["a", "a", "b"], first=5, selected=6)
        assert list(figure.data[0].x) == [5, 6, 7] and list(figure.data[0].y) == [3, 900, 1]
        assert figure.data[0].marker.color[1] == Theme().colour("pin")

    @pytest.mark.parametrize(("value", "text"), [(0.7725, "77%"), (0.0645, "6.5%"), (0.00042, "4e-04"), (1.0, "100%")])
    def test_small_probabilities_keep_a_digit(self, value, text):
        assert sampling.percent(value) == text
