"""Widgets bound to the view, and positions that a browser reports."""

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.shared.frame import take_position
from pages.shared.state import View


def page():
    import streamlit as st

    from pages.shared.frame import bound_widget
    from pages.shared.state import View

    view = st.session_state.setdefault("view", View(layer=2))
    bound_widget(st.selectbox, view, "layer", "Layer", options=range(5))
    bound_widget(st.number_input, view, "layer", "The same layer", key="stepper", min_value=0, max_value=4)
    bound_widget(st.toggle, view, "classroom", "Classroom", read=int)


def test_a_bound_widget_shows_the_view_and_sets_it():
    app = AppTest.from_function(page, default_timeout=30).run()
    assert (app.selectbox[0].value, app.number_input[0].value, app.toggle[0].value) == (2, 2, False)
    app.selectbox(key="widget_layer").set_value(4).run()
    app.toggle(key="widget_classroom").set_value(True).run()
    assert not app.exception
    assert (app.session_state.view.layer, app.session_state.view.classroom) == (4, 1)
    assert app.number_input(key="stepper").value == 4, "two widgets of one field agree"


def test_a_bound_widget_follows_when_something_else_moves_the_field():
    app = AppTest.from_function(page, default_timeout=30).run()
    app.selectbox(key="widget_layer").set_value(4).run()
    app.session_state.view.layer = 1
    app.run()
    assert (app.selectbox[0].value, app.number_input[0].value) == (1, 1)


@pytest.mark.parametrize("reported", [-1, 3, 10**9, "1", None, 1.0, [1], {}])
def test_a_position_from_outside_the_text_is_left_aside(monkeypatch, reported):
    monkeypatch.setattr(st, "session_state", {"strip": {"selected": reported}})
    view = View(position=2, key=1)
    take_position("strip", view, count=3)
    assert (view.position, view.key) == (2, 1)


def test_a_position_of_the_text_is_taken_and_the_key_follows_it(monkeypatch):
    monkeypatch.setattr(st, "session_state", {"strip": {"selected": 0}})
    view = View(position=2, key=1)
    take_position("strip", view, count=3)
    assert (view.position, view.key) == (0, -1)
