"""One word in two sentences: where it stands, and how its vectors part from layer to layer."""

import unicodedata
from dataclasses import dataclass

import numpy as np
import torch

from model.tokens import Token, Tokens
from model.tracing import Trace

#: Words of scripts that are written without spaces: their neighbours are no part of them.
_UNSPACED = ("CJK UNIFIED", "CJK COMPATIBILITY", "HIRAGANA", "KATAKANA", "THAI ", "LAO ", "KHMER ", "MYANMAR ")
_JOINER = "\u200d"


@dataclass(frozen=True)
class Sense:
    """One meaning of a word.

    Attributes:
        name: for people, e.g. ``the bank of a river``.
        sentences: in which the word means this; what tells it stands before the word, because a
            token cannot see what comes after it.
    """

    name: str
    sentences: tuple[str, ...]


#: Sentences in either sense of a word: a scale for how far apart 'different' is.
REFERENCES: dict[str, tuple[Sense, Sense]] = {
    "bank": (
        Sense(
            "a river's bank",
            (
                "The boat drifted slowly to the muddy bank",
                "We swam across the river and climbed onto the bank",
                "Tall reeds grew in the water along the bank",
                "They fished all day from the grassy bank",
            ),
        ),
        Sense(
            "a bank for money",
            (
                "She opened a savings account at the bank",
                "He took out a loan from the bank",
                "I paid the cheque in at the bank",
                "The robbers stole the cash from the bank",
            ),
        ),
    ),
    "mouse": (
        Sense(
            "an animal",
            (
                "The cat chased the little mouse",
                "A trap in the cellar caught a mouse",
                "The owl swooped down and ate a mouse",
                "Cheese had been nibbled by a mouse",
            ),
        ),
        Sense(
            "a thing to click with",
            (
                "I clicked the button with the mouse",
                "She plugged the keyboard and the mouse",
                "He moved the cursor with his mouse",
                "The laptop came with a wireless mouse",
            ),
        ),
    ),
    "spring": (
        Sense(
            "a season",
            (
                "Flowers bloom early in the spring",
                "The winter ended and it was spring",
                "Birds return to the garden each spring",
            ),
        ),
        Sense(
            "a coil of steel",
            (
                "The clock is driven by a steel spring",
                "The mattress had a broken spring",
                "The car's suspension has a coiled spring",
            ),
        ),
    ),
}


# ---- where a word stands -----------------------------------------------------------------------


def occurrences(text: str, word: str) -> list[tuple[int, int]]:
    """(start, end) of each place where ``word`` stands as a whole word, capitals or not.

    A word inside another one does not count: there is no 'art' in 'start'. Scripts that are
    written without spaces have no such bounds, so there every place counts. Places do not overlap.
    """
    word, found, at = word.strip(), [], 0
    if not word:
        return []
    wanted, size = word.casefold(), len(word)
    while at + size <= len(text):
        end = at + size
        if text[at:end].casefold() == wanted and _is_bound(text, at) and _is_bound(text, end):
            found.append((at, end))
            at = end
        else:
            at += 1
    return found


def _is_bound(text: str, at: int) -> bool:
    """Whether a word may begin or end between the characters at ``at`` − 1 and ``at``."""
    if at in (0, len(text)):
        return True
    before, after = text[at - 1], text[at]
    if _JOINER in (before, after) or _combines(after):
        return False
    if not (_is_letter(before) and _is_letter(after)):
        return True
    return is_unspaced(before) and is_unspaced(after)


def _is_letter(character: str) -> bool:
    return character == "_" or unicodedata.category(character)[0] in "LNM"


def _combines(character: str) -> bool:
    """Whether it is drawn onto the character before it: an accent, a skin tone."""
    return unicodedata.category(character)[0] == "M" or "\U0001f3fb" <= character <= "\U0001f3ff"


def is_unspaced(character: str) -> bool:
    """Whether it belongs to a script that is written without spaces between words."""
    return unicodedata.name(character, "").startswith(_UNSPACED)


