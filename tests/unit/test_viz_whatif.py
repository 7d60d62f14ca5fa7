"""Broken beside whole: the figures hold both runs' numbers."""

import numpy as np

from viz.whatif import (
    Pair,
    columns_table,
    effect_columns,
    effect_map,
    effect_table,
    foreseen_columns,
    layer_axis,
    next_token_bars,
    pair_table,
    position_axis,
)

PAIR = Pair(["␣Paris", "the", "the"], [0.7, 0.2, 0.0], [0.1, 0.3, 0.4])


def test_both_runs_are_told_apart_by_more_than_colour():
    whole, broken = next_token_bars(PAIR).data
    assert list(whole.x) == [0.7, 0.2, 0.0] and list(broken.x) == [0.1, 0.3, 0.4]
    assert whole.marker.pattern.shape != broken.marker.pattern.shape
    assert list(whole.y) == [0, 1, 2], "positions as coordinates: the two 'the' stay apart"


def test_the_columns_stand_at_their_positions():
    whole, broken = foreseen_columns(PAIR, first=5).data
    assert list(whole.x) == list(broken.x) == [5, 6, 7]


def test_the_table_tells_the_change():
    assert list(pair_table(PAIR, "token")["change"].round(6)) == [-0.6, 0.1, 0.4]


CHANGE = np.array([[0.1, -0.6], [np.nan, 0.0]])  # two layers of two heads, one not tried


def test_the_map_runs_layers_across_and_heads_down():
    figure = effect_map(CHANGE, layer=0, head=1, marked=[(1, 0)])
    heat, targets = figure.data
    assert heat.z.shape == (2, 2) and heat.z[1, 0] == np.float32(-0.6)
    assert heat.zmin == -0.6 and heat.zmax == 0.6, "around a true zero"
    assert list(zip(targets.x, targets.y, strict=True)) == [(0, 0), (0, 1), (1, 1)], "only what was tried"
    assert [(shape.x0, shape.y0) for shape in figure.layout.shapes] == [(0.5, -0.5), (-0.5, 0.5)]


def test_the_maps_table_begins_with_the_largest_change():
    table = effect_table(CHANGE)
    assert len(table) == 3 and table.iloc[0]["change of probability"] == -0.6


def test_layers_have_two_series_told_apart():
    series = {"attention off": np.array([0.1, -0.2]), "feed-forward off": np.array([0.0, np.nan])}
    first, second = effect_columns(series, layer_axis(2), selected=1).data
    assert first.marker.pattern.shape != second.marker.pattern.shape
    assert list(columns_table(series, [0, 1], "layer")["change: attention off"]) == [0.1, -0.2]


def test_positions_are_named_by_their_tokens():
    axis = position_axis(["the", "the"])
    assert list(axis["tickvals"]) == [0, 1] and list(axis["ticktext"]) == ["the", "the"]
