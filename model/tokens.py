"""From a text to tokens: what each one is, its exact bytes, and its place in the text."""

import codecs
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from tokenizers import Encoding
from transformers import PreTrainedTokenizerBase

from model.errors import TextRefused
from model.pieces import Vocabulary

#: More text than this is not even tokenised: 100,000 characters take about 0.1 s.
MAX_CHARACTERS = 200_000


class Kind(StrEnum):
    """What a token is to its text."""

    STARTS = "starts a word"
    CONTINUES = "continues a word"
    MARK = "space or punctuation"
    CONTROL = "control token"
    BYTES = "part of a character"


@dataclass(frozen=True)
class Token:
    """One token and where it came from.

    Attributes:
        position: its place in the sequence, 0-based.
        id: its row in the embedding table.
        piece: the vocabulary's own spelling, e.g. ``Ġthe`` or ``▁the``.
        data: the exact bytes it stands for.
        start, end: the characters of the original text that it covers, wholly or in part;
            None where it covers none, as a control token the tokenizer added.
        kind: what it is to the text.
        group: the same number for tokens that share a character, else the position.
    """

    position: int
    id: int
    piece: str
    data: bytes
    start: int | None
    end: int | None
    kind: Kind
    group: int

    @property
    def label(self) -> str:
        """The token as a short visible string: never blank, never a replacement character."""
        return visible(self.data) if self.kind != Kind.CONTROL else self.piece

    @property
    def text(self) -> str:
        """The token's text; bytes that are no character by themselves as ``\\xNN``."""
        return self.data.decode("utf-8", errors="backslashreplace")

    @property
    def hex(self) -> str:
        """The bytes in hexadecimal, e.g. ``F0 9F``."""
        return self.data.hex(" ").upper()


@dataclass(frozen=True)
class Tokens:
    """A text as the model reads it.

    Attributes:
        text: the text that was tokenised, lone surrogates replaced.
        items: the tokens in order.
        notes: sentences on what the tokenizer changed or lost, for the reader.
        lost: (start, end) of characters that no token stands for.
    """

    text: str
    items: tuple[Token, ...]
    notes: tuple[str, ...] = ()
    lost: tuple[tuple[int, int], ...] = ()

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self):
        return iter(self.items)

    def __getitem__(self, position: int) -> Token:
        return self.items[position]

    @cached_property
    def ids(self) -> tuple[int, ...]:
        return tuple(token.id for token in self.items)

    @cached_property
    def labels(self) -> list[str]:
        """Each token's label; worked out once, and not to be written to."""
        return [token.label for token in self.items]


#: Letters and symbols that leave no mark, and the character that stands for what could not be read.
_BLANK = "\u115f\u1160\u2800\u3164\uffa0\ufffd"
_VISIBLE = {" ": "␣", "\n": "⏎", "\t": "⇥", "\r": "‹CR›", "\u00a0": "‹NBSP›"}


def visible(data: bytes) -> str:
    """Bytes as a short visible string: spaces and control characters named, the rest literal.

    Bytes that are no whole character are written in hexadecimal between ‹ ›.
    """
    if not data:
        return "∅"
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return f"‹{data.hex(' ').upper()}›"
    return "".join(_visible_character(character) for character in text)


def _visible_character(character: str) -> str:
    if character in _VISIBLE:
        return _VISIBLE[character]
    if character in _BLANK or unicodedata.category(character) in ("Cc", "Cf", "Cn", "Co", "Zl", "Zp", "Zs"):
        return f"‹U+{ord(character):04X}›"
    if unicodedata.category(character) in ("Mn", "Me"):
        return f"◌{character}"  # a combining mark needs something to stand on
    return character


def label_of(vocabulary: Vocabulary, id: int) -> str:
    """A visible label for one row of the embedding table."""
    return vocabulary.piece_of(id) if vocabulary.is_control(id) else visible(vocabulary.bytes_of(id))


