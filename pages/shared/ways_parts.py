"""The four ways side by side: the messages that are sent, and what they cost."""

from dataclasses import dataclass

import streamlit as st

from model.carrying import WAYS, Carried, turns_of
from model.conversation import Message
from model.recall import Probe
from pages.shared import anatomy, prose
from pages.shared.chat_parts import exact_prompt
from pages.shared.frame import Lesson
from viz import carrying as figures
from viz.carrying import WayCost


@dataclass(frozen=True)
class Asked:
    """One question, and the request that each way makes of it.

    Attributes:
        probe: the question and its answer.
        requests: by way; without a summary that way is missing.
    """

    probe: Probe
    requests: dict[str, Carried]


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
            request = asked.requests.get(way)
            if request is None:
                prose.aside(RULES[way])
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
    if request.dropped:
        turns = (
            "<b>The context is full.</b> Left out, the oldest first, until the rest fits into {limit:,} tokens: turns "
            "{dropped} of {count}."
        )
    else:
        turns = "" if request.way == "summary" else "Turns sent: {kept} of {count}.{scores}"
    prose.say(
        "{rule}<br>{tokens:,} tokens · {work:,.1f} × 10⁹ operations of prefill · {cache:,.2f} MB of cache<br>" + turns,
        kind="aside facts",
        rule=prose.Html(RULES[request.way]),
        tokens=request.tokens,
        work=request.operations / 1e9,
        cache=request.cache_bytes / 1e6,
        kept=prose.Html(_ranges(request.kept) or "none"),
        dropped=prose.Html(_ranges(request.dropped)),
        count=count,
        limit=request.limit,
        scores=_scores(request),
    )
    with st.container(height=320, key=f"messages_{request.way}"):
        for message in request.prompt.messages:
            prose.say(
                "<b>{role}</b> {text}", kind="lesson said small", role=prose.literal(message.role), text=message.text
            )


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
