"""The lesson on layers: its numbers, other architectures, and that looking runs no model."""

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared import frame, store
from tests import tiny
from tests.pages.app import button, forward_passes, opened, words

pytestmark = pytest.mark.default_model


def test_it_opens_on_the_numbers_of_this_run():
    page = opened("layers")
    assert not page.exception and not page.warning
    text = words(page)
    assert "enters layer 0 as a vector of size 2.6 and leaves layer 29 at 619.2" in text
    assert "in place 34, 7, 3, 1" in text and "from layer 29 on" in text
    assert "answers ␣Paris with 77%" in text
    assert "After layer 19, at position 4, the lens is 98% sure of ␣" in text
    assert "layer 24 turns the stream most (0.78)" in text
    assert "The network of layer 23 has 1,536 neurons" in text and "SiLU(gate) × up" in text


def test_the_sums_are_checked_on_the_page():
    text = words(opened("layers", layer="29"))
    assert "stream in" in text and "= stream out" in text and "sum over all 1,536 neurons" in text
    assert text.count("largest difference is") == 2


def test_in_the_last_layer_the_lens_is_the_model_itself():
    text = words(opened("layers", layer="29"))
    assert "If layer 29 were the last, ␣Paris would come after ␣is (position 4) with 77%" in text
    assert "the same numbers" in text


def test_layer_position_and_neuron_run_no_model():
    page = opened("layers")
    with forward_passes(store.opened_model("smollm2")) as passes:
        page.number_input(key="layer_stream").set_value(12).run()
        assert page.session_state.view.layer == 12 and page.number_input(key="layer_neurons").value == 12
        page.number_input(key="neuron_box").set_value(5).run()
        assert page.session_state.view.neuron == 5 and page.query_params["neuron"] in ("5", ["5"])
        page.session_state.view.position = 0
        page.run()
        button(page, "The strongest here").click().run()
        assert page.session_state.view.neuron == -1
    assert not page.exception and not passes


def test_another_layer_has_other_neurons():
    page = opened("layers", neuron="5")
    assert page.number_input(key="neuron_box").value == 5
    page.number_input(key="layer_neurons").set_value(3).run()
    assert page.session_state.view.neuron == -1


def test_the_lens_is_worked_out_once(monkeypatch):
    worked, columns = [], store.lens_columns
    monkeypatch.setattr(store, "lens_columns", lambda run, some: worked.extend(some) or columns(run, some))
    page = opened("layers", prompt="nobody has read this text through the lens")
    count = len(worked)
    assert sorted(set(worked)) == sorted(worked) and count > 5
    page.number_input(key="layer_stream").set_value(2).run()
    opened("layers", prompt="nobody has read this text through the lens", layer="4")
    assert len(worked) == count


def test_a_long_text_shows_a_window_and_says_so():
    page = opened("layers", prompt=" the" * 500, position="250")
    assert not page.exception and not page.warning
    assert "Shown are positions 244 to 259 of 500" in words(page)


@pytest.mark.parametrize("neuron", ["999999", "-7", "x", "1e3"])
def test_a_hostile_neuron_is_brought_into_range(neuron):
    page = opened("layers", neuron=neuron)
    assert not page.exception
    assert -1 <= page.session_state.view.neuron < 1536
    assert 0 <= page.number_input(key="neuron_box").value < 1536


@pytest.mark.parametrize("kind", ["attention", "feed-forward", "final"])
def test_each_normalisation_opens_and_agrees_with_its_module(kind):
    page = opened("layers")
    page.session_state.layers_norm = True
    page.session_state.norm_kind = kind
    page.run()
    assert not page.exception
    text = words(page)
    assert "RMSNorm of the stream" in text and "mean square of the 576 numbers" in text
    assert "differ from the module's own output by at most" in text


def test_the_prediction_is_decided_by_this_run():
    page = opened("layers")
    page.radio(key="check_layers").set_value("Fewer than 1 in 100").run()
    assert "of 1,536 neurons" in words(page)


@pytest.fixture
def another(monkeypatch):
    """The page on a tiny model of another family, in the default's place."""

    def page(family: str, **parameters: str) -> AppTest:
        monkeypatch.setattr(frame, "opened_model", lambda key: tiny.explained(family))
        return opened("layers", prompt="the river the city", **parameters)

    return page


def test_gpt2_has_layer_norm_and_no_gate(another):
    page = another("gpt2")
    page.session_state.layers_norm = True
    page.run()
    assert not page.exception and not page.warning
    text = words(page)
    assert "this network has no gate" in text and "GELU" in text and "row + bias" in text
    assert "LayerNorm of the stream" in text and "variance, mean of their squares" in text


def test_parallel_blocks_are_said(another):
    page = another("gpt-neox, parallel blocks")
    assert not page.exception
    assert "beside attention, not after it" in words(page)


def test_gemmas_norms_behind_are_said(another):
    page = another("gemma2", neuron="3")
    assert not page.exception
    text = words(page)
    assert "normalised once more before it is added" in text
    assert "through the normalisation behind this network" in text


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_every_family_opens(another, family):
    page = another(family, layer="1")
    assert not page.exception
    assert "sum over all" in words(page) and "= stream out" in words(page)


def test_a_network_that_cannot_be_taken_apart_gets_a_sentence(another, monkeypatch):
    from model import feed_forward

    monkeypatch.setattr(feed_forward, "network_of", lambda module: None)
    page = another("qwen2")
    assert not page.exception
    assert "its neurons are not shown" in words(page)
