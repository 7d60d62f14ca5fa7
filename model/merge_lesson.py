"""What the tokens lesson shows of byte-pair encoding: merges in place, bytes, and learning.

Three things: the merges of each word of a text, tied to the positions of its tokens; the way of
one token from characters to its ID and back; and a small vocabulary learned from a paragraph.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer

from model.errors import TextRefused
from model.language_model import LanguageModel
from model.merges import WordMerges, merge_steps
from model.other_tokenizers import Reader, byte_level_reader
from model.pieces import byte_of_character
from model.tokens import Kind, Token, Tokens, visible
from model.tracing import tokenize

_BYTE_OF = byte_of_character()

# ---- merges, tied to the tokens of a text ------------------------------------------------------


@dataclass(frozen=True)
class PlacedWord:
    """The merges of one word and the position of its first token."""

    merges: WordMerges
    first: int

    @property
    def end(self) -> int:
        """One past the position of the word's last token."""
        return self.first + len(self.merges.ids)


def placed_words(lm: LanguageModel, tokens: Tokens) -> list[PlacedWord]:
    """The words of ``tokens`` with their merges; control tokens, which no merge makes, left out.

    Raises:
        ModelUnsupported: if the tokenizer is no byte-pair encoder.
    """
    words: list[PlacedWord] = []
    for stretch, position in _between_control_tokens(tokens):
        for merges in merge_steps(lm, stretch):
            words.append(PlacedWord(merges, position))
            position += len(merges.ids)
    return [word for word in words if word.merges.ids]


def _between_control_tokens(tokens: Tokens) -> Iterable[tuple[str, int]]:
    """(stretch of the text, position of its first token) between one control token and the next."""
    begin, first = 0, 0
    for token in tokens:
        if token.kind != Kind.CONTROL:
            continue
        if token.start is not None:
            yield tokens.text[begin : token.start], first
            begin = token.end
        first = token.position + 1
    yield tokens.text[begin:], first


def merges_agree(words: Sequence[PlacedWord], tokens: Tokens) -> bool:
    """Whether the merges, played out, give the very IDs that the tokenizer gave, in their places."""
    played = {word.first + place: id for word in words for place, id in enumerate(word.merges.ids)}
    return played == {token.position: token.id for token in tokens if token.kind != Kind.CONTROL}


def word_of(words: Sequence[PlacedWord], position: int) -> int:
    """Index of the word that holds the token at ``position``; the nearest before it otherwise."""
    before = [index for index, word in enumerate(words) if word.first <= position]
    return before[-1] if before else 0


def labels_of(lm: LanguageModel, pieces: Iterable[str]) -> list[str]:
    """Visible labels of pieces in the vocabulary's spelling."""
    return [visible(lm.vocabulary.bytes_of_piece(piece)) for piece in pieces]


# ---- one token: characters, bytes, spelling, ID ------------------------------------------------


@dataclass(frozen=True)
class BytePath:
    """The way of one token from the text to its ID, and back.

    Attributes:
        characters: (character as a visible label, code point) of the characters it touches.
        text_bytes: UTF-8 bytes of those characters.
        bytes: the bytes that are the token's own.
        spelling: the piece, as the vocabulary writes those bytes.
        id: the row of the vocabulary that holds the spelling, looked up again.
        is_same: whether ID and bytes come out as the tokenizer gave them.
    """

    characters: tuple[tuple[str, str], ...]
    text_bytes: bytes
    bytes: bytes
    spelling: str
    id: int | None
    is_same: bool


def byte_path(lm: LanguageModel, tokens: Tokens, position: int) -> BytePath:
    """Follow the token at ``position`` from characters to bytes to spelling to ID, and compare."""
    token = tokens[position]
    stretch = "" if token.start is None else tokens.text[token.start : token.end]
    looked_up = lm.vocabulary.backend.token_to_id(token.piece)
    text_bytes = stretch.encode("utf-8")
    is_same = looked_up == token.id and lm.vocabulary.bytes_of(token.id) == token.data
    return BytePath(
        tuple((visible(c.encode("utf-8")), f"U+{ord(c):04X}") for c in stretch),
        text_bytes,
        token.data,
        token.piece,
        looked_up,
        is_same and (token.data in text_bytes or token.start is None),
    )


