"""The server in numbers, for the operator: how many visitors, how busy, how much is kept. No texts."""

import os
import statistics

import psutil

from model.queue import LINE
from pages.shared.store import measurements, results
from pages.shared.visitors import VISITORS


def status() -> dict[str, float]:
    """What the server has to do and what it holds, in visitors, seconds and bytes."""
    waits = sorted(LINE.waits)
    return {
        "visitors": VISITORS.present,
        "model_turns": len(waits),
        "model_wait_median_s": statistics.median(waits) if waits else 0.0,
        "model_wait_p95_s": waits[int(0.95 * (len(waits) - 1))] if waits else 0.0,
        "model_wait_worst_s": waits[-1] if waits else 0.0,
        "kept_results_bytes": results().nbytes,
        "kept_measurements_bytes": measurements().nbytes,
        "memory_bytes": psutil.Process(os.getpid()).memory_info().rss,
    }
