"""A tokenizer's vocabulary: the exact bytes behind each piece, its merges, its control tokens.

Two spellings are in use. Byte-level vocabularies (GPT-2, Llama 3, Qwen, SmolLM2) write each byte
as one printable character, so that a space is ``Ġ``. SentencePiece ones (Llama 2, TinyLlama,
Gemma) write a space as ``▁`` and a byte they have no piece for as ``<0xE2>``.
"""

import json
import re
import threading
from functools import cached_property

from tokenizers import Encoding, Tokenizer
from transformers import PreTrainedTokenizerBase

from model.errors import ModelUnsupported


def byte_of_character() -> dict[str, int]:
    """GPT-2's alphabet: the character that spells each byte, inverted.

    Printable bytes spell themselves; the others take the characters from U+0100 on, in order
    (Radford et al. 2019, ``bytes_to_unicode`` in the released encoder).
    """
    itself = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in itself]
    return {chr(b): b for b in itself} | {chr(256 + i): b for i, b in enumerate(others)}


_BYTE_OF = byte_of_character()
_BYTE_FALLBACK = re.compile(r"<0x([0-9A-Fa-f]{2})>")


class Vocabulary:
    """What the pieces of one fast tokenizer stand for. Safe for many threads.

    Attributes:
        backend: the tokenizer of the ``tokenizers`` library.
        byte_level: whether pieces are spelled byte by byte (else SentencePiece's way).
        rows: rows of the model's embedding table, at least the tokenizer's size.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, rows: int | None = None):
        if not getattr(tokenizer, "is_fast", False):
            raise ModelUnsupported(
                "This model has no fast tokenizer (tokenizer.json), so its tokens cannot be placed in the text."
            )
        self.backend: Tokenizer = tokenizer.backend_tokenizer
        self.description = json.loads(self.backend.to_str())
        self.byte_level = '"ByteLevel"' in json.dumps(self.description["decoder"])
        self.added = self.backend.get_added_tokens_decoder()
        self.rows = rows or self.backend.get_vocab_size()
        self._lock = threading.Lock()

    def encode(self, tokenizer: PreTrainedTokenizerBase, text: str, as_text: bool) -> Encoding:
        """Encode ``text``, with the names of control tokens read as text or as control tokens.

        The choice is a switch on the shared tokenizer, so one thread at a time may set it.
        """
        with self._lock:
            self.backend.encode_special_tokens = as_text
            try:
                return self.backend.encode(text)
            finally:
                self.backend.encode_special_tokens = False

    def piece_of(self, id: int) -> str:
        """The vocabulary's own spelling; a row of the table that no piece uses says so."""
        piece = self.backend.id_to_token(id)
        return f"‹unused row {id}›" if piece is None else piece

    def is_control(self, id: int) -> bool:
        """Whether the ID is a control token, or a row that no text can produce."""
        if id in self.added:
            return self.added[id].special
        return self.backend.id_to_token(id) is None

    def bytes_of(self, id: int) -> bytes:
        """The exact bytes that the ID stands for in a text."""
        piece = self.backend.id_to_token(id)
        if piece is None:
            return b""
        if id in self.added:
            return piece.encode("utf-8", errors="replace")
        return self.bytes_of_piece(piece)

    def bytes_of_piece(self, piece: str) -> bytes:
        """The bytes that a piece spells."""
        if self.byte_level:
            return bytes(_BYTE_OF[c] for c in piece if c in _BYTE_OF)
        if fallback := _BYTE_FALLBACK.fullmatch(piece):
            return bytes([int(fallback[1], 16)])
        return piece.replace("▁", " ").encode("utf-8", errors="replace")

    def normalised(self, text: str) -> str:
        """The text after the tokenizer's own rewriting (e.g. Unicode composition), spaces kept."""
        rewritten = self.backend.normalizer.normalize_str(text) if self.backend.normalizer else text
        return rewritten if self.byte_level else rewritten.replace("▁", " ")

    @cached_property
    def merge_ranks(self) -> dict[tuple[str, str], int]:
        """Each merge the tokenizer learned and its rank: lower was learned earlier, and goes first."""
        merges = self.description["model"].get("merges") or []
        pairs = [tuple(merge.split(" ")) if isinstance(merge, str) else tuple(merge) for merge in merges]
        return {pair: rank for rank, pair in enumerate(pairs)}

    @cached_property
    def labels(self) -> list[str]:
        """A visible label for every row of the embedding table, in order."""
        from model.tokens import label_of  # here, because tokens are made of pieces

        return [label_of(self, id) for id in range(self.rows)]
