"""Prefill and decode: measured, stopped, opened step by step."""

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import runs
from tests.pages.app import button, measured, opened, said
from tests.pages.waiting import working

pytestmark = pytest.mark.default_model


@pytest.fixture(autouse=True)
def nobody_waits(monkeypatch):
    """Work that a test has left behind ends at once."""
    monkeypatch.setattr(runs, "GRACE", 1.0)


@pytest.fixture(scope="module")
def finished() -> AppTest:
    return measured(opened("decode"), "writing")


def test_d07_n_tokens_leave_one_less_in_the_cache(finished):
    """D07: sequence 5 + 16, cache 20; the page says so."""
    assert '<b><span class="number">20</span></b> positions in the cache' in said(finished)


def test_the_first_screen_is_a_finished_run(finished):
    assert [metric.label for metric in finished.metric] == [
        "Time to first token",
        "Time between tokens",
        "Prefill",
        "Decode",
    ]
    assert "3 takes" in said(finished)


def test_a_step_moved_runs_no_model(finished, monkeypatch, default_model):
    for thread in working():  # what an earlier test has left behind
        thread.join()
    passes = []
    hook = type(default_model.module).forward
    monkeypatch.setattr(
        type(default_model.module), "forward", lambda *given, **named: passes.append(1) or hook(*given, **named)
    )
    for step in (0, 3, 15):
        finished.slider(key="widget_step").set_value(step).run()
        assert not finished.exception
        assert finished.session_state.view.step == step
        assert f'step <span class="number">{step}</span>' in said(finished)
    assert not passes


def test_a_step_reaches_the_address_and_comes_back():
    page = measured(opened("decode", step="3"), "writing")
    assert page.slider(key="widget_step").value == 3
    assert page.query_params["step"] in ("3", ["3"])


@pytest.mark.parametrize("step", ["999", "-7", "x"])
def test_a_hostile_step_is_brought_into_range(step):
    page = measured(opened("decode", step=step), "writing")
    assert not page.exception
    assert page.slider(key="widget_step").value == 15


def test_both_ways_write_the_same_tokens():
    """D05: equal up to rounding, and the page says by how much."""
    page = measured(opened("decode"), "writing")
    button(page, "Write it both ways").click().run()
    measured(page, "both_ways")
    text = said(page)
    assert 'the same <span class="number">16</span> token IDs' in text
    assert "differ by at most" in text


def test_a_stopped_measurement_keeps_what_it_had():
    page = opened("decode", prompt="A prompt that nobody else has measured yet")
    while page.session_state.measured_writing["partial"] is None:
        page.run()
    button(page, "Stop").click().run()
    page.run()
    assert not page.exception
    kept = page.session_state.measured_writing["partial"]
    assert not kept.finished
    if kept.cached is not None:
        last = kept.cached.passes[-1]
        assert set(last.held) == {last.read + last.computed}, "the cache holds what the page says"
    assert button(page, "Measure again")


def test_a_text_that_leaves_no_room_is_refused_before_anything_runs(monkeypatch):
    """D10: prompt and answer together are more than the model was made for."""
    from pages.shared import frame

    monkeypatch.setattr(frame, "MAX_TOKENS", 10_000)
    page = opened("decode", prompt=" the" * 8_180)
    assert not page.exception
    assert "made for at most 8,192" in page.warning[0].value.replace("\\", "")
    assert "measured_writing" not in page.session_state