def tokenize_with(
    tokenizer: PreTrainedTokenizerBase, vocabulary: Vocabulary, text: str, specials: str = "text"
) -> Tokens:
    """Tokenise ``text`` and work out what each token stands for.

    Args:
        specials: ``"text"`` reads ``<|im_start|>`` and its kin as the characters they are;
            ``"control"`` reads them as the control tokens they name.

    Raises:
        TextRefused: if the text is too long to be tokenised here.
    """
    if specials not in ("text", "control"):
        raise ValueError(f"specials is 'text' or 'control', not {specials!r}.")
    if len(text) > MAX_CHARACTERS:
        raise TextRefused(
            f"The text has {len(text):,} characters; at most {MAX_CHARACTERS:,} are read. Shorten it and run again."
        )
    text, notes = _without_surrogates(text)
    encoding = vocabulary.encode(tokenizer, text, as_text=specials == "text")
    placement = _place(text, encoding, vocabulary)
    items = _described(vocabulary, encoding.ids, text, placement.spans)
    return Tokens(text, items, (*notes, *placement.notes), placement.lost)


def extended(tokens: Tokens, vocabulary: Vocabulary, ids: Sequence[int]) -> Tokens:
    """``tokens`` followed by the generated ``ids``, placed in the text that they go on to spell."""
    if not ids:
        return tokens
    data = [b"" if vocabulary.is_control(id) else vocabulary.bytes_of(id) for id in ids]
    text, spans = _spelled(data)
    offset = len(tokens.text)
    placed = [(t.start, t.end) for t in tokens]
    # A control token stands for no text, so it has no place in it.
    placed += [(offset + start, offset + end) if piece else (None, None) for piece, (start, end) in zip(data, spans)]
    items = _described(vocabulary, [*tokens.ids, *ids], tokens.text + text, placed)
    return Tokens(tokens.text + text, items, tokens.notes, tokens.lost)


def _without_surrogates(text: str) -> tuple[str, tuple[str, ...]]:
    """A lone surrogate is half a character: nothing can store it, so it becomes U+FFFD."""
    count = sum(0xD800 <= ord(character) <= 0xDFFF for character in text)
    if not count:
        return text, ()
    replaced = "".join("\ufffd" if 0xD800 <= ord(character) <= 0xDFFF else character for character in text)
    return replaced, (f"{count} half character(s) (lone surrogates) were replaced by U+FFFD before reading.",)


@dataclass(frozen=True)
class _Placement:
    """Where tokens stand in the text, and what has no token."""

    spans: list[tuple[int | None, int | None]]
    lost: tuple[tuple[int, int], ...] = ()
    notes: tuple[str, ...] = ()


def _place(text: str, encoding: Encoding, vocabulary: Vocabulary) -> _Placement:
    """Match the tokens' bytes with the text's, so that spaces and split characters are exact.

    The tokenizer's own offsets leave spaces out, and give every part of a split character the
    whole of it; they serve only where the tokenizer rewrote the text before reading it.
    """
    added = _added_by_tokenizer(encoding)
    data = [b"" if added[i] else vocabulary.bytes_of(id) for i, id in enumerate(encoding.ids)]
    wanted = text.encode("utf-8")
    if not vocabulary.byte_level:
        data = _without_prefix_space(data, wanted)
    rewritten = vocabulary.normalised(text)
    if rewritten == text or b"".join(data) == wanted:
        places = _byte_places(data, wanted)
        if places is not None:
            return _from_bytes(text, places)
    return _from_offsets(text, rewritten, data, encoding, added)


def _added_by_tokenizer(encoding: Encoding) -> list[bool]:
    """Which tokens stand for nothing in the text, as the one at the start of a Llama 2 prompt."""
    marks = zip(encoding.special_tokens_mask, encoding.offsets, strict=True)
    return [bool(special) and start == end for special, (start, end) in marks]


def _without_prefix_space(data: list[bytes], wanted: bytes) -> list[bytes]:
    """SentencePiece puts a space in front of the text; it is no part of what was typed."""
    joined = b"".join(data)
    if joined == wanted or not joined.startswith(b" ") or wanted.startswith(b"  "):
        return data
    first = next(i for i, piece in enumerate(data) if piece)
    return [*data[:first], data[first][1:], *data[first + 1 :]]


