"""Growth and the roofline: points lie where the clock and the formula put them."""

import numpy as np
import pytest

from viz.machine import (
    Reached,
    Roof,
    Timed,
    growth_chart,
    parts_chart,
    parts_table,
    roofline_chart,
    roofline_table,
    timed_table,
)

TIMED = Timed([16, 32, 64], [10.0, 21.0, 44.0], [9.0, 20.0, 40.0], [12.0, 21.0, 50.0])
HERE, GPU = Roof("here", 100e9, 20e9), Roof("a GPU", 1e15, 3e12)
POINTS = [Reached("prefill", "128", 50.0, 80e9), Reached("decode", "1×", 0.5, 6e9), Reached("decode", "8×", 4.0, 40e9)]


def test_growth_shows_medians_and_spread():
    line = growth_chart(TIMED, "tokens").data[0]
    assert list(line.x) == [16, 32, 64] and list(line.y) == [10, 21, 44]
    assert list(line.error_y.array) == [2, 0, 6] and list(line.error_y.arrayminus) == [1, 1, 4]
    assert list(timed_table(TIMED, "tokens")["most"]) == [12, 21, 50]


def test_the_two_parts_of_a_prefill_are_two_named_lines():
    figure = parts_chart([16, 32], [1.0, 2.0], [0.1, 0.4])
    assert {trace.name: list(trace.y) for trace in figure.data} == {
        "matrices: linear": [1, 2],
        "attention: quadratic": [0.1, 0.4],
    }
    assert len({trace.line.dash for trace in figure.data}) == 2, "never by colour alone"
    assert list(parts_table([16, 32], [1.0, 2.0], [0.1, 0.4]).columns)[0] == "tokens of the prompt"


def test_a_roof_is_the_smaller_of_both_limits():
    assert HERE.at(np.array([1.0, 5.0, 50.0])) == pytest.approx([20e9, 100e9, 100e9])


def test_the_roofline_draws_every_roof_and_point():
    figure = roofline_chart(HERE, [GPU], POINTS)
    traces = {trace.name: trace for trace in figure.data}
    assert set(traces) == {"here", "a GPU", "prefill, timed here", "decode, timed here"}
    assert list(traces["decode, timed here"].x) == [0.5, 4.0]
    assert list(traces["decode, timed here"].text) == ["1×", "8×"]
    assert traces["here"].line.dash != traces["a GPU"].line.dash
    low, high = figure.layout.yaxis.range
    assert low < np.log10(6e9) and high > np.log10(1e15), "all is in sight"


def test_the_rooflines_table_holds_all():
    table = roofline_table(HERE, [GPU], POINTS)
    assert len(table) == 5 and table["operations a byte"][0] == 5
