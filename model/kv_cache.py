"""The KV cache itself: what it holds, in its own tensors."""

from dataclasses import dataclass
from math import gcd

import torch
from transformers import Cache

from model.architecture import Architecture
from model.errors import SettingRefused

#: The back-end of transformers' quantised cache that runs on a CPU at 8, 4 and 2 bits.
BACKEND = "hqq"


def held_positions(cache: Cache | None) -> tuple[int, ...]:
    """How many positions each layer's tensors hold; a window makes it fewer than were seen."""
    return () if cache is None else tuple(_held(layer) for layer in cache.layers)


def _held(layer) -> int:
    quantised = getattr(layer, "_quantized_keys", None)
    residual = layer.keys.shape[-2] if layer.is_initialized and layer.keys.dim() == 4 else 0
    if quantised is None:
        return residual
    return residual + quantised[1]["shape"][-2]


def cache_bytes(cache: Cache | None) -> int:
    """Bytes of all tensors the cache keeps: keys, values, and where they are quantised the scales and zeros."""
    return 0 if cache is None else sum(_layer_bytes(layer) for layer in cache.layers if layer.is_initialized)


def _layer_bytes(layer) -> int:
    total = layer.keys.nbytes + layer.values.nbytes
    for stored in (getattr(layer, "_quantized_keys", None), getattr(layer, "_quantized_values", None)):
        if stored is not None:
            numbers, meta = stored
            total += numbers.nbytes + meta["scale"].nbytes + meta["zero"].nbytes
    return total


@dataclass(frozen=True, eq=False)
class CacheRows:
    """The cache as tensors, copied out when writing had stopped.

    Attributes:
        keys, values: one tensor a layer, (KV heads, positions held, head size); keys after
            position encoding.
        first: the real position of each layer's first row: above 0 where a window has moved on.
    """

    keys: tuple[torch.Tensor, ...]
    values: tuple[torch.Tensor, ...]
    first: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        return sum(tensor.nbytes for tensor in (*self.keys, *self.values))


def rows_of(cache: Cache) -> CacheRows:
    """The rows of a cache in full precision that has served one request."""
    layers = cache.layers
    return CacheRows(
        keys=tuple(layer.keys[0].clone() for layer in layers),
        values=tuple(layer.values[0].clone() for layer in layers),
        first=tuple(layer.get_seq_length() - layer.keys.shape[-2] for layer in layers),
    )


def group_size(architecture: Architecture) -> int:
    """Values that share one scale and one zero in a quantised cache: 64, or less where a head's do not divide so."""
    return gcd(64, architecture.head_size)


def quantised_cache(config, architecture: Architecture, bits: int, remainder: int = 128) -> Cache:
    """An empty cache of transformers that keeps keys and values in fewer bits.

    The first pass fills it at once; what is written after that stays in full precision until
    ``remainder`` positions have come together.

    Raises:
        SettingRefused: for a model whose layers have windows, which that cache does not know, or
            another number of bits than 8, 4 or 2.
    """
    from transformers import QuantizedCache

    if bits not in (8, 4, 2):
        raise SettingRefused(f"The cache can be kept in 8, 4 or 2 bits, not {bits}.")
    if architecture.windowed_layers:
        raise SettingRefused("This model's layers keep a window of positions; the quantised cache keeps them all.")
    return QuantizedCache(BACKEND, config, nbits=bits, q_group_size=group_size(architecture), residual_length=remainder)
