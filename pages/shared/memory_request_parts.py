"""What a memory puts into the next request, and the request after it was deleted, side by side."""

import streamlit as st

from model import ExplainerError
from model.carrying import answer_of
from model.conversation import Prompt
from model.cost import beyond
from model.memory_store import Memory, request, sent_text
from model.recall import Probe
from pages.shared import anatomy, prose
from pages.shared.chat_parts import exact_prompt
from pages.shared.frame import MAX_TOKENS, Lesson
from pages.shared.results import Kept
from pages.shared.store import measurements
from viz import recall as figures
from viz.sampling import percent


def next_request(lesson: Lesson, rows: tuple[Memory, ...], deleted: tuple[Memory, ...]) -> None:
    """The request with the memories and one without, as text, with their costs and the answer's probability.

    Args:
        rows: what is kept.
        deleted: what was deleted last; if there is something, the requests before and after are compared.
    """
    lm, view = lesson.lm, lesson.view
    if not view.memo_ask.strip():
        prose.aside("Type a question to see the request that it makes.")
        return
    if not rows and not deleted:
        prose.aside("With nothing kept, the next request holds the question alone. Keep a sentence to see it change.")
        return
    pairs = (
        (("before it was deleted", _before(rows, deleted)), ("now, after deleting", rows))
        if deleted
        else (("with the memories", rows), ("without a memory", ()))
    )
    try:
        prompts = {name: request(lm, kept, view.memo_ask) for name, kept in pairs}
    except ExplainerError as problem:
        st.warning(prose.plain(str(problem)), icon=":material/edit:")
        return
    for column, (name, prompt) in zip(st.columns(2, gap="medium"), prompts.items(), strict=True):
        with column:
            st.subheader(f"The next request, {name}", anchor=False)
            st.code(sent_text(lm, prompt), language=None, wrap_lines=True)
    if deleted:
        _proof(lesson, deleted, prompts["now, after deleting"])
    _cost(lesson, prompts)
    _probabilities(lesson, prompts)
    if box := anatomy.look_inside("the same, token by token", "memory_tokens"):
        with box:
            exact_prompt(next(iter(prompts.values())))


def _before(rows: tuple[Memory, ...], deleted: tuple[Memory, ...]) -> tuple[Memory, ...]:
    return tuple(sorted({row.id: row for row in (*deleted, *rows)}.values(), key=lambda row: row.id))


def _proof(lesson: Lesson, deleted: tuple[Memory, ...], prompt: Prompt) -> None:
    """The deleted words are looked for in what is sent now."""
    sent = sent_text(lesson.lm, prompt)
    still = [row.text for row in deleted if row.text in sent]
    if still:
        prose.read_aloud(
            "Deleted, but {text} still stands in the request: the question or another memory holds the same words.",
            text=still[0],
        )
    else:
        prose.read_aloud(
            "Looked for in the request as it is sent now: {text} does <b>not occur</b> in its {n} characters. The "
            "model cannot know it any more; its weights never did.",
            text=deleted[0].text if len(deleted) == 1 else prose.Html(f"each of the {len(deleted)} deleted sentences"),
            n=len(sent),
        )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Forget this comparison, too", key="memory_forget", on_click=_forget)
        prose.aside("The row is gone from the database. To compare, this page still holds its words, here only.")


def _forget() -> None:
    st.session_state.memory_deleted = ()


def _cost(lesson: Lesson, prompts: dict[str, Prompt]) -> None:
    more, fewer = (len(prompt) for prompt in prompts.values())
    operations, cache = beyond(lesson.lm.architecture, more, fewer, lesson.lm.bytes_per_value)
    prose.aside(
        "{more:,} and {fewer:,} tokens. The difference is sent with every request: {work:+,.1f} × 10⁹ operations of "
        "prefill and {cache:+,.2f} MB of cache each time, by formula. (With a system message of its own, a request "
        "loses the one that the model's template would have put there.)",
        more=more,
        fewer=fewer,
        work=operations / 1e9,
        cache=cache / 1e6,
    )


def _probabilities(lesson: Lesson, prompts: dict[str, Prompt]) -> None:
    """The answer under both requests, one pass each, once for everybody."""
    lm, view = lesson.lm, lesson.view
    probe = Probe(view.memo_ask, view.memo_begin, view.memo_goal)
    if not probe.answer.strip():
        prose.aside("Type the right answer to see how likely it is.")
        return

    def chance(prompt: Prompt) -> float:
        lm.check_length(len(prompt) + probe.room(lm), MAX_TOKENS)
        key = ("memory's answer", lm.key, lm.device, lm.dtype, prompt.ids, probe.lead, probe.answer)
        return measurements().get(key, lambda: Kept(answer_of(lm, prompt, probe))).value.probability

    try:
        values = [chance(prompt) for prompt in prompts.values()]
    except ExplainerError as problem:
        st.warning(prose.plain(f"{problem} Delete a memory, or ask something shorter."), icon=":material/edit:")
        return
    names = list(prompts)
    anatomy.figure(
        figures.chance_bars(names, values, lesson.theme),
        key="memory_chances",
        title="The probability of {answer} after {lead}",
        mark=prose.FROM_THE_MODEL,
        alt="; ".join(f"{name}: {value:.4f}" for name, value in zip(names, values, strict=True)),
        table=lambda: figures.chance_table(names, values),
        answer=view.memo_goal,
        lead=view.memo_begin or "nothing",
    )
    prose.read_aloud(
        "{answer} has <b>{first}</b> {one}, and <b>{second}</b> {other}. The weights were the same in both.",
        answer=view.memo_goal,
        first=prose.Html(percent(values[0])),
        one=prose.Html(names[0]),
        second=prose.Html(percent(values[1])),
        other=prose.Html(names[1]),
    )
