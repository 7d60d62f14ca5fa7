"""Writing: why it stops, what it is drawn with, and that it may be left at any step."""

import pytest

import model
from model import Settings, Stop
from tests import tiny

IDS = list(range(3, 20))


@pytest.fixture(scope="module")
def lm() -> model.LanguageModel:
    return tiny.explained("llama, grouped KV heads")


def test_it_stops_at_the_number_asked_for(lm):
    steps = list(model.generate(lm, [5] * 10, Settings(temperature=0), max_tokens=5))
    assert [step.stop for step in steps] == [None] * 4 + [Stop.LENGTH]


@pytest.mark.parametrize("use_cache", [True, False])
def test_d10_it_stops_when_the_context_is_full(lm, use_cache):
    """The tiny model has 64 positions: with a prompt of 60, four more tokens fill it."""
    steps = list(model.generate(lm, [5] * 60, Settings(temperature=0), use_cache=use_cache, max_tokens=20))
    assert len(steps) == 4 and steps[-1].stop == Stop.CONTEXT


def test_it_stops_at_the_end_token(lm):
    """On this prompt the tiny model's likeliest token is soon its end token."""
    steps = list(model.generate(lm, IDS, Settings(temperature=0), max_tokens=10))
    assert len(steps) < 10 and steps[-1].stop == Stop.END_TOKEN
    assert [step.draw.id in lm.end_ids for step in steps] == [False] * (len(steps) - 1) + [True]


def test_going_on_later_draws_what_going_on_at_once_would(lm):
    settings = Settings(temperature=1.3, seed=11)
    at_once = [step.draw.id for step in model.generate(lm, IDS, settings, max_tokens=6)]
    first = [step.draw.id for step in model.generate(lm, IDS, settings, max_tokens=3)]
    later = model.generate(lm, [*IDS, *first], settings, max_tokens=3, first_number=3)
    assert first + [step.draw.id for step in later] == at_once


def test_it_may_be_left_at_any_step(lm):
    steps = model.generate(lm, IDS, Settings(seed=1), max_tokens=50)
    next(steps), next(steps)
    steps.close()
    with lm.turns.take():  # the queue is free
        pass


def test_the_repetition_penalty_acts_on_what_has_stood_before(lm):
    plain = [step.draw.id for step in model.generate(lm, [7] * 6, Settings(temperature=0), max_tokens=12)]
    strong = Settings(temperature=0, repetition_penalty=50.0)
    penalised = [step.draw.id for step in model.generate(lm, [7] * 6, strong, max_tokens=12)]
    assert len(set(penalised)) > len(set(plain))


def test_nothing_to_go_on_from_is_refused(lm):
    with pytest.raises(model.TextRefused, match="no text"):
        next(model.generate(lm, [], Settings()))
