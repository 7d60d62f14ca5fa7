"""The one measurement of writing that several pages show: the same key, so it is made once."""

from collections.abc import Callable

from model import ExplainerError
from model.timing import Measurement, TimedWriting, measure_writing
from pages.shared import anatomy
from pages.shared.frame import Lesson

#: Tokens written, and how many times.
WRITTEN, TAKES = 16, 3


def writing(lesson: Lesson, show: Callable[[Measurement], None], button: str, both: bool = False) -> None:
    """Write on from the text, timed, on the page: once for everybody, and shown while it grows.

    Args:
        show: draws what has been measured so far.
        button: what the button says that begins it.
        both: with the cache and without; that takes long, so it waits for the button.
    """
    lm, view, tokens = lesson.lm, lesson.view, lesson.tokens
    drawn = len(view.continuation)
    anatomy.measured(
        ("writing", lm.key, lm.device, lm.dtype, tokens.ids, view.settings, drawn, both),
        "both_ways" if both else "writing",
        lambda: measure_writing(lm, tokens, view.settings, tokens=WRITTEN, takes=TAKES, both=both, first_number=drawn),
        show,
        button=button,
        progress=_progress,
        automatic=not both,
    )


def written() -> TimedWriting | None:
    """The writing with the cache that this page has measured, if it has come so far."""
    measurement = anatomy.latest("writing")
    return measurement and measurement.cached


def _progress(measurement: Measurement) -> tuple[float, str]:
    """How much of the measurement is done, and what is being done."""
    return measurement.done / measurement.planned, measurement.doing


def refusal(lesson: Lesson) -> str:
    """Why this text cannot be written on from; empty if it can."""
    try:
        lesson.lm.check_length(len(lesson.tokens) + WRITTEN)
    except ExplainerError as problem:
        return str(problem)
    return ""
