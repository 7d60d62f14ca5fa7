"""The staircase of work and its kin: what is drawn is what was measured."""

import numpy as np
import pytest

from viz.staircase import (
    Lane,
    Rectangle,
    pass_at,
    staircase,
    staircase_table,
    times_chart,
    triangle_table,
    work_triangle,
)


def rectangle(milliseconds=50.0, read=0, again=0, new=1, kept=True):
    return Rectangle(milliseconds, milliseconds - 5, milliseconds + 9, read, again, new, "␣a<b>", kept)


WITH = Lane("with", (rectangle(100, new=5), rectangle(50, read=5), rectangle(60, read=6)), "in the cache: 7 positions")
WITHOUT = Lane(
    "without",
    (rectangle(100, new=5, kept=False), rectangle(90, again=5, kept=False), rectangle(95, again=6, kept=False)),
)


def bars(figure):
    return {(trace.name, trace.xaxis): trace for trace in figure.data}


def test_a_rectangle_is_as_wide_as_its_time_and_as_high_as_its_positions():
    drawn = bars(staircase([WITH]))
    read, computed = drawn["read from the cache", "x"], drawn["computed, and kept in the cache", "x"]
    assert list(computed.width) == [100, 50, 60]
    assert list(computed.x) == [50, 125, 180], "each begins where the one before ends"
    assert list(read.y) == [0, 5, 6] and list(computed.y) == [5, 1, 1]
    assert list(computed.base) == [0, 5, 6], "what is computed stands on what is read"


def test_without_the_cache_the_recomputed_part_is_told_apart():
    drawn = bars(staircase([WITH, WITHOUT]))
    again, first = drawn["computed again", "x2"], drawn["computed for the first time", "x2"]
    assert list(again.y) == [0, 5, 6] and list(first.y) == [5, 1, 1]
    assert ("read from the cache", "x2") not in drawn
    assert again.marker.pattern.shape and again.marker.color != first.marker.color, "a hatch beside the colour"


def test_both_lanes_share_one_axis_of_time():
    figure = staircase([WITH, WITHOUT])
    assert figure.layout.xaxis.range == figure.layout.xaxis2.range == (0, 285 * 1.02)
    assert figure.layout.yaxis.range == figure.layout.yaxis2.range


def test_each_part_is_named_once_in_the_legend():
    shown = [trace.name for trace in staircase([WITH, WITHOUT]).data if trace.showlegend]
    assert len(shown) == len(set(shown)) == 4


def test_the_note_says_what_the_cache_holds():
    texts = [note.text for note in staircase([WITH]).layout.annotations]
    assert "in the cache: 7 positions" in texts


def test_the_chosen_step_is_outlined():
    shape = staircase([WITH], selected=1).layout.shapes[0]
    assert (shape.x0, shape.x1, shape.y1) == (100, 150, 6)
    assert not staircase([WITH], selected=9).layout.shapes


@pytest.mark.parametrize(("at", "place"), [(-3, 0), (0, 0), (99, 0), (101, 1), (150.5, 2), (9_999, 2)])
def test_a_click_finds_its_step(at, place):
    assert pass_at(WITH, at) == place


def test_the_table_holds_every_step_of_every_lane():
    table = staircase_table([WITH, WITHOUT])
    assert len(table) == 6
    assert list(table["kept"]) == [5, 1, 1, 0, 0, 0]
    assert list(table["computed again"]) == [0, 0, 0, 0, 5, 6]
    assert list(table["milliseconds, median"]) == [100, 50, 60, 100, 90, 95]


def test_the_spread_of_each_time_is_drawn():
    bar = times_chart(WITH).data[0]
    assert list(bar.y) == [100, 50, 60]
    assert list(bar.error_y.array) == [9] * 3 and list(bar.error_y.arrayminus) == [5] * 3


WEIGHTS = np.where(np.tril(np.ones((4, 4), bool)), 0.25, np.nan)


def test_a_decode_fills_one_row_and_the_prefill_all():
    before, now = work_triangle(WEIGHTS, list("abcd"), first=3, last=3).data
    assert np.isnan(now.z[:3]).all() and (now.z[3] == 0.25).all()
    assert np.isfinite(before.z[:3]).sum() == 6 and np.isnan(before.z[3]).all()
    before, now = work_triangle(WEIGHTS, list("abcd"), first=0, last=3).data
    assert np.isnan(before.z).all() and np.isfinite(now.z).sum() == 10


def test_what_is_read_from_the_cache_is_framed():
    shape = work_triangle(WEIGHTS, list("abcd"), first=3, last=3).layout.shapes[0]
    assert (shape.x0, shape.x1, shape.y0, shape.y1) == (-0.5, 2.5, 2.5, 3.5)
    assert not work_triangle(WEIGHTS, list("abcd"), first=0, last=3).layout.shapes


def test_repeated_tokens_stay_apart_in_the_triangle():
    figure = work_triangle(WEIGHTS, ["the"] * 4, first=0, last=3)
    assert list(figure.layout.xaxis.tickvals) == [0, 1, 2, 3] and list(figure.layout.xaxis.ticktext) == ["the"] * 4


def test_the_triangles_table_holds_the_pairs_of_this_step():
    table = triangle_table(WEIGHTS, list("abcd"), 3, 3)
    assert list(table["key position"]) == [0, 1, 2, 3] and set(table["query position"]) == {3}
