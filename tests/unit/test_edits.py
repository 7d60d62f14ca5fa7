"""How edits are spelled in an address."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model.edits import (
    AttentionOff,
    FeedForwardOff,
    HeadOff,
    KeyHidden,
    MaskLifted,
    PositionsRemoved,
    Window,
    read,
    spelled,
)

NUMBERS = st.integers(0, 10**9 - 1)
EDITS = st.one_of(
    st.builds(HeadOff, NUMBERS, NUMBERS),
    st.builds(AttentionOff, NUMBERS),
    st.builds(FeedForwardOff, NUMBERS),
    st.builds(KeyHidden, NUMBERS),
    st.builds(Window, NUMBERS),
    st.just(MaskLifted()),
    st.just(PositionsRemoved()),
)


def test_three_edits_are_one_short_word():
    assert spelled([HeadOff(12, 4), KeyHidden(0), MaskLifted()]) == "h12.4~k0~m"


@given(st.lists(EDITS, unique=True, max_size=8))
def test_what_is_spelled_is_read_again(edits):
    assert read(spelled(edits)) == tuple(edits)


def test_an_edit_named_twice_is_one():
    assert read("m~m~k3~k3") == (MaskLifted(), KeyHidden(3))


@pytest.mark.parametrize(
    "text", ["x", "h1", "h1.2.3", "k-1", "k1.5.2", "h1.4x", "m3", "p1", "h９.1", "h1.~", "h1234567890.1"]
)
def test_what_is_no_edit_is_refused(text):
    with pytest.raises(ValueError, match="no edit"):
        read(text)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text):
    try:
        edits = read(text)
    except ValueError:
        return
    assert read(spelled(edits)) == edits
