"""Byte-pair encoding with its work shown: from the smallest pieces to tokens, merge by merge.

Byte-pair encoding (Sennrich et al. 2016) starts from single characters, or bytes, and keeps
joining the neighbouring pair that was learned earliest, until no neighbours are a learned pair.
"""

import re
from dataclasses import dataclass

from model.errors import ModelUnsupported
from model.language_model import LanguageModel
from model.pieces import Vocabulary
from model.tokens import visible


@dataclass(frozen=True)
class MergeStep:
    """One merge inside one word.

    Attributes:
        pair: the two pieces joined, in the vocabulary's spelling.
        rank: how early the pair was learned: 0 is the first merge of all.
        at: index of the left piece in the pieces before the step.
        pieces: the word's pieces after the step.
    """

    pair: tuple[str, str]
    rank: int
    at: int
    pieces: tuple[str, ...]


@dataclass(frozen=True)
class WordMerges:
    """How one word (a stretch that merges never cross) becomes tokens.

    Attributes:
        word: the stretch as it stands in the text.
        start: the smallest pieces, before any merge.
        steps: the merges in order.
        pieces: the pieces at the end.
        ids: their token IDs.
        whole: the vocabulary holds the stretch whole, and this tokenizer then skips the merges.
    """

    word: str
    start: tuple[str, ...]
    steps: tuple[MergeStep, ...]
    pieces: tuple[str, ...]
    ids: tuple[int, ...]
    whole: bool = False


def merge_steps(lm: LanguageModel, text: str) -> list[WordMerges]:
    """The merges of every word of ``text``; their IDs, joined, are the tokenizer's own.

    Control tokens are read as text and none is added.

    Raises:
        ModelUnsupported: if the tokenizer is no byte-pair encoder.
    """
    vocabulary = lm.vocabulary
    kind = vocabulary.description["model"]["type"]
    if kind != "BPE":
        raise ModelUnsupported(f"This tokenizer is {kind}, not byte-pair encoding: it has no merges to show.")
    words = []
    for stretch, id in _around_added_tokens(vocabulary, text):
        if id is not None:
            piece = vocabulary.piece_of(id)
            words.append(WordMerges(stretch, (piece,), (), (piece,), (id,), whole=True))
        else:
            words += [_merge_word(vocabulary, spelled) for spelled in _split_into_words(vocabulary, stretch)]
    return words


def _around_added_tokens(vocabulary: Vocabulary, text: str) -> list[tuple[str, int | None]]:
    """The text cut at tokens that were added to the vocabulary by hand: no merge makes them."""
    added = {token.content: id for id, token in vocabulary.added.items() if not token.special and token.content}
    if not added:
        return [(text, None)] if text else []
    longest_first = sorted(added, key=len, reverse=True)
    cut = re.split("(" + "|".join(map(re.escape, longest_first)) + ")", text)
    return [(stretch, added.get(stretch)) for stretch in cut if stretch]


def _split_into_words(vocabulary: Vocabulary, text: str) -> list[str]:
    """The stretches merges never cross, in the vocabulary's spelling."""
    backend = vocabulary.backend
    normalised = backend.normalizer.normalize_str(text) if backend.normalizer else text
    if backend.pre_tokenizer is None:
        return [normalised] if normalised else []
    return [word for word, _ in backend.pre_tokenizer.pre_tokenize_str(normalised) if word]


def _merge_word(vocabulary: Vocabulary, spelled: str) -> WordMerges:
    known = vocabulary.backend.token_to_id
    word = visible(vocabulary.bytes_of_piece(spelled))
    start = _smallest_pieces(vocabulary, spelled)
    if vocabulary.description["model"].get("ignore_merges") and known(spelled) is not None:
        return WordMerges(word, start, (), (spelled,), (known(spelled),), whole=True)
    pieces, steps = list(start), []
    while (best := _best_merge(pieces, vocabulary.merge_ranks)) is not None:
        rank, at = best
        pair = (pieces[at], pieces[at + 1])
        pieces[at : at + 2] = ["".join(pair)]
        steps.append(MergeStep(pair, rank, at, tuple(pieces)))
    return WordMerges(word, start, tuple(steps), tuple(pieces), tuple(known(piece) for piece in pieces))


def _smallest_pieces(vocabulary: Vocabulary, spelled: str) -> tuple[str, ...]:
    """Single characters of the spelling; one that has no piece as its bytes, or dropped."""
    model, known = vocabulary.description["model"], vocabulary.backend.token_to_id
    pieces: list[str] = []
    unknown_before = False
    for character in spelled:
        unknown = False
        if known(character) is not None:
            pieces.append(character)
        elif model.get("byte_fallback") and _all_known(known, character):
            pieces += [f"<0x{byte:02X}>" for byte in character.encode("utf-8")]
        elif model.get("unk_token"):
            unknown = True
            if not (unknown_before and model.get("fuse_unk")):
                pieces.append(model["unk_token"])
        unknown_before = unknown
    return tuple(pieces)


def _all_known(known, character: str) -> bool:
    return all(known(f"<0x{byte:02X}>") is not None for byte in character.encode("utf-8"))


def _best_merge(pieces: list[str], ranks: dict[tuple[str, str], int]) -> tuple[int, int] | None:
    """(rank, index) of the neighbouring pair learned earliest, the leftmost of equals."""
    found = [(ranks[pair], at) for at, pair in enumerate(zip(pieces, pieces[1:], strict=False)) if pair in ranks]
    return min(found, default=None)
