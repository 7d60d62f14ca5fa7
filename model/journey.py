"""One run through one layer and head, as plain arrays: what the picture of the loop is made of."""

from dataclasses import dataclass

import numpy as np
import torch

from model.tracing import Trace


@dataclass(frozen=True, eq=False)
class Journey:
    """What happens to a window of positions on their way through one layer.

    Attributes:
        first: the first position of the window.
        embedding: what the embedding table gives each token, (n, shown).
        stream_in, stream_out: the residual stream before and after the layer, (n, shown).
        attention_added, feed_forward_added: what the two halves of the layer add, (n, shown).
        query, key, value, mix: of the chosen head, (n, head size).
        attention: weights, (n, n), NaN where masked. Positions before the window are left out,
            so that a row may sum to less than 1.
    """

    first: int
    embedding: np.ndarray
    stream_in: np.ndarray
    stream_out: np.ndarray
    attention_added: np.ndarray
    feed_forward_added: np.ndarray
    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    mix: np.ndarray
    attention: np.ndarray


@torch.inference_mode()
def journey(run: Trace, layer: int, head: int, window: slice, shown: int) -> Journey:
    """The arrays of ``window``, the first ``shown`` numbers of each vector of the stream.

    Args:
        window: consecutive positions.
    """
    ids = torch.tensor(run.tokens.ids[window], device=run.last_logits.device)
    weights = run.attention(layer, head).masked_fill(~run.visible(layer), torch.nan)

    def plain(tensor: torch.Tensor, size: int | None = None) -> np.ndarray:
        return tensor[window, :size].float().cpu().numpy()

    return Journey(
        first=window.start,
        embedding=run.model.parts.embedding(ids)[:, :shown].float().cpu().numpy(),
        stream_in=plain(run.streams[layer], shown),
        stream_out=plain(run.streams[layer + 1], shown),
        attention_added=plain(run.attention_added[layer], shown),
        feed_forward_added=plain(run.feed_forward_added[layer], shown),
        query=plain(run.query(layer, head)),
        key=plain(run.key(layer, head)),
        value=plain(run.value(layer, head)),
        mix=plain(run.head_output(layer, head)),
        attention=weights[window, window].cpu().numpy(),
    )


@dataclass(frozen=True)
class StreamCheck:
    """Stream in + attention + feed-forward = stream out, at one position and layer.

    Attributes:
        before, attention, feed_forward, after: the first few numbers of each.
        difference: largest difference over the whole vector.
        largest: largest value of the result, for scale.
    """

    before: list[float]
    attention: list[float]
    feed_forward: list[float]
    after: list[float]
    difference: float
    largest: float


@torch.inference_mode()
def stream_check(run: Trace, layer: int, position: int, shown: int = 4) -> StreamCheck:
    """Add up what a layer did at one position, and compare with what the model had after it."""
    before, after = run.streams[layer][position].float(), run.streams[layer + 1][position].float()
    attention, feed_forward = (
        added[layer][position].float() for added in (run.attention_added, run.feed_forward_added)
    )
    difference = (before + attention + feed_forward - after).abs().max()
    heads = (vector[:shown].tolist() for vector in (before, attention, feed_forward, after))
    return StreamCheck(*heads, difference=float(difference), largest=float(after.abs().max()))


def depths(layers: int) -> list[int]:
    """A few layers from the first to the last, closer together at the end, where guesses change."""
    picked = {0, layers // 3, 2 * layers // 3, layers - 4, layers - 2, layers - 1}
    return sorted(layer for layer in picked if 0 <= layer < layers)
