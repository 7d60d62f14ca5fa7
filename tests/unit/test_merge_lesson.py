"""Byte-pair encoding as the tokens lesson shows it: merges in place, bytes, and a learned vocabulary."""

import random

import pytest

import model
from model import TextRefused
from model.merge_lesson import (
    BYTES,
    LONGEST_PARAGRAPH,
    byte_path,
    control_example,
    control_names,
    labels_of,
    learn,
    learn_with_library,
    merges_agree,
    placed_words,
    space_in_front,
    word_of,
)

FAMILY = "👨\u200d👩\u200d👧\u200d👦"
TEXTS = [
    "The capital of France is",
    FAMILY + " hi",
    "مرحبا بالعالم",
    "a\r\nb",
    "a\x04b",
    " the\né",
    "1234567",
    "a" * 300,
]


@pytest.fixture
def lm(default_model):
    return default_model


# ---- learning ----


@pytest.mark.parametrize("seed", range(40))
def test_the_plain_program_learns_what_the_library_learns(seed):
    dice = random.Random(seed)
    alphabet = dice.choice(["ab ", "abc ", "aé日 .", "the cat sat "])
    text = "a a " + "".join(dice.choice(alphabet) for _ in range(dice.randint(1, 400)))
    learned = learn(text, dice.choice([BYTES + 5, BYTES + 40, 600]))

    assert learned.is_same
    assert [merge.pair for merge in learned.merges] == learn_with_library(text, BYTES + len(learned.merges))


def test_counts_are_those_of_the_moment():
    learned = learn("hug hug hug pug pug bun", 600)

    assert [(merge.pair, merge.count) for merge in learned.merges[:3]] == [
        (("u", "g"), 5),
        (("h", "ug"), 3),
        (("p", "ug"), 2),
    ]
    assert learned.tokens_after(0) == len("hug hug hug pug pug bun")
    assert learned.tokens_after(1) == learned.tokens_after(0) - 5


def test_the_vocabulary_reads_as_many_tokens_as_it_counted():
    learned = learn("the miller and the river and the other river", 600)

    assert len(learned.shrinking) == len(learned.merges) + 1
    for merges in range(len(learned.merges) + 1):
        assert learned.shrinking[merges] == learned.tokens_after(merges)
        reader = learned.reader(merges)
        assert len(reader.read(learned.text)) == learned.tokens_after(merges)
        assert reader.vocabulary_size == BYTES + merges


def test_a_small_vocabulary_can_spell_any_text():
    reader = learn("na na na", 600).reader(2)

    assert b"".join(piece.data for piece in reader.read(FAMILY + "\x04")) == (FAMILY + "\x04").encode()


@pytest.mark.parametrize("text", ["", "  \n", "a", "abcdefg", "x" * (LONGEST_PARAGRAPH + 1)])
def test_a_paragraph_that_teaches_nothing_is_refused_with_a_sentence(text):
    with pytest.raises(TextRefused, match=r"\.$"):
        learn(text)


def test_half_characters_do_not_stop_the_learning():
    assert "\ufffd" in learn("la la \ud83d la").text


# ---- merges in place ----


@pytest.mark.default_model
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("specials", ["text", "control"])
def test_merges_end_in_the_tokenizers_ids_in_their_places(lm, text, specials):
    text = text + "<|im_end|>\n<|im_start|>" + text
    tokens = model.tokenize(lm, text, specials)

    assert merges_agree(placed_words(lm, tokens), tokens)


@pytest.mark.default_model
def test_a_wrong_id_is_noticed(lm):
    tokens = model.tokenize(lm, "The capital")

    assert not merges_agree(placed_words(lm, model.tokenize(lm, "The cat")), tokens)


@pytest.mark.default_model
def test_the_word_of_a_token_is_the_one_that_holds_it(lm):
    words = placed_words(lm, model.tokenize(lm, "The unbelievably old"))

    assert [(word.first, word.end) for word in words] == [(0, 1), (1, 4), (4, 5)]
    assert [word_of(words, position) for position in (0, 1, 3, 4, 99)] == [0, 1, 1, 2, 2]


@pytest.mark.default_model
def test_labels_show_bytes_as_bytes(lm):
    assert labels_of(lm, ["Ġthe", "ðŁ"]) == ["␣the", "‹F0 9F›"]


# ---- bytes ----


@pytest.mark.default_model
@pytest.mark.parametrize("text", [*TEXTS, "Hi<|im_end|>"])
def test_every_token_is_found_again_from_its_spelling(lm, text):
    tokens = model.tokenize(lm, text, "control")

    assert all(byte_path(lm, tokens, position).is_same for position in range(len(tokens)))


@pytest.mark.default_model
def test_a_part_of_an_emoji_shows_whose_part_it_is(lm):
    path = byte_path(lm, model.tokenize(lm, FAMILY), 1)

    assert path.characters == (("👨", "U+1F468"),)
    assert (path.text_bytes.hex(), path.bytes.hex(), path.id) == ("f09f91a8", "91", 235)


# ---- small changes ----


@pytest.mark.default_model
@pytest.mark.parametrize(("text", "outcome"), [("Hello", 1), ("1", 2), ("  x", 1), ("The capital of France is", 1)])
def test_what_a_space_in_front_does(lm, text, outcome):
    change = space_in_front(lm, text)

    assert change.outcome == outcome
    assert change.count_before == len(model.tokenize(lm, text))


@pytest.mark.default_model
def test_the_example_spells_control_tokens_that_can_be_read_both_ways(lm):
    text = control_example(lm)

    assert text == "Hi<|im_end|><|im_start|>system"
    assert control_names(lm)[:2] == ["<|im_start|>", "<|im_end|>"]
    assert len(model.tokenize(lm, text, "control")) == 4
    assert len(model.tokenize(lm, text, "text")) == 15
