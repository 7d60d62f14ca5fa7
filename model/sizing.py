"""One calculation of cache and memory with all its parts, for a published shape or an open model."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from model.architecture import Architecture
from model.cost import LARGEST, kv_bytes, stored_bits, weight_bytes, with_kv_heads
from model.errors import SettingRefused
from model.kv_cache import group_size


def whole_number(text: str, what: str, most: int = LARGEST) -> int:
    """A size as somebody types it: ``131072``, ``131,072`` or ``131 072``.

    Raises:
        SettingRefused: if it is no whole number from 1 to ``most``.
    """
    plain = text.strip().replace(",", "").replace(" ", "").replace("_", "")
    if not plain.isascii() or not plain.isdigit() or len(plain) > 30 or not 1 <= int(plain) <= most:
        shown = text.strip()[:40] or "nothing"
        raise SettingRefused(f"The number of {what} must be a whole number from 1 to {most:,}, not {shown!r}.")
    return int(plain)


@dataclass(frozen=True)
class Sizing:
    """The cache of some requests, in one shape.

    Attributes:
        shape: the architecture.
        tokens: of each request.
        bits: of a cached value, without what quantising it adds.
        requests: how many at once.
    """

    shape: Architecture
    tokens: int
    bits: float = 16
    requests: int = 1

    @property
    def bytes(self) -> int:
        """Bytes of the whole cache."""
        return self._bytes(self.shape, self.tokens)

    @property
    def a_token(self) -> int:
        """Numbers that one token leaves in one layer."""
        return self.shape.latent_size or 2 * self.shape.kv_heads * self.shape.head_size

    @property
    def global_layers(self) -> int:
        """Layers that see everything."""
        return self.shape.layers - self.shape.windowed_layers

    @property
    def global_bytes(self) -> int:
        """Bytes in the layers that see everything."""
        return round(self.global_layers * self.tokens * self.a_token * self.bits / 8) * self.requests

    @property
    def windowed_bytes(self) -> int:
        """Bytes in the layers that have a window."""
        return self.bytes - self.global_bytes

    @property
    def is_too_long(self) -> bool:
        """Whether a request has more tokens than the model was made for."""
        return self.tokens > self.shape.positions

    def _bytes(self, shape: Architecture, tokens: int, bits: float | None = None) -> int:
        return kv_bytes(shape, tokens, (bits or self.bits) / 8, self.requests)

    def curve(self, points: int = 65) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Bytes against tokens, up to the longest context the shape was made for.

        Returns:
            Tokens, with the place among them where the windows are full; bytes in the layers that
            see everything; bytes in those that have a window.
        """
        longest, window = self.shape.positions, self.shape.sliding_window
        tokens = {round(place) for place in np.linspace(0, longest, points)} | {min(window or 0, longest)}
        runs = [replace(self, tokens=count) for count in sorted(tokens)]
        return (
            np.array([run.tokens for run in runs]),
            np.array([run.global_bytes for run in runs]),
            np.array([run.windowed_bytes for run in runs]),
        )

    def with_heads(self) -> Iterator[tuple[int, int]]:
        """Numbers of KV heads, from one a query head down to one, each with its bytes.

        A latent shape is taken as if it kept keys and values: that is what it is compared with.
        """
        shape = replace(self.shape, latent_size=None)
        for count in sorted({shape.query_heads, shape.kv_heads, 1}, reverse=True):
            yield count, self._bytes(with_kv_heads(shape, count), self.tokens)

    def with_window(self, window: int) -> int:
        """Bytes if every layer kept no more than ``window`` tokens."""
        return self._bytes(replace(self.shape, windowed_layers=self.shape.layers, sliding_window=window), self.tokens)

    @property
    def group(self) -> int:
        """Values that share one scale and one zero where the cache is quantised."""
        return group_size(self.shape)

    def in_bits(self, bits: int) -> tuple[int, int]:
        """Bytes in so many bits: the values alone, and with their scales and zeros in 32 bit."""
        whole = bits if bits >= 16 else stored_bits(bits, self.group)
        return self._bytes(self.shape, self.tokens, bits), self._bytes(self.shape, self.tokens, whole)

    def weights(self, bits: int) -> int:
        """Bytes of the shape's weights."""
        return weight_bytes(self.shape, bits)
