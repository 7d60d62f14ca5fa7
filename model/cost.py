"""What a forward pass and its cache cost, by formula.

Two kinds of numbers: bytes, which are exact, and operations, which count every multiplication and
every addition of the matrix products (two for each learned number and token, as in Kaplan et al.
2020, appendix B, and two for each product inside attention). Norms, activations and the softmax
are left out: they are below one hundredth.
"""

from dataclasses import dataclass, replace

from model.architecture import Architecture
from model.errors import SettingRefused

#: More than this is not a size that anybody means.
LARGEST = 10**12


def kv_values(architecture: Architecture, tokens: int) -> int:
    """Numbers that the cache of one request of ``tokens`` tokens holds.

    2 × layers × KV heads × head size × tokens: a key and a value each. A layer with a window keeps
    no more tokens than its window; a layer with latent attention keeps one compressed vector a
    token in place of keys and values.

    Raises:
        SettingRefused: if ``tokens`` is no whole number from 0 to 10¹².
    """
    _check("tokens", tokens, least=0)
    a_token = architecture.latent_size or 2 * architecture.kv_heads * architecture.head_size
    everything = (architecture.layers - architecture.windowed_layers) * tokens
    windowed = architecture.windowed_layers * min(tokens, architecture.sliding_window or tokens)
    return (everything + windowed) * a_token


def kv_bytes(architecture: Architecture, tokens: int, bytes_per_value: float = 2, requests: int = 1) -> int:
    """Bytes of the KV cache of ``requests`` requests of ``tokens`` tokens each.

    Args:
        bytes_per_value: 2 for 16 bit, 4 for float32, 0.5 for 4 bit without its scales.

    Raises:
        SettingRefused: for a size that is zero, negative, absurd or no number.
    """
    _check("requests", requests)
    number = isinstance(bytes_per_value, int | float) and not isinstance(bytes_per_value, bool)
    if not number or not 0 < bytes_per_value <= 8:
        raise SettingRefused(f"A cached value takes more than 0 and at most 8 bytes, not {bytes_per_value!r}.")
    return round(kv_values(architecture, tokens) * bytes_per_value * requests)


def beyond(architecture: Architecture, tokens: int, fewer: int, bytes_per_value: float = 2) -> tuple[int, int]:
    """What a request of ``tokens`` tokens takes beyond one of ``fewer``; negative if it takes less.

    Returns:
        Operations of the prefill; bytes of the KV cache.
    """
    longer, shorter = (
        (work(architecture, count).operations, kv_bytes(architecture, count, bytes_per_value))
        for count in (tokens, fewer)
    )
    return longer[0] - shorter[0], longer[1] - shorter[1]


def _check(what: str, value: int, least: int = 1) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= LARGEST:
        raise SettingRefused(
            f"The number of {what} is {value!r}; it must be a whole number from {least} to {LARGEST:,}."
        )


def weight_bytes(architecture: Architecture, bits: float = 16) -> int:
    """Bytes of the weights; a table that is both first and last matrix is counted once."""
    return round(architecture.parameters * bits / 8)


def with_kv_heads(architecture: Architecture, kv_heads: int) -> Architecture:
    """The same shape with another number of KV heads: all, grouped, or one.

    Raises:
        SettingRefused: if the query heads cannot share them evenly.
    """
    _check("KV heads", kv_heads)
    if architecture.query_heads % kv_heads:
        raise SettingRefused(f"{architecture.query_heads} query heads cannot share {kv_heads} KV heads evenly.")
    return replace(architecture, kv_heads=kv_heads)


def stored_bits(bits: int, group_size: int, scale_bits: int = 32, zero_bits: int = 32) -> float:
    """Bits that one quantised value really takes: its own, and its part of the group's scale and zero.

    Raises:
        SettingRefused: if a group has no values.
    """
    _check("values in a group", group_size)
    return bits + (scale_bits + zero_bits) / group_size


@dataclass(frozen=True)
class Work:
    """What one forward pass does, by formula.

    Attributes:
        computed: positions whose vectors are worked out, of one request.
        read: positions read from the cache, of one request.
        requests: how many requests run side by side.
        matrices: operations with the learned matrices, the last one included: linear in ``computed``.
        attention: operations between positions: query · key and weight × value.
        weight_bytes: bytes of the weights, read once for all positions and requests.
        read_bytes: bytes read from the cache.
        written_bytes: bytes written to it.
    """

    computed: int
    read: int
    requests: int
    matrices: int
    attention: int
    weight_bytes: int
    read_bytes: int
    written_bytes: int

    @property
    def operations(self) -> int:
        return self.matrices + self.attention

    @property
    def bytes(self) -> int:
        """Bytes that must come from and go to memory at least once."""
        return self.weight_bytes + self.read_bytes + self.written_bytes

    @property
    def intensity(self) -> float:
        """Operations for each byte moved."""
        return self.operations / self.bytes


def work(
    architecture: Architecture,
    computed: int,
    read: int = 0,
    *,
    requests: int = 1,
    bytes_per_value: int = 4,
    cached: bool = True,
) -> Work:
    """The work of one forward pass that computes ``computed`` positions after ``read`` cached ones.

    Only the last position's logits are worked out, as in generation.

    Args:
        cached: whether keys and values are written to a cache.
    """
    _check("positions", computed)
    _check("cached positions", read, least=0)
    _check("requests", requests)
    table = architecture.vocabulary_size * architecture.hidden_size
    inside = _matrix_parameters(architecture)
    pairs = (architecture.layers - architecture.windowed_layers) * _pairs(computed, read, None)
    pairs += architecture.windowed_layers * _pairs(computed, read, architecture.sliding_window)
    return Work(
        computed=computed,
        read=read,
        requests=requests,
        matrices=requests * 2 * (inside * computed + table),
        attention=requests * 4 * architecture.query_heads * architecture.head_size * pairs,
        weight_bytes=(inside + table) * bytes_per_value,
        read_bytes=requests * kv_values(architecture, read) * bytes_per_value,
        written_bytes=requests * kv_values(architecture, computed) * bytes_per_value if cached else 0,
    )


def _matrix_parameters(architecture: Architecture) -> int:
    if architecture.matrix_parameters is not None:
        return architecture.matrix_parameters
    tables = 1 if architecture.tied_embeddings else 2
    return architecture.parameters - tables * architecture.vocabulary_size * architecture.hidden_size


def _pairs(computed: int, read: int, window: int | None) -> int:
    """Pairs of a query and a key it can see: each computed position sees itself and those before."""
    return _pairs_from_start(read + computed, window) - _pairs_from_start(read, window)


def _pairs_from_start(positions: int, window: int | None) -> int:
    """Pairs of the first positions: 1 + 2 + 3 + …, and from the window's length on one window each."""
    growing = min(positions, window or positions)
    return growing * (growing + 1) // 2 + (positions - growing) * (window or 0)
