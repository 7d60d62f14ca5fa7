"""The KV cache in fewer bits: how many bytes it takes, exactly, and how far the answers move."""

from dataclasses import replace

import pytest
import torch
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

import model
from model import SettingRefused, TextRefused
from model.cost import kv_bytes, kv_values, stored_bits
from model.fewer_bits import KeptIn, kept_in_fewer_bits, likeliest_together, why_not_in_fewer_bits
from model.kv_cache import cache_bytes, group_size, held_positions, quantised_cache
from tests import tiny

GLOBAL = [name for name in tiny.FAMILIES if "gemma" not in name and "window" not in name]
WINDOWED = [name for name in tiny.FAMILIES if name not in GLOBAL]
PROMPT = [5] * 10
GREEDY = model.Settings(temperature=0)


@pytest.fixture(params=GLOBAL, scope="module")
def lm(request) -> model.LanguageModel:
    return tiny.explained(request.param)


@pytest.fixture(scope="module")
def kept(lm) -> list[KeptIn]:
    return list(kept_in_fewer_bits(lm, PROMPT, tokens=6))


def test_full_precision_first_then_fewer_bits(kept, lm):
    assert [each.bits for each in kept] == [32, 8, 4, 2]
    exact = kept[0]
    assert list(exact.tokens) == [step.draw.id for step in model.generate(lm, PROMPT, GREEDY, max_tokens=6)]
    assert exact.prompt_bytes == kv_bytes(lm.architecture, len(PROMPT), 4)
    assert exact.departs(exact) is None and exact.divergence(exact) == [0.0] * len(exact.tokens)


def test_d22_bytes_are_the_values_their_scales_and_their_zeros_exactly(kept, lm):
    """D22: bits / 8 for each value, and 32 bit for each group's scale and zero."""
    shape = lm.architecture
    values, group = kv_values(shape, len(PROMPT)), group_size(shape)
    assert values % group == 0
    for each in kept[1:]:
        assert each.prompt_bytes == values * each.bits // 8 + values // group * (4 + 4)
        assert each.prompt_bytes == values * stored_bits(each.bits, group) / 8


def test_the_prompts_own_pass_does_not_diverge(kept):
    """It reads the keys and values it has just worked out: the same numbers, so 0 exactly."""
    for each in kept[1:]:
        assert each.divergence(kept[0])[0] == 0 and torch.equal(each.logits[0], kept[0].logits[0])
        assert all(kl >= 0 for kl in each.divergence(kept[0]))


@pytest.mark.parametrize("family", WINDOWED)
def test_a_model_with_windows_is_refused_before_anything_runs(family):
    lm, passes = tiny.explained(family), []
    hook = lm.module.register_forward_pre_hook(lambda *_: passes.append(1))
    try:
        with pytest.raises(SettingRefused, match="layers keep a window of positions"):
            next(kept_in_fewer_bits(lm, PROMPT))
    finally:
        hook.remove()
    assert passes == []


@pytest.mark.parametrize("bits", [(3,), (8, 3), (0,), (16,)])
def test_another_number_of_bits_is_refused_before_anything_runs(bits):
    lm = tiny.explained("gpt2")
    with pytest.raises(SettingRefused, match=f"in 8, 4 or 2 bits, not {bits[-1]}"):
        next(kept_in_fewer_bits(lm, PROMPT, bits))


@pytest.mark.parametrize(("prompt", "tokens"), [(60, 5), (65, 1), (0, 5)])
def test_d10_a_text_without_room_is_refused(prompt, tokens):
    """D10: 64 positions, the prompt and what is to be written."""
    with pytest.raises(TextRefused, match="at most 64" if prompt else "no text"):
        next(kept_in_fewer_bits(tiny.explained("gpt2"), [5] * prompt, tokens=tokens))


def test_what_is_written_after_the_prompt_stays_in_full_precision_for_a_while():
    """Until ``remainder`` positions have come together; then all is quantised at once."""
    lm = tiny.explained("llama, grouped KV heads")
    shape, cache = lm.architecture, quantised_cache(lm.module.config, lm.architecture, 4, remainder=3)
    values, whole = kv_values(shape, 1), []
    for step in model.generate(lm, PROMPT, GREEDY, max_tokens=5, cache=cache):
        assert step.held == held_positions(cache) == (len(PROMPT) + step.index,) * shape.layers
        full = 0 if step.index in (0, 3) else step.index % 3
        packed = len(PROMPT) + step.index - full
        whole.append(full)
        assert step.cache_bytes == packed * values * stored_bits(4, group_size(shape)) / 8 + full * values * 4
        assert step.cache_bytes == cache_bytes(cache)
    assert whole == [0, 1, 2, 0, 1]


