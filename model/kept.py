"""What a cache keeps, looked at: the rows of one head, and the bytes that must be there by formula."""

import numpy as np

from model.architecture import Architecture
from model.kv_cache import CacheRows


def head_rows(rows: CacheRows, layer: int, kv_head: int, seen: int) -> tuple[int, np.ndarray, np.ndarray]:
    """What one KV head kept of the first ``seen`` positions.

    Returns:
        The real position of the first row; keys and values, float32 (positions, head size). Rows
        that a window has dropped since are missing.
    """
    first = rows.first[layer]
    until = max(0, seen - first)
    keys, values = (kept[layer][kv_head, :until].float().cpu().numpy() for kept in (rows.keys, rows.values))
    return first, keys, values


def kept_positions(architecture: Architecture, seen: int) -> tuple[int, int]:
    """Positions kept in each layer that sees everything, and in each that has a window.

    A window of W keeps W − 1: the token that is worked out next brings its own key and value.
    """
    window = architecture.sliding_window or seen + 1
    return seen, min(seen, window - 1)


def kept_values(architecture: Architecture, seen: int) -> int:
    """Numbers in the cache of one request that has seen so many tokens, by formula."""
    everywhere, windowed = kept_positions(architecture, seen)
    layers = architecture.layers - architecture.windowed_layers
    held = layers * everywhere + architecture.windowed_layers * windowed
    return 2 * architecture.kv_heads * architecture.head_size * held
