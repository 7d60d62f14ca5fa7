"""Does it remember? Said, measured, sent again, asked afresh."""

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.state import BETWEEN
from tests.pages.app import button, measured, opened, said, words

pytestmark = pytest.mark.default_model


@pytest.fixture(scope="module")
def talked() -> AppTest:
    return measured(opened("conversation"), "chat")


def test_the_first_screen_is_a_finished_conversation(talked):
    assert not talked.exception and not talked.warning
    assert "My dog is called Rex." in said(talked) and 'The <span class="number">2</span> prompts' in said(talked)


def test_the_answer_is_in_the_text_and_nowhere_else(talked):
    """With the history the answer is likely, in a fresh request it is not."""
    assert "times less. Nothing was stored" in said(talked)


def test_five_times_hi_from_a_link():
    page = measured(opened("conversation", said=BETWEEN.join(["hi"] * 5), reply="hello"), "chat")
    assert not page.exception
    text = said(page)
    assert "31, 44, 57, 70, 83 tokens" in text and '<b><span class="number">285</span></b> in all' in text


def test_a_single_turn_is_told_in_the_singular():
    page = measured(opened("conversation", said="hi", reply="hello"), "chat")
    assert not page.exception
    text = words(page)
    assert "The first prompt has 31 tokens. Nothing had been kept" in text and "1 prompts" not in text


def test_saying_more_measures_only_what_is_new(talked):
    talked.chat_input(key="chat_box").set_value("Thank you.").run()
    page = measured(talked, "chat")
    assert page.session_state.view.said[-1] == "Thank you."
    assert "Thank you." in said(page)
    button(page, "Take the last turn back").click().run()
    assert len(page.session_state.view.said) == 2
    assert not page.session_state.measured_chat["running"], "it had been measured before"


def test_parts_of_the_context_can_be_left_out(talked):
    talked.toggle(key="widget_with_history").set_value(False).run()
    assert not talked.exception
    assert talked.session_state.view.with_history == 0
    talked.toggle(key="widget_with_history").set_value(True).run()


@pytest.mark.parametrize(
    "parameters",
    [
        {"said": "", "reply": "<|im_end|>", "keep": "7"},
        {"said": BETWEEN * 50, "system": "<b>$x$</b>", "ask": "", "goal": ""},
        {"said": "<script>alert(1)</script>" + BETWEEN + "a" * 5_000, "begin": "\u202e", "goal": "\u0301"},
        {"said": BETWEEN.join("x" for _ in range(99)), "reply": "y"},
    ],
)
def test_hostile_conversations_raise_nothing(parameters):
    page = opened("conversation", **parameters)
    assert not page.exception, page.exception
    assert len(page.session_state.view.said) <= 8


def test_d13_a_model_without_a_template_says_so(tmp_path, monkeypatch):
    """D13: plain lines, and a sentence."""
    from tests import tiny

    folder = tmp_path / "tiny"
    tiny.plain("gpt2").save_pretrained(folder)
    tiny.tokenizer().save_pretrained(folder)
    monkeypatch.setenv("EXPLAINER_MODELS", str(folder))
    page = opened("conversation", model="folder-tiny", prompt="the cat", said="hi", reply="cat")
    assert not page.exception, page.exception
    assert "was not made for conversations" in said(page)
