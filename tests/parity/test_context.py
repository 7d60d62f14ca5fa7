"""What an edit cannot change, in every family: differences left of it, and what more text does to what came before.

At one length two texts are computed by the same kernels in the same order, so equality is exact.
At another length sums may run in another order: there the tolerance is 2e-5 of a vector's length,
some hundred times the rounding of float32.
"""

import pytest
import torch

import model
from model import context, crack, word_order
from model.tokens import Tokens, extended
from tests import tiny

TOLERANCE = 2e-5
BEFORE = [5, 9, 30, 41, 7, 9, 12, 30, 8, 17, 9, 22]


@pytest.fixture(params=tiny.FAMILIES, scope="module")
def lm(request) -> model.LanguageModel:
    return tiny.explained(request.param)


@pytest.fixture(scope="module")
def run(lm) -> model.Trace:
    return model.trace(lm, BEFORE)


@pytest.mark.parametrize("at", [0, 4, 11])
def test_left_of_the_edit_every_vector_is_the_same_to_the_last_bit(lm, run, at):
    found = crack.Crack(run, model.trace(lm, [*BEFORE[:at], 99, *BEFORE[at + 1 :]]))
    assert found.aligned and found.changed == [at] and found.prefix == at
    assert (found.differences[:, :at] == 0).all()
    assert found.untouched.largest == 0.0 and found.untouched.positions == at
    assert (found.differences[:, at] > 0).all(), "the edited column differs, the embedding included"
    assert (found.differences[0, at + 1 :] == 0).all(), "no other token has another embedding"


def test_an_edit_is_seen_right_of_it(lm, run):
    """Where no window hides it: the next position sees the edited one."""
    found = crack.Crack(run, model.trace(lm, [*BEFORE[:4], 99, *BEFORE[5:]]))
    assert (found.differences[1:, 5] > 0).all()
    assert found.steepest is not None and found.mean_right(-1) > 0


def test_left_of_an_edit_of_another_length_there_is_only_rounding(lm, run):
    found = crack.Crack(run, model.trace(lm, [*BEFORE[:4], 99, 98, 97, *BEFORE[5:]]))
    assert not found.aligned and found.prefix == 4
    assert found.untouched.relative <= TOLERANCE < crack.ROUNDING


def test_more_text_changes_nothing_before_it(lm, run):
    longer = model.trace(lm, [*BEFORE, 60, 61, 62, 63])
    other = model.trace(lm, word_order.other_continuation(run.tokens, longer.tokens))
    assert crack.prefix_difference(longer, other, len(BEFORE)).largest == 0.0
    assert crack.prefix_difference(run, longer).relative <= TOLERANCE


def test_one_token_has_one_row_wherever_it_stands(lm, run):
    """What enters layer 0 is the same, too, unless the model adds a row for the position."""
    one, other = (context.Place(0, 1, (run.tokens[at],)) for at in (1, 5))
    meeting = context.Meeting(run, one, run, other)
    assert meeting.same_token and meeting.row_distance == 0.0
    learned = lm.architecture.position_encoding == "learned"
    assert (meeting.entering_distance > 0) == learned
    assert (meeting.likeness[0] == 1.0) != learned


def test_vectors_and_cosines_are_the_streams(lm, run):
    vectors = context.stream_vectors(run, 3)
    assert vectors.shape == (lm.architecture.layers + 1, lm.architecture.hidden_size)
    theirs = torch.cosine_similarity(run.streams[2][3], run.streams[2][7], dim=0)
    assert context.cosines(vectors, context.stream_vectors(run, 7))[2] == pytest.approx(float(theirs), abs=1e-5)


def test_the_lens_is_the_traces_own(lm, run):
    layers = list(range(lm.architecture.layers))
    for layer, (id, share) in zip(layers, context.lens_by_layer(run, 7, layers), strict=True):
        theirs = run.lens(layer, 7).softmax(-1)
        assert share == pytest.approx(float(theirs.max()), rel=1e-4) and id == int(theirs.argmax())


def test_words_in_another_order(lm):
    words = word_order.reordered("the cat sat on the mat")
    first, second = model.trace(lm, "the cat sat on the mat"), model.trace(lm, words.text)
    moved = word_order.moved_words(first, second, words)
    assert [each.word for each in moved] == ["the", "cat", "sat", "on", "the", "mat"]
    assert all(-1 - 1e-6 <= each.likeness <= 1 + 1e-6 for each in moved)
    assert moved[0].there > moved[-1].there


def test_tokens_given_by_id_have_no_text_to_edit(lm):
    assert crack.chosen_word(extended(Tokens("", ()), lm.vocabulary, []), 0) is None
