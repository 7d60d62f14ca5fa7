"""The KV cache against runs without one, and against what a trace records, on tiny models of every family.

Tolerance: 2e-5 of the largest value compared, as for all families: the cached pass sums in another
order than the whole one. Bytes, shapes and positions are exact.
"""

import pytest
import torch
from transformers import DynamicCache, MistralConfig, MistralForCausalLM

import model
from model.cost import kv_bytes
from model.kv_cache import cache_bytes, held_positions, rows_of
from model.language_model import LanguageModel
from model.published import architectures
from tests import tiny

IDS = torch.arange(3, 20).tolist()
GREEDY = model.Settings(temperature=0)
TOLERANCE = 2e-5


def close(ours: torch.Tensor, theirs: torch.Tensor) -> bool:
    return torch.allclose(ours, theirs, rtol=0, atol=TOLERANCE * float(theirs.abs().max()))


@torch.inference_mode()
def read(lm: LanguageModel, ids: list[int], cache: DynamicCache | None) -> torch.Tensor:
    """The last position's logits of one forward pass."""
    with lm.turns.take():
        output = lm.module(torch.tensor([ids]), cache=cache, use_cache=cache is not None, logits_to_keep=1)
    return output.logits[0, -1]


def fresh(lm: LanguageModel) -> DynamicCache:
    return DynamicCache(config=lm.module.config)


@pytest.fixture(params=tiny.FAMILIES, scope="module")
def lm(request) -> LanguageModel:
    return tiny.explained(request.param)


def kept(lm: LanguageModel, seen: int) -> tuple[int, ...]:
    """Positions each layer should hold: all, or those of a window less the place of the next token."""
    layers = [layer.is_sliding for layer in fresh(lm).layers]
    return tuple(min(seen, lm.architecture.sliding_window - 1) if windowed else seen for windowed in layers)


def test_cached_logits_are_the_uncached_ones_at_every_step(lm):
    """The prompt first, then one token at a time; the model is asked directly, past our own loop."""
    cache = fresh(lm)
    for step in range(9):
        ids = IDS if step == 0 else [40 + step]
        cached = read(lm, ids, cache)
        whole = IDS + [40 + place for place in range(1, step + 1)]
        assert close(cached, read(lm, whole, None))


def test_generation_with_the_cache_gives_the_logits_of_the_same_tokens_without(lm):
    written = []
    for step in model.generate(lm, IDS, model.Settings(temperature=0.8, seed=3), max_tokens=8):
        assert close(step.logits, read(lm, IDS + written, None).float())
        written.append(step.draw.id)


def test_token_by_token_is_the_whole_prompt(lm):
    one_by_one = fresh(lm)
    for id in IDS:
        last = read(lm, [id], one_by_one)
    assert close(last, read(lm, IDS, fresh(lm)))


def test_held_positions_and_bytes_of_every_step(lm):
    """To the byte: the formula where no layer has a window, and the tensors' own sum everywhere."""
    shape, cache = lm.architecture, fresh(lm)
    assert held_positions(cache) == (0,) * shape.layers and cache_bytes(cache) == 0
    for step in model.generate(lm, IDS, GREEDY, max_tokens=5, cache=cache):
        seen = len(IDS) + step.index
        assert step.held == held_positions(cache) == kept(lm, seen)
        a_position = 2 * shape.kv_heads * shape.head_size * 4
        assert step.cache_bytes == cache_bytes(cache) == a_position * sum(step.held)
        tensors = [tensor for layer in cache.layers for tensor in (layer.keys, layer.values)]
        assert step.cache_bytes == sum(tensor.numel() * tensor.element_size() for tensor in tensors)
        if not shape.windowed_layers:
            assert step.cache_bytes == kv_bytes(shape, seen, 4)
        else:  # the library keeps one position fewer in each layer with a window than the formula counts
            assert kv_bytes(shape, seen, 4) - step.cache_bytes == shape.windowed_layers * a_position


def test_rows_are_the_keys_and_values_that_a_trace_records(lm):
    """Keys after position encoding. A trace of the sequence, without a cache, has made them all at once."""
    cache = fresh(lm)
    written = [step.draw.id for step in model.generate(lm, IDS, GREEDY, max_tokens=5, cache=cache)]
    sequence = [*IDS, *written[:-1]]  # the last one drawn has not been read
    run, rows = model.trace(lm, sequence), rows_of(cache)
    for layer, record in enumerate(run.records):
        first = rows.first[layer]
        assert first == len(sequence) - kept(lm, len(sequence))[layer]
        assert rows.keys[layer].shape == record.key[:, first:].shape
        assert close(rows.keys[layer], record.key[:, first:])
        assert close(rows.values[layer], record.value[:, first:])


def test_rows_are_copies(lm):
    cache = fresh(lm)
    read(lm, IDS, cache)
    rows = rows_of(cache)
    for layer, keys, values in zip(cache.layers, rows.keys, rows.values, strict=True):
        assert torch.equal(keys, layer.keys[0]) and torch.equal(values, layer.values[0])
        assert keys.untyped_storage().data_ptr() != layer.keys.untyped_storage().data_ptr()
        assert keys.untyped_storage().nbytes() == keys.nbytes  # not the whole tensor that a window is cut from
    assert rows.nbytes == cache_bytes(cache)


