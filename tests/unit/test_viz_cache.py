"""The figures of the KV cache and of the memory calculator: what is drawn is what was given."""

import numpy as np
import pytest

from viz import cache, calculator
from viz.style import LIGHT, Theme

LABELS = [f"t{place}" for place in range(10)]


def bars(figure, name):
    """The bars of one phase as (layer, first position, end)."""
    trace = next(each for each in figure.data if each.name == name)
    spans = zip(trace.y, trace.base, trace.x, strict=True)
    return [(int(layer), float(base) + 0.5, float(base) + 0.5 + float(wide)) for layer, base, wide in spans if wide]


def test_the_grid_draws_what_each_layer_holds_at_its_real_positions():
    figure = cache.held_grid([7, 3], seen=7, computed=1, prompt=5, labels=LABELS)
    assert bars(figure, "prefill") == [(0, 0, 5), (1, 4, 5)]
    assert bars(figure, "decode") == [(0, 5, 7), (1, 5, 7)]
    outline = figure.layout.shapes[0]
    assert (outline.x0, outline.x1) == (5.5, 6.5)
    assert list(figure.layout.xaxis.range) == [-0.5, 9.5], "the axis has room for what is still to come"


def test_the_phases_differ_by_more_than_colour():
    figure = cache.held_grid([6], seen=6, computed=1, prompt=5, labels=LABELS)
    hatches = {each.name: each.marker.pattern.shape for each in figure.data if each.name}
    assert hatches["prefill"] != hatches["decode"]
    words = [each.text for each in figure.layout.annotations]
    assert any("<b>P</b>" in word for word in words) and any("<b>D</b>" in word for word in words)


def test_the_prefill_is_new_as_a_whole():
    figure = cache.held_grid([5], seen=5, computed=5, prompt=5, labels=LABELS)
    assert (figure.layout.shapes[0].x0, figure.layout.shapes[0].x1) == (-0.5, 4.5)
    assert bars(figure, "decode") == []


def test_the_grids_table_is_the_grid():
    table = cache.held_table([7, 3], seen=7, computed=1, prompt=5)
    assert table["first position held"].tolist() == [0, 4]
    assert table["written in the prefill"].tolist() == [5, 1]
    assert table["written by decodes"].tolist() == [2, 2]
    assert cache.held_table([2], seen=9, computed=1, prompt=5)["written in the prefill"].tolist() == [0]


def test_growth_has_the_tensors_and_the_formula():
    figure = cache.growth_bars([100, 120, 140], [100, 120, 141])
    assert list(figure.data[0].y) == [100, 120, 140] and list(figure.data[1].y) == [100, 120, 141]
    assert len(set(figure.data[0].marker.pattern.shape)) == 2
    assert cache.growth_table([1, 2], [1, 2], [5, 6])["positions seen"].tolist() == [5, 6]


def test_a_strip_has_its_true_zero_in_the_middle_and_marks_the_new_row():
    rows = np.linspace(-1, 3, 12).reshape(3, 4)
    figure = cache.row_strip(rows, ["a", "b", "c"], 14, 16, role="key", bound=2.0)
    heat = figure.data[0]
    assert (heat.zmin, heat.zmax) == (-2.0, 2.0)
    assert np.allclose(heat.z, rows) and list(heat.y) == [14, 15, 16]
    assert (figure.layout.shapes[0].y0, figure.layout.shapes[0].y1) == (15.5, 16.5)
    assert figure.layout.yaxis.ticktext[0] == "14 a"
    assert cache.rows_table(rows, ["a", "b", "c"], 14)["position"].tolist() == [14, 15, 16]


def test_a_strip_of_nothing_and_of_zeros_can_be_drawn():
    assert cache.saturation(np.zeros((0, 4))) == cache.saturation(np.zeros((2, 4))) == 1.0
    cache.row_strip(np.zeros((0, 4)), [], 3, 3, role="value", bound=1.0)


def test_token_text_is_escaped_in_every_figure():
    bad = ["<b>x</b>", "$a$"]
    figures = [
        cache.held_grid([2], 2, 1, 1, bad),
        cache.row_strip(np.ones((2, 3)), bad, 0, 1, role="key", bound=1.0),
        cache.answers(["32 bits"], bad, np.array([[0.5, 0.3, 0.2]]), "others"),
    ]
    for figure in figures:
        words = [*(figure.layout.xaxis.ticktext or ()), *(figure.layout.yaxis.ticktext or ())]
        assert not any("<b>x" in word or "$" in word for word in words), words


