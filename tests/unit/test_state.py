"""The address: read once, each value checked by itself, written back, hostile values harmless."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pages.shared.state import MAX_BRANCHES, View, _write, read_address

HOSTILE = [
    "",
    "-1",
    "999999999999999999999",
    "nan",
    "inf",
    "-inf",
    "1e309",
    "x",
    "<script>",
    "$x$",
    "\x00",
    "٣",
    "1" * 9999,
    "0x10",
    "None",
]


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(View)])
def test_any_value_of_any_parameter_gives_a_view_in_range(name, value):
    view = read_address({name: value})
    view.clamp(layers=30, heads=9, vocabulary=49_152)
    view.clamp_positions(5)
    assert 0 <= view.layer < 30 and 0 <= view.head < 9 and 0 <= view.position < 5 and -1 <= view.key <= view.position
    assert 0 <= view.branch < len(view.written) <= MAX_BRANCHES
    assert view.settings.top_k <= 49_152


@given(st.dictionaries(st.text(max_size=12), st.text(max_size=40), max_size=8))
def test_any_address_gives_a_view(parameters):
    view = read_address(parameters)
    view.clamp(2, 2, 100)
    assert view.settings is not None


@given(st.lists(st.lists(st.integers(0, 49_000), max_size=20), min_size=1, max_size=MAX_BRANCHES))
def test_branches_come_back_from_the_address(branches):
    written = tuple(map(tuple, branches))
    assert read_address({"written": _write(written)}).written == written


def test_one_bad_value_costs_only_itself():
    view = read_address({"layer": "zero", "head": "3", "prompt": "hi", "unknown": "7"})
    assert (view.layer, view.head, view.prompt) == (View.layer, 3, "hi")


def test_clamping_says_what_was_changed():
    view = read_address({"layer": "999"})
    assert view.clamp(30, 9, 100) == ["There is no layer 999 in this model: layer 29 is shown."]
    assert view.layer == 29


def test_defaults_that_do_not_fit_a_small_model_are_no_news():
    assert View().clamp(2, 2, 100) == []


def test_another_models_continuation_is_left_out_and_said():
    view = read_address({"written": "7.49000"})
    assert "another model" in view.clamp(30, 9, 320)[0]
    assert view.written == ((),)


def test_g10_a_new_text_starts_afresh():
    view = read_address({"written": "7.8", "position": "3", "key": "1"})
    view.new_text("another")
    assert (view.written, view.position, view.key, view.prompt) == (((),), -1, -1, "another")
