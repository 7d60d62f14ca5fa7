"""Edits against the same thing done by hand in transformers."""

import threading

import pytest
import torch

import model
from model.edits import (
    AttentionOff,
    FeedForwardOff,
    HeadOff,
    KeyHidden,
    MaskLifted,
    PositionsRemoved,
    Window,
)
from model.what_if import all_heads, all_keys, all_layers, divergence, reading, sweep
from tests import tiny

IDS = torch.arange(3, 20).tolist()


@pytest.fixture(params=["gpt2", "llama, grouped KV heads", "gemma2", "mistral, window 6"], scope="module")
def lm(request) -> model.LanguageModel:
    return tiny.explained(request.param)


def logits_with_head_zeroed(lm: model.LanguageModel, layer: int, head: int) -> torch.Tensor:
    """The plain twin: zero the head's slice of the output projection's input."""
    module = tiny.plain(lm.key)
    block = lm.parts.blocks[layer]
    name = next(name for name, part in lm.module.named_modules() if part is block)
    attention = next(
        getattr(module.get_submodule(name), kind) for kind in ("self_attn", "attn") if hasattr(block, kind)
    )
    projection = getattr(attention, "o_proj", None) or attention.c_proj
    size = lm.architecture.head_size

    def zero(_, args):
        heads = args[0].clone()
        heads[..., head * size : (head + 1) * size] = 0
        return (heads,)

    projection.register_forward_pre_hook(zero)
    with torch.inference_mode():
        return module(torch.tensor([IDS])).logits[0, -1]


def test_head_off_equals_its_slice_zeroed_by_hand(lm):
    edited = model.trace(lm, IDS, [HeadOff(1, 4)])
    by_hand = logits_with_head_zeroed(lm, 1, 4)
    assert torch.allclose(edited.last_logits, by_hand, atol=2e-5 * float(by_hand.abs().max()))
    assert not torch.allclose(edited.last_logits, model.trace(lm, IDS).last_logits, atol=1e-3)
    assert torch.all(edited.head_output(1, 4) == 0)
    assert edited.attention_check(1)[0] <= 2e-5 * edited.attention_check(1)[1]


def test_hidden_key_equals_removal_from_the_softmax_by_hand(lm):
    hidden = 12
    edited = model.trace(lm, IDS, [KeyHidden(hidden)])
    for layer in range(lm.architecture.layers):
        scores, visible = edited.scores(layer, 2), edited.visible(layer)
        row = scores[15].clone()
        row[~visible[15]] = -torch.inf
        assert not visible[15, hidden]
        assert torch.allclose(edited.attention(layer, 2)[15], row.softmax(-1), atol=1e-6)
        assert float(edited.attention(layer, 2)[hidden + 1 :, hidden].abs().max()) == 0
        assert edited.attention_check(layer)[0] <= 2e-5 * edited.attention_check(layer)[1]


def test_a_hidden_key_changes_nothing_before_it(lm):
    plain, edited = model.trace(lm, IDS), model.trace(lm, IDS, [KeyHidden(12)])
    for before, after in zip(plain.streams, edited.streams, strict=True):
        assert torch.allclose(before[:13], after[:13], atol=1e-4 * float(before.abs().max()))
    assert not torch.allclose(plain.streams[-1][13:], edited.streams[-1][13:], atol=1e-3)


def test_the_hidden_position_still_sees_itself(lm):
    edited = model.trace(lm, IDS, [KeyHidden(0)])
    assert float(edited.attention(0, 0)[0, 0]) == 1.0
    assert torch.isfinite(edited.last_logits).all()


@pytest.mark.parametrize(
    "edit",
    [HeadOff(99, 0), HeadOff(0, 99), KeyHidden(17), KeyHidden(-1), AttentionOff(99), FeedForwardOff(-1), Window(0)],
)
def test_edits_outside_the_run_are_refused(lm, edit):
    with pytest.raises(ValueError, match="outside this run"):
        model.trace(lm, IDS, [edit])


@pytest.mark.parametrize("use_cache", [True, False])
def test_edits_act_in_generation_too(lm, use_cache):
    edits = (HeadOff(1, 4), KeyHidden(2))
    step = next(iter(model.generate(lm, IDS, model.Settings(temperature=0), use_cache=use_cache, edits=edits)))
    expected = model.trace(lm, IDS, edits).last_logits
    assert torch.allclose(step.logits, expected, atol=2e-5 * float(expected.abs().max()))


