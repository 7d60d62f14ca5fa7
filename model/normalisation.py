"""What a normalisation does to one vector, step by step, and compared with the module itself.

Two are in use. RMSNorm (Zhang and Sennrich 2019) divides by the root of the mean square and
multiplies each number by a learned weight. LayerNorm (Ba et al. 2016) first takes off the mean, so
that what it divides by is the standard deviation, and may add a learned bias. Gemma keeps its
weights as differences from 1. Which of them a module is, is not read from its name: the one that
reproduces the module's own output is taken.
"""

import math
from dataclasses import dataclass
from itertools import product

import torch
from torch import nn

#: Largest difference, relative to the largest value, that counts as rounding in float32.
ROUNDING = 1e-5


@dataclass(frozen=True, eq=False)
class Normalised:
    """One vector on its way through a normalisation. Vectors are float64 on the CPU, (hidden size,).

    Attributes:
        before, after: the vector, and what is worked out here step by step.
        centred: whether the mean is taken off first: LayerNorm; else RMSNorm.
        mean: of the vector; taken off if ``centred``.
        mean_square: of the vector after that; if ``centred``, its variance.
        epsilon: small number added to it, so that nothing is divided by zero.
        weight: the learned factors as they are applied, or None.
        bias: the learned numbers added at the end, or None.
        difference: largest difference between ``after`` and the module's own output.
    """

    before: torch.Tensor
    after: torch.Tensor
    centred: bool
    mean: float
    mean_square: float
    epsilon: float
    weight: torch.Tensor | None
    bias: torch.Tensor | None
    difference: float

    @property
    def name(self) -> str:
        return "LayerNorm" if self.centred else "RMSNorm"

    @property
    def divisor(self) -> float:
        """What every number is divided by."""
        return math.sqrt(self.mean_square + self.epsilon)

    @property
    def largest(self) -> float:
        """The largest size among the results, for scale."""
        return float(self.after.abs().max())

    def share(self, vectors: torch.Tensor) -> torch.Tensor:
        """What parts of ``before`` become, the divisor held as it is; parts that add up still do.

        Args:
            vectors: (..., hidden size).
        """
        vectors = vectors.cpu().double()
        if self.centred:
            vectors = vectors - vectors.mean(-1, keepdim=True)
        vectors = vectors / self.divisor
        return vectors if self.weight is None else vectors * self.weight


@torch.inference_mode()
def normalised(norm: nn.Module, vector: torch.Tensor) -> Normalised | None:
    """The steps of ``norm`` on ``vector``; None if it is neither RMSNorm nor LayerNorm.

    Args:
        vector: (hidden size,), as the module is given it.
    """
    own = norm(vector).cpu().double()
    for centred, stored_below_one in product((False, True), (False, True)):
        found = _steps(norm, vector.cpu().double(), own, centred, stored_below_one)
        if found.difference <= rounding(vector.dtype) * max(float(own.abs().max()), 1e-12):
            return found
    return None


def rounding(dtype: torch.dtype) -> float:
    """Largest relative difference that counts as rounding: of float32, or a few steps of ``dtype``."""
    return max(ROUNDING, 4 * torch.finfo(dtype).eps)


def _steps(norm: nn.Module, vector: torch.Tensor, own: torch.Tensor, centred: bool, below_one: bool) -> Normalised:
    weight, bias = (_learned(norm, name) for name in ("weight", "bias"))
    if weight is not None and below_one:
        weight = 1 + weight
    epsilon = next((getattr(norm, name) for name in ("eps", "variance_epsilon", "epsilon") if hasattr(norm, name)), 0.0)
    mean = float(vector.mean())
    rest = vector - mean if centred else vector
    mean_square = float(rest.square().mean())
    after = rest / math.sqrt(mean_square + epsilon) if mean_square + epsilon > 0 else rest
    after = after if weight is None else after * weight
    after = after if bias is None else after + bias
    difference = float((after - own).abs().max())
    return Normalised(vector, after, centred, mean, mean_square, float(epsilon), weight, bias, difference)


def _learned(norm: nn.Module, name: str) -> torch.Tensor | None:
    parameter = getattr(norm, name, None)
    return None if parameter is None else parameter.detach().cpu().double()
