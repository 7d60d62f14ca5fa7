"""The trace on the real default model: kinds c and f, sizes, and what may not change."""

import dataclasses

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM

import model
from model.head_view import HeadView, pooled
from model.overview import attention_overview
from model.preparation import prepared_folder
from model.registry import listed_model

pytestmark = pytest.mark.default_model


@pytest.fixture(scope="module")
def eager(default_model):
    """The same weights as transformers runs them, with eager attention."""
    folder = prepared_folder(listed_model(None))
    module = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    ids = torch.tensor([model.tokenize(default_model, "The capital of France is").ids])
    with torch.inference_mode():
        return module.eval()(ids, output_attentions=True, output_hidden_states=True)


def test_c01_thirty_maps_of_nine_heads_equal_eager(capital, eager):
    assert len(eager.attentions) == 30
    for layer, weights in enumerate(eager.attentions):
        ours = capital.layer_attention(layer)
        assert ours.shape == (9, 5, 5)
        assert torch.allclose(ours, weights[0], atol=5e-6)


def test_streams_and_logits_equal_transformers(capital, eager):
    for layer in range(30):
        assert torch.allclose(capital.streams[layer], eager.hidden_states[layer][0], atol=2e-3, rtol=1e-4)
    assert torch.allclose(torch.cat(list(capital.all_logits())), eager.logits[0], atol=2e-4)


def test_c02_above_the_diagonal_exactly_zero(capital):
    weights = capital.layer_attention(7)
    assert torch.all(weights.triu(1) == 0)
    assert torch.all(weights[:, 0, 0] == 1)


def test_c05_rows_sum_to_one(capital):
    for layer in range(30):
        assert torch.allclose(capital.layer_attention(layer).sum(-1), torch.ones(9, 5), atol=2.4e-7)


def test_c07_attention_sink(capital):
    means = {layer: float(capital.layer_attention(layer)[:, -1, 0].mean()) for layer in (0, 1, 7, 20)}
    assert means == pytest.approx({0: 0.30, 1: 0.16, 7: 0.91, 20: 0.94}, abs=0.006)


def test_c08_weights_from_zero_to_one_scores_with_their_own_sign(capital):
    weights, scores = capital.attention(0, 0), capital.scores(0, 0)
    assert float(weights.min()) >= 0 and float(weights.max()) <= 1
    assert float(capital.scores(20, 4).min()) < 0 and scores.shape == (5, 5)


def test_c13_consecutive_query_heads_share_a_kv_head(capital):
    shape = capital.model.architecture
    assert [shape.kv_head_of(head) for head in range(9)] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert list(shape.query_heads_of(1)) == [3, 4, 5]


def test_c16_scores_and_weights_measured(capital):
    assert capital.scores(0, 0)[-1].tolist() == pytest.approx([2.664, 2.514, 0.880, 1.844, 2.699], abs=1e-3)
    assert capital.attention(0, 0)[-1].tolist() == pytest.approx([0.2853, 0.2456, 0.0479, 0.1256, 0.2955], abs=1e-4)


def test_c17_a_short_text_gives_the_same_alone_and_after_a_longer_one(default_model, capital):
    model.trace(default_model, "Another, longer text that was run in between, with more tokens")
    again = model.trace(default_model, "The capital of France is")
    assert torch.equal(again.last_logits, capital.last_logits)


def test_d07_a_sequence_of_eight_leaves_seven_in_the_cache(default_model):
    steps = list(model.generate(default_model, "The capital of France is", max_tokens=3))
    assert 5 + len(steps) == 8
    assert steps[-1].cached + steps[-1].computed == 7


def test_d10_more_than_the_models_context_is_refused(default_model):
    with pytest.raises(model.TextRefused, match="8,192"):
        model.trace(default_model, [5] * 8193)


def test_c04_f02_a_map_has_a_row_for_every_position(default_model, capital):
    written = [step.draw.id for step in model.generate(default_model, "The capital of France is", max_tokens=4)]
    run = model.trace(default_model, [*capital.tokens.ids, *written])
    assert run.attention(3, 3).shape == (9, 9)
    assert torch.allclose(run.attention(3, 3)[:5, :5], capital.attention(3, 3), atol=1e-5)


def test_f04_the_prediction_at_a_position_is_for_the_next(default_model, capital):
    best = [int(capital.logits(position).argmax()) for position in range(5)]
    assert [default_model.vocabulary.bytes_of(id).decode() for id in best] == ["-", " of", " the", " is", " Paris"]


def test_c10_memory_grows_with_tokens_and_not_their_square(default_model):
    """Bytes a token, the logits of the last position aside: the same at 16 and at 128 tokens."""

    def per_token(n: int) -> float:
        run = model.trace(default_model, list(range(100, 100 + n)))
        return (run.nbytes - run.last_logits.nbytes) / n

    few, many = per_token(16), per_token(128)
    assert many == pytest.approx(few, rel=0.02)
    assert many < 400_000


def test_a_trace_is_frozen(capital):
    with pytest.raises(dataclasses.FrozenInstanceError):
        capital.tokens = None
    assert not any(stream.requires_grad for stream in capital.streams)


def test_overview_agrees_with_the_maps(default_model):
    run = model.trace(default_model, "one two three one two three one two")
    overview = attention_overview(run)
    weights = run.attention(1, 2)
    assert overview.block == 1
    lower = torch.tril(torch.ones(8, 8, dtype=torch.bool))
    assert torch.equal(overview.maps[1, 2][lower], weights[lower])
    assert torch.isnan(overview.maps[1, 2][~lower]).all()
    assert float(overview.on_first[1, 2]) == pytest.approx(float(weights[1:, 0].mean()), abs=1e-6)
    assert float(overview.on_previous[1, 2]) == pytest.approx(float(weights.diagonal(-1).mean()), abs=1e-6)
    distance = sum(float(weights[q, k]) * (q - k) for q in range(8) for k in range(q + 1)) / 8
    assert float(overview.distance[1, 2]) == pytest.approx(distance, abs=1e-5)


def test_overview_of_a_long_text_keeps_the_largest_weight_of_each_block(default_model):
    run = model.trace(default_model, list(range(100, 150)))
    overview = attention_overview(run, cells=10)
    assert overview.block == 5 and overview.maps.shape[-1] == 10
    block = run.attention(4, 1)[25:30, 10:15]
    assert float(overview.maps[4, 1, 5, 2]) == float(block.max())
    assert torch.isnan(overview.maps[4, 1, 2, 5])


def test_head_view_sets_the_first_column_aside_without_renormalising(capital):
    look, aside = (HeadView(capital, 20, 4, 4, first_aside) for first_aside in (False, True))
    assert aside.row.tolist() == look.row.tolist()
    assert (aside.drawn_weights[1:, 1:] == look.weights[1:, 1:])[look.visible[1:, 1:]].all()
    assert look.key_or_strongest(-1) == 0 and aside.key_or_strongest(-1) != 0


def test_f01_a_block_has_the_largest_of_its_cells():
    values = np.arange(25.0).reshape(5, 5)
    values[np.triu_indices(5, 1)] = np.nan
    reduced = pooled(values, 2)
    assert reduced.shape == (3, 3)
    assert np.array_equal(np.isnan(reduced), [[False, True, True], [False, False, True], [False] * 3])
    assert (reduced[0, 0], reduced[1, 0], reduced[2, 1], reduced[2, 2]) == (6, 16, 23, 24)
    assert np.array_equal(pooled(values, 1), values, equal_nan=True)