def by_hand(lm: model.LanguageModel, change, **inputs) -> torch.Tensor:
    """The last logits of transformers' own eager model after ``change`` has been made to it."""
    module = tiny.plain(lm.key)
    change(module)
    with torch.inference_mode():
        return module(torch.tensor([IDS]), **inputs).logits[0, -1]


def close(ours: torch.Tensor, theirs: torch.Tensor) -> bool:
    """Equal to two hundred-thousandths of the largest logit."""
    return torch.allclose(ours, theirs, atol=2e-5 * float(theirs.abs().max()))


def part_of(module: torch.nn.Module, lm: model.LanguageModel, part: torch.nn.Module) -> torch.nn.Module:
    """The part of the plain model that is where ``part`` is in the opened one."""
    return module.get_submodule(next(name for name, each in lm.module.named_modules() if each is part))


def zeroed(_, args, output):
    first = output[0] if isinstance(output, tuple) else output
    return (torch.zeros_like(first), *output[1:]) if isinstance(output, tuple) else torch.zeros_like(first)


FAMILIES = pytest.mark.parametrize("family", tiny.FAMILIES)


@FAMILIES
@pytest.mark.parametrize("kind", [AttentionOff, FeedForwardOff])
def test_half_a_layer_off_equals_its_output_zeroed_by_hand(family, kind):
    lm = tiny.explained(family)
    block = lm.parts.blocks[1]
    writer = lm.parts.attention_writer(block) if kind is AttentionOff else lm.parts.feed_forward_writer(block)
    run = model.trace(lm, IDS, [kind(1)])
    expected = by_hand(lm, lambda module: part_of(module, lm, writer).register_forward_hook(zeroed))
    assert close(run.last_logits, expected)
    added = run.attention_added if kind is AttentionOff else run.feed_forward_added
    assert float(added[1].abs().max()) == 0 and float(added[2].abs().max()) > 0


@FAMILIES
def test_a_lifted_mask_equals_a_bidirectional_reference(family):
    lm = tiny.explained(family)
    everything = torch.zeros(1, 1, len(IDS), len(IDS))  # added to the scores: nothing is struck out
    masks = everything
    if lm.architecture.windowed_layers and lm.architecture.windowed_layers < lm.architecture.layers:
        masks = {"full_attention": everything, "sliding_attention": everything}
    run = model.trace(lm, IDS, [MaskLifted()])
    assert close(run.last_logits, by_hand(lm, lambda module: None, attention_mask=masks))
    weights = run.attention(1, 0)
    assert float(weights[0, -1]) > 0 and torch.allclose(weights.sum(-1), torch.ones(len(IDS)), atol=1e-6)


@FAMILIES
def test_a_window_equals_the_same_mask_by_hand(family):
    lm = tiny.explained(family)
    place = torch.arange(len(IDS))
    seen = (place[None] <= place[:, None]) & (place[None] > place[:, None] - 4)
    mask = torch.zeros(1, 1, len(IDS), len(IDS)).masked_fill(~seen, torch.finfo(torch.float32).min)
    masks = mask
    if lm.architecture.windowed_layers and lm.architecture.windowed_layers < lm.architecture.layers:
        masks = {"full_attention": mask, "sliding_attention": mask}
    run = model.trace(lm, IDS, [Window(4)])
    assert close(run.last_logits, by_hand(lm, lambda module: None, attention_mask=masks))
    assert torch.equal(run.visible(0), seen)


def without_positions(lm):
    def change(module):
        if lm.parts.learned_positions is not None:
            part_of(module, lm, lm.parts.learned_positions).weight.data.zero_()

    return change


@FAMILIES
def test_positions_removed_equals_every_token_at_position_nought(family):
    """With RoPE, position 0 turns nothing; a learned table is set to zeros by hand."""
    lm = tiny.explained(family)
    run = model.trace(lm, IDS, [PositionsRemoved()])
    if lm.parts.learned_positions is not None:
        expected = by_hand(lm, without_positions(lm))
    else:
        # Positions that do not count up would be read as a packed batch, so the mask is given, too.
        expected = by_hand(lm, lambda module: _turn_nothing(part_of(module, lm, lm.parts.turners[0])))
    assert close(run.last_logits, expected)
    assert not close(run.last_logits, model.trace(lm, IDS).last_logits)


