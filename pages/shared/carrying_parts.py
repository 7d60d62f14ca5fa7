"""Four ways to carry the past: what each sends, what it costs, and whether the fact survives."""

from dataclasses import dataclass

import streamlit as st

from model import ExplainerError
from model.carrying import LONGEST_SUMMARY, WAYS, Carried, Summary, carried, turns_of, write_summary
from model.conversation import Message
from pages.shared import anatomy, frame, prose, survival_parts, ways_parts
from pages.shared.frame import MAX_TOKENS, Lesson
from pages.shared.state import View, write_address
from pages.shared.store import measurements
from pages.shared.talks import Talk, chosen, no_template_note
from pages.shared.ways_parts import Asked

EXAMPLES = (
    ("The window slid past it", "Only the last two turns are sent.", {"talk": "dinner", "probe": 0, "turns": 2}),
    ("The summary dropped it", "Everything but the constraint.", {"talk": "dinner", "probe": 0, "turns": 5}),
    (
        "Retrieval missed it",
        "The question shares no word with the turn that matters.",
        {"talk": "dinner", "probe": 3, "turns": 5, "hits": 2},
    ),
    ("The context is full", "More turns than fit.", {"talk": "long", "probe": 0, "turns": 2}),
)


def four_ways(lesson: Lesson, history: tuple[Message, ...] = ()) -> None:
    """The whole section.

    Args:
        history: the page's own conversation, offered beside the others if there is one.
    """
    st.header("Four ways to carry the past", anchor=False)
    prose.say(
        "What is not sent is not known. As a conversation grows, a service must choose what to send: all of it, its "
        "last turns, a summary, or the turns that seem relevant. Each choice saves tokens, and each can lose the one "
        "thing that mattered."
    )
    no_template_note(lesson)
    with st.container(horizontal=True, gap="small", key="carrying_examples"):
        for place, (label, why, changes) in enumerate(EXAMPLES):
            st.button(label, key=f"carrying_example_{place}", help=why, on_click=_take, args=(lesson.view, changes))
    talk = chosen(lesson, history)
    if talk is None:
        return
    if not turns_of(talk.messages)[1]:
        prose.aside("There is no turn before the question: nothing has to be carried.")
        return
    written = _summary(lesson, talk)
    _ways(lesson, talk, written)


def _take(view: View, changes: dict) -> None:
    for name, value in changes.items():
        setattr(view, name, value)


def _summary(lesson: Lesson, talk: Talk) -> Summary | None:
    """The summary as the open model writes it, when it is asked to."""
    lm = lesson.lm
    limit = min(MAX_TOKENS, lm.architecture.positions - 1)
    return anatomy.measured(
        ("summary", lm.key, lm.device, lm.dtype, talk.messages, limit),
        "summary",
        lambda: write_summary(lm, talk.messages, limit),
        lambda found: _written(lesson, found),
        button="Let the model write the summary",
        progress=lambda found: (min(1.0, len(found.ids) / 80), f"{len(found.ids)} tokens"),
    )


def _written(lesson: Lesson, found: Summary) -> None:
    prose.say("<b>The model's summary</b> {text}", kind="lesson said", text=found.text or "(nothing yet)")
    prose.aside(
        "Greedy, as written. It read {read:,} tokens and wrote {wrote}: {work:,.1f} × 10⁹ operations by formula, spent "
        "before any question is answered.{dropped}",
        read=found.prompt_tokens,
        wrote=len(found.ids),
        work=found.operations / 1e9,
        dropped=prose.Html(f" The {found.dropped} oldest turns did not fit into its request." if found.dropped else ""),
    )


@dataclass(frozen=True)
class _Choice:
    """What the controls of the section say.

    Attributes:
        turns, hits: of the window and of retrieval.
        summary: the text that is sent.
    """

    turns: int
    hits: int
    summary: str


@st.fragment
def _ways(lesson: Lesson, talk: Talk, written: Summary | None) -> None:
    """The controls and the four ways side by side. Only answers that nobody has asked for run the model."""
    view = lesson.view
    view.probe = min(view.probe, len(talk.probes) - 1)
    window, hits, fact = st.columns([2, 2, 5], vertical_alignment="bottom")
    with window:
        frame.bound_widget(st.number_input, view, "turns", "Turns in the window", min_value=1, max_value=20)
    with hits:
        frame.bound_widget(st.number_input, view, "hits", "Turns retrieved", min_value=1, max_value=10)
    if len(talk.probes) > 1:
        with fact:
            frame.bound_widget(
                st.segmented_control,
                view,
                "probe",
                "The fact that is asked for",
                options=range(len(talk.probes)),
                format_func=lambda place: talk.probes[place].name,
                required=True,
            )
    choice = _Choice(view.turns, view.hits, _edited(talk, written))
    probe = talk.probes[view.probe]
    if not probe.question.strip():
        prose.aside("Type the next question to see what is sent for it.")
        return
    try:
        asked = [_asked(lesson, talk, choice, place) for place in range(len(talk.probes))]
    except ExplainerError as problem:
        st.warning(prose.plain(str(problem)), icon=":material/edit:")
        return
    prose.say("Next the user asks: {question}", question=probe.question)
    if probe.answer.strip():
        survival_parts.survival(lesson, asked, view.probe)
    else:
        prose.aside("Type the right answer to see how likely it is under each way.")
    ways_parts.contexts(lesson, asked[view.probe], talk.messages)
    ways_parts.costs(lesson, asked[view.probe])
    write_address(view)


def _edited(talk: Talk, written: Summary | None) -> str:
    """The summary that is sent: the model's or the example's, until the visitor changes it."""
    first = written.text if written is not None else talk.summary
    source = "the model's" if written is not None else "written by hand for this example" if first else "none yet"
    return st.text_area(
        f"The summary that is sent ({source}; edit it)",
        value=first[:LONGEST_SUMMARY],
        max_chars=LONGEST_SUMMARY,
        height=80,
        key=f"summary_text_{hash((talk.messages, first))}",
    )


def _asked(lesson: Lesson, talk: Talk, choice: _Choice, place: int) -> Asked:
    """The four requests for one of the questions."""
    lm, probe = lesson.lm, talk.probes[place]
    room = probe.room(lm) if probe.answer.strip() else 1
    limit = min(MAX_TOKENS, lm.architecture.positions) - room

    def request(way: str) -> Carried:
        key = ("carried", lm.key, lm.device, lm.dtype, way, talk.messages, probe.question, limit, choice)
        return measurements().get(
            key,
            lambda: carried(
                lm,
                way,
                talk.messages,
                probe.question,
                limit=limit,
                turns=choice.turns,
                hits=choice.hits,
                summary=choice.summary,
            ),
        )

    return Asked(probe, {way: request(way) for way in WAYS if way != "summary" or choice.summary.strip()})
