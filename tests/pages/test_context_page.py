"""The lesson on context: its numbers, what it refuses, and that looking runs no model."""

import pytest

from pages.shared import frame
from pages.shared.store import opened_model
from tests import tiny
from tests.pages.app import button, forward_passes, opened, warned, words

pytestmark = pytest.mark.default_model


def test_it_opens_on_one_token_with_two_meanings():
    page = opened("context")
    assert not page.exception and not page.warning
    text = words(page)
    assert "the token ␣bank, ID 5461" in text and "between the two rows is exactly 0." in text
    assert "and 0.802 after layer 23. It is lowest, 0.637, after layer 29" in text
    assert "with a river&#x27;s bank" in text and "with a bank for money" in text


def test_it_opens_on_the_crack_of_the_lessons_own_prompt():
    text = words(opened("context"))
    assert "in 3 columns × all layers (93 vectors) is 0.0, exactly" in text
    assert "It grows most in layer 23: 0.11 before it, 0.53 after it" in text
    assert "Your text: ␣Paris (77.3%). Edited: ␣Rome (38.0%)" in text


def test_order_and_more_text():
    text = words(opened("context"))
    assert "is France of capital The" in text
    assert "followed by your 8 tokens, or by 8 others:" in text and "0.0, exactly" in text
    assert "the same to the last bit" in text


def test_layer_ruler_head_position_and_tables_run_no_model():
    page = opened("context")
    with forward_passes(opened_model("smollm2")) as passes:
        page.slider(key="crack_ruler").set_value(5).run()
        assert page.number_input(key="stepper_layer").value == 5, "one layer for the whole page"
        page.number_input(key="stepper_layer").set_value(2).run()
        page.number_input(key="stepper_head").set_value(1).run()
        page.session_state.view.position = 3
        for key in ("crack_table", "cosine_lines_table", "cosine_inside", "order_words_table"):
            page.session_state[key] = True
        page.run()
        next(each for each in page.button if "looks most at other words" in each.label).click().run()
    assert not page.exception
    assert passes == []
    assert (page.session_state.view.layer, page.session_state.view.head) == (1, 5)
    assert "Layer 1, head 5: where ␣France looks" in words(page)


@pytest.mark.parametrize(
    "parameters, says",
    [
        ({"word": "river"}, "“river” does not stand in the first sentence"),
        ({"two": "Nothing here"}, "“bank” does not stand in the second sentence"),
        ({"one": "embankments"}, "does not stand in the first sentence as a word of its own"),
        ({"word": " "}, "Type the word to look for"),
        ({"one": "  "}, "The first sentence: There is no text to read"),
        ({"two": "🐭" * 390 + " bank"}, "The second sentence: The text has"),
        ({"prompt": "... !", "swap": ""}, ""),
    ],
)
def test_what_cannot_be_shown_gets_a_sentence(parameters, says):
    page = opened("context", **parameters)
    assert not page.exception
    assert says in warned(page)
    assert "Where it stops being true" in [heading.value for heading in page.subheader]


@pytest.mark.parametrize(
    "parameters",
    [
        {"one": "<b>$x$ bank</b>", "two": ":smile: bank", "word": "bank"},
        {"word": "<script>", "one": "<script> x", "two": "a <script>"},
        {"word": "$x$", "one": "cost $x$ now", "two": "$x$"},
        {"one_at": "99", "two_at": "-3", "one": "bank bank bank", "two": "the bank, the bank"},
        {"swap": "<b>:smile:</b>", "swap_at": "999"},
        {"swap": "", "swap_at": "0", "prompt": "one"},
        {"swap": "France"},
        {"swap": "x" * 500, "more": "y" * 999, "one": "z" * 999, "word": "w" * 99},
        {"order": "sideways", "swap_at": "nan", "layer": "99", "head": "99", "position": "-7"},
        {"order": "shuffled", "seed": "5", "prompt": "the the the"},
        {"more": ""},
        {"more": "ly"},
        {"word": "البنك", "one": "ذهبت إلى البنك", "two": "البنك مغلق", "prompt": "مرحبا بالعالم"},
        {"word": "🐭", "one": "a 🐭", "two": "the 🐭 🐭", "prompt": "🐭🐭 🐭", "swap": "🐱"},
        {"prompt": "<|im_start|>user", "specials": "control"},
        {"written": "7042.30.198", "position": "6"},
    ],
)
def test_hostile_addresses_raise_nothing(parameters):
    page = opened("context", **parameters)
    assert not page.exception, page.exception
    for element in (*page.markdown, *page.caption, *page.warning):
        for value in parameters.values():
            assert len(value) < 4 or value not in element.value, "user text in markdown"


