"""Will it hold? A plan for serving a model: memory, speed and price by formula, levers, and a checklist."""

import streamlit as st

from model.plan import Outcome, Plan, outcome
from pages.shared import anatomy, calculator_parts, checklist_parts, config_parts, frame, levers_parts, prose
from pages.shared import outcome_parts as parts
from pages.shared import planner_parts as controls
from pages.shared import predicted_parts as predicted
from pages.shared.state import write_address

lesson = frame.open_page("planner")
view = lesson.view
inputs = controls.Inputs(view)
for note in (*calculator_parts.names_checked(view), *inputs.whole_requests()):
    prose.aside("Note: {note}", note=prose.literal(note))

prose.say(
    "Before a model serves anybody, three questions can be answered from its sizes alone: does it <b>fit</b>, how "
    "<b>fast</b> does it answer, and what does it <b>cost</b>? Reading a prompt is bound by arithmetic, writing by "
    "the bytes that each token needs; how many can be served at once, by the memory that their "
    "<b class='c'>caches</b> take."
)
STOPS = (
    f"Assumed, not measured: the shares of a data sheet's rates that are reached. {controls.SOURCES}",
    "Several machines are taken as one with their memory, rate and bandwidth added up (tensor parallelism); nothing "
    "is counted for what they tell each other.",
    "Left out: paging of the cache, the server's scheduler and its queue, prompts read in pieces between decodes, "
    "speculative decoding, the start of each program on the machine, the network and the tokenizer.",
    "Fewer bits are counted without their scales, and arithmetic is assumed as fast as in 16 bit. A mixture of "
    "experts reads each request's own parameters at most.",
    "Prices hold while the machines are as busy as planned, reading and writing in turn; an idle hour costs the same.",
    "Quality is no part of it: whether fewer bits, a shorter context or another model still do the task is for a test "
    "of that task to say.",
)


def results(plan: Plan, found: Outcome, name: str) -> None:
    """The plan worked out in full: every formula, what moves it, what can be done, and what to ask."""
    config_parts.experts_note(lesson, plan.used, plan.shape.parameters)
    controls.too_long(plan, name)
    parts.result_table(plan, found)
    st.header("Under load", anchor=False)
    parts.under_load(lesson, plan)
    st.header("Levers, side by side", anchor=False)
    levers_parts.share_of_prompt(lesson)
    levers_parts.lever_figure(lesson, plan)
    if box := anatomy.look_inside("what each lever costs", "plan_prices"):
        with box:
            levers_parts.lever_prices(lesson, plan)
    st.header("The checklist", anchor=False)
    answered = checklist_parts.checklist(plan, found)
    checklist_parts.downloads(checklist_parts.the_report(plan, found, name, answered, list(STOPS)))
    controls.check(plan)


@st.fragment
def planning() -> None:
    """The answer, the controls, and how it was worked out: arithmetic on sizes alone, nothing runs the model."""
    lesson.redraw_if_moved()
    plan, (_, _, name) = controls.plan_of(lesson, inputs), controls.planned_shape(lesson)
    found = outcome(plan)
    parts.memory_figure(lesson, plan, found, name)
    parts.read_aloud(plan, found)
    st.header("The plan", anchor=False)
    controls.model_and_machines(lesson)
    controls.requests_asked(inputs)
    config_parts.pasting(lesson)
    controls.shares_reached(inputs)
    results(plan, found, name)
    write_address(view)


planning()

st.header("As published", anchor=False)
parts.as_published(lesson)
st.header("This machine: predicted and timed", anchor=False)
predicted.section(lesson)

anatomy.try_presets(
    lesson,
    [
        (
            "Llama-2-7B on an A10",
            "Small and dense: every head keeps its own keys and values, and four requests are many.",
            {
                "shape": "Llama-2-7B",
                "gpu": "NVIDIA A10",
                "gpus": 1,
                "requests": 4,
                "context": 4_096,
                "answer_worst": 512,
                "typical": 1_024,
                "answer": 256,
                "weight_bits": 16,
                "cache_bits": 16,
                "overhead": 1.0,
                "price": 1.0,
            },
        ),
        (
            "A 70B on 8 H100",
            "The long context is what fills the memory, not the weights.",
            {
                "shape": "Llama-3.1-70B",
                "gpu": "NVIDIA H100 SXM",
                "gpus": 8,
                "requests": 16,
                "context": 131_072,
                "answer_worst": 2_048,
                "typical": 8_192,
                "answer": 1_024,
                "weight_bits": 16,
                "cache_bits": 16,
                "overhead": 4.0,
                "price": 2.5,
            },
        ),
        (
            "A chatbot with 32 users",
            "An 8B model on one machine: fast for each, cheap for all, as long as conversations stay short.",
            {
                "shape": "Llama-3.1-8B",
                "gpu": "NVIDIA L40S",
                "gpus": 1,
                "requests": 32,
                "context": 16_384,
                "answer_worst": 1_024,
                "typical": 3_072,
                "answer": 300,
                "weight_bits": 16,
                "cache_bits": 16,
                "overhead": 2.0,
                "price": 1.2,
            },
        ),
    ],
    also=config_parts.forget,
)
anatomy.limit(" ".join(f"{line}" for line in STOPS[1:5]))
anatomy.code(
    """from dataclasses import replace
from model.plan import Plan, outcome
from model.published import architectures, gpus

plan = Plan(architectures()["Llama-3.1-70B"], gpus()["NVIDIA H100 SXM"], gpus=4, requests=32)
found = outcome(plan)
print(found.typical.requests, found.between, found.cost_out)
for bits in (16, 8, 4):
    print(bits, outcome(replace(plan, weight_bits=bits)).between)"""
)
frame.next_page(lesson)
