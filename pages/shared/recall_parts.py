"""Does more context help? One fact at several depths of contexts of several lengths."""

import streamlit as st

from model import ExplainerError
from model.filler import MAX_CHARACTERS, sentences_of
from model.recall import (
    LONGEST_ANSWER,
    LONGEST_FACT,
    LONGEST_LEAD,
    LONGEST_QUESTION,
    Probe,
    Recalled,
    lengths_that_fit,
    recall,
)
from pages.shared import anatomy, frame, prose
from pages.shared.frame import Lesson
from pages.shared.limits import LIMITS
from pages.shared.recall_maps import COLUMNS, SHORT, maps
from pages.shared.state import View
from pages.shared.store import Points, gathered
from pages.shared.talks import no_template_note

REACHES = tuple(reach for reach in (128, 256, 512, 1024, 2048) if reach <= LIMITS.one_pass)
#: Other sentences of the same form, one of which is asked for.
LOOK_ALIKES = " ".join(
    f"The secret code of the {place} is {code}."
    for place, code in (
        ("garden", 5386),
        ("library", 1904),
        ("harbour", 8265),
        ("bakery", 3317),
        ("museum", 6042),
        ("station", 2759),
        ("school", 9138),
        ("hotel", 4470),
        ("bridge", 7615),
        ("tower", 1283),
    )
)
EXAMPLES: tuple[tuple[str, str, dict], ...] = (
    ("A code", "a number that nobody can guess", {}),
    (
        "A hiding place",
        "words that could have been others",
        {
            "fact": "The key is under the blue flowerpot.",
            "fact_ask": "Where is the key?",
            "fact_begin": "The key is under the",
            "fact_goal": "blue flowerpot",
        },
    ),
    (
        "An allergy",
        "a word that even a guess may hit",
        {
            "fact": "Anna is allergic to peanuts.",
            "fact_ask": "What is Anna allergic to?",
            "fact_begin": "Anna is allergic to",
            "fact_goal": "peanuts",
        },
    ),
    ("Among look-alikes", "the filler holds other codes", {"hay": LOOK_ALIKES}),
)
FIELDS = ("fact", "fact_ask", "fact_begin", "fact_goal", "hay")


def does_context_help(lesson: Lesson) -> None:
    """The whole section: what is asked, the measurement with its maps, and one cell opened up."""
    st.header("Does more context help?", anchor=False)
    prose.say(
        "One sentence that matters is put among others that do not, early or late, in a short text or a long one. Then "
        "the model is asked for it. If all of the context counted alike, every cell below would hold the same number."
    )
    no_template_note(lesson)
    _controls(lesson)
    shown = st.segmented_control(
        "Show the probability of", list(SHORT), default="answer", format_func=SHORT.get, required=True, key="recall_of"
    )
    try:
        probe, lengths = _checked(lesson)
    except ExplainerError as problem:
        st.warning(prose.plain(str(problem)), icon=":material/edit:")
        return
    view, lm = lesson.view, lesson.lm
    sentences = sentences_of(view.hay)
    found = anatomy.measured(
        ("recall", lm.key, lm.device, lm.dtype, view.fact, probe, sentences, tuple(lengths)),
        "recall",
        lambda: gathered(recall(lm, view.fact, probe, sentences, lengths), len(lengths) * len(COLUMNS)),
        lambda points: maps(lesson, points, shown),
        button=f"Measure {len(lengths) * len(COLUMNS)} placings, about {_tokens_to_read(lengths):,} tokens to read",
        progress=lambda points: _progress(points, lengths),
    )
    if found is not None and (box := anatomy.look_inside("one placing, token by token", "recall_inside")):
        with box:
            _one_cell(lesson, found.items)


