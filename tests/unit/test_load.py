"""The class that plays against the server: what it types, what it would notice, and how it counts."""

import json

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from model import tokenize
from tests.load.__main__ import Memory, is_good, p95
from tests.load.lesson import SECRETS, WORDS, Done, Pupil
from tests.load.visitor import Visitor


def done(seconds: float, kind: str = "shared", wrong: str = "") -> Done:
    return Done(kind, "home", "goes on", seconds, wrong)


@pytest.mark.default_model
def test_a_secret_is_one_token_and_in_nobody_elses_text(default_model):
    """So it is found as it stands in whatever the server sends: in a text, a label or a figure."""
    assert len(set(SECRETS)) == len(SECRETS) >= 15 and not set(SECRETS) & set(WORDS)
    for word in SECRETS:
        assert tokenize(default_model, f"The {word}").labels[1:] == [f"␣{word}"]


@pytest.mark.default_model
def test_own_texts_have_eight_to_sixty_four_tokens(default_model):
    for number in range(1, 30, 2):
        pupil = Pupil("http://127.0.0.1:1", number, own=True)
        texts = [pupil._own_text() for _ in range(20)]
        assert all(8 <= len(tokenize(default_model, text)) <= 64 for text in texts)
        assert all(pupil.secret in text for text in texts) and len(set(texts)) == 20


def test_another_visitors_word_is_noticed_wherever_it_comes():
    visitor = Visitor("http://127.0.0.1:1", frozenset([b"volcanic"]))
    message = ForwardMsg()
    message.delta.new_element.bidi_component.json = json.dumps({"tokens": [{"label": "␣volcanic"}]})
    visitor.receive(message.SerializeToString())
    assert visitor.leaked == {b"volcanic"}


def test_what_most_waited():
    times = [done(second) for second in range(1, 101)]
    assert p95(times, "shared") == 95 and p95(times, "own") == 0


def test_the_verdict_needs_time_memory_pages_and_no_failure():
    good, memory = [done(1.0), done(3.0, "own")], Memory(warm=100, end=109)
    assert is_good(good, memory, [])
    assert not is_good([done(2.5), *good[1:]], memory, [])
    assert not is_good(good, Memory(warm=100, end=111), [])
    assert not is_good(good, memory, ["planner"])
    assert not is_good([*good, done(0.1, wrong="saw another's word")], memory, [])
