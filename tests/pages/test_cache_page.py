"""The lesson on the KV cache: its numbers, what it refuses, and that looking runs no model."""

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import frame
from pages.shared.store import opened_model
from tests import tiny
from tests.pages.app import button, ended, forward_passes, opened, words

pytestmark = pytest.mark.default_model


def finished(**parameters: str) -> AppTest:
    """The page, opened cold, its measurement ended."""
    return ended(opened("cache", **parameters))


def test_it_opens_on_a_known_calculation():
    page = finished()
    assert not page.exception and not page.warning
    text = words(page)
    assert "42,949,672,960 bytes" in text and "42.9 GB = 40 GiB" in text
    assert "39.06 GiB" in text and "128,000" in text and "40.00 GiB" in text


def test_bytes_of_the_tensors_stand_beside_the_formula():
    text = words(finished(t="0"))
    assert "921,600 bytes   equal, to the byte" in text
    assert "5 + 15 = 20 positions" in text


def test_a_step_a_layer_and_a_head_run_no_model():
    page = finished()
    with forward_passes(opened_model("smollm2")) as passes:
        page.slider(key="widget_step").set_value(0).run()
        assert "The prefill read 5 tokens" in words(page)
        page.slider(key="widget_step").set_value(4).run()
        assert "5 + 4 = 9 positions" in words(page)
        page.number_input(key="stepper_layer").set_value(2).run()
        page.number_input(key="stepper_kv").set_value(1).run()
        page.selectbox(key="widget_shape").set_value("DeepSeek-V3").run()
    assert not page.exception
    assert "Layer 2, KV head 1" in words(page)
    assert passes == []


@pytest.mark.parametrize(
    "shape, says",
    [
        ("GPT-2 small", "4,831,838,208 bytes"),
        ("Gemma-3-27B (text)", "together 11,173,625,856 bytes"),
        ("Mistral-7B-v0.1", "32 layers with a window"),
        ("DeepSeek-V3", "576 numbers (one compressed vector"),
        ("open", "SmolLM2-135M-Instruct (the open model)"),
    ],
)
def test_each_kind_of_shape_has_its_own_arithmetic(shape, says):
    page = finished(shape=shape)
    assert not page.exception
    assert says in words(page)


def test_more_tokens_than_a_shape_was_made_for_are_said():
    page = finished(shape="GPT-2 small", context="2048")
    assert "at most 1,024 positions" in page.warning[0].value.replace("\\", "")


@pytest.mark.parametrize("typed", ["0", "-1", "abc", "", "1e9", "9" * 30])
def test_sizes_that_cannot_be_meant_get_a_sentence_and_change_nothing(typed):
    page = finished()
    page.text_input(key="typed_context").set_value(typed).run()
    assert not page.exception
    assert "must be a whole number from 1" in page.warning[0].value.replace("\\", "")
    assert page.session_state.view.context == 131_072
    assert page.text_input(key="typed_context").value == "131,072"
    assert not page.run().warning, "it is said once"


@pytest.mark.parametrize(
    "parameters",
    [
        {"shape": "<b>$x$</b>", "gpu": "none"},
        {"shape": "", "gpu": "../../etc"},
        {"context": "0", "typical": "-4", "requests": "nan", "overhead": "-1"},
        {"context": "1e99", "typical": "9" * 40, "requests": "99999999", "overhead": "inf"},
        {"cache_bits": "3", "weight_bits": "0", "kv_head": "77", "step": "999", "layer": "99"},
        {"overhead": "9999", "shape": "open", "context": "1"},
        {"shape": "Falcon-7B", "cache_bits": "2", "requests": "100000", "context": "100000000"},
    ],
)
def test_hostile_addresses_raise_nothing(parameters):
    page = finished(**parameters)
    assert not page.exception, page.exception
    assert "The calculator" in [each.value for each in page.header]
    for element in (*page.markdown, *page.caption, *page.warning):
        assert "<b>$x$" not in element.value


def test_unknown_names_fall_back_with_a_note():
    page = finished(shape="Llama 9", gpu="Abacus")
    assert page.session_state.view.shape == "Llama-3.1-70B"
    text = words(page)
    assert "There is no shape" in text and "There is no machine" in text


def test_what_fits_is_counted():
    text = words(finished(weight_bits="4", cache_bits="8"))
    assert "with 131,072 tokens, 1 fit at once; of those with 4,096, 60." in text
    assert "It does not fit." in words(finished())


def test_the_cache_in_fewer_bits_has_real_bytes():
    page = finished(t="0")
    button(page, "Write with each cache").click().run()
    text = words(ended(page))
    assert not page.exception
    for bits, size in ((8, "64,800"), (4, "36,000"), (2, "21,600")):
        assert f"{size} bytes; tensors: {size} bytes, equal" in text, bits
    assert "back-end hqq" in text and "128 positions" in text
    assert "departs with token 2 of 16" in text


@pytest.mark.parametrize("family", ["gpt2", "gemma2", "mistral, window 6"])
def test_other_kinds_of_models(family, monkeypatch):
    monkeypatch.setattr(frame, "opened_model", lambda key: tiny.explained(family))
    page = finished(prompt="the cat sat on the mat", layer="1", t="0")
    assert not page.exception, page.exception
    text = words(page)
    assert "equal, to the byte" in text
    if family == "gpt2":
        assert "Not with this model" not in text
    else:
        assert "Not with this model" in text and "window of 6 tokens" in text
    page.slider(key="widget_step").set_value(0).run()
    assert not page.exception


def test_a_text_that_leaves_no_room_to_write_still_has_the_calculator(monkeypatch):
    monkeypatch.setattr(frame, "opened_model", lambda key: tiny.explained("gpt2"))
    page = finished(prompt="the cat sat on the mat " * 8)
    assert not page.exception
    assert page.warning and "42.9 GB = 40 GiB" in words(page)
