"""Conversations to carry on: two that come with the page, the page's own, and one from outside."""

from dataclasses import dataclass

import streamlit as st

from model import ExplainerError, transcript
from model.conversation import Message, has_template
from model.recall import LONGEST_ANSWER, LONGEST_LEAD, LONGEST_QUESTION, Probe
from pages.shared import frame, prose
from pages.shared.frame import Lesson
from pages.shared.state import View


@dataclass(frozen=True)
class Talk:
    """A conversation, and what was planted in it.

    Attributes:
        messages: the past, without the question.
        probes: the facts that are asked for; at least one.
        summary: one written by hand for the example, or an empty string.
    """

    messages: tuple[Message, ...]
    probes: tuple[Probe, ...]
    summary: str = ""


def _talk(*pairs: tuple[str, str]) -> tuple[Message, ...]:
    return tuple(
        Message(role, text, kind="history") for pair in pairs for role, text in zip(("user", "assistant"), pair)
    )


_DINNER = _talk(
    ("Hi! I am Priya, and I am allergic to peanuts.", "Nice to meet you, Priya. I will keep that in mind."),
    ("On Friday I cook for six friends.", "How nice! A big pot of curry is easy to share."),
    ("Which rice goes with a curry?", "Basmati rice goes well with a curry."),
    ("And what could be the dessert?", "Mango ice cream can be made the day before."),
    ("Where do I buy ripe mangoes?", "The market on the square has ripe ones."),
)
_PROBES = (
    Probe("What am I allergic to?", "You are allergic to", "peanuts", "the allergy"),
    Probe("What is my name?", "Your name is", "Priya", "the name"),
    Probe("On which day do I cook for my friends?", "You cook for your friends on", "Friday", "the day"),
    Probe("What should the curry not contain?", "The curry should not contain", "peanuts", "the curry"),
)
_BY_HAND = (
    "Priya cooks a curry with basmati rice for six friends on Friday, with mango ice cream for dessert. The market on "
    "the square sells ripe mangoes."
)
_MORE = _talk(
    ("How long does rice take to cook?", "About twelve minutes, and then it should rest for five."),
    ("Should I wash it first?", "Yes, wash it two or three times until the water is clear."),
    ("Which pot is best?", "A heavy pot with a lid keeps the heat even."),
    ("What can we drink with it?", "Cold tea with lemon is fresh and light."),
    ("How do I keep the tea cold?", "Make it in the morning and put it in the fridge."),
    ("How many chairs do I need?", "Seven chairs: six for your friends and one for you."),
    ("I only have five chairs.", "Two stools from the kitchen will do for one evening."),
    ("Which music would you play?", "Something quiet, so that people can still talk."),
    ("When should I start to cook?", "Start two hours before the first friend comes."),
    ("What if somebody is late?", "Keep the curry warm on a small flame; it only gets better."),
    ("How do I set the table?", "Put the large pot in the middle and small plates around it."),
    ("And candles?", "A few small candles make the room warm and friendly."),
    ("Can I prepare the vegetables before?", "Yes, cut them in the morning and keep them covered."),
    ("Thank you for your help!", "You are welcome. I hope it will be a good evening."),
)
TALKS = {"dinner": Talk(_DINNER, _PROBES, _BY_HAND), "long": Talk(_DINNER + _MORE, _PROBES)}
NAMES = {"dinner": "A dinner", "long": "A long talk", "chat": "The chat above", "own": "One of your own"}


def no_template_note(lesson: Lesson) -> None:
    """Said where a model was not made for conversations."""
    if not has_template(lesson.lm):
        prose.aside("This model has no chat template: messages are written as plain lines, User: and Assistant:.")


def chosen(lesson: Lesson, history: tuple[Message, ...]) -> Talk | None:
    """The choice of a conversation, and the conversation; None while there is none."""
    view = lesson.view
    offered = [name for name in NAMES if name != "chat" or history]
    if view.talk not in offered:
        view.talk = View.talk
    frame.bound_widget(
        st.segmented_control, view, "talk", "The conversation", options=offered, format_func=NAMES.get, required=True
    )
    if view.talk == "chat":
        prose.aside("The question and its answer are those of the sections above.")
        return Talk(history, (Probe(view.ask, view.begin, view.goal, "your question"),))
    return _own() if view.talk == "own" else TALKS[view.talk]


def _own() -> Talk | None:
    """A conversation pasted or loaded: it stays in this session and never goes into the address."""
    paste, load = st.columns([3, 2], gap="medium")
    with paste:
        st.text_area(
            "Paste a conversation",
            key="talk_paste",
            max_chars=transcript.MAX_BYTES,
            height=140,
            placeholder="User: My name is Priya.\nAssistant: Nice to meet you.\nUser: What is my name?",
        )
        st.button("Read it", key="talk_read", icon=":material/input:", on_click=_read_pasted)
    with load:
        st.file_uploader(
            "or load a file: JSON, JSON Lines or text, up to 200 kB",
            type=["json", "jsonl", "txt", "md"],
            key="talk_file",
            max_upload_size=1,
            on_change=_read_file,
        )
    if problem := st.session_state.get("talk_problem"):
        st.warning(prose.plain(problem), icon=":material/edit:")
    found = st.session_state.get("talk_own")
    if found is None:
        prose.aside("Paste or load a conversation to see it carried on. It stays in this session only.")
        return None
    prose.aside(
        "Read as {form}: {n} messages.{notes}",
        form=prose.literal(found.form),
        n=len(found.messages),
        notes=prose.literal("".join(f" {note}" for note in found.notes)),
    )
    return _with_question(found.messages)


def _with_question(messages: tuple[Message, ...]) -> Talk:
    """The past, and what is asked after it: its last message, if that is the user's, or another question."""
    last = messages[-1].text if messages[-1].role == "user" else ""
    if "talk_ask" not in st.session_state or st.session_state.get("talk_asked_of") is not messages:
        st.session_state.update(talk_asked_of=messages, talk_ask=last[:LONGEST_QUESTION], talk_begin="", talk_goal="")
    question, begin, answer = st.columns([3, 2, 2])
    with question:
        st.text_input("The next question", key="talk_ask", max_chars=LONGEST_QUESTION)
    with begin:
        st.text_input("The reply begins", key="talk_begin", max_chars=LONGEST_LEAD)
    with answer:
        st.text_input("and the right answer goes on", key="talk_goal", max_chars=LONGEST_ANSWER)
    state = st.session_state
    past = messages[:-1] if last and state.talk_ask == last[:LONGEST_QUESTION] else messages
    return Talk(past, (Probe(state.talk_ask, state.talk_begin, state.talk_goal, "your question"),))


def _read_pasted() -> None:
    _take(lambda: transcript.read(st.session_state.talk_paste or ""))


def _read_file() -> None:
    file = st.session_state.talk_file
    if file is not None:
        _take(lambda: transcript.read_bytes(file.getvalue()))


def _take(read) -> None:
    """Keep what was read; or keep what was there, and say what is wrong."""
    try:
        st.session_state.talk_own, st.session_state.talk_problem = read(), None
    except ExplainerError as problem:
        st.session_state.talk_problem = str(problem)
