"""What is it for? Break it: take a part away, and read what changed."""

import streamlit as st

from pages.shared import anatomy, frame, prose, sweep_parts
from pages.shared import whatif_parts as parts
from pages.shared.state import write_address
from pages.shared.store import shared_trace

lesson = frame.open_page("whatif")
view = lesson.view

prose.say(
    "To learn what a part is for, take it away and see what the model can no longer do. Whatever you break here is "
    "broken in your run only; the weights stay as they are."
)
broken_edits = parts.usable(lesson)
parts.controls(lesson)
parts.broken_list(lesson)
write_address(view)


def both_runs() -> None:
    """The whole model's run and the broken one's. Not variables of the page, which would keep them."""
    whole, broken = lesson.trace, shared_trace(lesson.lm, lesson.tokens, broken_edits)
    st.header("What follows, before and after", anchor=False)
    parts.before_and_after(lesson, whole, broken)
    st.header("What was foreseen", anchor=False)
    parts.foreseen(lesson, whole, broken)


both_runs()
st.header("What is written on", anchor=False)
parts.writing(lesson)

st.header("Which head matters here?", anchor=False)
found = sweep_parts.sweeping(lesson)
sweep_parts.chosen_head(lesson, found)

parts.try_presets(lesson)
parts.check(lesson)
anatomy.limit(
    "One text is no proof: a head that decides here may do nothing elsewhere, and one that seems idle may be doubled "
    "by another that steps in. Switched off means zero; a head's usual output is not zero, so what you see is the loss "
    "of its part and of its average. And a large attention weight does not say that a head matters: compare the map of "
    "weights with the map of changes."
)
anatomy.code(
    f"""import model
from model.edits import AttentionOff, FeedForwardOff, HeadOff, KeyHidden, MaskLifted, PositionsRemoved, Window
from model.what_if import divergence

lm = model.open_model({view.model!r})
whole = {lesson.trace_call}
broken = model.trace(lm, whole.tokens, {list(broken_edits)!r})
for run in (whole, broken):
    best = int(run.last_logits.argmax())
    print(lm.vocabulary.labels[best], float(run.last_logits.softmax(-1)[best]))
print(float(divergence(whole.last_logits, broken.last_logits)), "nats")"""
)
frame.next_page(lesson)
