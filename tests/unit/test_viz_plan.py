"""Figures of the planner: ranges are drawn as ranges, the plan is marked, and words keep to two digits."""

import pytest

from viz.plan import Band, band_chart, band_table, between, estimate, round_ticks, time_between
from viz.plan_bars import Column, lever_bars, lever_table, predicted_chart, predicted_table, published_table
from viz.style import Theme

BAND = Band([1, 4, 16, 64], [10.0, 11.0, 14.0, 30.0], [13.0, 14.0, 19.0, 40.0], now=4, full=20)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "0"), (1234.5, "1,200"), (99.6, "100"), (9.96, "10"), (0.2641, "0.26"), (13.4, "13"), (3.35, "3.4"),
        (0.00999, "0.010"), (1e9, "1,000,000,000"), (0.05, "0.050"), (1, "1.0"),
    ],
)  # fmt: skip
def test_an_estimate_has_two_digits(value, written):
    assert estimate(value) == written


def test_ranges_in_words():
    assert between(12.9, 17.9) == "13–18" and between(12.9, 13.1) == "13"
    assert time_between(0.0129, 0.0179) == "13–18 ms"
    assert time_between(0.8, 1.2) == "0.80–1.2 s"
    assert time_between(100, 150) == "1.7–2.5 min" and time_between(9_000, 10_000) == "2.5–2.8 h"
    assert time_between(2e-6, 5e-6) == "2.0–5.0 µs"


def test_a_band_is_two_lines_with_the_plan_and_the_end_of_memory():
    figure = band_chart(BAND, "requests at once", "ms", "11–14 ms")
    low, high, now, _ = figure.data
    assert list(low.y) == BAND.low and list(high.y) == BAND.high
    assert low.line.dash != high.line.dash, "never by colour alone"
    assert list(now.x) == [4, 4] and list(now.y) == [11, 14]
    texts = [each.text.strip() for each in figure.layout.annotations]
    assert "11–14 ms" in texts and any("memory full: 20" in text for text in texts)
    assert len(figure.layout.shapes) == 1


@pytest.mark.parametrize("full", [0, 64, 100])
def test_no_line_stands_where_memory_does_not_end(full):
    figure = band_chart(Band(BAND.places, BAND.low, BAND.high, 4, full), "x", "y", "z")
    assert not figure.layout.shapes


def test_a_bands_table_holds_all_and_says_what_fits():
    table = band_table(BAND, "requests at once", "ms")
    assert list(table["fits"]) == [True, True, True, False] and list(table["ms, upper"]) == BAND.high


@pytest.mark.parametrize(("low", "high"), [(1, 2), (13, 18), (1, 1e6), (5e-3, 4e4), (3, 3.1), (128, 131_072)])
def test_a_logarithmic_axis_has_a_few_round_ticks(low, high):
    ticks = round_ticks(low, high)
    assert 1 <= len(ticks["tickvals"]) <= 7 and len(ticks["tickvals"]) == len(ticks["ticktext"])


COLUMNS = [
    Column("fit", [3, 30, 0], [3, 30, 0], ["3", "30", "host"]),
    Column("time", [13.0, 12.0, 50.0], [18.0, 17.0, 70.0], ["13–18 ms", "12–17 ms", "50–70 ms"]),
]


def test_levers_are_rows_and_results_are_columns():
    names = ["as planned", "1 KV head", "<b>x</b>"]
    figure = lever_bars(names, COLUMNS, Theme("dark"))
    bars = [trace for trace in figure.data if trace.type == "bar"]
    assert len(bars) == 4 and list(bars[2].x) == [13, 12, 50] and list(bars[3].x) == [5, 5, 20]
    assert bars[3].marker.pattern.shape == "/", "never by colour alone"
    assert "&lt;b&gt;" in figure.layout.yaxis.ticktext[2]
    table = lever_table(names, COLUMNS, ["–", "quality", "y"])
    assert list(table["fit"]) == ["3", "30", "host"] and list(table["its price"])[1] == "quality"


def test_levers_that_cost_nothing_are_drawn_too():
    lever_bars(["a"], [Column("cost", [0.0], [0.0], ["$0"])])


def test_pairs_of_predicted_and_timed():
    figure = predicted_chart(["prefill", "decode"], [10.0, 20.0], [15.0, 50.0])
    traces = {trace.name: trace for trace in figure.data if trace.name}
    predicted, timed = traces["predicted, by formula"], traces["timed here"]
    assert list(predicted.x) == [10, 20] and list(timed.x) == [15, 50]
    assert predicted.marker.symbol != timed.marker.symbol
    assert [text.strip() for text in figure.data[-1].text] == ["1.5 ×", "2.5 ×"]
    assert list(predicted_table(["a", "b"], [10.0, 20.0], [15.0, 50.0])["timed / predicted"]) == [1.5, 2.5]


def test_published_rows():
    assert list(published_table([("a", "b", "1", "1", "c")]).iloc[0]) == ["a", "b", "1", "1", "c"]
