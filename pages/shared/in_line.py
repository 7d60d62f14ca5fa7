"""Who waits for the model sees how many come before, and can leave."""

from concurrent.futures import wait
from typing import Any

import streamlit as st

from model import ModelBusy
from pages.shared import prose
from pages.shared.jobs import Job

#: Seconds that are waited before anything is said, and between two looks at the line.
SILENT, LOOK_EVERY = 0.3, 0.25


def waited_for(job: Job) -> Any:
    """The result of ``job``; until it is there, the line as it moves, and a way out of it.

    Every look is a place where Streamlit can end the script: whatever the visitor clicks is done at
    once, and a closed tab waits no longer. If the visitor left, or the queue is full, the page
    stops with a sentence.

    Raises:
        whatever the work raised, except that the model is busy.
    """
    if st.session_state.pop("left_line", None) == job.key:
        _stop("You left the queue; your text is still here.")
    wait([job.future], SILENT)
    if not job.future.done():
        _in_sight(job)
    try:
        return job.future.result()
    except ModelBusy as problem:
        _stop(str(problem))


def _in_sight(job: Job) -> None:
    """Look again and again, until the result is there."""
    box = st.empty()
    with box.container(horizontal=True, vertical_alignment="center"):
        line = st.empty()
        st.button("Leave the queue", key=f"leave_line_{job.number}", type="tertiary", on_click=_leave, args=(job.key,))
    while not job.future.done():
        with line:
            prose.aside("{text}", text=prose.literal(_place(job.before)))
        wait([job.future], LOOK_EVERY)
    box.empty()


def _place(before: int | None) -> str:
    if before is None:
        return "The model reads your text …"
    return f"The model works for others: {before} before you."


def _leave(key) -> None:
    st.session_state.left_line = key


def _stop(why: str) -> None:
    """End the page here, with a way to ask again."""
    st.warning(prose.plain(why), icon=":material/hourglass_top:")
    st.button("Run it now", key="into_line", type="primary")
    st.stop()