def test_d01_a_fresh_cache_has_a_row_for_every_token_of_the_prompt(lm):
    """D01: (1, KV heads, 5, head size) in every layer."""
    shape, cache = lm.architecture, fresh(lm)
    next(model.generate(lm, IDS[:5], GREEDY, cache=cache))
    for layer in cache.layers:
        assert tuple(layer.keys.shape) == tuple(layer.values.shape) == (1, shape.kv_heads, 5, shape.head_size)


def test_d04_the_same_prefill_twice_starts_from_nothing_twice(lm):
    """D04: length 5 both times."""
    for _ in range(2):
        step = next(model.generate(lm, IDS[:5], GREEDY))
        assert step.held == (5,) * lm.architecture.layers and step.cached == 0


def test_without_a_cache_nothing_is_kept(lm):
    steps = list(model.generate(lm, IDS, GREEDY, use_cache=False, max_tokens=3, cache=fresh(lm)))
    assert all(step.held == () and step.cache_bytes == 0 and step.cached == 0 for step in steps)
    assert held_positions(None) == () and cache_bytes(None) == 0


@pytest.fixture(scope="module")
def window_of_8() -> LanguageModel:
    torch.manual_seed(0)
    module = MistralForCausalLM(MistralConfig(**tiny.SHAPE, num_key_value_heads=2, sliding_window=8)).eval().float()
    return model.from_parts(module, tiny.tokenizer(), key="window", title="window of 8")


def test_d08_a_window_of_8_keeps_7_of_21(window_of_8):
    """D08: 20 tokens, then one: 7 are stored, 21 were seen, and the rows know their real positions."""
    lm, cache = window_of_8, fresh(window_of_8)
    steps = list(model.generate(lm, [*range(3, 23)], GREEDY, max_tokens=2, cache=cache))
    assert [(step.cached, step.computed) for step in steps] == [(0, 20), (20, 1)]
    assert [step.held for step in steps] == [(7, 7, 7), (7, 7, 7)]
    assert cache.get_seq_length() == 21
    rows = rows_of(cache)
    assert rows.first == (14, 14, 14) and {keys.shape[1] for keys in rows.keys} == {7}
    run = model.trace(lm, [*range(3, 23), steps[0].draw.id])
    assert int(run.visible(0)[20].sum()) == 8  # itself and the seven before
    for layer, record in enumerate(run.records):
        assert close(rows.keys[layer], record.key[:, 14:21])


def test_d08_before_the_window_is_full_nothing_is_dropped(window_of_8):
    """D08: the first row's real position is 0 until the eighth token."""
    lm, cache = window_of_8, fresh(window_of_8)
    for seen in range(1, 12):
        read(lm, [seen + 5], cache)
        rows = rows_of(cache)
        assert held_positions(cache) == (min(seen, 7),) * 3 and rows.first == (max(0, seen - 7),) * 3


@pytest.mark.default_model
def test_d01_d04_the_default_models_cache(default_model, capital):
    """D01, D04: (1, 3, 5, 64) after the prefill of five tokens, and again when it is read again."""
    for _ in range(2):
        cache = fresh(default_model)
        read(default_model, list(capital.tokens.ids), cache)
        assert [tuple(layer.keys.shape) for layer in cache.layers] == [(1, 3, 5, 64)] * 30
        assert held_positions(cache) == (5,) * 30 and cache.get_seq_length() == 5
        assert torch.allclose(rows_of(cache).keys[7], capital.records[7].key, atol=1e-4)


@pytest.mark.default_model
def test_d05_token_by_token_and_the_whole_prompt_are_equal_up_to_rounding(default_model, capital):
    """D05: at most 1e-4 apart in float32, the same likeliest token."""
    cache = fresh(default_model)
    for id in capital.tokens.ids:
        last = read(default_model, [id], cache)
    whole = read(default_model, list(capital.tokens.ids), fresh(default_model))
    assert float((last - whole).abs().max()) <= 1e-4 and int(last.argmax()) == int(whole.argmax())


@pytest.mark.default_model
def test_d20_bytes_a_token_of_the_default_model(default_model, capital):
    """D20: 46,080 in float32, measured at each step, to the byte."""
    for step in model.generate(default_model, capital.tokens, GREEDY, max_tokens=3):
        assert step.cache_bytes == 46_080 * (5 + step.index) == kv_bytes(default_model.architecture, 5 + step.index, 4)


def test_d20_bytes_a_token_of_shapes_that_are_not_opened():
    """D20: the formula on published shapes, float32."""
    shapes = architectures()
    assert kv_bytes(shapes["TinyLlama-1.1B"], 1, 4) == 45_056
    assert kv_bytes(shapes["GPT-2 small"], 1, 4) == 73_728
