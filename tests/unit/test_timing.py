"""Timed writing, by a clock that the tests set: numbers are exact, and nothing depends on the machine.

The clock shows k² at its k-th reading, so that a duration tells which readings it lies between. A
step reads it four times: before and after the forward pass, before and after the draw.
"""

from itertools import count, islice

import pytest

import model
from model import Settings, Stop, TextRefused, clock, generation
from model.clock import Takes
from model.cost import kv_bytes, work
from model.timing import Measurement, TimedWriting, measure_writing
from tests import tiny

#: A prompt on which the tiny model writes at least ten tokens without its end token.
PROMPT = [5] * 10
#: One on which it draws its end token at the sixth step.
ENDING = list(range(3, 20))
GREEDY = Settings(temperature=0)


@pytest.fixture(scope="module")
def lm() -> model.LanguageModel:
    return tiny.explained("llama, grouped KV heads")


@pytest.fixture(autouse=True)
def squares(monkeypatch) -> None:
    reading = count()
    for module in (clock, generation):
        monkeypatch.setattr(module, "perf_counter", lambda: float(next(reading) ** 2))


def duration(step: int) -> float:
    """Of the ``step``-th step of all, its pass and its draw together, warming up included."""
    first = 4 * step
    return float((first + 1) ** 2 - first**2 + (first + 3) ** 2 - (first + 2) ** 2)


@pytest.fixture
def both(lm) -> list[Measurement]:
    """All snapshots of a measurement of both ways."""
    return list(measure_writing(lm, PROMPT, GREEDY, tokens=6, takes=3, both=True))


def test_the_seconds_of_work_are_what_lies_between_two_readings():
    assert clock.seconds_of("cpu", lambda: "result") == ("result", 1.0)
    assert clock.seconds_of("cpu", lambda: "result") == ("result", 5.0)  # 3² − 2²


def test_takes_and_what_they_say_together():
    takes = Takes((4.0, 1.0, 2.0))
    assert (takes.median, takes.least, takes.most, len(takes)) == (2.0, 1.0, 4.0, 3)
    assert Takes((1.0, 2.0)).median == 1.5
    assert Takes.summed([takes, Takes((10.0, 20.0, 30.0))]) == Takes((14.0, 21.0, 32.0))
    assert Takes.summed([takes, Takes((10.0,))]) == Takes((14.0,))  # the other takes were stopped half way


def test_snapshots_grow_to_the_end(both):
    """A prefill and two decodes of each way to warm up, then three takes of six passes each way."""
    planned = 2 * 3 + 3 * 2 * 6
    assert [each.done for each in both] == list(range(1, planned + 1))
    assert {each.planned for each in both} == {planned}
    assert [each.finished for each in both] == [False] * (planned - 1) + [True]
    for before, after in zip(both, both[1:], strict=False):
        for name in ("cached", "uncached"):
            smaller, larger = getattr(before, name), getattr(after, name)
            timed = [sum(len(each.times) for each in way.passes) if way else 0 for way in (smaller, larger)]
            assert timed[0] <= timed[1] <= timed[0] + 1
    for way in (both[-1].cached, both[-1].uncached):
        assert way.takes == 3 and all(len(each.times) == 3 for each in way.passes)
        assert [each.index for each in way.passes] == list(range(6)) and way.stop == Stop.LENGTH


def test_what_warms_up_is_not_recorded(both):
    assert [each.doing for each in both[:6]] == ["warming up"] * 6
    assert all(each.cached is None and each.uncached is None and each.nbytes == 0 for each in both[:6])
    first = both[6]
    assert first.doing == "take 1 of 3, with the cache"
    assert first.cached.passes[0].times == Takes((duration(6),)) and first.uncached is None


def test_both_ways_take_turns_in_alternating_order(both):
    """Each way's takes, told by the clock: with–without, without–with, with–without."""
    last = both[-1]
    for way, begins in ((last.cached, (6, 24, 30)), (last.uncached, (12, 18, 36))):
        for each in way.passes:
            assert each.times == Takes(tuple(duration(begun + each.index) for begun in begins))


def test_both_ways_write_the_same_tokens(both, lm):
    last = both[-1]
    written = [step.draw.id for step in model.generate(lm, PROMPT, GREEDY, max_tokens=6)]
    assert list(last.cached.tokens) == list(last.uncached.tokens) == written and last.same_tokens
    difference, largest = last.logit_difference
    assert 0 <= difference <= 2e-5 * largest  # the rounding of float32 in sums of another order
    assert last.cached.logits.shape == (6, tiny.VOCABULARY)


def test_drawn_tokens_are_the_same_in_every_take_and_go_on_where_writing_stopped(lm):
    settings = Settings(temperature=1.3, seed=11)
    *_, last = measure_writing(lm, PROMPT, settings, tokens=4, takes=2, both=True, first_number=3)
    steps = model.generate(lm, PROMPT, settings, max_tokens=4, first_number=3)
    assert list(last.cached.tokens) == [step.draw.id for step in steps] and last.same_tokens


def test_the_first_tokens_time_is_no_part_of_the_time_between_tokens(both):
    way = both[-1].cached
    assert way.first_token == way.passes[0].times
    assert way.between == tuple(each.times.median for each in way.passes[1:]) and len(way.between) == 5
    assert way.prefill_rate == len(PROMPT) / way.first_token.median
    assert way.decode_rate == 5 / sum(way.between)
    assert way.seconds == way.first_token.median + sum(way.between)
    assert way.total == Takes(tuple(sum(each.times.seconds[take] for each in way.passes) for take in range(3)))


