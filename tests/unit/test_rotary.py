"""Turning queries and keys: against the layers' own projections, and against what RoPE promises."""

import math

import pytest
import torch
from transformers import CohereConfig, CohereForCausalLM, PhiConfig, PhiForCausalLM

import model
from model import rotary
from tests import tiny

TEXT = "the cat sat on the mat"
TURNING = ("llama, grouped KV heads", "qwen2", "mistral, window 6", "gemma2")

#: Rounding of a few float32 operations on numbers of the size of these.
TOLERANCE = {"atol": 1e-4, "rtol": 1e-4}


def captured(lm: model.LanguageModel, layer: int, name: str) -> tuple[model.Trace, torch.Tensor]:
    """A trace, and what a projection of ``layer`` gave in that run, (heads, positions, head size)."""
    kept = []
    projection = getattr(lm.parts.blocks[layer].self_attn, name)
    handle = projection.register_forward_hook(lambda module, args, output: kept.append(output[0]))
    try:
        run = model.trace(lm, TEXT)
    finally:
        handle.remove()
    return run, kept[0].unflatten(-1, (-1, lm.architecture.head_size)).transpose(0, 1)


def layer_rotary(lm: model.LanguageModel, layer: int = 1) -> rotary.Rotary | None:
    return rotary.rotary_of(model.trace(lm, rotary.probe_tokens(lm)), layer)


@pytest.mark.parametrize("family", TURNING)
@pytest.mark.parametrize("layer", [0, 2])
def test_turned_back_is_what_the_projections_gave(family, layer):
    lm = tiny.explained(family)
    turn = layer_rotary(lm, layer)
    run, queries = captured(lm, layer, "q_proj")
    _, keys = captured(lm, layer, "k_proj")
    positions = torch.arange(len(run))
    assert torch.allclose(rotary.unrotate(run.records[layer].query, positions, turn), queries, **TOLERANCE)
    assert torch.allclose(rotary.unrotate(run.records[layer].key, positions, turn), keys, **TOLERANCE)


@pytest.mark.parametrize("family", [*TURNING, "qwen3"])
def test_the_projection_worked_out_anew_turns_into_the_recorded_query(family):
    lm = tiny.explained(family)
    run, turn = model.trace(lm, TEXT), layer_rotary(lm)
    pair = rotary.rotary_pair(run, turn, layer=1, head=4, position=3, pair=1)
    assert pair.projected
    assert pair.difference < 1e-4
    assert pair.angle == pytest.approx(3 * pair.frequency)
    assert math.hypot(*pair.after) == pytest.approx(pair.length, rel=1e-5)


@pytest.mark.parametrize("layout", [rotary.half_split, rotary.interleaved])
@pytest.mark.parametrize("scaling", [1.0, 1.3])
def test_turning_back_undoes_turning(layout, scaling):
    turn = layout(torch.tensor([1.0, 0.1, 0.01]), head_size=8, scaling=scaling)
    vectors = torch.randn(5, 8, generator=torch.Generator().manual_seed(0))
    turned = rotary.rotate(vectors, torch.arange(5), turn)
    assert torch.allclose(rotary.unrotate(turned, torch.arange(5), turn), vectors, atol=1e-6)
    assert torch.equal(turned[:, 6:], vectors[:, 6:]), "what is in no pair is left as it is"
    assert turn.partial


def test_a_quarter_turn_by_hand():
    turn = rotary.half_split(torch.tensor([math.pi / 2]), head_size=2)
    assert torch.allclose(rotary.rotate(torch.tensor([3.0, 1.0]), 1, turn), torch.tensor([-1.0, 3.0]), atol=1e-6)


def test_layouts_are_found_by_trying_them():
    assert layer_rotary(tiny.explained("llama, grouped KV heads")).layout == "half-split"
    torch.manual_seed(0)
    cohere = CohereForCausalLM(CohereConfig(**tiny.SHAPE, num_key_value_heads=2, pad_token_id=0))
    assert layer_rotary(model.from_parts(cohere, tiny.tokenizer())).layout == "interleaved"


def test_partial_rotary_leaves_the_rest():
    torch.manual_seed(0)
    config = PhiConfig(**tiny.SHAPE, partial_rotary_factor=0.5, pad_token_id=0)
    lm = model.from_parts(PhiForCausalLM(config), tiny.tokenizer())
    turn = layer_rotary(lm)
    assert turn.partial and 2 * turn.pairs == 4 and turn.head_size == 8


