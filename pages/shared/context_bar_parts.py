"""What fills the context, and the same question without the past."""

import streamlit as st

from model import ExplainerError
from model.chat import Share, shares
from model.conversation import Answer, Message, Prompt, answer_probability, prompt_of
from pages.shared import anatomy, frame, prose
from pages.shared.chat_parts import exact_prompt
from pages.shared.frame import MAX_TOKENS, Lesson
from pages.shared.results import Kept
from pages.shared.store import measurements
from viz import chat as figures
from viz.chat import Stretch
from viz.sampling import percent

#: Which switch of the view leaves a kind of message in.
SWITCHES = {"system": "with_system", "document": "with_document", "history": "with_history"}


def asked(lesson: Lesson, history: tuple[Message, ...]) -> dict[str, list[Message]]:
    """The messages of a request by kind, all of them: system, document, history, question."""
    view = lesson.view
    document = f"Use this document: {view.document}" if view.document else ""
    return {
        "system": [Message("system", view.system, kind="system")] if view.system else [],
        "document": [
            Message("user", document, kind="document"),
            Message("assistant", "I have read it.", kind="document"),
        ]
        if document
        else [],
        "history": [message for message in history if message.role != "system"],
        "question": [Message("user", view.ask, kind="question")],
    }


def request(lesson: Lesson, history: tuple[Message, ...], without: str = "") -> Prompt:
    """The prompt of the question, with what is switched on, and ``without`` one kind more."""
    parts = asked(lesson, history)
    kept = [
        message
        for kind, messages in parts.items()
        for message in messages
        if kind != without and (kind not in SWITCHES or getattr(lesson.view, SWITCHES[kind]))
    ]
    prompt = prompt_of(lesson.lm, kept)
    lesson.lm.check_length(len(prompt) + 64, MAX_TOKENS)
    return prompt


def answer_of(lesson: Lesson, prompt: Prompt) -> Answer:
    """The probability of the answer asked for, after the beginning given; worked out once for everybody."""
    lm, view = lesson.lm, lesson.view
    ids = (*prompt.ids, *lm.tokenizer(view.begin, add_special_tokens=False)["input_ids"])
    key = ("answer", lm.key, lm.device, lm.dtype, ids, view.goal)
    return measurements().get(key, lambda: Kept(answer_probability(lm, ids, view.goal))).value


def inputs(lesson: Lesson) -> None:
    """The question, the answer to look for, and the parts of the context with their switches."""
    view = lesson.view
    question, begin, answer = st.columns([3, 2, 2])
    with question:
        frame.bound_widget(st.text_input, view, "ask", "Question", max_chars=400)
    with begin:
        frame.bound_widget(st.text_input, view, "begin", "The reply begins", max_chars=200)
    with answer:
        frame.bound_widget(st.text_input, view, "goal", "and the right answer goes on", max_chars=100)
    frame.bound_widget(
        st.text_area, view, "document", "A retrieved document (may be empty)", max_chars=2_000, height=100
    )
    with st.container(horizontal=True):
        for kind, name in SWITCHES.items():
            frame.bound_widget(st.toggle, view, name, f"with the {kind}", read=int)


def context_section(lesson: Lesson, history: tuple[Message, ...]) -> None:
    """The bar, its table, and what the answer's probability is with what is switched on."""
    try:
        prompt = request(lesson, history)
        answer = answer_of(lesson, prompt)
    except ExplainerError as problem:
        st.warning(prose.plain(str(problem)), icon=":material/edit:")
        return
    found = shares(lesson.lm, prompt)
    bar(lesson, prompt, found)
    context_sentence(lesson, prompt, found, answer)
    if box := anatomy.look_inside("the exact prompt of this request", "context_prompt"):
        with box:
            exact_prompt(prompt)


def bar(lesson: Lesson, prompt: Prompt, found: list[Share]) -> None:
    """What fills the context."""
    drawn = [Stretch(each.name, each.tokens, each.of_operations, each.of_cache) for each in found]
    anatomy.figure(
        figures.context_bar(drawn, lesson.lm.architecture.positions, lesson.theme),
        key="context_bar",
        title="What fills the context of this request: {n} tokens of at most {most:,}",
        mark=prose.FROM_THE_MODEL,
        alt="; ".join(f"{each.name} {each.tokens} tokens" for each in found),
        table=lambda: figures.context_table(drawn),
        n=len(prompt),
        most=lesson.lm.architecture.positions,
    )


def context_sentence(lesson: Lesson, prompt: Prompt, found: list[Share], answer: Answer) -> None:
    """The bar read aloud, with what the answer is worth under this context."""
    largest = max(found, key=lambda share: share.tokens)
    view = lesson.view
    prose.read_aloud(
        "The largest part is the {name}: {tokens} of {all} tokens, {work:.0%} of the prefill's operations and "
        "{cache:.0%} of the cache. Under this context, after {begin}, the answer {answer} has a "
        "probability of <b>{chance}</b>.",
        name=prose.Html(largest.name),
        tokens=largest.tokens,
        all=len(prompt),
        work=largest.of_operations,
        cache=largest.of_cache,
        begin=view.begin or "nothing",
        answer=view.goal,
        chance=prose.Html(percent(answer.probability)),
    )


def stateless(lesson: Lesson, history: tuple[Message, ...]) -> None:
    """The same question in a fresh request, without the history."""
    try:
        with_history = answer_of(lesson, request(lesson, history))
        without = answer_of(lesson, request(lesson, history, without="history"))
    except ExplainerError as problem:
        st.warning(prose.plain(str(problem)), icon=":material/edit:")
        return
    labels = [lesson.lm.vocabulary.labels[id] for id in with_history.ids]
    series = {"with the history": with_history.probabilities, "in a fresh request": without.probabilities}
    anatomy.figure(
        figures.answer_columns(labels, series, lesson.theme),
        key="stateless",
        title="The probability of the answer {answer}, token by token, after {begin}",
        mark=prose.FROM_THE_MODEL,
        alt=f"With the history {with_history.probability:.4f}, without {without.probability:.4f}.",
        table=lambda: figures.answer_table(labels, series),
        answer=lesson.view.goal,
        begin=lesson.view.begin or "nothing",
    )
    stateless_sentence(with_history.probability, without.probability)


def stateless_sentence(with_history: float, without: float) -> None:
    """The two probabilities, and what follows from them, whichever way they go."""
    values = {"with_it": prose.Html(percent(with_history)), "without": prose.Html(percent(without))}
    text = "With the history the answer has <b>{with_it}</b>, in a fresh request <b>{without}</b>"
    if with_history > without:
        prose.read_aloud(
            text + ": {times:,.0f} times less. Nothing was stored in the model by the first conversation. What it "
            "seems to remember is what is sent again.",
            times=with_history / without if without else float("inf"),
            **values,
        )
        return
    prose.read_aloud(
        text + ". Here the history does not help: a small model is easily led elsewhere by what was said.", **values
    )