def test_the_visitors_own_word_has_no_scale_and_is_told_so():
    page = opened("context", word="light", one="The bag was very light", two="She turned on the light")
    assert not page.exception and not page.warning
    assert "there are no further sentences, so the curve has no scale" in words(page)


def test_several_places_can_be_chosen_among():
    page = opened("context", one="The bank of the river and the bank in town")
    assert page.number_input(key="context_one_at").value == 0
    page.number_input(key="context_one_at").set_value(1).run()
    assert not page.exception
    assert page.query_params["one_at"] in ("1", ["1"])
    assert not any(each.key == "context_two_at" for each in page.number_input)


def test_what_is_typed_runs_and_reaches_the_address():
    page = opened("context")
    page.text_input(key="crack_swap").set_value("Spain").run()
    assert page.query_params["swap"] in ("Spain", ["Spain"])
    assert "Edited: ␣Madrid" in words(page)
    page.selectbox(key="crack_word").set_value(1).run()
    assert page.session_state.view.swap_at == 1 and not page.exception
    assert "in 1 columns × all layers" in words(page)
    page.text_input(key="context_word").set_value("account").run()
    assert "“account” does not stand in the first sentence" in warned(page)


def test_another_number_of_tokens_is_shifted_and_said():
    page = opened("context", swap="New Zealand")
    text = words(page)
    assert "The two texts have 5 and 6 tokens. Their first 3 are the same" in text
    page.session_state.view.position = 3
    assert "has no counterpart in the edited text" in words(page.run())


def test_the_same_word_again_changes_nothing():
    assert "the same tokens as the text: nothing differs" in words(opened("context", swap="France"))


def test_a_long_text_is_drawn_around_the_edit():
    page = opened("context", prompt="a " * 150 + "Paris" + " b" * 100)
    assert not page.exception and not page.warning
    assert "positions 64 are drawn" in words(page)


def test_the_presets_and_the_prediction():
    page = opened("context")
    button(page, "Too late to tell").click().run()
    assert "and 1.000 after layer 23. It is lowest, 1.000" in words(page)
    button(page, "France, then Italy").click().run()
    assert "It grows most in layer 23: 0.09 before it, 0.42 after it" in words(page)
    button(page, "Two kinds of mouse").click().run()
    assert not page.exception and "with an animal" in words(page)
    page.radio(key="check_context").set_value("Not at all, in no layer").run()
    assert "the largest difference of any number of the two vectors, in all layers, is 0." in words(page)
    assert any("Right." in each.value for each in page.markdown)


@pytest.mark.parametrize("family", ["gpt2", "gemma2", "llama, a single KV head"])
def test_other_kinds_of_models(family, monkeypatch):
    monkeypatch.setattr(frame, "opened_model", lambda key: tiny.explained(family))
    page = opened("context", prompt="the cat sat on the mat", swap="rat", swap_at="0", more=" and the river", layer="1")
    assert not page.exception, page.exception
    text = words(page)
    assert "tokens in the first sentence" in text, "the word has several tokens, and it is said"
    assert ("this model adds a row for the position" in text) == (family == "gpt2")
    page.slider(key="crack_ruler").set_value(2).run()
    assert not page.exception
