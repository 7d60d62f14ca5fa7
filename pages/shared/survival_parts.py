"""Whether a fact survives each of the four ways: the probability of its answer, and token by token."""

import streamlit as st

from model.carrying import WAYS, Carried, answer_of
from model.conversation import Answer
from model.recall import Probe
from pages.shared import anatomy, prose
from pages.shared.frame import Lesson
from pages.shared.results import Kept
from pages.shared.store import measurements
from pages.shared.ways_parts import Asked
from viz import recall as maps
from viz.sampling import percent


def _key(lesson: Lesson, request: Carried, probe: Probe) -> tuple:
    lm = lesson.lm
    return ("way's answer", lm.key, lm.device, lm.dtype, request.prompt.ids, probe.lead, probe.answer)


def _answer(lesson: Lesson, request: Carried, probe: Probe) -> Answer:
    """One pass of the model, once for everybody."""
    key = _key(lesson, request, probe)
    return measurements().get(key, lambda: Kept(answer_of(lesson.lm, request, probe))).value


def survival(lesson: Lesson, asked: list[Asked], selected: int) -> None:
    """The map of facts and ways: the selected fact's row is asked for, the others when a button is clicked."""
    missing = [
        (each, request)
        for place, each in enumerate(asked)
        for request in each.requests.values()
        if place != selected and measurements().find(_key(lesson, request, each.probe)) is None
    ]
    if missing:
        _ask_all(lesson, missing)
    chosen = asked[selected]
    answers = {way: _answer(lesson, request, chosen.probe) for way, request in chosen.requests.items()}
    values = [_row(lesson, each) for each in asked]
    rows = [each.probe.name or each.probe.answer for each in asked]
    columns = list(WAYS.values())
    _map(
        lesson,
        "survival",
        "Does the fact survive? The probability of its answer, {answer}, under each way",
        values,
        (rows, "fact"),
        (columns, ""),
        answer=chosen.probe.answer,
        alt="; ".join(f"{WAYS[way]}: {each.probability:.4f}" for way, each in answers.items()),
    )
    if "summary" not in chosen.requests:
        prose.aside("The summary's column is empty: there is no summary yet.")
    _sentence(chosen, answers)
    if box := anatomy.look_inside("the answer, token by token", "survival_inside"):
        with box:
            _tokens(lesson, chosen, answers)


def _ask_all(lesson: Lesson, missing: list[tuple[Asked, Carried]]) -> None:
    """A button that asks for the facts not asked for yet, one pass each; another click anywhere stops it."""
    place = st.empty()
    if not place.button(f"Ask for every fact ({len(missing)} more)", key="ask_all", icon=":material/timer:"):
        return
    for done, (each, request) in enumerate(missing):
        place.progress(done / len(missing), f"{done} of {len(missing)}")
        _answer(lesson, request, each.probe)
    place.empty()


def _row(lesson: Lesson, asked: Asked) -> list[float]:
    row = []
    for way in WAYS:
        request = asked.requests.get(way)
        found = request and measurements().find(_key(lesson, request, asked.probe))
        row.append(found.value.probability if found else float("nan"))
    return row


def holds(request: Carried, answer: str) -> bool:
    """Whether the answer's words stand anywhere in what is sent."""
    wanted = answer.strip().casefold()
    return any(wanted in message.text.casefold() for message in request.prompt.messages)


def _sentence(asked: Asked, answers: dict[str, Answer]) -> None:
    """The selected fact read aloud."""
    best = max(answers, key=lambda way: answers[way].probability)
    without = [WAYS[way].lower() for way, request in asked.requests.items() if not holds(request, asked.probe.answer)]
    whole = answers["everything"].probability
    template = (
        "After {lead}, the answer {answer} has <b>{whole}</b> when everything is sent, with {tokens:,} tokens. "
        + (
            "No way does better. "
            if best == "everything"
            else "The best is <b>{chance}</b>: {way}, with {fewer:,} tokens. "
        )
        + ("The words themselves do not stand in: {gone}." if without else "All ways still hold the words themselves.")
    )
    prose.read_aloud(
        template,
        lead=asked.probe.lead or "nothing",
        answer=asked.probe.answer,
        whole=prose.Html(percent(whole)),
        tokens=asked.requests["everything"].tokens,
        way=prose.Html(WAYS[best].lower()),
        chance=prose.Html(percent(answers[best].probability)),
        fewer=asked.requests[best].tokens,
        gone=prose.Html(", ".join(f"{name} ({percent(_of(answers, name))})" for name in without)),
    )


def _of(answers: dict[str, Answer], name: str) -> float:
    return next(each.probability for way, each in answers.items() if WAYS[way].lower() == name)


def _tokens(lesson: Lesson, asked: Asked, answers: dict[str, Answer]) -> None:
    labels = lesson.lm.vocabulary.labels
    ways = list(answers)
    columns = [labels[id] for id in answers[ways[0]].ids] + ["all together"]
    values = [[*answers[way].probabilities, answers[way].probability] for way in ways]
    rows = [WAYS[way] for way in ways]
    _map(
        lesson,
        "survival_tokens",
        "The answer {answer}, each token given those before it",
        values,
        (rows, "way"),
        (columns, "the answer's tokens; their product last"),
        answer=asked.probe.answer,
        alt="; ".join(f"{row}: {line[-1]:.4f}" for row, line in zip(rows, values, strict=True)),
    )


def _map(
    lesson: Lesson,
    key: str,
    title: str,
    values: list[list[float]],
    rows: tuple[list[str], str],
    columns: tuple[list[str], str],
    *,
    answer: str,
    alt: str,
) -> None:
    """A map of probabilities.

    Args:
        rows: their names, and what they are, for the table.
        columns: their names, and the title of their axis.
    """
    (row_names, what), (column_names, column_title) = rows, columns
    anatomy.figure(
        maps.number_map(
            values,
            maps.chance_words(values),
            row_names,
            column_names,
            row_title="",
            column_title=column_title,
            limits=(0.0, 1.0),
            theme=lesson.theme,
        ),
        key=key,
        title=title,
        mark=prose.FROM_THE_MODEL,
        alt=alt,
        table=lambda: maps.map_table(values, row_names, column_names, what),
        answer=answer,
    )
