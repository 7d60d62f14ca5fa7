"""The pieces every lesson is made of, so that each page reads, and is read, the same way.

A question · the strip · one main figure · one sentence that reads it aloud · look inside · try ·
check yourself · where it stops being true · the code · next.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from model import ExplainerError
from pages.shared import prose
from pages.shared.frame import Lesson
from pages.shared.runs import GRACE
from pages.shared.store import leave, look_at, measurements
from pages.shared.visitors import VISITORS

CHART_CONFIG = {"displayModeBar": False, "scrollZoom": False, "doubleClick": False}


def figure(
    drawing: go.Figure,
    *,
    key: str,
    title: str,
    mark: str,
    alt: str,
    table: Callable[[], pd.DataFrame],
    on_click: Callable[[float, float], None] | None = None,
    **values,
) -> None:
    """One figure with its title, where it is from, its alt text and its table twin.

    Args:
        title: constant template; ``values`` are put in as :func:`prose.filled` does.
        mark: where the numbers come from, one of those in :mod:`pages.shared.prose`.
        alt: what the figure shows, for those who do not see it: the takeaway, with numbers.
        table: makes the same numbers as a table, when somebody asks for it.
        on_click: called with x and y of a point that is clicked.
    """
    prose.figure_title(title, mark, **values)
    clicks = {} if on_click is None else {"on_select": lambda: _clicked(key, on_click), "selection_mode": "points"}
    st.plotly_chart(drawing, key=key, theme=None, width="stretch", config=CHART_CONFIG, alt=alt, **clicks)
    table_twin(key, table)


def _clicked(key: str, on_click: Callable[[float, float], None]) -> None:
    state = st.session_state.get(key)  # gone where a run was cut short
    points = state.selection.points if state else ()
    if points:
        on_click(points[0]["x"], points[0]["y"])


def table_twin(key: str, table: Callable[[], pd.DataFrame]) -> None:
    """The numbers of a figure as a table, worked out only when it is opened."""
    closed = st.expander("The same as a table", key=f"{key}_table", on_change="rerun", icon=":material/table:")
    if closed.open:
        with closed:
            st.dataframe(table(), hide_index=True, width="stretch")


#: Seconds between two looks at a measurement that is going on, and for how many visitors at once. Each look draws
#: the figure again: a class that looks as often as one visitor leaves the server no time to measure.
LOOK_EVERY, AT_ONCE = 0.3, 4


def _look_every() -> float:
    """Seconds between two looks, so that all who are here look no oftener than a few would.

    But often enough that who looks is not taken to have gone.
    """
    return min(LOOK_EVERY * max(1.0, VISITORS.present / AT_ONCE), GRACE / 2)


def measured(
    key: Hashable,
    name: str,
    work: Callable[[], Iterator],
    show: Callable[[Any], None],
    *,
    button: str,
    progress: Callable[[Any], tuple[float, str]],
    automatic: bool = False,
) -> Any | None:
    """Long work with its picture: begun by a button, drawn as it goes, stopped, begun again.

    What this server has measured for the same ``key`` before is shown at once, whoever asked for
    it. What a stopped measurement had found stays on this visitor's page.

    Args:
        key: what is measured: all that the result depends on.
        name: of the measurement on its page, unique there.
        work: makes the iterator of snapshots; runs in a thread of its own.
        show: draws a snapshot.
        progress: (share done, a phrase) of a snapshot.
        automatic: begin without being asked.

    Returns:
        The newest snapshot, of a measurement that has ended or was stopped; None if there is none.
    """
    state = st.session_state.setdefault(f"measured_{name}", {"key": None})
    is_kept = measurements().find(key) is not None
    if state["key"] != key or (automatic and state["ended"] and not is_kept):  # it was freed meanwhile
        state.update(key=key, running=automatic and not is_kept, ended=is_kept, partial=None, problem=None)
    running = state["running"]

    @st.fragment(run_every=_look_every() if running else None)
    def section() -> None:
        if state["running"] != running:  # somebody clicked: the rest of the page changes, too
            st.rerun()
        if running and _has_ended(key, name, work, state):
            st.rerun()
        found = state["partial"] if running else latest(name)
        _measuring(key, name, found, state, button, progress)
        if found is not None:
            show(found)

    section()
    return latest(name)


def latest(name: str) -> Any | None:
    """What the measurement ``name`` of this page has found; None before it, and while it goes on.

    Fragments ask for it here. A variable of the page would keep it when the server has freed it.
    """
    state = st.session_state.get(f"measured_{name}")
    if state is None or state["running"]:
        return None
    return measurements().find(state["key"]) or state["partial"]


def _has_ended(key: Hashable, name: str, work: Callable[[], Iterator], state: dict) -> bool:
    """Look at the measurement, and remember what it shows."""
    sight = look_at(key, (name, id(state)), work)
    state["partial"] = sight.latest if sight.latest is not None else state["partial"]
    state["before"] = sight.before
    if sight.problem is not None and not isinstance(sight.problem, ExplainerError):
        raise sight.problem
    if sight.ended:
        state.update(running=False, ended=sight.problem is None, problem=sight.problem and str(sight.problem))
        if sight.problem is None:
            state["partial"] = None  # it is kept for everybody
    return sight.ended


def _measuring(key: Hashable, name: str, found: Any, state: dict, button: str, progress: Callable) -> None:
    """The button that begins or stops, how far it is, and why it stopped."""
    with st.container(horizontal=True, vertical_alignment="center"):
        if state["running"]:
            st.button("Stop", key=f"{name}_stop", icon=":material/stop:", on_click=_leave, args=(key, name, state))
            st.progress(*(progress(found) if found is not None else (0.0, _waiting(state.get("before")))))
            return
        st.button(
            "Measure again" if found is not None else button,
            key=f"{name}_start",
            icon=":material/replay:" if found is not None else ":material/timer:",
            on_click=_begin,
            args=(key, state),
        )
        if state["problem"]:
            prose.aside("{why}", why=prose.literal(state["problem"]))
        elif found is not None and found is state["partial"] and measurements().find(key) is None:
            prose.aside("Stopped before the end: {how}.", how=prose.literal(progress(found)[1]))


def _waiting(before: int | None) -> str:
    return f"waiting for the model: {before} before you" if before else "waiting for the model"


def _begin(key: Hashable, state: dict) -> None:
    measurements().drop(key)
    state.update(running=True, ended=False, partial=None, problem=None)


def _leave(key: Hashable, name: str, state: dict) -> None:
    leave(key, (name, id(state)))
    state.update(running=False)


def look_inside(title: str, key: str):
    """The arithmetic, with the numbers put in; opens in place. Use as ``if box := look_inside(…)``.

    Returns:
        The open container, or None while it is closed, so that nothing is worked out unseen.
    """
    box = st.expander(f"Look inside: {title}", key=key, on_change="rerun", icon=":material/search:")
    return box if box.open else None


def try_presets(
    lesson: Lesson, presets: Sequence[tuple[str, str, dict]], also: Callable[[], None] | None = None
) -> None:
    """Two or three settings that show the effect best.

    Args:
        presets: (button text, why, fields of the view to set); a ``prompt`` among the fields
            starts a new text.
        also: done with any of them, where the view does not hold all that a preset changes.
    """
    st.subheader("Try", anchor=False)
    for place, (label, why, changes) in enumerate(presets):
        with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
            st.button(label, key=f"try_{lesson.page.slug}_{place}", on_click=_apply, args=(lesson.view, changes, also))
            prose.aside(why)


def _apply(view, changes: dict, also: Callable[[], None] | None) -> None:
    if also is not None:
        also()
    changes = dict(changes)
    if "prompt" in changes:
        view.new_text(changes.pop("prompt"), changes.pop("specials", "text"))
    for name, value in changes.items():
        setattr(view, name, value)


def check_yourself(key: str, question: str, options: Sequence[str], right: int, because: Callable[[], None]) -> None:
    """One prediction: the answer shows only after a choice.

    Args:
        question: constant text.
        options: constant texts, or labels escaped by :func:`prose.plain`.
        right: index of the option that this run makes true.
        because: draws the explanation, with this run's numbers.
    """
    st.subheader("Check yourself", anchor=False)
    prose.say(question)
    chosen = st.radio("Your prediction", options, index=None, key=f"check_{key}", label_visibility="collapsed")
    if chosen is None:
        return
    verdict = "Right." if options.index(chosen) == right else "Not this time."
    st.markdown(f"**{verdict}**")
    because()


def limit(template: str, **values) -> None:
    """Where the lesson stops being true."""
    st.subheader("Where it stops being true", anchor=False)
    prose.say(template, kind="lesson limit", **values)


def code(lines: str) -> None:
    """The few lines that redraw the page's figure in a notebook."""
    with st.expander("The code", icon=":material/code:"):
        st.code(lines, language="python")