def _controls(lesson: Lesson) -> None:
    view = lesson.view
    with st.container(horizontal=True, gap="small", key="recall_examples"):
        for place, (label, why, changes) in enumerate(EXAMPLES):
            st.button(label, key=f"recall_example_{place}", help=why, on_click=_take, args=(view, changes))
    fact, question = st.columns(2)
    with fact:
        frame.bound_widget(st.text_input, view, "fact", "The fact", max_chars=LONGEST_FACT)
    with question:
        frame.bound_widget(st.text_input, view, "fact_ask", "The question", max_chars=LONGEST_QUESTION)
    begin, answer, reach = st.columns(3, vertical_alignment="bottom")
    with begin:
        frame.bound_widget(st.text_input, view, "fact_begin", "The reply begins", max_chars=LONGEST_LEAD)
    with answer:
        frame.bound_widget(st.text_input, view, "fact_goal", "and goes on", max_chars=LONGEST_ANSWER)
    with reach:
        view.reach = min(view.reach, REACHES[-1])  # a link may come from a server that allows more
        frame.bound_widget(
            st.selectbox, view, "reach", "Up to … tokens of filler", options=REACHES, format_func="{:,}".format
        )
    with st.expander("The filler", icon=":material/notes:"):
        frame.bound_widget(
            st.text_area,
            view,
            "hay",
            "Sentences of your own; empty takes ordinary ones",
            max_chars=MAX_CHARACTERS,
            height=100,
        )


def _take(view: View, changes: dict) -> None:
    for name in FIELDS:
        setattr(view, name, changes.get(name, getattr(View, name)))


def _checked(lesson: Lesson) -> tuple[Probe, list[int]]:
    """What is asked, and the lengths that the model was made for; a sentence on those left out.

    Raises:
        ExplainerError: if something is missing, or nothing fits.
    """
    view, lm = lesson.view, lesson.lm
    if not view.fact.strip() or not view.fact_ask.strip():
        raise ExplainerError("A fact and a question about it are needed. Type both.")
    probe = Probe(view.fact_ask, view.fact_begin, view.fact_goal)
    probe.answer_text(lm)
    wanted = [view.reach // part for part in (8, 4, 2, 1)]
    lengths = lengths_that_fit(lm, view.fact, probe, wanted)
    if not lengths:
        raise ExplainerError(
            f"{lm.title} was made for {lm.architecture.positions:,} tokens; not even {wanted[0]} of filler fit beside "
            "the fact. Choose less filler or shorten the fact."
        )
    if len(lengths) < len(wanted):
        prose.aside(
            "Left out: {lengths} tokens of filler. The model was made for {most:,} positions.",
            lengths=prose.Html(", ".join(f"{each:,}" for each in wanted[len(lengths) :])),
            most=lm.architecture.positions,
        )
    return probe, lengths


#: Tokens around the filler, roughly: fact, question, template.
AROUND = 60


def _tokens_to_read(lengths: list[int]) -> int:
    return len(COLUMNS) * sum(length + AROUND for length in lengths)


def _progress(points: Points, lengths: list[int]) -> tuple[float, str]:
    read = sum(each.length + AROUND for each in points.items)
    return min(1.0, read / _tokens_to_read(lengths)), f"{len(points.items)} of {points.planned} placings"


def _one_cell(lesson: Lesson, items: tuple[Recalled, ...]) -> None:
    """One placing: the product of its tokens' probabilities."""
    labels = lesson.lm.vocabulary.labels

    def name(place: int) -> str:
        cell = items[place]
        where = "without the fact" if cell.depth is None else f"fact at {cell.depth:.0%}"
        return f"{cell.tokens:,} tokens, {where}"

    cell = items[st.selectbox("Placing", range(len(items)), format_func=name, key="recall_cell")]
    for place, id in enumerate(cell.answer.ids):
        right = cell.likeliest[place] == id
        prose.equation(
            "{token}  {chance:.4f}" + ("  the likeliest here" if right else "  likeliest here: {other}"),
            token=labels[id],
            chance=cell.answer.probabilities[place],
            other=labels[cell.likeliest[place]],
        )
    prose.equation(
        "{product} = {all:.3g}",
        product=prose.Html(" × ".join(f"{each:.4f}" for each in cell.answer.probabilities)),
        all=cell.answer.probability,
    )
    prose.aside(
        "The reply's beginning itself, {begin}, has {lead:.3g}; beginning and answer together {reply:.3g}.",
        begin=lesson.view.fact_begin or "nothing",
        lead=cell.reply / cell.answer.probability if cell.answer.probability else 0.0,
        reply=cell.reply,
    )
