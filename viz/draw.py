"""Same pin, new strip: the draw of the next token, as a component.

The browser gets the logits once and redraws by itself; Python hears the settings when the hand
rests. ``draw_arithmetic.js`` holds the arithmetic.
"""

import base64
import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from numbers import Real

import numpy as np
import streamlit as st

from viz.components import component, packed

#: Lowest value, highest value and step of each slider; top-k ends at the vocabulary size.
LIMITS = {"temperature": (0.0, 2.5, 0.01), "top_p": (0.01, 1.0, 0.01), "min_p": (0.0, 0.5, 0.01)}

#: The model's own probabilities, nothing cut.
DEFAULTS = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "seed": 0}

LARGEST_SEED = 2**32 - 1

#: "drop 100" needs as many uniform numbers.
FEWEST_UNIFORMS = 100


def draw_strip(
    logits: np.ndarray,
    labels: Sequence[str],
    settings: Mapping,
    seed: int,
    uniforms: Mapping[int, float] | Sequence[float],
    key: str = "draw",
    on_settings: Callable[[dict], None] | None = None,
) -> dict:
    """Mount the strip of the whole vocabulary with its pin and its controls.

    Args:
        logits: float32 logits of one position, one for each token ID.
        labels: the tokens as they are to be read, one for each token ID.
        settings: ``temperature``, ``top_k``, ``top_p`` and ``min_p``; what is missing or wrong is
            set by `checked_settings`.
        seed: the seed of the pin.
        uniforms: the uniform number of each seed, or a list of those of ``seed``, ``seed + 1``, …;
            at least 100. The same numbers at every run keep the payload the same, and Streamlit
            then sends its hash alone.
        key: Streamlit key of the component.
        on_settings: called with the checked settings, ``seed`` among them, when the hand rests.

    Returns:
        The settings the browser reported last, checked, or the given ones before its first report.

    Raises:
        ValueError: if the arrays do not fit together, or hold no distribution.
    """
    size = len(logits)
    asked = checked_settings({**settings, "seed": seed}, size)
    known = _uniforms_by_seed(uniforms, seed)
    _check(logits, labels, known, seed)

    def report() -> None:
        if on_settings is not None:
            on_settings(_reported(key, size))

    mount = component("draw", scripts=("draw_arithmetic.js",))
    mount(
        key=key,
        data=_payload(logits, labels, known) | _position(key, asked, size),
        on_settings_change=report,
    )
    return _reported(key, size) or asked


def checked_settings(raw: object, vocabulary_size: int) -> dict:
    """Settings that can be drawn, from anything a browser or a link may send.

    Numbers out of range go to the nearest end and are rounded to the slider's step; whatever is no
    finite number becomes the default.
    """
    given = raw if isinstance(raw, Mapping) else {}
    checked = {
        name: round(_within(given.get(name), low, high, DEFAULTS[name]), 2) for name, (low, high, _) in LIMITS.items()
    }
    checked["top_k"] = int(_within(given.get("top_k"), 0, vocabulary_size, DEFAULTS["top_k"]))
    checked["seed"] = int(_within(given.get("seed"), 0, LARGEST_SEED, DEFAULTS["seed"]))
    return checked


def _within(value: object, low: float, high: float, default: float) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        return default
    if not -math.inf < value < math.inf:
        return default
    return min(max(value, low), high)


def _uniforms_by_seed(uniforms: Mapping[int, float] | Sequence[float], seed: int) -> dict:
    if isinstance(uniforms, Mapping):
        return dict(sorted(uniforms.items()))
    return {seed + i: u for i, u in enumerate(uniforms)}


def _check(logits: np.ndarray, labels: Sequence[str], uniforms: dict, seed: int) -> None:
    if np.ndim(logits) != 1 or len(logits) != len(labels) or len(labels) == 0:
        raise ValueError("draw_strip needs one logit and one label for each token")
    if not np.isfinite(np.max(logits)):  # NaN anywhere makes the maximum NaN
        raise ValueError("the logits hold NaN or +inf, or are all -inf: nothing can be drawn")
    if seed not in uniforms or len(uniforms) < FEWEST_UNIFORMS:
        raise ValueError(f"draw_strip needs {FEWEST_UNIFORMS} uniform numbers, seed {seed}'s too")
    if not all(0 <= u < 1 for u in uniforms.values()):
        raise ValueError("a uniform number lies in [0, 1)")


def _payload(logits: np.ndarray, labels: Sequence[str], uniforms: dict) -> dict:
    """What the browser needs once for one position."""
    return {
        "logits": packed(logits),
        "labels": _packed_text(tuple(labels)),
        "seeds": [int(seed) for seed in uniforms],
        "uniforms": [float(u) for u in uniforms.values()],
        "limits": LIMITS,
        "defaults": DEFAULTS,
    }


@lru_cache(maxsize=2)
def _packed_text(labels: tuple[str, ...]) -> str:
    """Labels as base64 of UTF-8, one a line: JSON would spend six bytes on every "·"."""
    lines = "\n".join(label.replace("\n", "⏎") for label in labels)
    return base64.b64encode(lines.encode("utf-8", "replace")).decode("ascii")


def _position(key: str, asked: dict, size: int) -> dict:
    """The settings to start from, and a revision that is new when Python itself changed them.

    What the browser reported is not sent back: the payload stays the same, so that Streamlit sends
    its hash instead of its 800 kB, and no late answer moves a slider under the visitor's hand.
    """
    memory = st.session_state.get(f"{key}: position")
    reported = _reported(key, size)
    if memory is None or _is_news(memory, asked, reported):
        memory = {"settings": asked, "revision": str(time.time_ns())}
    st.session_state[f"{key}: position"] = {**memory, "asked": asked, "reported": reported}
    return {"key": key, "settings": memory["settings"], "revision": memory["revision"]}


def _is_news(memory: dict, asked: dict, reported: dict | None) -> bool:
    """Whether the browser does not yet show what is asked for."""
    left_and_came_back = reported is None and memory["reported"] is not None
    echo = asked == reported != memory["reported"]
    return left_and_came_back or (asked != memory["asked"] and not echo)


def _reported(key: str, size: int) -> dict | None:
    """The settings the browser reported last, checked; None before its first report."""
    state = st.session_state.get(key)
    raw = state.get("settings") if state is not None else None
    return None if raw is None else checked_settings(raw, size)
