"""What the operator bounds: how much one visitor may ask for, and what is kept for all of them.

Each bound has a name in the environment, so that ``make serve`` and a service file can set it.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields


def _bound(default: int, name: str, least: int, most: int, what: str) -> int:
    return field(default=default, metadata={"name": name, "least": least, "most": most, "what": what})


@dataclass(frozen=True)
class Limits:
    """The bounds of one server.

    Attributes:
        tokens: of one text; 512 take the default model about a second on two cores.
        written: tokens that one press of a button writes at most.
        swept: tokens of a text whose heads, layers or positions are tried one by one.
        one_pass: tokens of one pass of long work, for which everybody else waits: 2,048 take the
            default model about six seconds on two cores.
        sessions: visitors at once; 0 is no bound.
        trace_mb: megabytes (10⁶ bytes) of finished runs and what was drawn from them, for everybody:
            a token of the default model takes about 0.33. A page that compares runs of 2,000 tokens
            needs 4,000 to keep them all; with less it has them read again.
        measurement_mb: the same of measurements.
        idle: seconds after which what nobody has looked at is dropped.
    """

    tokens: int = _bound(512, "EXPLAINER_MAX_TOKENS", 1, 1_000_000, "tokens a text")
    written: int = _bound(48, "EXPLAINER_MAX_WRITTEN", 1, 4_096, "tokens written at once")
    swept: int = _bound(2_048, "EXPLAINER_MAX_SWEPT", 1, 1_000_000, "tokens of a text that is swept")
    one_pass: int = _bound(2_048, "EXPLAINER_MAX_PASS", 128, 1_000_000, "tokens of one pass of long work")
    sessions: int = _bound(0, "EXPLAINER_MAX_SESSIONS", 0, 100_000, "visitors at once (0: no bound)")
    trace_mb: int = _bound(1_000, "EXPLAINER_TRACE_MB", 1, 10_000_000, "MB of finished runs kept")
    measurement_mb: int = _bound(300, "EXPLAINER_MEASUREMENT_MB", 1, 10_000_000, "MB of measurements kept")
    idle: int = _bound(300, "EXPLAINER_IDLE_SECONDS", 1, 10_000_000, "seconds until what nobody looks at is dropped")


def limits_from(environment: Mapping[str, str]) -> Limits:
    """The bounds as the environment names them; the defaults where it does not.

    Raises:
        ValueError: a sentence on the first that is no whole number in its range.
    """
    found = {}
    for each in fields(Limits):
        about = each.metadata
        text = environment.get(about["name"], "").strip()
        if not text:
            continue
        if not (text.isascii() and text.isdigit() and len(text) < 20):
            raise ValueError(f"{about['name']} ({about['what']}) must be a whole number, not {text!r}.")
        if not about["least"] <= int(text) <= about["most"]:
            raise ValueError(
                f"{about['name']} ({about['what']}) must be from {about['least']:,} to {about['most']:,}, not {text}."
            )
        found[each.name] = int(text)
    return Limits(**found)


def sentences(limits: Limits) -> list[tuple[str, int, str]]:
    """(name in the environment, value, what it bounds) of each bound, for people."""
    return [(each.metadata["name"], getattr(limits, each.name), each.metadata["what"]) for each in fields(limits)]


def _of_this_server() -> Limits:
    try:
        return limits_from(os.environ)
    except ValueError as problem:
        raise SystemExit(f"The server cannot start: {problem}") from problem


LIMITS = _of_this_server()
