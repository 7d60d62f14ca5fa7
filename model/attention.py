"""Attention as arithmetic, on the queries, keys and values that a run recorded.

The plain twin of the kernel that the model runs: the same numbers, with each step in sight.
The formula is scaled dot-product attention (Vaswani et al. 2017, section 3.2.1), causal:

    score(i, j)  = query_i · key_j × scale          (soft-capped where the model caps)
    weight(i, j) = exp(score(i, j)) / Σ_k exp(score(i, k))   over the keys k that i can see
    output_i     = Σ_j weight(i, j) × value_j
"""

from dataclasses import dataclass

import torch


def visible_keys(
    queries: int, keys: int, window: int | None = None, device: torch.device | str = "cpu"
) -> torch.Tensor:
    """Which key each query can see, (queries, keys), True where it can.

    Causal: a query sees itself and what came before. With a window, only the last ``window``
    positions, itself included. The last query is the last key, as with a KV cache.
    """
    query = torch.arange(keys - queries, keys, device=device)[:, None]
    key = torch.arange(keys, device=device)[None, :]
    seen = key <= query
    if window is not None:
        seen &= key > query - window
    return seen


def attention_scores(
    query: torch.Tensor, key: torch.Tensor, scale: float, softcap: float | None = None
) -> torch.Tensor:
    """Scores of every query with every key, before mask and softmax.

    Args:
        query: (..., queries, head size).
        key: (..., keys, head size).
        scale: factor on the dot product, usually 1 / √(head size).
        softcap: c in c × tanh(score / c), for models that keep scores within ±c (Gemma 2).

    Returns:
        (..., queries, keys).
    """
    scores = query @ key.transpose(-1, -2) * scale
    return scores if softcap is None else softcap * torch.tanh(scores / softcap)


def attention_weights(scores: torch.Tensor, visible: torch.Tensor) -> torch.Tensor:
    """Softmax of ``scores`` over the visible keys, in float32; exactly 0 where not visible."""
    return scores.float().masked_fill(~visible, -torch.inf).softmax(-1)


@dataclass(frozen=True)
class PairArithmetic:
    """How much query position ``query`` looks at key position ``key``, step by step.

    Attributes:
        query_vector, key_vector: the two vectors, (head size,).
        products: their products, number by number.
        dot: the sum of the products.
        scale: what the sum is multiplied with.
        score: the result, soft-capped where the model caps.
        largest: the row's largest score, taken off before exp so that nothing overflows.
        exponential: exp(score − largest).
        total: the sum of those over all keys the query can see.
        weight: exponential / total.
        value_vector: what is mixed in, in proportion to the weight, (head size,).
        output: the head's output at the query position, the sum over all visible keys.
    """

    query: int
    key: int
    query_vector: torch.Tensor
    key_vector: torch.Tensor
    products: torch.Tensor
    dot: float
    scale: float
    score: float
    largest: float
    exponential: float
    total: float
    weight: float
    value_vector: torch.Tensor
    output: torch.Tensor