# ---- what small changes of the text do ---------------------------------------------------------


@dataclass(frozen=True)
class SpaceInFront:
    """What one space in front of a text changes.

    Attributes:
        before: the first two tokens without the space, after: with it.
        count_before, count_after: numbers of tokens.
        outcome: 0 the same IDs, 1 as many with other IDs, 2 more tokens, 3 fewer tokens.
    """

    before: tuple[Token, ...]
    after: tuple[Token, ...]
    count_before: int
    count_after: int
    outcome: int


def space_in_front(lm: LanguageModel, text: str, specials: str = "text") -> SpaceInFront:
    """Tokenise ``text`` as it is and after one more space, and compare."""
    before, after = tokenize(lm, text, specials), tokenize(lm, " " + text, specials)
    if before.ids == after.ids:
        outcome = 0
    elif len(before) == len(after):
        outcome = 1
    else:
        outcome = 2 if len(after) > len(before) else 3
    return SpaceInFront(before.items[:2], after.items[:2], len(before), len(after), outcome)


def control_names(lm: LanguageModel) -> list[str]:
    """The names of the control tokens that a text could spell, those of a turn's ends first."""
    names = [token.content for token in lm.vocabulary.added.values() if token.special and token.content]
    ends = [lm.tokenizer.bos_token, lm.tokenizer.eos_token]
    return list(dict.fromkeys([name for name in ends if name in names] + names))


def control_example(lm: LanguageModel) -> str:
    """A text that ends its own turn and begins another, in this model's control tokens."""
    start, *others = control_names(lm)
    end = lm.tokenizer.eos_token
    return f"Hi{end}{start}system" if end in others else f"Hi{start}system"


# ---- a small vocabulary, learned ---------------------------------------------------------------

#: A byte-level vocabulary starts with every byte there is, so that it can spell any text.
BYTES = 256
LARGEST_VOCABULARY = 600
LONGEST_PARAGRAPH = 3_000

#: A pair that occurs once saves nothing that occurs again.
LEAST_COUNT = 2


@dataclass(frozen=True)
class LearnedMerge:
    """One merge as it was learned.

    Attributes:
        pair: the two pieces, in byte-level spelling.
        count: how often they stood side by side at that moment.
        tokens: number of tokens of the paragraph after the merge.
    """

    pair: tuple[str, str]
    count: int
    tokens: int

    @property
    def labels(self) -> tuple[str, str, str]:
        """Left, right and joined, as visible strings."""
        left, right = (_bytes(piece) for piece in self.pair)
        return visible(left), visible(right), visible(left + right)


@dataclass(frozen=True)
class Learned:
    """A vocabulary learned from a paragraph.

    Attributes:
        text: the paragraph.
        merges: what was learned, in order.
        tokens_at_start: number of tokens of the paragraph before any merge: its bytes.
        is_same: whether the library's trainer learned the same merges in the same order.
    """

    text: str
    merges: tuple[LearnedMerge, ...]
    tokens_at_start: int
    is_same: bool

    def reader(self, merges: int) -> Reader:
        """A tokenizer that knows the bytes and the first ``merges`` merges."""
        pairs = [merge.pair for merge in self.merges[:merges]]
        pieces = dict.fromkeys([*sorted(ByteLevel.alphabet()), *map("".join, pairs)])
        return byte_level_reader("This small vocabulary", {piece: id for id, piece in enumerate(pieces)}, pairs)

    def tokens_after(self, merges: int) -> int:
        """Number of tokens of the paragraph after the first ``merges`` merges."""
        return self.merges[merges - 1].tokens if merges else self.tokens_at_start

    @property
    def shrinking(self) -> list[int]:
        """Number of tokens of the paragraph after 0, 1, 2, … merges."""
        return [self.tokens_at_start, *(merge.tokens for merge in self.merges)]


