"""What is traced and shown equals what transformers computes, on tiny models of every family.

Tolerance: 2e-5 of the largest value compared, some hundred times the rounding of float32; sums run
in another order in the fast kernel than in the eager one.
"""

import pytest
import torch

import model
from tests import tiny

IDS = torch.arange(3, 20).tolist()
TOLERANCE = 2e-5


def close(ours: torch.Tensor, theirs: torch.Tensor) -> bool:
    return torch.allclose(ours, theirs, rtol=0, atol=TOLERANCE * float(theirs.abs().max()))


@pytest.fixture(params=tiny.FAMILIES, scope="module")
def family(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def run(family) -> model.Trace:
    return model.trace(tiny.explained(family), IDS)


@pytest.fixture(scope="module")
@torch.inference_mode()
def theirs(family):
    return tiny.plain(family)(torch.tensor([IDS]), output_attentions=True, output_hidden_states=True)


def test_logits_at_every_position(run, theirs):
    ours = torch.cat(list(run.all_logits(block=5)))
    assert close(ours, theirs.logits[0])
    assert close(run.logits(-1), theirs.logits[0, -1])
    assert close(run.logits(4), theirs.logits[0, 4])


def test_streams_are_the_hidden_states(run, theirs):
    """transformers' last hidden state has been through the final norm; ours has not."""
    layers = run.model.architecture.layers
    for layer in range(layers):
        assert close(run.streams[layer], theirs.hidden_states[layer][0])
    normed = run.model.parts.final_norm(run.streams[layers])
    assert close(normed, theirs.hidden_states[-1][0])


def test_c14_attention_equals_eager(run, theirs):
    for layer, weights in enumerate(theirs.attentions):
        assert torch.allclose(run.layer_attention(layer), weights[0], atol=1e-5)
        assert torch.allclose(run.attention(layer, 3), weights[0, 3], atol=1e-5)


def test_masked_weights_are_exactly_zero_and_rows_sum_to_one(run):
    for layer in range(run.model.architecture.layers):
        weights, visible = run.layer_attention(layer), run.visible(layer)
        assert torch.all(weights[:, ~visible] == 0)
        assert torch.allclose(weights.sum(-1), torch.ones(1), atol=1e-6)
        assert not torch.any(torch.triu(visible, 1))


def test_lens_at_the_last_layer_is_the_models_answer(run, theirs):
    last = run.model.architecture.layers - 1
    for position in (0, 7, len(IDS) - 1):
        assert close(run.lens(last, position), theirs.logits[0, position])


def test_lens_before_the_last_layer_norms_once(run):
    stream = run.streams[2][5]
    by_hand = run.model.parts.unembedding(run.model.parts.final_norm(stream))
    cap = getattr(run.model.module.config, "final_logit_softcapping", None)
    by_hand = by_hand if cap is None else cap * torch.tanh(by_hand / cap)
    assert torch.equal(run.lens(1, 5), by_hand.float())


def test_stream_plus_attention_plus_feed_forward_is_the_next_stream(run):
    for layer in range(run.model.architecture.layers):
        total = run.streams[layer] + run.attention_added[layer] + run.feed_forward_added[layer]
        assert close(total, run.streams[layer + 1])


def test_head_outputs_put_together_are_what_attention_added(run):
    for layer in range(run.model.architecture.layers):
        difference, largest = run.attention_check(layer)
        assert difference <= TOLERANCE * largest


def test_pair_arithmetic_ends_at_the_weight(run):
    for query, key in ((5, 0), (16, 14)):
        if not run.visible(1)[query, key]:
            continue
        pair = run.pair(1, 2, query, key)
        assert pair.weight == pytest.approx(float(run.attention(1, 2)[query, key]), rel=1e-5)
        assert pair.dot == pytest.approx(float(pair.products.sum()), rel=1e-5)


def test_a_masked_pair_has_no_arithmetic(run):
    with pytest.raises(ValueError, match="masked"):
        run.pair(0, 0, 2, 9)


@pytest.mark.parametrize("use_cache", [True, False])
def test_generation_equals_generate(family, use_cache):
    """Greedy, so that rounding cannot move a draw; the same IDs with the cache and without."""
    lm = tiny.explained(family)
    greedy = model.Settings(temperature=0)
    ours = [step.draw.id for step in model.generate(lm, IDS, greedy, use_cache=use_cache, max_tokens=12)]
    output = tiny.plain(family).generate(
        torch.tensor([IDS]), do_sample=False, max_new_tokens=12, pad_token_id=0, eos_token_id=list(lm.end_ids)
    )
    assert ours == output[0, len(IDS) :].tolist()


def test_cached_steps_give_the_logits_of_uncached_ones(family):
    lm = tiny.explained(family)
    settings = model.Settings(temperature=0.8, seed=3)
    cached = list(model.generate(lm, IDS, settings, use_cache=True, max_tokens=8))
    uncached = list(model.generate(lm, IDS, settings, use_cache=False, max_tokens=8))
    for one, other in zip(cached, uncached, strict=True):
        assert one.draw.id == other.draw.id
        assert close(one.logits, other.logits)
    assert [step.cached for step in cached[:3]] == [0, len(IDS), len(IDS) + 1]
    assert [step.computed for step in cached[:3]] == [len(IDS), 1, 1]
    assert [step.computed for step in uncached[:3]] == [len(IDS), len(IDS) + 1, len(IDS) + 2]