def _turn_nothing(rotary: torch.nn.Module) -> None:
    plain = rotary.forward

    def at_nought(x, position_ids, *more, **named):
        return plain(x, torch.zeros_like(position_ids), *more, **named)

    rotary.forward = at_nought


def test_without_positions_and_mask_the_order_of_the_others_is_lost(lm):
    """What is left of order with positions removed is the mask; with both gone, the last token sees a bag."""
    if lm.architecture.windowed_layers:
        pytest.skip("the answer is the same, but the shuffled keys leave the window")
    edits = [PositionsRemoved(), MaskLifted()]
    shuffled = [*reversed(IDS[:-1]), IDS[-1]]
    assert close(model.trace(lm, shuffled, edits).last_logits, model.trace(lm, IDS, edits).last_logits)


def test_combined_edits_all_act(lm):
    edits = [MaskLifted(), Window(5), KeyHidden(3), HeadOff(0, 1)]
    run = model.trace(lm, IDS, edits)
    seen = run.visible(0)
    assert seen[2, 9] and not seen[2, 3] and seen[3, 3] and not seen[9, 4] and seen[9, 5]
    assert run.attention_check(0)[0] <= 2e-5 * run.attention_check(0)[1]


@FAMILIES
def test_a_sweep_equals_each_edit_traced_alone(family):
    """Many edits in one batch are the same as one run each, to rounding."""
    lm = tiny.explained(family)
    tokens = model.trace(lm, IDS).tokens
    tried = [*all_heads(lm)[:7], *all_layers(lm), *all_keys(tokens)[::5]]
    *_, found = sweep(lm, tokens, tried)
    before = model.trace(lm, IDS).last_logits
    assert [effect.edit for effect in found.effects] == tried and found.planned == len(tried)
    assert found.target == int(before.argmax())
    assert found.halving == len([each for each in found.effects if 2 * each.probability < found.probability])
    for effect in found.effects:
        after = model.trace(lm, IDS, [effect.edit]).last_logits
        assert effect.probability == pytest.approx(float(after.double().softmax(-1)[found.target]), abs=2e-5)
        assert effect.divergence == pytest.approx(float(divergence(before, after)), abs=1e-3, rel=1e-3)


def test_reading_equals_cross_entropy(lm):
    run = model.trace(lm, IDS)
    with torch.inference_mode():
        expected = float(tiny.plain(lm.key)(torch.tensor([IDS]), labels=torch.tensor([IDS])).loss)
    assert reading(run).perplexity == pytest.approx(torch.tensor(expected).exp().item(), rel=1e-4)


def test_divergence_is_nought_for_the_same_and_positive_else(lm):
    one, other = model.trace(lm, IDS).last_logits, model.trace(lm, IDS, [HeadOff(1, 4)]).last_logits
    assert float(divergence(one, one)) == 0
    expected = torch.nn.functional.kl_div(
        other.double().log_softmax(-1), one.double().log_softmax(-1), log_target=True, reduction="sum"
    )
    assert float(divergence(one, other)) == pytest.approx(float(expected), rel=1e-9)


def test_an_edit_reaches_no_other_thread_and_leaves_nothing_behind():
    """Kind G01: many threads on one model, half of them with an edit, each sees only its own."""
    lm = tiny.explained("llama, grouped KV heads")
    plain, edited = model.trace(lm, IDS).last_logits, model.trace(lm, IDS, [HeadOff(1, 4)]).last_logits
    hooks = [len(part._forward_hooks) + len(part._forward_pre_hooks) for part in lm.module.modules()]
    wrong = []

    def work(number: int) -> None:
        kinds = [[HeadOff(0, 1)], [], [MaskLifted(), PositionsRemoved()], [AttentionOff(1), Window(2)]]
        ids, edits = IDS[: 7 + number % 2 * 4], kinds[number % 4]
        for _ in range(20):
            run = model.trace(lm, ids, edits)
            if len(run.streams[0]) != len(ids) or run.edits != tuple(edits):
                wrong.append(number)
            full = model.trace(lm, IDS, [HeadOff(1, 4)] if number % 2 else [])
            if not torch.equal(full.last_logits, edited if number % 2 else plain):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert hooks == [len(part._forward_hooks) + len(part._forward_pre_hooks) for part in lm.module.modules()]
