"""The one measurement of writing that several pages show: the same key, so it is made once."""

from collections.abc import Hashable, Iterator

from model import ExplainerError
from model.timing import Measurement, measure_writing
from pages.shared.frame import Lesson

#: Tokens written, and how many times.
WRITTEN, TAKES = 16, 3


def writing_key(lesson: Lesson, both: bool = False) -> Hashable:
    """All that the measurement depends on."""
    lm, view = lesson.lm, lesson.view
    return ("writing", lm.key, lm.device, lm.dtype, lesson.tokens.ids, view.settings, len(view.continuation), both)


def writing_work(lesson: Lesson, both: bool = False) -> Iterator[Measurement]:
    """Write on from the text, timed."""
    lm, tokens, settings = lesson.lm, lesson.tokens, lesson.view.settings
    first_number = len(lesson.view.continuation)
    return measure_writing(lm, tokens, settings, tokens=WRITTEN, takes=TAKES, both=both, first_number=first_number)


def writing_progress(measurement: Measurement) -> tuple[float, str]:
    """How much of the measurement is done, and what is being done."""
    return measurement.done / measurement.planned, measurement.doing


def refusal(lesson: Lesson) -> str:
    """Why this text cannot be written on from; empty if it can."""
    try:
        lesson.lm.check_length(len(lesson.tokens) + WRITTEN)
    except ExplainerError as problem:
        return str(problem)
    return ""
