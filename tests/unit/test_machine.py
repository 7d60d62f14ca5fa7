"""What this machine can do: the right work is timed so many times, and what does not fit is refused first.

The clock is the tests' own: its k-th reading is k², so every time is known and none depends on the machine.
"""

from dataclasses import replace
from itertools import count

import pytest
import torch
from transformers import DynamicCache, LlamaConfig, LlamaForCausalLM

import model
from model import SettingRefused, TextRefused, clock, machine
from model.clock import Takes
from model.cost import kv_bytes, work
from model.forward import forward
from model.machine import (
    DECODES,
    BatchPoint,
    Machine,
    TimedWork,
    batches,
    check_memory,
    free_memory,
    growth,
    lengths_up_to,
    measure_machine,
    memory_needed,
    roofline,
)
from model.queue import Turns
from tests import tiny

PROMPT = [5, 6, 7]


@pytest.fixture(scope="module")
def lm() -> model.LanguageModel:
    return tiny.explained("llama, grouped KV heads")


@pytest.fixture(autouse=True)
def squares(monkeypatch) -> None:
    reading = count()
    monkeypatch.setattr(clock, "perf_counter", lambda: float(next(reading) ** 2))


def duration(measured: int) -> float:
    """Between the two readings around the ``measured``-th thing that is timed."""
    return float((2 * measured + 1) ** 2 - (2 * measured) ** 2)


@pytest.fixture
def passes(lm):
    """(requests, positions) of each forward pass that runs."""
    shapes = []
    hook = lm.module.register_forward_pre_hook(lambda _, args: shapes.append(tuple(args[0].shape)))
    yield shapes
    hook.remove()


@pytest.mark.parametrize(
    ("most", "lengths"),
    [(16, [16]), (31, [16]), (64, [16, 32, 64]), (1_024, [16, 32, 64, 128, 256, 512, 1_024]), (5, [5]), (1, [1])],
)
def test_lengths_are_doubled_until_the_most(most, lengths):
    assert lengths_up_to(most) == lengths


def test_growth_times_a_prefill_and_decodes_at_every_length(lm, passes):
    points = list(growth(lm, PROMPT, [4, 8, 16], takes=2))
    assert [point.length for point in points] == [4, 8, 16]
    one_take = [(1, 1)] * DECODES
    expected = [(1, 4), (1, 1)]  # to warm up
    for length in (4, 8, 16):
        expected += [(1, length), *one_take, (1, length), *one_take]
    assert passes == expected
    for point in points:
        assert point.prefill.work == work(lm.architecture, point.length, bytes_per_value=4)
        middle = point.length + 1  # the decodes read 0 to 3 positions more than the prompt
        assert point.decode.work == work(lm.architecture, 1, middle, bytes_per_value=4)
        assert len(point.prefill.times) == 2 and len(point.decode.times) == 2 * DECODES


def test_growth_keeps_every_time_in_its_place(lm):
    """Two passes warm up; then each take is a prefill and its decodes."""
    point, *_ = growth(lm, PROMPT, [4, 8], takes=2)
    assert point.prefill.times == Takes((duration(2), duration(7)))
    assert point.decode.times == Takes(tuple(duration(place) for place in (3, 4, 5, 6, 8, 9, 10, 11)))
    assert point.prefill.rate == point.prefill.work.operations / point.prefill.times.median


@pytest.mark.parametrize("repeated", [1, 2, 3, 7])
def test_growth_repeats_the_text_to_the_length(repeated):
    assert machine._repeated([1, 2, 3], repeated) == [1, 2, 3, 1, 2, 3, 1][:repeated]


def test_batches_run_so_many_requests_side_by_side(lm, passes):
    points = list(batches(lm, PROMPT, (1, 2, 4), steps=3))
    assert passes == [(1, 3), (1, 1), (1, 1), *((n, k) for n in (1, 2, 4) for k in (3, 1, 1, 1))]
    for requests, point in zip((1, 2, 4), points, strict=True):
        assert point.requests == requests and len(point.decode.times) == 3
        assert point.decode.work == work(lm.architecture, 1, 3 + 1, requests=requests, bytes_per_value=4)
        assert point.tokens_a_second == requests / point.decode.times.median
    assert points[0].decode.times == Takes((duration(4), duration(5), duration(6)))  # three passes, a prefill


def test_tokens_a_second_of_all_requests_together():
    done = TimedWork(work(tiny.explained("gpt2").architecture, 1, 3, requests=8), Takes((2.0, 4.0, 3.0)))
    assert BatchPoint(8, done).tokens_a_second == 8 / 3


def test_requests_side_by_side_write_what_one_writes_alone(lm):
    """So that what is timed is the work of real requests: equal prompts, equal logits, 1e-5."""
    cache, other = (DynamicCache(config=lm.module.config) for _ in range(2))
    many, alone = forward(lm, [PROMPT] * 4, cache).logits, forward(lm, [PROMPT], other).logits
    assert many.shape == (4, 1, tiny.VOCABULARY) and cache.layers[0].keys.shape[0] == 4
    assert torch.allclose(many, alone.expand(4, 1, -1), atol=1e-5)


@pytest.mark.parametrize(
    ("measured", "sentence"),
    [
        (lambda lm: growth(lm, PROMPT, [16, 61]), "at most 64"),
        (lambda lm: growth(lm, [5] * 65, [16]), "at most 64"),
        (lambda lm: growth(lm, [], [16]), "no text"),
        (lambda lm: batches(lm, [5] * 59, (1, 2), steps=6), "at most 64"),
        (lambda lm: batches(lm, [], (1, 2)), "no text"),
        (lambda lm: roofline(lm, [5] * 59), "at most 64"),
        (lambda lm: roofline(lm, []), "no text"),
    ],
)
def test_d10_what_is_beyond_the_models_positions_is_refused_before_anything_runs(lm, passes, measured, sentence):
    """D10: a length may have no more tokens than leave room for the decodes."""
    with pytest.raises(TextRefused, match=sentence):
        next(measured(lm))
    assert passes == []