def test_answers_have_one_column_a_cache():
    shares = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3]])
    figure = cache.answers(["exact", "2 bits"], ["a", "b"], shares, "9 others")
    assert [list(each.x) for each in figure.data] == shares.tolist()
    assert cache.answers_table(["exact", "2 bits"], ["a", "b"], shares, "o")["2 bits"].tolist() == [0.2, 0.5, 0.3]


def test_divergences_leave_out_zeros_and_end_where_texts_part():
    curves = {8: [0.0, 1e-5, 2e-5], 2: [0.0, 0.7]}
    figure = cache.divergence_lines(curves)
    assert [list(each.x) for each in figure.data] == [[1, 2], [1]]
    assert len({each.line.dash for each in figure.data}) == 2
    table = cache.divergence_table(curves)
    assert table["8 bits"].tolist() == [0.0, 1e-5, 2e-5] and np.isnan(table["2 bits"].iloc[2])


@pytest.mark.parametrize(
    "size, text",
    [
        (42_949_672_960, "42.9 GB = 40 GiB"),
        (37_748_736, "37.7 MB = 36 MiB"),
        (921_600, "922 kB = 900 KiB"),
        (999, "999 bytes"),
        (1_342_052_808_704, "1,342 GB = 1,250 GiB"),
        (-65_107_412_992, "-65.1 GB = -60.6 GiB"),
    ],
)
def test_sizes_have_both_units(size, text):
    assert calculator.both_units(size) == text


def test_windows_are_drawn_apart_and_the_chosen_length_is_marked():
    tokens = np.array([0, 1_000, 2_000])
    figure = calculator.growth_curve(tokens, np.array([0, 1, 2]) * 10**9, np.array([0, 1, 1]) * 10**9, 1_000)
    assert [list(each.y) for each in figure.data] == [[0, 1, 1], [0, 1, 2], [2]]
    assert figure.data[0].fillpattern.shape
    assert figure.data[2].text[0] == "1,000 tokens: 2 GB = 1.86 GiB"
    beyond = calculator.growth_curve(tokens, np.array([0, 1, 2]), np.array([0, 0, 0]), 3_000)
    assert len(beyond.data) == 1, "a length beyond the axis has no mark, absent windows no line"


def shared(**more):
    return {"name": "a", "weights": 30, "overhead": 4, "a_request": 20, "requests": 2, "left": 6} | more


def test_memory_is_shared_out_end_to_end():
    row = {
        key: value * 10**9 if isinstance(value, int) and key != "requests" else value for key, value in shared().items()
    }
    figure = calculator.memory_bars([row], 80 * 10**9)
    assert [each.x[0] for each in figure.data] == [30, 4, 20, 20, 6]
    assert [each.base[0] for each in figure.data] == [0, 30, 34, 54, 74]
    table = calculator.memory_table([row], 80 * 10**9)
    assert table["bytes"].tolist()[-1] == 80 * 10**9


def test_many_requests_are_one_block_and_none_is_drawn_over_the_end():
    names = [each.name for each in calculator.memory_bars([shared(requests=500, left=1)], 10**4).data]
    assert names == ["weights", "overhead", "caches of 500 requests", "left"]
    names = [each.name for each in calculator.memory_bars([shared(requests=0, left=-5)], 29).data]
    assert names == ["weights", "overhead", "cache that does not fit"]


def test_sizes_beside_each_other_have_their_scales_on_top():
    figure = calculator.size_bars(["as it is", "4 bits"], [4 * 10**9, 10**9], [0, 10**8], 0)
    assert list(figure.data[0].x) == [4, 1] and list(figure.data[1].x) == [0, 0.1]
    assert figure.data[2].text[1].strip() == "1.1 GB = 1.02 GiB"


def test_times_are_written_in_their_unit():
    figure = calculator.second_bars(["own", "PCIe"], [0.0128, 2.73])
    assert list(figure.data[0].text) == ["12.8 ms", "2.73 s"]


@pytest.mark.parametrize("theme", [LIGHT, Theme("dark", 1.35)])
def test_no_figure_has_type_under_thirteen(theme):
    for figure in (
        cache.held_grid([3], 3, 1, 2, LABELS, theme),
        cache.growth_bars([1], [1], theme),
        calculator.memory_bars([shared()], 80, theme),
        calculator.second_bars(["a"], [1.0], theme),
    ):
        assert figure.layout.font.size >= 13