def test_work_is_constant_with_the_cache_and_a_staircase_without(both):
    with_cache, without = both[-1].cached, both[-1].uncached
    assert [(each.computed, each.read) for each in with_cache.passes] == [(10, 0), *((1, 10 + k) for k in range(5))]
    assert [(each.computed, each.read) for each in without.passes] == [(10 + k, 0) for k in range(6)]
    assert with_cache.rows_computed == 15 and without.rows_computed == 75
    assert all(each.held == () and each.cache_bytes == 0 for each in without.passes) and without.rows is None


def test_d07_n_tokens_leave_one_fewer_in_the_cache(both, lm):
    """D07: the last token drawn has been through no pass: 10 + 6 tokens, 15 positions."""
    shape, way = lm.architecture, both[-1].cached
    assert way.passes[-1].held == (15,) * shape.layers
    assert way.passes[-1].cache_bytes == kv_bytes(shape, 15, 4)
    assert [tuple(rows.shape) for rows in (*way.rows.keys, *way.rows.values)] == [
        (shape.kv_heads, 15, shape.head_size)
    ] * (2 * shape.layers)
    assert way.rows.first == (0,) * shape.layers and way.rows.nbytes == kv_bytes(shape, 15, 4)
    assert both[-1].nbytes == way.rows.nbytes + way.logits.nbytes + both[-1].uncached.logits.nbytes


def consistent(lm, way: TimedWriting) -> None:
    for each in way.passes:
        assert set(each.held) == {each.read + each.computed}
        assert each.cache_bytes == kv_bytes(lm.architecture, each.read + each.computed, 4)
    assert len(way.logits) == len(way.passes) == len(way.tokens)


@pytest.mark.parametrize("asked", range(1, 4 + 2 * 5 + 1))
def test_stopping_at_any_pass_leaves_a_consistent_snapshot(lm, asked):
    """Two takes of five tokens after three passes to warm up; the iterator is closed early."""
    snapshots = measure_writing(lm, PROMPT, GREEDY, tokens=5, takes=2)
    *_, last = islice(snapshots, asked)
    snapshots.close()
    with lm.turns.take():  # the queue is free
        pass
    timed = min(asked, 13) - 3
    if timed <= 0:
        assert last.cached is None and not last.finished
        return
    way = last.cached
    consistent(lm, way)
    assert sum(len(each.times) for each in way.passes) == timed
    assert way.takes == max(1, timed // 5) and last.finished == (timed == 10)
    assert len(way.total) == way.takes and way.total.seconds[0] == sum(each.times.seconds[0] for each in way.passes)
    assert (way.rows is None) == (way.stop is None) == (timed < 5)


def test_the_work_of_both_ways_is_the_sum_of_their_passes(lm, both):
    last, shape = both[-1], lm.architecture
    first = len(PROMPT)
    with_it = [work(shape, first)] + [work(shape, 1, first + step) for step in range(5)]
    without = [work(shape, first + step) for step in range(6)]
    assert last.cached.operations == sum(each.operations for each in with_it)
    assert last.uncached.operations == sum(each.operations for each in without)
    assert last.times_the_operations == last.uncached.operations / last.cached.operations > 1
    assert last.times_the_time == last.uncached.seconds / last.cached.seconds
    assert last.cached.in_cache == last.uncached.in_cache == first + 5
    assert last.cached.typical_decode == sorted(last.cached.between)[2]


@pytest.mark.parametrize("both_ways", [True, False])
def test_the_end_token_ends_the_measurement_early_and_finished(lm, both_ways):
    *before, last = measure_writing(lm, ENDING, GREEDY, tokens=20, takes=2, both=both_ways)
    assert last.finished and last.doing == "done" and not any(each.finished for each in before)
    for way in (last.cached, last.uncached) if both_ways else (last.cached,):
        assert way.stop == Stop.END_TOKEN and way.tokens[-1] in lm.end_ids
        assert way.takes == 2 and len(way.tokens) < 20
        assert not set(way.tokens[:-1]) & lm.end_ids
    consistent(lm, last.cached)
    assert last.cached.rows.keys[0].shape[1] == len(ENDING) + len(last.cached.tokens) - 1


def test_a_single_token_has_no_time_between(lm):
    *_, last = measure_writing(lm, PROMPT, GREEDY, tokens=1, takes=3)
    assert last.done == last.planned == 1 + 3
    assert last.cached.between == () and last.cached.decode_rate is None and last.cached.typical_decode is None


@pytest.mark.parametrize("family", ["gpt2", "llama, grouped KV heads"])
def test_d10_a_prompt_without_room_for_what_is_to_be_written_is_refused_before_anything_runs(family):
    """D10: 64 positions. A prompt of 60 has room for four tokens, which are then written in full."""
    lm = tiny.explained(family)
    passes = []
    hook = lm.module.register_forward_pre_hook(lambda *_: passes.append(1))
    try:
        for prompt, tokens in ((60, 5), (64, 1), (65, 1), (1, 64), (0, 5)):
            with pytest.raises(TextRefused, match="at most 64" if prompt else "no text"):
                next(measure_writing(lm, [5] * prompt, GREEDY, tokens=tokens))
        assert passes == []
        *_, last = measure_writing(lm, [5] * 60, GREEDY, tokens=4, takes=1)
    finally:
        hook.remove()
    assert last.done == last.planned == 7 == len(passes) and len(last.cached.tokens) == 4


def test_a_window_keeps_fewer_than_were_seen():
    lm = tiny.explained("mistral, window 6")
    *_, last = measure_writing(lm, PROMPT, GREEDY, tokens=4, takes=1)
    assert {each.held for each in last.cached.passes} == {(5, 5, 5)}  # the window less the place of the next
    assert last.cached.rows.first == (8, 8, 8)  # 13 seen, the last five kept
