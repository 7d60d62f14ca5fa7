"""The residual stream of one position through all layers, and what is normalised in front of each half."""

from dataclasses import dataclass

import numpy as np
import torch
from torch.nn.functional import cosine_similarity

from model.blocks import feed_forward_wiring
from model.normalisation import Normalised, normalised
from model.tracing import Trace


@dataclass(frozen=True, eq=False)
class StreamProfile:
    """How long the stream is and where it points, layer by layer, at one position.

    Sizes are Euclidean lengths, cosines run from −1 to 1. Step 0 is what enters layer 0, step
    l + 1 what leaves layer l.

    Attributes:
        sizes: of the stream, (layers + 1,).
        attention, feed_forward: sizes of what the two halves of each layer added, (layers,).
        with_before: cosine of what leaves each layer with what entered it, (layers,).
        with_final: cosine of each step with the last one, (layers + 1,).
    """

    sizes: np.ndarray
    attention: np.ndarray
    feed_forward: np.ndarray
    with_before: np.ndarray
    with_final: np.ndarray

    @property
    def turning_layer(self) -> int:
        """The layer that turns the stream most, the first one left out: there everything is new."""
        return int(self.with_before[1:].argmin()) + 1 if len(self.with_before) > 1 else 0


@torch.inference_mode()
def stream_profile(run: Trace, position: int) -> StreamProfile:
    """Sizes and directions of the stream at ``position``."""
    streams, attention, feed_forward = (
        torch.stack([layer[position] for layer in kept]).cpu().double()
        for kept in (run.streams, run.attention_added, run.feed_forward_added)
    )
    return StreamProfile(
        sizes=streams.norm(dim=1).numpy(),
        attention=attention.norm(dim=1).numpy(),
        feed_forward=feed_forward.norm(dim=1).numpy(),
        with_before=cosine_similarity(streams[1:], streams[:-1], dim=1).numpy(),
        with_final=cosine_similarity(streams, streams[-1:], dim=1).numpy(),
    )


#: The normalisations that a page can show, in the order in which a vector meets them.
NORMS = ("attention", "feed-forward", "final")


@torch.inference_mode()
def norm_before(run: Trace, layer: int, position: int, which: str) -> Normalised | None:
    """The normalisation in front of ``which`` of :data:`NORMS`, on this position's real vector.

    Returns:
        None if there is none, or it is neither RMSNorm nor LayerNorm.
    """
    parts = run.model.parts
    if which == "final":
        return normalised(parts.final_norm, run.streams[-1][position])
    if which == "attention":
        norm = parts.attention_norm(parts.blocks[layer])
        return None if norm is None else normalised(norm, run.streams[layer][position])
    wiring = feed_forward_wiring(run, layer, position)
    if wiring is None or wiring.norm is None:
        return None
    return normalised(wiring.norm, wiring.read)