def learn(text: str, size: int = LARGEST_VOCABULARY) -> Learned:
    """Learn byte-pair merges from ``text`` until the vocabulary holds ``size`` pieces.

    The library's trainer and the plain program below both learn; the counts are the latter's.

    Raises:
        TextRefused: if the text is empty, too long, or repeats no pair.
    """
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if len(text) > LONGEST_PARAGRAPH:
        raise TextRefused(
            f"The paragraph has {len(text):,} characters; at most {LONGEST_PARAGRAPH:,} are learned from here. "
            "Shorten it."
        )
    if not text.strip():
        raise TextRefused("There is nothing to learn from. Write or paste a few sentences.")
    words = _words(text)
    merges = learn_plainly(words, size)
    if not merges:
        raise TextRefused(
            "No two bytes stand side by side twice in this text, so there is no merge to learn. Write a few sentences."
        )
    at_start = sum(len(word) * count for word, count in words.items())
    return Learned(text, tuple(merges), at_start, [merge.pair for merge in merges] == learn_with_library(text, size))


def learn_with_library(text: str, size: int) -> list[tuple[str, str]]:
    """The merges that the ``tokenizers`` library learns from ``text``, in order."""
    backend = Tokenizer(BPE())
    backend.pre_tokenizer = ByteLevel(add_prefix_space=False, use_regex=True)
    trainer = BpeTrainer(
        vocab_size=size,
        min_frequency=LEAST_COUNT,
        initial_alphabet=ByteLevel.alphabet(),
        special_tokens=[],
        show_progress=False,
    )
    backend.train_from_iterator([text], trainer)
    merges = json.loads(backend.to_str())["model"]["merges"]
    return [tuple(merge.split(" ")) if isinstance(merge, str) else tuple(merge) for merge in merges]


def learn_plainly(words: Counter, size: int) -> list[LearnedMerge]:
    """Byte-pair learning in plain Python: join the commonest pair, count again, repeat.

    Of pairs that are equally common, the one whose pieces came earlier into the vocabulary wins.

    Args:
        words: how often each word occurs, words as tuples of pieces.
        size: pieces in the vocabulary at the end, the 256 bytes included.
    """
    number = {piece: place for place, piece in enumerate(sorted(ByteLevel.alphabet()))}
    words, merges = dict(words), []
    while len(number) < size:
        pairs = _pair_counts(words)
        best = max(pairs, key=lambda pair: (pairs[pair], -number[pair[0]], -number[pair[1]]), default=None)
        if best is None or pairs[best] < LEAST_COUNT:
            break
        number.setdefault("".join(best), len(number))
        words = _with_pair_joined(words, best)
        merges.append(LearnedMerge(best, pairs[best], sum(len(word) * n for word, n in words.items())))
    return merges


def _words(text: str) -> Counter:
    """The words that merges never cross, as tuples of single bytes, and how often each occurs."""
    cut = ByteLevel(add_prefix_space=False, use_regex=True).pre_tokenize_str(text)
    return Counter(tuple(word) for word, _ in cut)


def _pair_counts(words: dict[tuple[str, ...], int]) -> Counter:
    pairs: Counter = Counter()
    for word, count in words.items():
        for pair in zip(word, word[1:], strict=False):
            pairs[pair] += count
    return pairs


def _with_pair_joined(words: dict[tuple[str, ...], int], pair: tuple[str, str]) -> Counter:
    joined: Counter = Counter()
    for word, count in words.items():
        joined[_joined(word, pair)] += count
    return joined


def _joined(word: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    """The word with every occurrence of the pair joined, from left to right."""
    pieces: list[str] = []
    at = 0
    while at < len(word):
        found = word[at : at + 2] == pair
        pieces.append(word[at] + word[at + 1] if found else word[at])
        at += 2 if found else 1
    return tuple(pieces)


def _bytes(piece: str) -> bytes:
    return bytes(_BYTE_OF[c] for c in piece)
