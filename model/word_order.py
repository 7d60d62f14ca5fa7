"""The same words in another order, and the same words with more after them."""

import random
from dataclasses import dataclass

import numpy as np

from model.context import cosines, stream_vectors
from model.crack import common_prefix
from model.tokens import Token, Tokens
from model.tracing import Trace

ORDERS = ("reversed", "shuffled")


@dataclass(frozen=True)
class Reordered:
    """A text's words in another order, one space between them.

    Attributes:
        text: the words in the new order.
        words: each word of the text, in its own order.
        before, after: (start, end) of each word in the old text and in the new one.
    """

    text: str
    words: tuple[str, ...]
    before: tuple[tuple[int, int], ...]
    after: tuple[tuple[int, int], ...]


def reordered(text: str, order: str = "reversed", seed: int = 0) -> Reordered:
    """The words of ``text``, split at white space, in another order.

    Args:
        order: ``reversed``, or ``shuffled`` by Python's generator started with ``seed``.

    Raises:
        ValueError: for another order.
    """
    if order not in ORDERS:
        raise ValueError(f"order is one of {', '.join(ORDERS)}, not {order!r}.")
    words, before, at = text.split(), [], 0
    for word in words:
        at = text.index(word, at)
        before.append((at, at + len(word)))
        at += len(word)
    places = list(range(len(words)))[::-1]
    if order == "shuffled":
        random.Random(seed).shuffle(places)
    after, at = {}, 0
    for place in places:
        after[place] = (at, at + len(words[place]))
        at += len(words[place]) + 1
    new = " ".join(words[place] for place in places)
    return Reordered(new, tuple(words), tuple(before), tuple(after[place] for place in range(len(words))))


@dataclass(frozen=True)
class MovedWord:
    """One word in both orders.

    Attributes:
        word: as typed.
        here, there: position of its last token before and after.
        same_token: whether these are the same token: at the start of a text a word is often another.
        likeness: cosine of its two vectors after the last layer.
    """

    word: str
    here: int
    there: int
    same_token: bool
    likeness: float


def moved_words(first: Trace, second: Trace, words: Reordered) -> list[MovedWord]:
    """Each word of two runs, the second of them of the words in another order."""
    found = []
    for word, before, after in zip(words.words, words.before, words.after, strict=True):
        one, other = _last_token(first.tokens, before), _last_token(second.tokens, after)
        if one is not None and other is not None:
            vectors = [stream_vectors(run, t.position)[-1:] for run, t in ((first, one), (second, other))]
            found.append(MovedWord(word, one.position, other.position, one.id == other.id, float(cosines(*vectors)[0])))
    return found


def _last_token(tokens: Tokens, span: tuple[int, int]) -> Token | None:
    own = [t for t in tokens if t.start is not None and t.start < span[1] and t.end > span[0]]
    return own[-1] if own else None


def likeness_array(words: list[MovedWord]) -> np.ndarray:
    """The words' cosines, float64 (words,)."""
    return np.array([word.likeness for word in words], dtype=np.float64)


def other_continuation(prompt: Tokens, longer: Tokens) -> list[int]:
    """Token IDs of a text as long as ``longer``, the same over the prompt and another after it.

    What follows is the text's first token, again and again: two texts of one length are computed
    by the same kernels in the same order, so nothing but what is seen can make a difference.
    """
    n = common_prefix(prompt, longer)
    return [*longer.ids[:n], *[longer.ids[0]] * (len(longer) - n)]
