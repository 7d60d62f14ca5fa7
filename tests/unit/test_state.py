"""The address: read once, each value checked by itself, written back, hostile values harmless."""

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model.edits import spelled
from pages.shared.state import BETWEEN, LONGEST_LINK, MAX_BRANCHES, View, _write, read_address
from tests.hostile import ANY_TEXT

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


FIELDS = {field.name: field for field in dataclasses.fields(View)}
#: The least and the most of every number, as the pages take them.
WHOLE = (0, 10**9)
RANGES = {
    **{name: WHOLE for name in ("layer", "head", "top_k", "kv_head", "one_at", "two_at")},
    **{name: (-1, 10**9) for name in ("position", "key", "step", "neuron", "swap_at")},
    **{name: (0, 1) for name in ("keep", "with_system", "with_document", "with_history", "classroom", "min_p")},
    **{name: (1, 10**8) for name in ("context", "typical", "answer", "answer_worst")},
    **{name: (1, 100) for name in ("rate_low", "rate_high", "band_low", "band_high")},
    **{name: (0, 10_000) for name in ("overhead", "price")},
    "branch": (0, 3), "t": (0, 2.5), "top_p": (0.01, 1), "seed": (0, 2**31 - 1), "penalty": (1, 2),
    "requests": (1, 100_000), "cache_bits": (2, 32), "weight_bits": (4, 32), "gpus": (1, 1_024), "same": (0, 100),
    "reach": (128, 2_048), "probe": (0, 9), "turns": (1, 20), "hits": (1, 10),
}  # fmt: skip
VALUES = (
    ANY_TEXT
    | st.text(max_size=40)
    | st.integers().map(str)
    | st.floats().map(str)
    | st.text("0123456789.~-+e_ ", max_size=60)
    | st.text("HKWAFMP0123456789.~-:", max_size=60)
    | st.lists(ANY_TEXT, max_size=12).map(BETWEEN.join)
    | ANY_TEXT.map(lambda text: text * 500)
)


@pytest.mark.parametrize("name", FIELDS)
@settings(max_examples=60, deadline=None)
@given(text=VALUES)
def test_any_text_for_any_parameter_is_in_range_and_stable(name, text):
    """What is written for a link is what is read from it, and is written again the same."""
    default, write = FIELDS[name].default, FIELDS[name].metadata["write"]
    value = getattr(read_address({name: text}), name)
    assert type(value) is type(default)
    if isinstance(value, int | float):
        low, high = RANGES[name]
        assert low <= value <= high
    written = write(value)
    assert isinstance(written, str)
    if len(written) <= LONGEST_LINK:  # a longer one is left out of the address
        again = getattr(read_address({name: written}), name)
        assert write(again) == written
        assert again == value or isinstance(value, float), "only decimals are rounded"


@given(ANY_TEXT | st.text("HKWAFMP0123456789.~-:", max_size=60))
def test_edits_from_the_address_are_few_and_come_back(text):
    found = read_address({"edits": text}).edits
    assert len(found) <= 32 and read_address({"edits": spelled(found) or "none"}).edits == found


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
