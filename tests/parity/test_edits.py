"""Edits against the same thing done by hand in transformers."""

import threading

import pytest
import torch

import model
from model.edits import HeadOff, KeyHidden
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


@pytest.mark.parametrize("edit", [HeadOff(99, 0), HeadOff(0, 99), KeyHidden(17), KeyHidden(-1)])
def test_edits_outside_the_run_are_refused(lm, edit):
    with pytest.raises(ValueError, match="outside this run"):
        model.trace(lm, IDS, [edit])


@pytest.mark.parametrize("use_cache", [True, False])
def test_edits_act_in_generation_too(lm, use_cache):
    edits = (HeadOff(1, 4), KeyHidden(2))
    step = next(iter(model.generate(lm, IDS, model.Settings(temperature=0), use_cache=use_cache, edits=edits)))
    expected = model.trace(lm, IDS, edits).last_logits
    assert torch.allclose(step.logits, expected, atol=2e-5 * float(expected.abs().max()))


def test_an_edit_reaches_no_other_thread_and_leaves_nothing_behind():
    """Kind G01: many threads on one model, half of them with an edit, each sees only its own."""
    lm = tiny.explained("llama, grouped KV heads")
    plain, edited = model.trace(lm, IDS).last_logits, model.trace(lm, IDS, [HeadOff(1, 4)]).last_logits
    hooks = [len(part._forward_hooks) + len(part._forward_pre_hooks) for part in lm.module.modules()]
    wrong = []

    def work(number: int) -> None:
        ids, edits = IDS[: 7 + number % 2 * 4], [HeadOff(0, 1)] if number % 3 == 0 else []
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
