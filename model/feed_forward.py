"""One feed-forward network opened up: its neurons, what each writes, and that they add up.

A neuron reads the vector with a row of the first matrix (two rows where there is a gate), turns
what it finds into one number, its *activation*, and adds that many times its *output row* to the
result: the networks of transformers seen as memories of keys and values (Geva et al. 2021). So the
network's output is exactly the sum, over neurons, of activation × output row, plus a bias if there
is one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from model.blocks import Wiring, feed_forward_wiring
from model.normalisation import normalised
from model.parts import first_part
from model.tracing import Trace

_DOWN = ("down_proj", "c_proj", "dense_4h_to_h", "fc2", "fc_out")
_UP = ("up_proj", "c_fc", "dense_h_to_4h", "fc1", "fc_in")
_GATE_AND_UP = ("gate_up_proj",)
_ACTIVATION = ("act_fn", "act", "activation_fn", "activation")


@dataclass(frozen=True)
class Network:
    """The parts of a feed-forward network.

    Attributes:
        up: from the stream to the neurons; gives gate and up at once if ``fused``.
        gate: the other matrix that reads, or None.
        fused: whether ``up`` holds both.
        bend: the function between, e.g. SiLU or GELU.
        down: from the neurons back to the stream.
    """

    up: nn.Module
    gate: nn.Module | None
    fused: bool
    bend: Callable[[torch.Tensor], torch.Tensor]
    down: nn.Module

    @property
    def gated(self) -> bool:
        return self.fused or self.gate is not None

    @property
    def output_rows(self) -> torch.Tensor:
        """What each neuron writes when its activation is 1, (neurons, hidden size)."""
        # GPT-2's Conv1D keeps its matrix the other way round.
        weight = self.down.weight.detach()
        return weight.T if isinstance(self.down, nn.Linear) else weight

    def read(self, vectors: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor, torch.Tensor]:
        """(gate, up, activation) of all neurons, each (..., neurons); gate is None without one.

        With a gate the activation is bend(gate) × up, without it bend(up).
        """
        if self.fused:
            gate, up = self.up(vectors).chunk(2, dim=-1)
        else:
            gate, up = (None if self.gate is None else self.gate(vectors)), self.up(vectors)
        return gate, up, self.bend(up) if gate is None else self.bend(gate) * up


def network_of(module: nn.Module) -> Network | None:
    """The parts of a feed-forward network, or None if it is built another way (mixtures of experts)."""
    fused = first_part(module, _GATE_AND_UP)
    up, down, bend = fused or first_part(module, _UP), first_part(module, _DOWN), _bend_of(module)
    if up is None or down is None or bend is None:
        return None
    return Network(up, first_part(module, ("gate_proj",)), fused is not None, bend, down)


def _bend_of(module: nn.Module) -> Callable | None:
    return next((getattr(module, name) for name in _ACTIVATION if callable(getattr(module, name, None))), None)


@dataclass(frozen=True, eq=False)
class Neurons:
    """All neurons of one layer at one position.

    Attributes:
        layer, position: where.
        gate, up: what each neuron read, (neurons,); gate is None without one.
        bent: what the function between gave, of gate or, without one, of up, (neurons,).
        activation: the number that multiplies each output row, (neurons,).
        row_sizes: lengths of the output rows, (neurons,).
        function: name of the function between.
        biased: whether a bias is added to the sum.
        normed_after: whether the sum is normalised before it is added to the stream (Gemma).
        parallel: whether the network reads the stream as it enters the layer.
        difference: largest difference between the sum over neurons and what the model added.
        largest: largest value it added, for scale.
        added: first few numbers of what the model added.
        summed: the same, from the sum over neurons.
    """

    layer: int
    position: int
    gate: np.ndarray | None
    up: np.ndarray
    bent: np.ndarray
    activation: np.ndarray
    row_sizes: np.ndarray
    function: str
    biased: bool
    normed_after: bool
    parallel: bool
    difference: float
    largest: float
    added: list[float]
    summed: list[float]

    @property
    def strengths(self) -> np.ndarray:
        """|activation| × length of the output row: how long a vector each neuron adds, (neurons,)."""
        return np.abs(self.activation) * self.row_sizes

    def strongest(self, count: int) -> list[int]:
        """The neurons that add the longest vectors, longest first."""
        return [int(neuron) for neuron in np.argsort(-self.strengths, kind="stable")[:count]]

    def needed_for(self, share: float) -> int:
        """How many of the strongest hold ``share`` of the sum of all strengths."""
        total = np.cumsum(np.sort(self.strengths)[::-1])
        return int(np.searchsorted(total, share * total[-1])) + 1 if total[-1] > 0 else 0


@torch.inference_mode()
def neurons_at(run: Trace, layer: int, position: int, shown: int = 3) -> Neurons | None:
    """The neurons of ``layer`` at ``position``; None if its network cannot be taken apart."""
    wiring = feed_forward_wiring(run, layer, position)
    network = None if wiring is None else network_of(wiring.network)
    if network is None:
        return None
    gate, up, activation = network.read(wiring.given)
    total = _written(wiring, _sum(network, activation)).float()
    added = run.feed_forward_added[layer][position].float()
    return Neurons(
        layer=layer,
        position=position,
        gate=None if gate is None else _plain(gate),
        up=_plain(up),
        bent=_plain(network.bend(up if gate is None else gate)),
        activation=_plain(activation),
        row_sizes=_plain(network.output_rows.float().norm(dim=1)),
        function=_function_name(network.bend),
        biased=getattr(network.down, "bias", None) is not None,
        normed_after=wiring.writer is not wiring.network,
        parallel=wiring.parallel,
        difference=float((total - added).abs().max()),
        largest=float(added.abs().max()),
        added=added[:shown].tolist(),
        summed=total[:shown].tolist(),
    )


def _sum(network: Network, activation: torch.Tensor) -> torch.Tensor:
    """Activation × output row, summed over the neurons, plus the bias; (hidden size,)."""
    total = (activation[:, None] * network.output_rows).sum(0)
    bias = getattr(network.down, "bias", None)
    return total if bias is None else total + bias


def _written(wiring: Wiring, output: torch.Tensor) -> torch.Tensor:
    return output if wiring.writer is wiring.network else wiring.writer(output)


_FUNCTION_NAMES = {"silu": "SiLU", "relu": "ReLU", "gelu": "GELU"}


def _function_name(bend: Callable) -> str:
    name = type(bend).__name__ if isinstance(bend, nn.Module) else getattr(bend, "__name__", "f")
    return next((written for part, written in _FUNCTION_NAMES.items() if part in name.lower()), name)


@dataclass(frozen=True)
class Promotion:
    """What one neuron does to the logits directly, past all later layers.

    Attributes:
        ids: the tokens it raises most, most first.
        raised: by how much, logits.
        lowered_ids, lowered: the tokens it lowers most, and by how much.
    """

    ids: tuple[int, ...]
    raised: tuple[float, ...]
    lowered_ids: tuple[int, ...]
    lowered: tuple[float, ...]


@torch.inference_mode()
def promotions(run: Trace, found: Neurons, neurons: Sequence[int], count: int = 5) -> list[Promotion] | None:
    """What each of ``neurons`` adds to the logits directly: activation × output row, unembedded.

    The vector goes where the whole stream goes: through the final normalisation, whose divisor is
    this position's own and whose weight is multiplied in (and first through Gemma's normalisation
    behind the network), then through the unembedding. So the shares of all neurons, heads, biases
    and the embedding add up to the logits, before a cap if the model has one.

    Returns:
        None if a normalisation on the way is neither RMSNorm nor LayerNorm.
    """
    parts = run.model.parts
    wiring = feed_forward_wiring(run, found.layer, found.position)
    network = network_of(wiring.network)
    activation = network.read(wiring.given)[2]
    vectors = activation[list(neurons), None] * network.output_rows[list(neurons)]
    norms = [(parts.final_norm, run.streams[-1][found.position])]
    if wiring.writer is not wiring.network:
        norms.insert(0, (wiring.writer, _sum(network, activation)))
    for norm, whole in norms:
        steps = normalised(norm, whole)
        if steps is None:
            return None
        vectors = steps.share(vectors)
    weight = parts.unembedding.weight
    return [_promotion(logits, count) for logits in vectors.to(weight.dtype).to(weight.device) @ weight.T]


def _promotion(logits: torch.Tensor, count: int) -> Promotion:
    high, low = logits.float().topk(count), logits.float().topk(count, largest=False)
    return Promotion(*(tuple(each.tolist()) for each in (high.indices, high.values, low.indices, low.values)))


@torch.inference_mode()
def activity(run: Trace, found: Neurons, neuron: int) -> np.ndarray:
    """One neuron's activation at every position, (positions,)."""
    wiring = feed_forward_wiring(run, found.layer, found.position)
    entering = run.streams[found.layer]
    read = entering if wiring.parallel else entering + run.attention_added[found.layer]
    given = read if wiring.norm is None else wiring.norm(read)
    return _plain(network_of(wiring.network).read(given)[2][:, neuron])


def _plain(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().float().cpu().numpy()