def test_no_layout_is_claimed_where_the_frequencies_are_wrong_or_missing():
    lm = tiny.explained("llama, all KV heads")
    probe = model.trace(lm, rotary.probe_tokens(lm))
    true = lm.parts.rotary.inv_freq.clone()
    try:
        lm.parts.rotary.inv_freq.mul_(1.5)
        assert rotary.rotary_of(probe, 0) is None
    finally:
        lm.parts.rotary.inv_freq.copy_(true)
    assert rotary.rotary_of(probe, 0) is not None
    assert layer_rotary(tiny.explained("gpt2")) is None


@pytest.mark.parametrize("family", TURNING)
def test_a_score_feels_the_distance_only(family):
    lm = tiny.explained(family)
    run, turn = model.trace(lm, TEXT), layer_rotary(lm)
    scores = rotary.shifted_scores(run, turn, layer=1, head=3, query=4, key=2)
    assert scores.recorded == pytest.approx(float(run.scores(1, 3)[4, 2]), rel=1e-5)
    assert float(scores.together[0]) == pytest.approx(scores.recorded, rel=1e-4, abs=1e-4)
    assert scores.deviation < 1e-4 * max(1.0, abs(scores.recorded))
    assert scores.spread > 100 * scores.deviation
    assert (scores.lowest, scores.highest) == (min(scores.apart.tolist()), max(scores.apart.tolist()))
    assert scores.longest == 64
    assert len(scores.shifts) == len(scores.together) == len(scores.apart) == 65


def test_ten_tokens_in_front_leave_the_first_layers_scores_alone():
    from model.embeddings import moved_back

    lm = tiny.explained("llama, grouped KV heads")
    run = model.trace(lm, TEXT)
    later = model.trace(lm, moved_back(run, 10))
    before, after = (rotary.score_in_run(run, 0, 2, 4, 1), rotary.score_in_run(later, 0, 2, 14, 11))
    assert after == pytest.approx(before, rel=1e-4, abs=1e-4)


def test_the_telling_pair_is_visibly_turned():
    lm = tiny.explained("llama, grouped KV heads")
    run, turn = model.trace(lm, TEXT), layer_rotary(lm)
    pair = rotary.most_telling_pair(run, turn, 1, 0, position=2)
    assert math.pi / 6 <= float(rotary.angles(2, turn)[pair]) <= math.pi
    assert rotary.most_telling_pair(run, turn, 1, 0, position=0) == 0
    assert rotary.strongest_other(run, 1, 0, 0) == 0
    assert rotary.strongest_other(run, 1, 0, 3) < 3


@pytest.mark.parametrize("pairs, most, wanted", [(4, 10, [0, 1, 2, 3]), (32, 3, [0, 16, 31]), (1, 8, [0]), (9, 1, [0])])
def test_spread_keeps_first_and_last(pairs, most, wanted):
    assert rotary.spread(pairs, most) == wanted


@pytest.mark.parametrize(
    "position, count, wanted", [(0, 20, range(4)), (10, 20, range(8, 12)), (19, 20, range(16, 20)), (1, 3, range(3))]
)
def test_dials_stand_around_the_position_and_hold_its_angles(position, count, wanted):
    turn = rotary.half_split(torch.tensor([1.0, 0.5, 0.1]), head_size=6)
    drawn = rotary.dials(turn, position, count, rows=4, columns=2)
    assert drawn.positions == list(wanted) and position in drawn.positions
    assert drawn.pairs == [0, 2]
    by_hand = [[place * speed for speed in (1.0, 0.1)] for place in wanted]
    assert torch.allclose(drawn.angles, torch.tensor(by_hand))


def test_a_whole_turn_by_hand():
    turn = rotary.half_split(torch.tensor([math.pi / 2, math.pi / 200]), head_size=8)
    assert [turn.whole_turn(pair) for pair in (0, 1)] == pytest.approx([4, 400])
    assert turn.turned == 4 and turn.partial


@pytest.mark.default_model
def test_default_model_turns_as_its_cosines_say(capital):
    lm = capital.model
    turn = layer_rotary(lm, layer=29)
    cos, _ = lm.parts.rotary(capital.streams[0][None], torch.arange(5)[None])
    assert turn.pairs == 32 and not turn.partial
    assert torch.allclose(rotary.angles(torch.arange(5), turn).cos(), cos[0, :, :32], atol=1e-6)
    pair = rotary.rotary_pair(capital, turn, layer=29, head=3, position=4, pair=5)
    assert pair.projected and pair.difference < 1e-4


def test_pairs_that_do_not_turn_are_not_called_slow():
    assert rotary.half_split(torch.tensor([1.0, 0.2, 0.0]), head_size=6).slowest == 1