@dataclass(frozen=True)
class Place:
    """Where a word stands in a text.

    Attributes:
        start, end: its characters.
        tokens: the tokens that hold them, in order; at least one.
    """

    start: int
    end: int
    tokens: tuple[Token, ...]

    @property
    def position(self) -> int:
        """Position of the word's last token, the only one that has seen the whole word."""
        return self.tokens[-1].position

    @property
    def id(self) -> int:
        """Token ID of the word's last token."""
        return self.tokens[-1].id


def places(tokens: Tokens, word: str) -> list[Place]:
    """Each place of ``word`` in a text, with its tokens; those that no token stands for left out."""
    found = []
    for start, end in occurrences(tokens.text, word):
        own = tuple(t for t in tokens if t.start is not None and t.start < end and t.end > start)
        if own:
            found.append(Place(start, end, own))
    return found


# ---- how its vectors part ----------------------------------------------------------------------


def stream_vectors(run: Trace, position: int) -> np.ndarray:
    """The residual stream at one position, float32 (layers + 1, hidden size).

    Row 0 is what enters layer 0, row i + 1 what leaves layer i.
    """
    return torch.stack([stream[position] for stream in run.streams]).float().cpu().numpy()


def cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Cosine of each row with the same row of the other, float64 (rows,); 0 for a row of zeros.

    Exactly 1 where two rows are the same, which rounding would leave a little beside it.
    """
    first, second = first.astype(np.float64), second.astype(np.float64)
    lengths = np.linalg.norm(first, axis=-1) * np.linalg.norm(second, axis=-1)
    found = (first * second).sum(-1) / np.where(lengths > 0, lengths, 1.0)
    return np.where((first == second).all(-1) & (lengths > 0), 1.0, found)


@dataclass(frozen=True, eq=False)
class Meeting:
    """One word in two runs.

    Attributes:
        first, second: the runs.
        here, there: where the word stands in each.
    """

    first: Trace
    here: Place
    second: Trace
    there: Place

    @property
    def same_token(self) -> bool:
        """Whether the word's last token has the same ID in both."""
        return self.here.id == self.there.id

    @property
    def row_distance(self) -> float:
        """Euclidean distance between the two tokens' rows of the embedding table."""
        table = self.first.model.parts.embedding.weight
        return float(torch.dist(table[self.here.id].detach().float(), table[self.there.id].detach().float()))

    @property
    def entering_distance(self) -> float:
        """Euclidean distance between what enters layer 0 at the two places."""
        one, other = (run.streams[0][place.position] for run, place in self.sides)
        return float(torch.dist(one.float(), other.float()))

    @property
    def sides(self) -> tuple[tuple[Trace, Place], tuple[Trace, Place]]:
        return (self.first, self.here), (self.second, self.there)

    @property
    def vectors(self) -> tuple[np.ndarray, np.ndarray]:
        """The word's vectors in both, each (layers + 1, hidden size)."""
        return stream_vectors(self.first, self.here.position), stream_vectors(self.second, self.there.position)

    @property
    def likeness(self) -> np.ndarray:
        """Cosine of the two by layer, (layers + 1,): what enters, then after each layer."""
        return cosines(*self.vectors)

    @property
    def largest_difference(self) -> float:
        """Largest difference of any number of the two vectors, in all layers."""
        one, other = self.vectors
        return float(np.abs(one - other).max())


@dataclass(frozen=True)
class CosineArithmetic:
    """One cosine, step by step.

    Attributes:
        first, second: the first few numbers of either vector.
        size: how many numbers a vector has.
        dot: sum of all products.
        lengths: Euclidean length of either.
        cosine: dot / (length × length).
        largest_place: the number in the vector whose product is the largest part of the dot product.
        largest_product: that product.
    """

    first: list[float]
    second: list[float]
    size: int
    dot: float
    lengths: tuple[float, float]
    cosine: float
    largest_place: int
    largest_product: float


def cosine_arithmetic(first: np.ndarray, second: np.ndarray, shown: int = 3) -> CosineArithmetic:
    """The cosine of two vectors (hidden size,) with its parts, in float64."""
    one, other = first.astype(np.float64), second.astype(np.float64)
    products = one * other
    lengths = float(np.linalg.norm(one)), float(np.linalg.norm(other))
    largest = int(np.abs(products).argmax())
    return CosineArithmetic(
        first=one[:shown].tolist(),
        second=other[:shown].tolist(),
        size=len(one),
        dot=float(products.sum()),
        lengths=lengths,
        cosine=float(cosines(first, second)),
        largest_place=largest,
        largest_product=float(products[largest]),
    )


