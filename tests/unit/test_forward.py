"""One forward pass: whose turn it is, what the clock counts, and what comes back."""

from dataclasses import replace
from itertools import count

import pytest
import torch
from transformers import DynamicCache

import model
from model import ModelBusy, clock
from model.edits import HeadOff
from model.forward import forward
from model.queue import Turns
from tests import tiny

IDS = [5, 6, 7, 8]


@pytest.fixture(scope="module")
def lm() -> model.LanguageModel:
    return tiny.explained("llama, grouped KV heads")


def test_the_logits_are_the_models_own_of_so_many_positions_from_the_last(lm):
    with torch.inference_mode():
        theirs = lm.module(torch.tensor([IDS] * 2)).logits
    for positions in (1, 3, 4):
        ours = forward(lm, [IDS] * 2, positions=positions)
        assert ours.logits.dtype == torch.float32
        assert torch.allclose(ours.logits, theirs[:, -positions:], atol=1e-5)
        assert torch.equal(ours.last, ours.logits[0, -1])


def test_the_cache_is_read_and_written_to(lm):
    cache = DynamicCache(config=lm.module.config)
    forward(lm, [IDS[:3]], cache)
    assert cache.get_seq_length() == 3
    after = forward(lm, [IDS[3:]], cache).last
    assert cache.get_seq_length() == 4
    assert torch.allclose(after, forward(lm, [IDS]).last, atol=1e-5)


def test_edits_act_on_every_row_and_row_edits_on_theirs_alone(lm):
    off, other = HeadOff(0, 1), HeadOff(1, 2)
    plain, both, one = (forward(lm, [IDS] * 2, edits=edits).logits for edits in ((), (off, other), (off,)))
    mixed = forward(lm, [IDS] * 2, edits=(off,), row_edits=((), (other,))).logits
    assert torch.allclose(mixed[0], one[0], atol=1e-5) and torch.allclose(mixed[1], both[1], atol=1e-5)
    assert not torch.allclose(plain, one, atol=1e-3) and not torch.allclose(one, both, atol=1e-3)


def test_only_what_is_asked_for_is_recorded(lm):
    layers = lm.architecture.layers
    assert len(forward(lm, [IDS], record=True).recorder.streams) == layers + 1
    silent = forward(lm, [IDS]).recorder
    assert not silent.streams and not silent.attention


def test_the_clock_runs_in_the_turn_and_not_while_waiting_for_it(lm, monkeypatch):
    """The clock's k-th reading is k; taking the turn reads it ten times, as a long wait would."""
    reading = count()
    monkeypatch.setattr(clock, "perf_counter", lambda: float(next(reading)))

    class Slow(Turns):
        def take(self):
            for _ in range(10):
                clock.perf_counter()
            return super().take()

    assert forward(replace(lm, turns=Slow()), [IDS]).seconds == 1.0


def test_a_pass_waits_for_its_turn_unless_its_caller_has_it(lm):
    impatient = replace(lm, turns=Turns(patience=0.01))
    with impatient.turns.take():
        with pytest.raises(ModelBusy):
            forward(impatient, [IDS])
        assert torch.equal(forward(impatient, [IDS], has_turn=True).last, forward(lm, [IDS]).last)
    assert torch.equal(forward(impatient, [IDS]).last, forward(lm, [IDS]).last)


def test_a_pass_that_fails_gives_its_turn_back(lm):
    with pytest.raises(IndexError):
        forward(lm, [[tiny.VOCABULARY]])
    with lm.turns.take():  # the queue is free
        pass
