"""Figures of a conversation hold its numbers."""

import pytest

from viz.chat import (
    Stretch,
    TurnBar,
    answer_columns,
    answer_table,
    context_bar,
    context_table,
    turn_bars,
    turn_table,
    turn_times,
)

TURNS = [TurnBar(0, 31, 150.0, 149.0), TurnBar(32, 12, 210.0, 80.0)]


def test_what_is_kept_and_what_is_new_add_up_to_what_is_sent():
    kept, new = turn_bars(TURNS).data
    assert list(kept.y) == [0, 32] and list(new.y) == [31, 12]
    assert kept.marker.pattern.shape and not new.marker.pattern.shape, "a hatch beside the colour"
    assert list(turn_table(TURNS)["sent so far"]) == [31, 75]
    assert list(turn_table(TURNS)["worked out so far"]) == [31, 43]


def test_both_times_are_drawn_apart():
    whole, rest = turn_times(TURNS).data
    assert list(whole.y) == [150, 210] and list(rest.y) == [149, 80]
    assert whole.line.dash != rest.line.dash and whole.marker.symbol != rest.marker.symbol


STRETCHES = [Stretch("system", 10, 0.2, 0.25), Stretch("history", 20, 0.5, 0.5), Stretch("unheard of", 10, 0.3, 0.25)]


def test_the_parts_of_the_context_lie_end_to_end():
    bars = context_bar(STRETCHES, 8_192).data
    assert [bar.base[0] for bar in bars] == [0, 10, 30] and [bar.x[0] for bar in bars] == [10, 20, 10]
    assert list(context_table(STRETCHES)["tokens"]) == [10, 20, 10]


@pytest.mark.parametrize(("limit", "drawn"), [(8_192, 0), (64, 1)])
def test_the_limit_is_drawn_when_it_is_near(limit, drawn):
    assert len(context_bar(STRETCHES, limit).layout.shapes) == drawn


def test_an_answers_tokens_stand_at_their_places():
    series = {"with": [0.5, 0.2], "without": [0.1, 0.0]}
    first, second = answer_columns(["the", "the"], series).data
    assert list(first.x) == [0, 1] and list(first.y) == [0.5, 0.2] and list(second.y) == [0.1, 0.0]
    assert list(answer_table(["the", "the"], series)["with"]) == [0.5, 0.2, 0.1]
