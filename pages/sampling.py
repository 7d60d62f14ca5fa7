"""How is the next token picked? From 49,152 logits to one token, and the draw."""

import streamlit as st

from pages.shared import anatomy, frame, prose
from pages.shared import sampling_parts as parts
from pages.shared.state import write_address
from viz.draw import draw_strip

lesson = frame.open_page("sampling")
view, vocabulary = lesson.view, lesson.lm.vocabulary

prose.say(
    "The model does not choose a word. It gives <b class='a'>every</b> token of its vocabulary, all {all:,}, a "
    "probability. Then one is drawn: a pin is dropped on a strip on which each token is as wide as it is likely.",
    all=lesson.lm.architecture.vocabulary_size,
)


def take_settings(wanted: dict) -> None:
    """What the strip's controls were set to."""
    view.t, view.top_k, view.top_p, view.min_p = (wanted[n] for n in ("temperature", "top_k", "top_p", "min_p"))
    view.seed = wanted["seed"]


@st.fragment
def choice_of_a_token() -> None:
    """The strip and what stands beside it. No control here runs the model."""
    lesson.redraw_if_moved()
    choice = lesson.choice(lesson.selected)
    draw_strip(
        choice.logits.cpu().numpy(),
        vocabulary.labels,
        {"temperature": view.t, "top_k": view.top_k, "top_p": view.top_p, "min_p": view.min_p},
        view.seed,
        parts.uniforms_ahead(view.seed, choice.index),
        key="draw",
        on_settings=take_settings,
    )
    parts.penalty(view)
    parts.result_sentence(lesson, choice)
    parts.numbers(choice)
    if box := anatomy.look_inside("the drawn token's arithmetic", "sampling_inside"):
        with box:
            parts.arithmetic(lesson, choice)
    st.header("What each setting cuts", anchor=False)
    parts.stages_figure(lesson, choice)
    curve, draws = st.columns(2, gap="large")
    with curve:
        parts.cumulative_figure(lesson, choice)
    with draws:
        parts.draws_figure(lesson, choice)
    st.header("Where the text is open", anchor=False)
    parts.nucleus_figure(lesson, view.t)
    write_address(view)


choice_of_a_token()
anatomy.try_presets(
    lesson,
    [
        ("Greedy", "Temperature 0: the likeliest token, always.", {"t": 0.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}),
        (
            "Hot",
            "Temperature 1.6: the strip stretches, and the same pin may fall far down.",
            {"t": 1.6, "top_k": 0, "top_p": 1.0, "min_p": 0.0},
        ),
        ("Hot, but cut", "The tail is cut with top-p 0.9.", {"t": 1.6, "top_k": 0, "top_p": 0.9, "min_p": 0.0}),
    ],
)
parts.check(lesson, lesson.choice(lesson.selected))
anatomy.limit(
    "A probability is not a degree of truth: it says what text is likely to follow in what the model was trained "
    "on. And the pin's numbers repeat on this machine and version of its libraries; another may draw others from "
    "the same seed."
)
anatomy.code(
    f"""import model
from model.sampling import penalised

lm = model.open_model({view.model!r})
run = {lesson.trace_call}
settings = model.{view.settings!r}
seen = run.tokens.ids[: {lesson.selected + 1}]
logits = penalised(run.logits({lesson.selected}), seen, settings.repetition_penalty)
stages = model.sampling_stages(logits, settings)
for stage in stages.stages:
    print(stage.name, stage.candidates, round(stage.remaining, 4))
print(model.draw(stages))"""
)
frame.next_page(lesson)