def library_cosine(first: np.ndarray, second: np.ndarray) -> float:
    """The same cosine as torch works it out, in float32: a check on ours."""
    return float(torch.nn.functional.cosine_similarity(torch.from_numpy(first), torch.from_numpy(second), dim=0))


def telling_head(meeting: Meeting) -> tuple[int, int, float]:
    """The head with which the word looks most at other words, in both runs.

    Returns:
        Layer, head, and the smaller of the two runs' weight on tokens that are neither the first
        nor the word's own: the first token is where heads that find nothing park their weight.
    """
    found = []
    for run, place in meeting.sides:
        own = [token.position for token in place.tokens]
        rows = torch.stack([run.layer_attention(i)[:, place.position] for i in range(len(run.records))])
        rows[..., [0, *own]] = 0.0
        found.append(rows.sum(-1))
    least = torch.minimum(*found)
    best = int(least.argmax())
    return *divmod(best, least.shape[1]), float(least.max())


def largest_share(run: Trace, position: int) -> float:
    """Share of the squared length of the last layer's vector that its largest number makes up, 0 to 1."""
    squares = stream_vectors(run, position)[-1].astype(np.float64) ** 2
    return float(squares.max() / squares.sum()) if squares.any() else 0.0


@dataclass(frozen=True)
class Scale:
    """The word of one run beside further sentences in either sense.

    Attributes:
        senses: names of the senses.
        curves: by sense, cosines by layer with each further sentence, (sentences, layers + 1).
        sentences: by sense, those sentences.
    """

    senses: tuple[str, ...]
    curves: tuple[np.ndarray, ...]
    sentences: tuple[tuple[str, ...], ...]

    def between(self, row: int) -> list[tuple[float, float]]:
        """Lowest and highest cosine of each sense in one row of the curves."""
        return [(float(curves[:, row].min()), float(curves[:, row].max())) for curves in self.curves]


def scale_of(vectors: np.ndarray, word: str, further: list[list[Trace]]) -> Scale:
    """The scale for a word of :data:`REFERENCES`.

    Args:
        vectors: the word's vectors in the run it is compared from, (layers + 1, hidden size).
        further: by sense, runs of further sentences; a sense with none is left out.
    """
    names, curves, sentences = [], [], []
    for sense, runs in zip(REFERENCES[word.casefold()], further, strict=True):
        found = [(run, places(run.tokens, word)) for run in runs]
        own = [(run, held[-1].position) for run, held in found if held]
        if own:
            names.append(sense.name)
            curves.append(np.stack([cosines(vectors, stream_vectors(run, position)) for run, position in own]))
            sentences.append(tuple(run.tokens.text for run, _ in own))
    return Scale(tuple(names), tuple(curves), tuple(sentences))


def further_sentences(word: str, taken: tuple[str, ...]) -> list[list[str]]:
    """By sense, the sentences of :data:`REFERENCES` that are not already ``taken``; [] without any."""
    senses = REFERENCES.get(word.strip().casefold(), ())
    return [[sentence for sentence in sense.sentences if sentence not in taken] for sense in senses]


# ---- what the lens reads at it -----------------------------------------------------------------


@torch.inference_mode()
def lens_by_layer(run: Trace, position: int, layers: list[int]) -> list[tuple[int, float]]:
    """(token ID, probability) that the lens reads at ``position`` after each of ``layers``.

    The last layer's is the model's own answer.
    """
    last = run.model.architecture.layers - 1
    logits = run.model.unembed(torch.stack([run.streams[layer + 1][position] for layer in layers]))
    if layers[-1] == last:
        logits[-1] = run.lens(last, position)
    best, ids = logits.softmax(-1).max(-1)
    return list(zip(ids.tolist(), best.tolist(), strict=True))


def some_layers(layers: int, most: int = 16) -> list[int]:
    """At most ``most`` layers, evenly apart, the last one among them."""
    step = -(-layers // most)
    return sorted(range(layers - 1, -1, -step))
