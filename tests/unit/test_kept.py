"""What a cache keeps: its rows, its bytes by formula, and the calculator's parts."""

import pytest
import torch
from transformers import MistralConfig, MistralForCausalLM

import model
from model.cost import kv_bytes
from model.errors import SettingRefused
from model.kept import head_rows, kept_positions, kept_values
from model.published import architectures
from model.sizing import Sizing, whole_number
from model.timing import measure_writing
from tests import tiny


def written(lm, ids, tokens=3):
    """The last snapshot of writing on from ``ids`` once."""
    *_, last = measure_writing(lm, ids, tokens=tokens, takes=1)
    return last.cached


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_the_formula_equals_the_tensors_to_the_byte(family):
    lm = tiny.explained(family)
    for each in written(lm, list(range(3, 13))).passes:
        assert kept_values(lm.architecture, each.read + each.computed) * 4 == each.cache_bytes


def test_d08_a_window_of_eight_keeps_seven_of_twenty_one():
    config = MistralConfig(**tiny.SHAPE, num_key_value_heads=2, sliding_window=8)
    lm = model.from_parts(MistralForCausalLM(config).eval(), tiny.tokenizer(), key="mistral 8", title="mistral 8")
    writing = written(lm, list(range(20)), tokens=2)
    second = writing.passes[1]
    assert (second.read, second.computed, second.held) == (20, 1, (7, 7, 7))
    assert kept_positions(lm.architecture, 21) == (21, 7)
    first, keys, values = head_rows(writing.rows, 1, 0, 21)
    assert first == 14 and keys.shape == values.shape == (7, 8)
    assert head_rows(writing.rows, 1, 0, 20)[1].shape == (6, 8), "position 13 has been dropped since"


def test_rows_are_the_caches_own():
    lm = tiny.explained("llama, grouped KV heads")
    writing = written(lm, list(range(9)))
    first, keys, values = head_rows(writing.rows, 2, 1, 10)
    assert first == 0
    assert torch.equal(torch.from_numpy(keys), writing.rows.keys[2][1, :10])
    assert torch.equal(torch.from_numpy(values), writing.rows.values[2][1, :10])


@pytest.mark.parametrize("name", architectures())
def test_the_parts_of_a_calculation_add_up(name):
    shape = architectures()[name]
    for tokens in (1, shape.positions):
        sizing = Sizing(shape, tokens, 16, 3)
        assert sizing.global_bytes + sizing.windowed_bytes == sizing.bytes == kv_bytes(shape, tokens, 2, 3)
        assert sizing.windowed_bytes >= 0
    counts, everywhere, windowed = Sizing(shape, 1).curve()
    assert counts[0] == 0 and counts[-1] == shape.positions and list(counts) == sorted(set(counts))
    assert everywhere[-1] + windowed[-1] == kv_bytes(shape, shape.positions)
    if shape.windowed_layers and shape.sliding_window < shape.positions:
        full = list(counts).index(shape.sliding_window)
        assert len(set(windowed[full:])) == 1 and windowed[full - 1] < windowed[full]


def test_all_grouped_and_one_kv_head():
    heads = dict(Sizing(architectures()["Llama-3.1-70B"], 131_072).with_heads())
    assert heads == {64: 8 * 40 * 2**30, 8: 40 * 2**30, 1: 5 * 2**30}
    latent = dict(Sizing(architectures()["DeepSeek-V2"], 1).with_heads())
    assert latent[128] == 2 * 60 * 128 * 128 * 2


def test_d22_fewer_bits_of_the_default_shape(default_model):
    sizing = Sizing(default_model.architecture, 1)
    assert sizing.in_bits(8) == (11_520, 12_960)
    assert sizing.in_bits(4) == (5_760, 7_200)
    assert sizing.in_bits(16) == (23_040, 23_040)


@pytest.mark.parametrize("text, value", [("131072", 131_072), ("131,072", 131_072), (" 8 192 ", 8_192), ("1", 1)])
def test_sizes_as_people_type_them(text, value):
    assert whole_number(text, "tokens") == value


@pytest.mark.parametrize("text", ["0", "-5", "abc", "", "1.5", "1e9", "9" * 40, "10000000000000", "٣", "²", "nan"])
def test_sizes_that_cannot_be_meant_get_a_sentence(text):
    with pytest.raises(SettingRefused, match="number of tokens must be a whole number"):
        whole_number(text, "tokens")
