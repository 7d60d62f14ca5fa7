"""Who waits for the model sees the line and can leave it; a full room says so."""

from concurrent.futures import Future
from contextlib import ExitStack

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from model import ModelBusy
from pages.shared import anatomy, frame, runs
from pages.shared.visitors import Visitors
from tests.pages.test_pages import opened


class Waiting:
    """A job that is never done: its script is ended when it has looked at the line twice."""

    key, number = "a text", 0

    def __init__(self):
        self.future, self.looks = Future(), iter([3, 2])

    @property
    def before(self) -> int:
        place = next(self.looks, None)
        if place is None:
            st.stop()
        return place


class Refused(Waiting):
    """A job for which there was no place in the queue."""

    def __init__(self):
        super().__init__()
        self.future.set_exception(ModelBusy("Too many people are waiting. Try again."))


def waits():
    from pages.shared.in_line import waited_for
    from tests.pages.test_in_line import Waiting

    waited_for(Waiting())


def is_refused():
    from pages.shared.in_line import waited_for
    from tests.pages.test_in_line import Refused

    waited_for(Refused())


def test_the_line_is_shown_and_left():
    page = AppTest.from_function(waits, default_timeout=60).run()
    assert "The model works for others: 2 before you." in page.get("html")[0].proto.body
    page.button[0].click().run()
    assert page.warning[0].value.startswith("You left the queue; your text is still here")
    assert [button.label for button in page.button] == ["Run it now"]
    page.button[0].click().run()
    assert not page.warning and "before you" in page.get("html")[0].proto.body, "it stands in the line again"


def test_a_full_queue_stops_the_page_with_a_sentence():
    page = AppTest.from_function(is_refused, default_timeout=60).run()
    assert not page.exception and page.warning[0].value.startswith("Too many people are waiting")


@pytest.mark.default_model
def test_a_full_room_lets_nobody_else_in(monkeypatch):
    room = Visitors(1)
    monkeypatch.setattr(frame, "VISITORS", room)
    with room.visit():
        inside = opened("tokens")
        with room.visit():
            late = opened("tokens")
            assert "All places of this server are taken (1)" in late.warning[0].value and not late.get("bidi_component")
            assert not inside.run().warning, "who is in stays in"
        assert not late.run().warning, "a place was free"


def test_a_full_room_looks_seldom_but_is_not_taken_to_have_gone(monkeypatch):
    for present, seconds in ((1, anatomy.LOOK_EVERY), (30, 2.25), (1_000, runs.GRACE / 2)):
        room = Visitors(0)
        monkeypatch.setattr(anatomy, "VISITORS", room)
        with ExitStack() as here:
            for _ in range(present):
                here.enter_context(room.visit())
            assert anatomy._look_every() == pytest.approx(seconds)
