"""Does it fit? A machine's memory, shared out among weights, caches and the rest, by formula."""

from dataclasses import dataclass

from model.architecture import Architecture
from model.cost import kv_bytes, weight_bytes
from model.errors import SettingRefused

#: Bytes a second of a PCI Express slot with 16 lanes in one direction, by generation: the signalling
#: rate of each lane, less its 128b/130b coding (PCI-SIG base specifications 3.0, 4.0 and 5.0).
PCI_EXPRESS = {f"PCIe {version}.0 ×16": 16 * rate * 1e9 / 8 * 128 / 130 for version, rate in ((3, 8), (4, 16), (5, 32))}


@dataclass(frozen=True)
class Fit:
    """How a machine's memory is shared out, bytes.

    Attributes:
        memory: what there is.
        weights: what the weights take.
        overhead: what is set aside for activations, the libraries and the rest.
        a_request: the cache of one request.
    """

    memory: int
    weights: int
    overhead: int
    a_request: int

    @property
    def room(self) -> int:
        """Bytes left for caches; negative if not even the weights and the overhead fit."""
        return self.memory - self.weights - self.overhead

    @property
    def requests(self) -> int:
        """Requests that fit at once."""
        return max(0, self.room // self.a_request)

    @property
    def left(self) -> int:
        """Bytes left when so many requests are in; negative as ``room`` is."""
        return self.room - self.requests * self.a_request


def fit(
    architecture: Architecture, memory: int, tokens: int, *, weight_bits: float, cache_bits: float, overhead: int
) -> Fit:
    """Share out ``memory`` bytes among the weights, an overhead, and caches of ``tokens`` tokens.

    Raises:
        SettingRefused: for a size that is none.
    """
    if tokens < 1:
        raise SettingRefused(f"A request has at least one token, not {tokens!r}.")
    if not (memory > 0 and overhead >= 0 and weight_bits > 0):  # nan is none of these either
        raise SettingRefused("Memory and bits must be more than zero, and the overhead not less than zero.")
    return Fit(
        memory, weight_bytes(architecture, weight_bits), overhead, kv_bytes(architecture, tokens, cache_bits / 8)
    )


def offload_seconds(cache_bytes: int, bandwidth: float) -> float:
    """Seconds that one decode step takes only to bring the cache in from the host's memory.

    Raises:
        SettingRefused: unless ``bandwidth`` is more than zero.
    """
    if not bandwidth > 0:  # nan is not either
        raise SettingRefused(f"A bandwidth must be more than zero bytes a second, not {bandwidth!r}.")
    return cache_bytes / bandwidth