def test_d10_what_just_fits_runs(lm):
    """D10: 60 and four decodes, 58 and six."""
    assert [point.length for point in growth(lm, PROMPT, [60], takes=1)] == [60]
    assert [point.requests for point in batches(lm, [5] * 58, (1,), steps=6)] == [1]


@pytest.mark.parametrize(
    ("measured", "requests", "tokens"),
    [
        (lambda lm: growth(lm, PROMPT, [4, 60]), 1, 60 + DECODES),
        (lambda lm: batches(lm, PROMPT, (1, 1_000), steps=6), 1_000, 9),
        (lambda lm: roofline(lm, PROMPT), 8, 9),
    ],
)
def test_what_does_not_fit_into_memory_is_refused_with_the_estimate(
    lm, passes, monkeypatch, measured, requests, tokens
):
    """Half of what is free may be used: exactly that much passes, a byte less does not."""
    needed = memory_needed(lm, tokens, requests)
    monkeypatch.setattr(machine, "free_memory", lambda _: 2 * needed - 1)
    with pytest.raises(SettingRefused, match=f"{requests:,} requests of {tokens} tokens would take about") as refused:
        next(measured(lm))
    assert f"{needed / 1e9:.1f} GB" in str(refused.value) and passes == []
    monkeypatch.setattr(machine, "free_memory", lambda _: 2 * needed)
    check_memory(lm, tokens, requests)


def test_the_estimate_counts_the_cache_at_least_and_grows(lm):
    for tokens, requests in ((1, 1), (50, 1), (50, 8)):
        assert memory_needed(lm, tokens, requests) > kv_bytes(lm.architecture, tokens, 4, requests)
    assert memory_needed(lm, 50, 8) == 8 * memory_needed(lm, 50, 1)
    assert memory_needed(lm, 51, 1) > memory_needed(lm, 50, 1)
    assert free_memory(lm.device) > 0


def test_the_machine_is_measured_take_by_take(lm, monkeypatch):
    """Small matrices: 2 n³ operations, and n² numbers of four bytes read. The first take is thrown away."""
    monkeypatch.setattr(machine, "MULTIPLIED", 8)
    monkeypatch.setattr(machine, "READ", 16)
    snapshots = list(measure_machine(lm, takes=3))
    assert [len(each.matrix_rate) for each in snapshots] == [len(each.bandwidth) for each in snapshots] == [1, 2, 3]
    last = snapshots[-1]
    assert last.matrix_rate == Takes(tuple(2 * 8**3 / duration(2 * take) for take in (1, 2, 3)))
    assert last.bandwidth == Takes(tuple(16**2 * 4 / duration(2 * take + 1) for take in (1, 2, 3)))
    assert last.threads == torch.get_num_threads()


def test_the_roofline():
    """By the medians: 100 operations a second, 20 bytes a second, so the ridge is at 5 operations a byte."""
    measured = Machine(Takes((90.0, 100.0, 500.0)), Takes((20.0, 10.0, 30.0)), 2)
    assert measured.ridge == 5
    assert [measured.limit(intensity) for intensity in (0, 1, 4, 5, 6, 1_000)] == [0, 20, 80, 100, 100, 100]


def test_everything_on_the_roofline_is_measured_as_planned(lm, monkeypatch):
    """Lengths that the tiny model has no positions for are left out: 8 and 32 of 8, 32, 128 and 512."""
    monkeypatch.setattr(machine, "MULTIPLIED", 8)
    monkeypatch.setattr(machine, "READ", 16)
    snapshots = list(roofline(lm, PROMPT))
    last = snapshots[-1]
    assert [each.done for each in snapshots] == list(range(1, last.planned + 1)) and last.planned == 5 + 2 + 4
    assert [each.work.computed for each in last.prefills] == [8, 32]
    assert [each.requests for each in last.batches] == [1, 2, 4, 8] and len(last.machine.matrix_rate) == 5


def test_a_model_with_too_few_positions_for_any_length_has_a_roofline_without_prefills(monkeypatch):
    """Ten positions have room for a prompt and six decodes, and for none of the lengths with their decodes."""
    monkeypatch.setattr(machine, "MULTIPLIED", 8)
    monkeypatch.setattr(machine, "READ", 16)
    torch.manual_seed(0)
    config = LlamaConfig(**tiny.SHAPE | {"max_position_embeddings": 10})
    lm = model.from_parts(LlamaForCausalLM(config).eval(), tiny.tokenizer(), key="short", title="short")
    *_, last = roofline(lm, PROMPT)
    assert last.prefills == () and [each.requests for each in last.batches] == [1, 2, 4, 8]
    assert last.done == last.planned == 5 + 4
    assert list(growth(lm, PROMPT, [])) == []


def test_no_turn_is_longer_than_one_pass(lm, passes):
    """So that who waits for the model waits for a single pass of a measurement, never for all of it."""

    class Counted(Turns):
        taken = 0

        def take(self):
            self.taken += 1
            return super().take()

    counted = replace(lm, turns=Counted())
    list(growth(counted, PROMPT, [4, 8]))
    list(batches(counted, PROMPT, (1, 2), steps=3))
    assert counted.turns.taken == len(passes) > 20