def _byte_places(data: list[bytes], wanted: bytes) -> list[list[int]] | None:
    """Where each token's bytes stand in ``wanted``, skipping bytes that no token stands for.

    A byte that is dropped is one the vocabulary cannot spell, so it is in no token, and the
    first match is the right one. It may be dropped from the middle of a token: merges then join
    what stood on either side. None if the tokens do not spell a part of the text.
    """
    places, at = [], -1
    for piece in data:
        own = []
        for byte in piece:
            at = wanted.find(byte, at + 1)
            if at < 0:
                return None
            own.append(at)
        places.append(own)
    return places


def _from_bytes(text: str, places: list[list[int]]) -> _Placement:
    character_of = [i for i, character in enumerate(text) for _ in character.encode("utf-8")]
    covered = {byte for own in places for byte in own}
    lost = sorted({character_of[byte] for byte in range(len(character_of)) if byte not in covered})
    placed = [(character_of[own[0]], character_of[own[-1]] + 1) if own else (None, None) for own in places]
    return _Placement(placed, _runs(lost), _lost_note(text, lost))


def _from_offsets(text: str, rewritten: str, data: list[bytes], encoding: Encoding, added: list[bool]) -> _Placement:
    """Places as the tokenizer gives them; what it left between two tokens belongs to the first."""
    spans = [(None, None) if added[i] else span for i, span in enumerate(encoding.offsets)]
    after = len(text)
    for i in reversed(range(len(spans))):
        start, end = spans[i]
        if start is not None:
            spans[i] = (start, max(end, after))
            after = start
    note = "The tokenizer rewrote the text before reading it (Unicode normalisation); places are its own."
    return _Placement(spans, (), (note, *_lost_in(rewritten, data)))


def _lost_in(rewritten: str, data: list[bytes]) -> tuple[str, ...]:
    places = _byte_places(data, rewritten.encode("utf-8"))
    return () if places is None else _from_bytes(rewritten, places).notes


def _lost_note(text: str, lost: list[int]) -> tuple[str, ...]:
    if not lost:
        return ()
    names = ", ".join(f"U+{ord(text[i]):04X}" for i in lost[:8]) + (" and more" if len(lost) > 8 else "")
    return (f"{len(lost)} character(s) are lost: the vocabulary cannot spell {names}, so the model never sees them.",)


def _runs(numbers: list[int]) -> tuple[tuple[int, int], ...]:
    """Sorted numbers as (first, past the last) of each unbroken run."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number:
            runs[-1] = (runs[-1][0], number + 1)
        else:
            runs.append((number, number + 1))
    return tuple(runs)


def _spelled(data: list[bytes]) -> tuple[str, list[tuple[int, int]]]:
    """The text that pieces of bytes spell together, and the characters that each one touches."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    text, spans = "", []
    for i, piece in enumerate(data):
        start = len(text)
        text += decoder.decode(piece, final=i == len(data) - 1)
        pending = bool(decoder.getstate()[0])
        spans.append((start, len(text) + pending))
    return text, spans


def _described(
    vocabulary: Vocabulary, ids: Sequence[int], text: str, spans: Sequence[tuple[int | None, int | None]]
) -> tuple[Token, ...]:
    tokens: list[Token] = []
    for position, (id, (start, end)) in enumerate(zip(ids, spans, strict=True)):
        data = vocabulary.bytes_of(id)
        kind = Kind.CONTROL if vocabulary.is_control(id) else kind_of(data, text, start)
        shared = tokens and kind == tokens[-1].kind == Kind.BYTES and start is not None and start < tokens[-1].end
        group = tokens[-1].group if shared else position
        tokens.append(Token(position, id, vocabulary.piece_of(id), data, start, end, kind, group))
    return tuple(tokens)


def kind_of(data: bytes, text: str, start: int | None) -> Kind:
    try:
        piece = data.decode("utf-8")
    except UnicodeDecodeError:
        return Kind.BYTES
    if not any(map(_is_word, piece)):
        return Kind.MARK
    inside = _is_word(piece[0]) and start and _is_word(text[start - 1])
    return Kind.CONTINUES if inside else Kind.STARTS


def _is_word(character: str) -> bool:
    """Letters, digits and the marks that combine with them."""
    return unicodedata.category(character)[0] in "LNM"
