"""Why is the first word slow? Prefill and decode, timed on this machine."""

import streamlit as st

from model.machine import growth
from pages.shared import anatomy, frame, machine_parts, measuring, prose
from pages.shared import decode_parts as parts
from pages.shared.state import write_address
from pages.shared.store import gathered

lesson = frame.open_page("decode")
view, lm = lesson.view, lesson.lm

prose.say(
    "Before the first word comes, the model reads your whole text in one pass: the <b>prefill</b>. Then it writes "
    "token by token, one pass each: <b>decodes</b>. A decode can be short because the keys and values of all earlier "
    "tokens are kept: the <b class='c'>KV cache</b>."
)
if problem := measuring.refusal(lesson):
    st.warning(prose.plain(problem), icon=":material/edit:")
    st.stop()

measuring.writing(lesson, lambda found: parts.live(lesson, found), "Measure")
parts.noise(anatomy.latest("writing"))


@st.fragment
def one_step() -> None:
    """What one step computes. Nothing here runs the model: the measured run is opened up."""
    lesson.redraw_if_moved()
    writing = measuring.written()
    if writing is None:  # freed meanwhile: the page measures it anew
        st.rerun()
    st.header("What does one step compute?", anchor=False)
    slider, way = st.columns([3, 1], gap="large", vertical_alignment="bottom")
    with slider:
        step = parts.step_slider(lesson, writing)
    with way:
        use_cache = (
            st.segmented_control("KV cache", ["on", "off"], default="on", key="step_cache", required=True) == "on"
        )
    parts.head_choice(lesson)
    parts.one_step(lesson, writing, step, use_cache)
    if box := anatomy.look_inside("the time of each step", "decode_inside"):
        with box:
            parts.times_figure(lesson, writing)
    write_address(view)


if measuring.written() is not None:
    one_step()

st.header("What does the cache save?", anchor=False)
prose.say("Take the cache away and write the same tokens again: every pass then computes all positions from the start.")
measuring.writing(lesson, lambda found: parts.both_lanes(lesson, found), "Write it both ways", both=True)
parts.proof(lesson, anatomy.latest("both_ways"))

st.header("How does it grow?", anchor=False)
lengths = machine_parts.sweep_lengths(lesson)
prose.say(
    "Your text, repeated to {first} tokens, then to twice as many, up to {last:,}: how long does reading it take, and "
    "how long one more token after it?",
    first=lengths[0],
    last=lengths[-1],
)
points = anatomy.measured(
    ("growth", lm.key, lm.device, lm.dtype, tuple(lengths)),
    "growth",
    lambda: gathered(growth(lm, lesson.tokens, lengths), len(lengths)),
    lambda found: machine_parts.growth_figures(lesson, found),
    button="Measure the growth (about a minute)",
    progress=machine_parts.sweep_progress,
)
if points is not None:
    machine_parts.growth_sentence(points)

st.header("What is it waiting for?", anchor=False)
prose.say(
    "A pass must read every weight once, and do two operations with it for each position. With one position the "
    "weights arrive slower than they are used up; with hundreds, the arithmetic is what takes the time."
)
roof = machine_parts.measured_roofline(lesson, lambda found: machine_parts.roofline_figure(lesson, found))
machine_parts.gpu_choice()
if roof is not None:
    machine_parts.roofline_sentence(lesson, roof)
    machine_parts.method(lesson, roof)

anatomy.try_presets(
    lesson,
    [
        (
            "A longer text",
            "A wider and higher prefill; the decodes hardly change.",
            {"prompt": parts.LONG_TEXT},
        ),
        ("The prefill alone", "Step 0: the whole triangle at once.", {"step": 0}),
        ("One decode", "Step 1: one row, all others read from the cache.", {"step": 1}),
    ],
)
parts.check(lesson, measuring.written())
anatomy.limit(
    "These are times of one small model on one machine, for one visitor at a time, in 32 bit. A large model on a GPU "
    "is faster by orders of magnitude, and its server puts many requests into one pass. What carries over is the "
    "shape: one wide pass that is bound by arithmetic, then many thin ones that wait for memory."
)
parts.code(lesson)
frame.next_page(lesson)
