"""The planner turned on this machine and the open model: what it predicts, beside what was timed."""

from model.machine import Roofline
from model.predictions import Prediction, predictions, reached
from pages.shared import anatomy, machine_parts, prose
from pages.shared.frame import Lesson
from viz import plan_bars as figures


def section(lesson: Lesson) -> None:
    """The measurement, shared with the page on prefill and decode, and what the planner would have said."""
    prose.say(
        "The same formulas for this machine and {model}: its matrix rate and bandwidth are measured, not taken from a "
        "data sheet, and all of them is put in. Then prefills and decodes are timed.",
        model=prose.literal(lesson.lm.title),
    )
    state = machine_parts.measured_roofline(lesson, lambda found: _figure(lesson, found))
    if state is not None:
        _aloud(lesson, state)


def _predictions(lesson: Lesson, state: Roofline) -> list[Prediction]:
    return list(predictions(lesson.lm.architecture, lesson.lm.bytes_per_value, state))


def _figure(lesson: Lesson, state: Roofline) -> None:
    found = _predictions(lesson, state)
    if not found:
        return
    names = [_name(each) for each in found]
    predicted, timed = [1e3 * each.predicted for each in found], [1e3 * each.timed for each in found]
    anatomy.figure(
        figures.predicted_chart(names, predicted, timed, lesson.theme),
        key="plan_predicted",
        title="{model} on this machine: predicted by the planner, and timed; beside each pair, timed / predicted",
        mark=prose.TIMED_AND_FORMULA,
        alt="; ".join(f"{name}: timed {each.ratio:.1f} times the prediction" for name, each in zip(names, found)),
        table=lambda: figures.predicted_table(names, predicted, timed),
        model=prose.literal(lesson.lm.title),
    )


def _name(each: Prediction) -> str:
    if each.kind == "prefill":
        return f"prefill, {each.size:,} tokens"
    return f"decode, {each.size:,} request" + ("s" if each.size > 1 else "")


def _aloud(lesson: Lesson, state: Roofline) -> None:
    found = reached(_predictions(lesson, state))
    if found is None:
        return
    prose.read_aloud(
        "Prefills took {prefill_low:.1f} to {prefill_high:.1f} times what the planner says, decodes {decode_low:.1f} "
        "to {decode_high:.1f} times. Turned round, this model reached about {rate:.0%} of the matrix rate in its "
        "longest prefill and {band:.0%} of the bandwidth in its decodes: such shares are what a plan has to assume.",
        prefill_low=found.prefills[0],
        prefill_high=found.prefills[1],
        decode_low=found.decodes[0],
        decode_high=found.decodes[1],
        rate=found.matrix_share,
        band=found.bandwidth_share,
    )
    prose.aside(
        "A prediction below what was timed leaves out the start of some hundred small products in {layers} layers; one "
        "above counts two operations for every parameter and token, though a row of the embedding table is only "
        "looked up and the last matrix is used for the last token alone.",
        layers=lesson.lm.architecture.layers,
    )