@pytest.mark.parametrize(
    ("head_size", "group"), [(8, 8), (16, 16), (64, 64), (80, 16), (96, 32), (100, 4), (128, 64), (256, 64)]
)
def test_groups_divide_a_head(head_size, group):
    """So that any number of positions and heads can be shared out into whole groups."""
    assert group_size(replace(tiny.explained("gpt2").architecture, head_size=head_size)) == group


@pytest.mark.parametrize("head_size", [80, 96])
def test_heads_that_64_does_not_divide(head_size):
    """A single KV head and an odd number of positions: 64 values a group would not come out even."""
    sizes = tiny.SHAPE | {"num_attention_heads": 2, "hidden_size": 2 * head_size}
    torch.manual_seed(0)
    module = LlamaForCausalLM(LlamaConfig(**sizes, num_key_value_heads=1)).eval().float()
    lm = model.from_parts(module, tiny.tokenizer(), key="wide", title="wide heads")
    *_, last = kept_in_fewer_bits(lm, [5, 6, 7], (4,), tokens=2)
    values = kv_values(lm.architecture, 3)
    assert last.prompt_bytes == values * stored_bits(4, group_size(lm.architecture)) / 8


def run(tokens: tuple[int, ...], logits: list[list[float]]) -> KeptIn:
    return KeptIn(8, 0, tokens, torch.tensor(logits))


def test_where_two_runs_depart():
    rows = [[0.0, 1.0]] * 3
    assert run((1, 2, 3), rows).departs(run((1, 2, 3), rows)) is None
    assert run((1, 2, 3), rows).departs(run((1, 9, 3), rows)) == 1
    assert run((4, 2, 3), rows).departs(run((1, 2, 3), rows)) == 0


def test_divergence_is_taken_where_the_text_is_the_same():
    """The pass that chose differently still read the same text; the ones after it did not.

    By hand: p = (1/2, 1/2), q = (1/4, 3/4); the sum of p log(p / q) is log(2) − log(3) / 2 = 0.1438.
    Tolerance: 1e-6, the logits being float32.
    """
    exact = run((1, 2, 3), [[0.0, 0.0]] * 3)
    other = run((1, 9, 3), [[0.0, 0.0], [0.0, float(torch.tensor(3.0).log())], [5.0, 0.0]])
    assert other.divergence(exact) == pytest.approx([0.0, 0.143841], abs=1e-6)


def test_a_shift_of_all_logits_is_no_divergence():
    """Only differences of logits count. Tolerance: 1e-9 nats."""
    exact, other = run((1, 1), [[0.0, 2.0]] * 2), run((1, 1), [[7.0, 9.0]] * 2)
    assert other.divergence(exact) == pytest.approx([0, 0], abs=1e-9)


@pytest.mark.default_model
def test_d22_the_default_model_with_fewer_bits(default_model, capital):
    """D22: 11,520, 5,760 and 2,880 bytes a token and their scales; the fewer bits, the further off at once."""
    exact, *fewer = kept_in_fewer_bits(default_model, capital.tokens, tokens=3)
    assert group_size(default_model.architecture) == 64
    assert exact.prompt_bytes == 5 * 46_080
    scales = 5 * 2 * 30 * 3 * (4 + 4)  # tokens, keys and values, layers, KV heads: one group each
    assert [each.prompt_bytes - scales for each in fewer] == [5 * 11_520, 5 * 5_760, 5 * 2_880]
    assert all(each.divergence(exact)[0] == 0 for each in fewer)
    eight, four, two = (each.divergence(exact)[1] for each in fewer)
    assert 0 < eight < four < two
    assert eight < 0.01  # nats: hardly a trace


@pytest.mark.default_model
def test_an_unused_quantised_cache_is_empty(default_model):
    cache = quantised_cache(default_model.module.config, default_model.architecture, 8)
    assert cache_bytes(cache) == 0 and held_positions(cache) == (0,) * 30
    assert held_positions(DynamicCache(config=default_model.module.config)) == (0,) * 30


def test_tokens_of_several_runs_are_told_apart_once():
    exact = KeptIn(32, 0, (0,), torch.tensor([[3.0, 2.0, 1.0, 0.0, -1.0]]))
    other = KeptIn(2, 0, (0,), torch.tensor([[2.0, 0.0, 3.0, 1.0, -1.0]]))
    ids, bars = likeliest_together([exact, other], step=0, shown=2)
    assert ids == [0, 1, 2]
    assert bars.shape == (2, 4) and bars.sum(axis=1) == pytest.approx([1, 1])
    assert bars[0, 0] > bars[0, 1] > bars[0, 2]


def test_models_with_windows_are_refused_with_a_sentence():
    assert "window" in why_not_in_fewer_bits(tiny.explained("mistral, window 6"))
    assert why_not_in_fewer_bits(tiny.explained("gpt2")) == ""
