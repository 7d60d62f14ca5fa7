"""A plan's arithmetic: published figures to the last digit they print, and what must hold for any plan."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model import SettingRefused
from model.clock import Takes
from model.cost import kv_bytes, work
from model.deployment import PCI_EXPRESS
from model.levers import SLOT, levers
from model.machine import BatchPoint, Machine, Roofline, TimedWork
from model.plan import BANDWIDTH, COMPUTE, EITHER, Plan, Shares, outcome, prefill_seconds, step_seconds
from model.plan_curves import by_context, by_requests, longest_that_fits
from model.predictions import Prediction, predictions, reached
from model.published import active_parameters, architectures, gpus
from model.reproduced import STEPS, reproduced

ALL = Shares(1.0, 1.0)
GIB = 2**30


def plan(name: str = "Llama-3.1-70B", gpu: str = "NVIDIA H100 SXM", **changes) -> Plan:
    return Plan(architectures()[name], gpus()[gpu], **changes)


# As published


def test_llama_2_7b_on_an_a10():
    """The guide rounds to 7 × 10⁹ parameters: 14 GB over 600 GB/s, and 10 GB of cache at 524,288 bytes a token."""
    nominal = replace(architectures()["Llama-2-7B"], parameters=7 * 10**9)
    found = Plan(nominal, gpus()["NVIDIA A10"], best=ALL, worst=ALL)
    assert found.weights == 14 * 10**9 and found.bandwidth == 600e9
    assert round(1e3 * found.weights_read(1) / found.bandwidth, 1) == 23.3
    assert round(found.ridge, 1) == round(125e12 / 600e9, 1) == 208.3
    assert (found.memory - found.weights) // found.cache(1) == 19_073
    assert found.fit(19_072, 1).requests == 1 and found.fit(19_073, 1).requests == 0


@pytest.mark.parametrize(
    ("requests", "milliseconds"), [(1, 4.98), (8, 12.13), (16, 20.30), (32, 36.65), (64, 69.33), (240, 249.09)]
)
def test_llama_2_13b_on_eight_v5e(requests, milliseconds):
    """The book rounds to 13 × 10⁹ parameters (26 GB in 16 bit) and 6.7 GB of cache a request of 8,192 tokens."""
    seconds = step_seconds(requests, 6.7e9, 26e9, 13e9, 8 * 197e12, 8 * 820e9)
    assert round(1e3 * seconds, 2) == milliseconds
    # a plan with the exact sizes lies within the rounding of the sizes: half of 0.1 GB in 6.7, and 0.02 in 13
    exact = plan("Llama-2-13B", "Google TPU v5e", gpus=8, requests=requests, best=ALL, worst=ALL)
    assert exact.rate == 8 * 197e12 and exact.bandwidth == 8 * 820e9
    assert exact.cache(8_192) == pytest.approx(6.7e9, rel=0.0075)
    assert 1e3 * exact.step(8_192, ALL) == pytest.approx(milliseconds, rel=0.0075)


def test_blocks_of_qwen3():
    """The log rounds to 69.66 GiB: 652,144 tokens, whole blocks of 16, are what prints as that."""
    shape = architectures()["Qwen3-0.6B"]
    assert 652_144 % 16 == 0
    assert round(kv_bytes(shape, 652_144) / GIB, 2) == 69.66
    block = kv_bytes(shape, 16)
    least, most = 69.655 * GIB // block * 16, 69.665 * GIB // block * 16
    assert least <= 652_144 <= most


def test_the_page_says_what_the_sources_say():
    rows = reproduced()
    assert len(rows) == 4 + len(STEPS)
    assert all(row.ours == row.published for row in rows), [(row.what, row.ours) for row in rows]
    assert all(row.assumed and row.source for row in rows)


# The formulas


def test_reading_is_arithmetic_or_the_weights():
    assert prefill_seconds(100, 10, rate=10, bandwidth=10) == 10
    assert prefill_seconds(100, 1_000, rate=10, bandwidth=10) == 100


def test_reading_a_prompt_with_its_numbers():
    found = plan(gpus=2)
    shape = found.shape
    operations = 2 * shape.parameters * 1_000 + work(shape, 1_000).attention
    assert found.operations(1_000) == operations
    assert found.reading(1_000, Shares(0.5, 0.8)) == operations / (2 * 989e12 * 0.5)
    assert found.reading(1, Shares(0.5, 0.8)) == found.weights / (2 * 3350e9 * 0.8)


def test_a_step_with_its_numbers():
    found, reached = plan(gpus=4, requests=32), Shares(0.4, 0.6)
    cache, weights = kv_bytes(found.shape, 5_000), 2 * found.shape.parameters
    expected = 32 * cache / (4 * 3350e9 * 0.6) + weights / (4 * 3350e9 * 0.6)
    assert found.step(5_000, reached) == pytest.approx(expected)
    many = replace(found, requests=1_000)
    computing = 2 * 1_000 * found.shape.parameters / (4 * 989e12 * 0.4)
    assert computing > weights / (4 * 3350e9 * 0.6)
    assert many.step(5_000, reached) == pytest.approx(1_000 * cache / (4 * 3350e9 * 0.6) + computing)


def test_an_outcome_by_hand():
    """One take of the shares, so that both ends are the same."""
    found = plan(
        "Llama-3.1-8B", prompt=1_000, answer=200, longest_prompt=9_000, longest_answer=1_000, requests=4, price=3.6,
        best=Shares(0.5, 0.5), worst=Shares(0.5, 0.5), overhead=10**9,
    )  # fmt: skip
    out = outcome(found)
    step = found.step(1_100, found.best)
    reading = found.reading(1_000, found.best)
    assert out.between.low == out.between.high == step
    assert out.one_user.low == 1 / step and out.in_all.low == 4 / step
    assert out.last_first_token.low == 4 * reading and out.answer.low == reading + 200 * step
    assert out.longest_between.low == found.step(10_000, found.best)
    assert out.cost_in.low == pytest.approx(1e6 * 0.001 * reading / 1_000)
    assert out.cost_out.low == pytest.approx(1e6 * 0.001 * step / 4)
    assert out.cost_request.low == pytest.approx(0.001 * (reading + 200 * step / 4))
    room = 80 * 10**9 - 2 * found.shape.parameters - 10**9
    assert out.longest.requests == room // kv_bytes(found.shape, 10_000)
    assert out.typical.requests == room // kv_bytes(found.shape, 1_200)


def test_what_binds():
    assert outcome(plan(prompt=4_000)).reading_binds == COMPUTE
    assert outcome(plan(prompt=1)).reading_binds == BANDWIDTH
    assert outcome(plan(requests=1)).writing_binds == BANDWIDTH
    short = plan(prompt=16, answer=16, requests=2_000)
    assert outcome(short).writing_binds == COMPUTE
    assert outcome(replace(short, prompt=100_000)).writing_binds == BANDWIDTH, "the caches take longest"
    ridge = replace(short, requests=round(0.7 * short.ridge), best=Shares(0.5, 0.6), worst=Shares(0.4, 0.8))
    assert outcome(ridge).writing_binds == EITHER


def test_several_machines_are_one_with_all_added_up():
    one, four = plan(overhead=10**9), plan(gpus=4, overhead=10**9)
    assert (four.memory, four.rate, four.bandwidth) == (4 * one.memory, 4 * one.rate, 4 * one.bandwidth)
    assert outcome(four).between.low == pytest.approx(outcome(one).between.low / 4)
    assert outcome(four).longest.overhead == 4 * 10**9
    assert outcome(four).cost_out.low == pytest.approx(outcome(one).cost_out.low)


def test_a_mixture_of_experts_reads_what_its_tokens_use():
    found = plan("Mixtral-8x7B", active=active_parameters()["Mixtral-8x7B"])
    assert found.used == 12_900_000_000 and found.weights == 2 * found.shape.parameters
    assert found.weights_read(1) == 2 * found.used and found.weights_read(100) == found.weights
    assert set(active_parameters()) <= set(architectures())
    assert all(active < architectures()[name].parameters for name, active in active_parameters().items())


names = st.sampled_from(sorted(architectures()))
machines = st.sampled_from(sorted(gpus()))
sizes = st.integers(1, 100_000)


@settings(deadline=None, max_examples=60)
@given(names, machines, st.integers(1, 1_024), sizes, sizes, st.integers(1, 100_000), st.floats(0, 10_000))
def test_any_plan_has_an_outcome(name, gpu, count, prompt, answer, requests, price):
    made = plan(
        name, gpu, gpus=count, prompt=prompt, answer=answer, longest_prompt=2 * prompt, longest_answer=answer,
        requests=requests, price=price,
    )  # fmt: skip
    out = outcome(made)
    ranges = [value for value in vars(out).values() if hasattr(value, "low")]
    assert len(ranges) == 11
    assert all(0 <= each.low <= each.high < math.inf for each in ranges)
    assert out.longest.requests <= out.typical.requests
    assert out.longest_first_token.low >= out.first_token.low
    assert out.longest_between.low >= out.between.low


@pytest.mark.parametrize(
    "wrong",
    [
        {"gpus": 0},
        {"prompt": 0},
        {"answer": -1},
        {"requests": 0},
        {"price": -1},
        {"price": math.nan},
        {"best": Shares(0, 1)},
        {"worst": Shares(1, 1.1)},
        {"best": Shares(math.nan, 1)},
        {"prefix": 1.5},
    ],
)
def test_what_is_no_plan_is_refused(wrong):
    with pytest.raises(SettingRefused):
        plan(**wrong)


# Moved


def test_curves_pass_through_the_plan_and_mark_where_memory_ends():
    made = plan(gpus=4, requests=32, overhead=4 * 10**9)
    curve = by_requests(made)
    assert curve.places == sorted(set(curve.places)) and curve.now == 32
    assert curve.outcomes[curve.places.index(32)] == outcome(made)
    assert curve.full == outcome(made).typical.requests
    curve = by_context(made)
    assert curve.outcomes[curve.places.index(made.typical)] == outcome(made)
    assert curve.places[-1] == made.shape.positions
    between = [each.between.low for each in curve.outcomes]
    assert between == sorted(between)


@pytest.mark.parametrize("name", ["Llama-3.1-70B", "Gemma-3-27B (text)", "DeepSeek-V3", "GPT-2 small"])
def test_the_longest_that_fits_is_the_longest(name):
    made = plan(name, gpus=4, requests=24, weight_bits=4)
    longest = longest_that_fits(made)
    if longest == 0:
        assert made.fit(1, 1).requests < 24
    elif longest < 2 * made.shape.positions:
        assert made.fit(longest - 1, 1).requests >= 24 > made.fit(longest, 1).requests


# Levers


def by_name(made: Plan, same: float = 0.5) -> dict:
    return {each.name: each for each in levers(made, same)}


def test_every_lever_changes_one_thing():
    made = plan(gpus=4, requests=8, longest_prompt=60_000)
    found = by_name(made)
    now = found["as planned"].outcome
    assert now == outcome(made)
    assert found["cache in 8 bits"].outcome == outcome(replace(made, cache_bits=8))
    assert found["weights in 4 bits"].outcome == outcome(replace(made, weight_bits=4))
    assert found["cache in 8 bits"].outcome.first_token == now.first_token
    assert found["weights in 8 bits"].outcome.longest.a_request == now.longest.a_request
    assert found["1 KV head"].outcome.longest.a_request * 8 == now.longest.a_request
    assert found["64 KV heads"].outcome.longest.a_request == now.longest.a_request * 8
    assert found["prompts half as long"].outcome.first_token.low < now.first_token.low / 2 + 1e-9
    assert "8 KV heads" not in found, "that is what it has"
    assert all(each.price for each in found.values())


def test_a_shared_beginning_is_kept_and_read_once():
    made = plan(gpus=4, prompt=4_000, answer=100)
    shared = replace(made, prefix=0.75)
    assert shared.shared(4_000) == kv_bytes(made.shape, 3_000)
    one, fit = made.fit(4_000, 100), shared.fit(4_000, 100)
    assert fit.a_request == kv_bytes(made.shape, 4_100) - kv_bytes(made.shape, 3_000)
    assert fit.overhead == one.overhead + kv_bytes(made.shape, 3_000)
    rest = 2 * made.used * 1_000 + work(made.shape, 1_000, 3_000).attention
    assert shared.operations(4_000) == rest
    assert shared.step(4_050, ALL) == made.step(4_050, ALL), "each request still reads all of it"
    everything = replace(made, prefix=1.0)
    assert everything.operations(4_000) > 0 and everything.fit(4_000, 100).a_request == kv_bytes(made.shape, 100)


def test_layers_with_a_window_share_nothing():
    assert plan("Mistral-7B-v0.1", prefix=0.5).shared(1_000) == 0
    gemma = plan("Gemma-2-9B", prefix=0.5)
    assert gemma.shared(1_000) * 2 == kv_bytes(gemma.shape, 500)


def test_offloading_waits_for_the_slot():
    made = plan(requests=4, best=ALL, worst=ALL)
    away = by_name(made)["caches in the host's memory"]
    assert away.unbounded
    waits = 4 * made.cache(made.half_way) / PCI_EXPRESS[SLOT]
    assert away.outcome.between.low == pytest.approx(made.weights / made.bandwidth + waits)


def test_levers_that_do_not_apply_are_left_out():
    latent = by_name(plan("DeepSeek-V3", cache_bits=4, weight_bits=4), same=0)
    assert list(latent) == ["as planned", "prompts half as long", "caches in the host's memory"]
    assert "1 KV head" not in by_name(plan("Falcon-7B"))


# On this machine


def test_predictions_use_the_measured_rates():
    shape = architectures()["SmolLM2-135M"]
    machine = Machine(Takes((1e11, 3e11, 2e11)), Takes((1e10, 3e10, 2e10)), 2)
    prefill = TimedWork(work(shape, 128), Takes((0.5, 0.3, 0.4)))
    decode = BatchPoint(8, TimedWork(work(shape, 1, 5, requests=8), Takes((0.2,))))
    found = list(predictions(shape, 4, Roofline(machine, (prefill,), (decode,), 1, 1, "")))
    operations = 2 * shape.parameters * 128 + work(shape, 128).attention
    assert [(each.kind, each.size, each.timed) for each in found] == [("prefill", 128, 0.4), ("decode", 8, 0.2)]
    assert found[0].predicted == operations / 2e11
    expected = 8 * kv_bytes(shape, 5, 4) / 2e10 + max(2 * 8 * shape.parameters / 2e11, 4 * shape.parameters / 2e10)
    assert found[1].predicted == pytest.approx(expected) and found[1].ratio == 0.2 / found[1].predicted
    assert list(predictions(shape, 4, Roofline(None, (), (), 0, 1, ""))) == []


def test_predictions_together_say_what_was_reached():
    """The longest prefill took twice what was predicted, the middle decode four times."""
    prefills = [Prediction("prefill", 8, 1.0, 5.0), Prediction("prefill", 64, 1.0, 2.0)]
    decodes = [Prediction("decode", requests, 1.0, timed) for requests, timed in ((1, 3.0), (2, 4.0), (4, 5.0))]
    found = reached([*prefills, *decodes])
    assert (found.prefills, found.decodes) == ((2.0, 5.0), (3.0, 5.0))
    assert (found.matrix_share, found.bandwidth_share) == (1 / 2, 1 / 4)
    assert reached(prefills) is None and reached(decodes) is None and reached([]) is None
