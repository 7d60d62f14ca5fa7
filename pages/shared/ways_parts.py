"""The four ways side by side: the answer's probability, the messages that are sent, and what they cost."""

from dataclasses import dataclass

import streamlit as st

from model.carrying import WAYS, Carried, answer_of, turns_of
from model.conversation import Answer, Message
from model.recall import Probe
from pages.shared import anatomy, prose
from pages.shared.chat_parts import exact_prompt
from pages.shared.frame import Lesson
from pages.shared.store import Kept, measurements
from viz import carrying as figures
from viz import recall as maps
from viz.carrying import WayCost
from viz.sampling import percent


@dataclass(frozen=True)
class Asked:
    """One question, and the request that each way makes of it.

    Attributes:
        probe: the question and its answer.
        requests: by way; without a summary that way is missing.
    """

    probe: Probe
    requests: dict[str, Carried]


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
    anatomy.figure(
        maps.number_map(
            values,
            maps.chance_words(values),
            rows,
            columns,
            row_title="",
            column_title="",
            colour_title="probability",
            limits=(0.0, 1.0),
            theme=lesson.theme,
        ),
        key="survival",
        title="Does the fact survive? The probability of its answer, {answer}, under each way",
        mark=prose.FROM_THE_MODEL,
        alt="; ".join(f"{WAYS[way]}: {each.probability:.4f}" for way, each in answers.items()),
        table=lambda: maps.map_table(values, rows, columns, "fact"),
        answer=chosen.probe.answer,
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
        + ("No way does better. " if best == "everything" else "{way} does better: <b>{chance}</b>, {fewer:,} tokens. ")
        + ("The words themselves do not stand in: {gone}." if without else "All ways still hold the words themselves.")
    )
    prose.read_aloud(
        template,
        lead=asked.probe.lead or "nothing",
        answer=asked.probe.answer,
        whole=prose.Html(percent(whole)),
        tokens=asked.requests["everything"].tokens,
        way=prose.Html(WAYS[best]),
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
    anatomy.figure(
        maps.number_map(
            values,
            maps.chance_words(values),
            rows,
            columns,
            row_title="",
            column_title="the answer's tokens; their product last",
            colour_title="probability",
            limits=(0.0, 1.0),
            theme=lesson.theme,
        ),
        key="survival_tokens",
        title="The answer {answer}, each token given those before it",
        mark=prose.FROM_THE_MODEL,
        alt="; ".join(f"{row}: {line[-1]:.4f}" for row, line in zip(rows, values, strict=True)),
        table=lambda: maps.map_table(values, rows, columns, "way"),
        answer=asked.probe.answer,
    )


RULES = {
    "everything": "All messages, from the first.",
    "window": "The last turns only; whatever stood before is not sent.",
    "summary": "One text in place of all turns.",
    "retrieval": "The turns that share words with the question, rare words counting more (BM25).",
}


def contexts(lesson: Lesson, asked: Asked, messages: tuple[Message, ...]) -> None:
    """What each way sends, message by message."""
    count = len(turns_of(messages)[1])
    for column, way in zip(st.columns(4, gap="medium"), WAYS, strict=True):
        with column, st.container(key=f"way_{way}", gap="small"):
            st.subheader(WAYS[way], anchor=False)
            prose.aside(RULES[way])
            request = asked.requests.get(way)
            if request is None:
                prose.aside("No summary yet: let the model write one above, or type one.")
            else:
                _context(request, count)
    if box := anatomy.look_inside("the exact tokens of one way's request", "way_tokens"):
        with box:
            way = st.segmented_control(
                "Way",
                list(asked.requests),
                default="everything",
                format_func=WAYS.get,
                required=True,
                key="way_shown",
                label_visibility="collapsed",
            )
            exact_prompt(asked.requests[way if way in asked.requests else "everything"].prompt)


def _context(request: Carried, count: int) -> None:
    prose.aside(
        "{tokens:,} tokens · {work:,.1f} × 10⁹ operations of prefill · {cache:,.2f} MB of cache",
        tokens=request.tokens,
        work=request.operations / 1e9,
        cache=request.cache_bytes / 1e6,
    )
    if request.dropped:
        prose.aside(
            "<b>The context is full.</b> Left out, the oldest first, until the rest fits into {limit:,} tokens: turns "
            "{which} of {count}.",
            which=prose.Html(_ranges(request.dropped)),
            limit=request.limit,
            count=count,
        )
    elif request.way != "summary":
        prose.aside(
            "Turns sent: {which} of {count}.{scores}", which=_which(request), count=count, scores=_scores(request)
        )
    with st.container(height=320, key=f"messages_{request.way}"):
        for message in request.prompt.messages:
            prose.say(
                "<b>{role}</b> {text}", kind="lesson said small", role=prose.literal(message.role), text=message.text
            )


def _which(request: Carried) -> prose.Html:
    return prose.Html(_ranges(request.kept) or "none")


def _scores(request: Carried) -> prose.Html:
    if not request.scores:
        return prose.Html("")
    told = ", ".join(f"{request.scores[place]:.2f}" for place in request.kept)
    return prose.Html(f" Scores: {told}." if told else " No turn shares a word with the question.")


def _ranges(places: tuple[int, ...]) -> str:
    """Turn numbers as people count them, runs drawn together: 1–3, 5."""
    parts: list[list[int]] = []
    for place in places:
        if parts and place == parts[-1][1] + 1:
            parts[-1][1] = place
        else:
            parts.append([place, place])
    return ", ".join(f"{first + 1}" if first == last else f"{first + 1}–{last + 1}" for first, last in parts)


def costs(lesson: Lesson, asked: Asked) -> None:
    """Tokens, work and cache of the ways as bars and as a table."""
    ways = [
        WayCost(WAYS[way], request.tokens, request.operations, request.cache_bytes)
        for way, request in asked.requests.items()
    ]
    anatomy.figure(
        figures.way_bars(ways, lesson.theme),
        key="way_costs",
        title="What each way costs for this one reply",
        mark=prose.BY_FORMULA,
        alt="; ".join(f"{way.name}: {way.tokens} tokens" for way in ways),
        table=lambda: figures.way_table(ways),
    )
    least = min(ways, key=lambda way: way.tokens)
    prose.read_aloud(
        "{way} is the shortest: {few:,} tokens in place of {many:,}, {work:.0%} of the prefill's operations and "
        "{cache:.0%} of the cache. But a text whose beginning changes from turn to turn, as a window, a summary or "
        "retrieved turns do, cannot be served from a kept cache: the cheaper request may be the dearer one.",
        way=prose.Html(least.name),
        few=least.tokens,
        many=ways[0].tokens,
        work=least.operations / ways[0].operations,
        cache=least.cache_bytes / ways[0].cache_bytes,
    )
