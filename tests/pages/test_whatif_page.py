"""What if: broken, mended, linked to, and never anybody else's."""

import pytest
from streamlit.testing.v1 import AppTest

from model.edits import HeadOff, KeyHidden, MaskLifted, Window
from tests.pages.app import button, measured, opened, said

pytestmark = pytest.mark.default_model


def test_the_first_screen_shows_a_head_that_matters():
    """Layer 23, head 4 on 'The capital of France is': Paris falls from .773 to .141; by model.trace."""
    page = opened("whatif")
    assert not page.exception and not page.warning
    text = said(page)
    assert '<b><span class="number">77.3%</span></b> to <b><span class="number">14.1%</span></b>' in text


def test_a_cold_link_opens_three_edits():
    page = opened("whatif", edits="h12.4~k0~m")
    assert not page.exception
    assert page.session_state.view.edits == (HeadOff(12, 4), KeyHidden(0), MaskLifted())
    text = said(page)
    for words in ("layer 12, head 4 switched off", "position 0 hidden", "the causal mask lifted"):
        assert words in text
    assert page.query_params["edits"] in ("h12.4~k0~m", ["h12.4~k0~m"])


def test_nothing_broken_is_a_state_of_its_own():
    page = opened("whatif", edits="none")
    assert page.session_state.view.edits == ()
    assert "Nothing is broken" in said(page)
    assert page.query_params["edits"] in ("none", ["none"])


@pytest.mark.parametrize("edits", ["x", "h999.9", "k77", "w0", "h1.2.3", "<b>", "m~" * 500, "h-1.2"])
def test_hostile_edits_raise_nothing(edits):
    page = opened("whatif", edits=edits)
    assert not page.exception, page.exception


def test_an_edit_that_does_not_fit_the_text_is_left_out_and_said():
    page = opened("whatif", edits="k40~h1.2")
    assert page.session_state.view.edits == (HeadOff(1, 2),)
    assert "Left out: position 40" in said(page)


def test_breaking_and_mending():
    page = opened("whatif", edits="none")
    page.selectbox(key="whatif_kind").set_value("window").run()
    page.number_input(key="whatif_window").set_value(2).run()
    button(page, "Break it").click().run()
    assert page.session_state.view.edits == (Window(2),)
    page.selectbox(key="whatif_kind").set_value("heads").run()
    button(page, "Break it").click().run()
    assert page.session_state.view.edits == (Window(2), HeadOff(23, 4))
    button(page, "a window of 2 positions in every layer").click().run()
    assert page.session_state.view.edits == (HeadOff(23, 4),)
    button(page, "Switch it on again").click().run()
    assert page.session_state.view.edits == ()


def test_a_lifted_mask_is_judged_by_this_text():
    """It helps on a text with familiar words, and does not on the short default text."""
    helped = opened("whatif", edits="m", prompt="The cat sat on the mat because it was tired and wanted to sleep.")
    assert "answers on the desk" in said(helped) and "It looks better on this text" in said(helped)
    assert "does not even help" in said(opened("whatif", edits="m"))


def test_both_write_on():
    page = measured(opened("whatif"), "continuations")
    assert not page.exception
    assert 'class="departs"' in said(page)


@pytest.fixture(scope="module")
def swept() -> AppTest:
    page = opened("whatif")
    button(page, "Try all 270, each alone").click().run()
    return measured(page, "sweep_heads")


def test_the_sweep_finds_the_head(swept):
    assert not swept.exception
    assert "with layer 23, head 4 switched off, alone" in said(swept)


def test_the_head_looked_at_gets_its_sentence(swept):
    swept.number_input(key="stepper_head_looked_at").set_value(5).run()
    assert not swept.exception
    assert "Without it, " in said(swept)


@pytest.mark.parametrize("kind", ["layers", "positions"])
def test_layers_and_positions_are_swept_too(kind):
    page = opened("whatif")
    page.session_state.sweep_kind = kind
    page.run()
    start = next(each for each in page.button if each.label.startswith("Try all"))
    start.click().run()
    measured(page, f"sweep_{kind}")
    assert not page.exception
    assert "The largest change of" in said(page)


def test_one_token_has_nothing_to_foresee_and_no_other_position():
    page = opened("whatif", prompt="a", edits="none")
    page.session_state.sweep_kind = "positions"
    page.run()
    assert not page.exception
    assert "no other position to hide" in said(page) and "nothing to foresee" in said(page)


def test_the_shared_trace_stays_whole():
    """An edit never reaches what other sessions are shown."""
    before = opened("home")
    opened("whatif", edits="m~p~a0")
    after = opened("home")
    assert [each.proto.body for each in before.get("html")] == [each.proto.body for each in after.get("html")]
