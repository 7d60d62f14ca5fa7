"""How the two halves of a layer are wired, found out from what a run kept.

Most layers are sequential: the feed-forward network reads the stream after attention has added to
it. In parallel ones (GPT-NeoX, Phi, Falcon) both halves read the stream as it enters the layer.
Which one a layer is, and which normalisation stands in between, is not looked up by the name of
the architecture: each way is tried, and the one that gives what the run kept is the right one.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn

from model.normalisation import rounding
from model.tracing import Trace


@dataclass(frozen=True, eq=False)
class Wiring:
    """What one feed-forward network reads, at one position.

    Attributes:
        network: the feed-forward network.
        norm: the normalisation in front of it, or None.
        writer: the module whose output is added to the stream: the network itself, or a
            normalisation after it (Gemma).
        parallel: whether it reads the stream as it enters the layer, as attention does.
        read: the vector that is normalised, (hidden size,).
        given: what the network is given, (hidden size,).
    """

    network: nn.Module
    norm: nn.Module | None
    writer: nn.Module
    parallel: bool
    read: torch.Tensor
    given: torch.Tensor


@torch.inference_mode()
def feed_forward_wiring(run: Trace, layer: int, position: int) -> Wiring | None:
    """The wiring that reproduces what the run kept; None if none does.

    What counts as equal is a few hundred roundings of the dtype: sums of thousands of products run
    in another order for one position than for many.
    """
    added = run.feed_forward_added[layer][position]
    allowed = 10 * rounding(added.dtype) * max(float(added.abs().max()), 1e-12)
    for wiring in _ways(run, layer, position):
        own = _output(wiring)
        if own is not None and float((own - added).abs().max()) <= allowed:
            return wiring
    return None


def _ways(run: Trace, layer: int, position: int) -> Iterator[Wiring]:
    parts = run.model.parts
    block = parts.blocks[layer]
    network, writer = parts.feed_forward(block), parts.feed_forward_writer(block)
    entering = run.streams[layer][position]
    between = entering + run.attention_added[layer][position]
    norms = [child for child in block.children() if "norm" in type(child).__name__.lower()]
    for norm in [*reversed(norms), None]:
        for parallel, read in ((False, between), (True, entering)):
            yield Wiring(network, norm, writer, parallel, read, read if norm is None else norm(read))


def _output(wiring: Wiring) -> torch.Tensor | None:
    """What the network adds, run by itself on one vector."""
    try:
        output = wiring.network(wiring.given[None, None])
    except TypeError:  # it wants more than a vector (BLOOM's takes the stream, too)
        return None
    output = output[0] if isinstance(output, tuple) else output
    return (output if wiring.writer is wiring.network else wiring.writer(output))[0, 0]
