"""'Memory' is a store beside the model: what is kept, what it puts into the next request, and deleting it."""

import secrets
import time

import streamlit as st

from model import ExplainerError
from model.memory_store import FILE_LIFE, MAX_CHARACTERS, MAX_ROWS, Memory, MemoryStore, configured_path
from model.recall import LONGEST_ANSWER, LONGEST_LEAD, LONGEST_QUESTION
from pages.shared import frame, memory_request_parts, prose
from pages.shared.frame import Lesson
from pages.shared.state import write_address
from pages.shared.talks import no_template_note

#: How long a row is kept, for people, and in seconds.
LIVES: dict[str, float | None] = {
    "until it is deleted": None,
    "30 seconds": 30.0,
    "5 minutes": 300.0,
    "1 hour": 3_600.0,
}


@st.fragment
def memory_store(lesson: Lesson) -> None:
    """The whole section."""
    st.header("'Memory' is a store beside the model", anchor=False)
    prose.say(
        "A service that remembers you writes sentences into a database and puts them into your next request, as text. "
        "The model is the same as before; it reads them as it reads everything. Here is such a store, a real one."
    )
    no_template_note(lesson)
    # Streamlit forgets a widget that is not drawn, as on another page: what holds is kept beside it.
    st.session_state.memory_switch = st.session_state.get("memory_is_on", False)
    st.toggle("Keep memories in this session", key="memory_switch", on_change=_switched)
    if not st.session_state.get("memory_is_on"):
        prose.aside("Off: nothing is kept, and nothing is put into any request.")
        return
    try:
        store = _store()
        _where(store)
        _add_form()
        rows = store.rows()
        _list(rows)
    except ExplainerError as problem:
        st.warning(prose.plain(str(problem)), icon=":material/edit:")
        return
    _question(lesson)
    memory_request_parts.next_request(lesson, rows, st.session_state.get("memory_deleted", ()))
    write_address(lesson.view)


def _store() -> MemoryStore:
    """This session's store, opened when it is first needed."""
    state = st.session_state
    if "memory_store" not in state:
        state.setdefault("memory_session", secrets.token_hex(16))
        state.memory_store = MemoryStore(configured_path(), state.memory_session)
    return state.memory_store


def _switched() -> None:
    """Switched off: all rows go, and the database with them."""
    state = st.session_state
    state.memory_is_on = state.memory_switch
    if not state.memory_is_on and "memory_store" in state:
        store = state.pop("memory_store")
        _tried(store.delete_all)
        store.close()
    state.memory_deleted = ()
    state.memory_problem = None


def _where(store: MemoryStore) -> None:
    if store.is_file:
        prose.aside(
            "Kept in a file that the operator of this server has named, at most {hours:.0f} hours, and shown to this "
            "session only. Closing the page does not delete it: delete it here first. Switching off deletes all.",
            hours=FILE_LIFE / 3_600,
        )
    else:
        prose.aside(
            "Kept in this server's memory for this session only: not in a file, not in the address, seen by nobody "
            "else. It is gone when you close the page, load it anew, or switch this off."
        )


def _add_form() -> None:
    with st.form("memory_form", border=False, clear_on_submit=True):
        text, life, button = st.columns([6, 2, 2], vertical_alignment="bottom")
        text.text_input(
            "Remember",
            key="memory_new",
            max_chars=MAX_CHARACTERS,
            placeholder="My name is Priya. I am allergic to peanuts.",
        )
        life.selectbox("Keep it", list(LIVES), key="memory_life")
        button.form_submit_button("Remember it", on_click=_add, width="stretch", type="primary")
    if not st.session_state.get("memory_seeded"):
        st.button("Put in two examples", key="memory_examples", type="tertiary", on_click=_add_examples)
    if problem := st.session_state.get("memory_problem"):
        st.warning(prose.plain(problem), icon=":material/edit:")


def _add() -> None:
    state = st.session_state
    _tried(lambda: _store().add(state.memory_new or "", LIVES[state.memory_life]))


def _add_examples() -> None:
    st.session_state.memory_seeded = True
    for text in ("My name is Priya.", "I am allergic to peanuts."):
        _tried(lambda text=text: _store().add(text))


def _tried(change) -> None:
    """Change the store; what goes wrong is said."""
    try:
        change()
        st.session_state.memory_problem = None
    except ExplainerError as problem:
        st.session_state.memory_problem = str(problem)


def _list(rows: tuple[Memory, ...]) -> None:
    """Every row with its words to edit, its end, and its deletion."""
    if not rows:
        prose.aside("Nothing is kept. Write a sentence above.")
        return
    prose.aside("{n} of at most {most} memories. Change the words and press Enter.", n=len(rows), most=MAX_ROWS)
    for row in rows:
        text, ends, button = st.columns([6, 2, 2], vertical_alignment="center")
        key = f"memory_text_{row.id}"
        st.session_state.setdefault(key, row.text)
        text.text_input(
            f"Memory {row.id}",
            key=key,
            max_chars=MAX_CHARACTERS,
            label_visibility="collapsed",
            on_change=_edit,
            args=(row,),
        )
        with ends:
            _ends(row)
        button.button(
            "Delete",
            key=f"memory_delete_{row.id}",
            icon=":material/delete:",
            on_click=_delete,
            args=(row,),
            width="stretch",
        )
    with st.container(horizontal=True):
        st.button(
            "Delete all", key="memory_delete_all", icon=":material/delete_sweep:", on_click=_delete_all, args=(rows,)
        )
        if any(row.expires is not None for row in rows):
            st.button("Look again", key="memory_look", icon=":material/refresh:")


def _ends(row: Memory) -> None:
    if row.expires is None:
        prose.aside("until deleted")
    else:
        prose.aside("{seconds:,.0f} s left", seconds=max(0.0, row.expires - time.time()))


def _edit(row: Memory) -> None:
    key = f"memory_text_{row.id}"
    text = st.session_state.get(key)
    if text is None:  # the row was deleted in the same moment
        return
    _tried(lambda: _store().edit(row.id, text))
    if st.session_state.memory_problem:
        st.session_state[key] = row.text  # its own words stand there again


def _delete(row: Memory) -> None:
    _tried(lambda: _store().delete(row.id))
    st.session_state.memory_deleted = (row,)


def _delete_all(rows: tuple[Memory, ...]) -> None:
    _tried(_store().delete_all)
    st.session_state.memory_deleted = rows


def _question(lesson: Lesson) -> None:
    view = lesson.view
    question, begin, answer = st.columns([3, 2, 2])
    with question:
        frame.bound_widget(st.text_input, view, "memo_ask", "The next question", max_chars=LONGEST_QUESTION)
    with begin:
        frame.bound_widget(st.text_input, view, "memo_begin", "The reply begins", max_chars=LONGEST_LEAD)
    with answer:
        frame.bound_widget(st.text_input, view, "memo_goal", "and the right answer goes on", max_chars=LONGEST_ANSWER)
