"""The model of a plan: one of the table, the open one, or a configuration that somebody pastes.

What is pasted stays in the session: it is read as JSON, shown to nobody else, and is no part of a link.
"""

from dataclasses import dataclass

import streamlit as st

from model.config_fields import LONGEST_CONFIG
from model.config_reader import ReadConfig, read_config
from model.errors import SettingRefused
from model.published import active_parameters, architectures
from pages.shared import frame, prose
from pages.shared.calculator_parts import OPEN, name_of
from pages.shared.frame import Lesson


@dataclass
class Pasted:
    """What was pasted.

    Attributes:
        text: a configuration, or nothing.
        parameters, active: thousands of millions, for those that no formula reaches.
        over: the model that was chosen when it was pasted; choosing another one ends it.
    """

    text: str = ""
    parameters: float = 0.0
    active: float = 0.0
    over: str = ""


def pasted() -> Pasted:
    """This session's."""
    return st.session_state.setdefault("pasted", Pasted())


def forget() -> None:
    """Plan with the table again."""
    pasted().text = ""


def in_force(lesson: Lesson) -> ReadConfig | None:
    """What the pasted configuration says, if there is one that can be read."""
    held = pasted()
    if held.text and held.over != lesson.view.shape:
        forget()
    if not held.text.strip():
        return None
    try:
        return read_config(held.text, round(held.parameters * 1e9), round(held.active * 1e9))
    except SettingRefused:
        return None  # said where it is pasted


def shape_choice(lesson: Lesson) -> None:
    """A model of the table, or the open one."""
    options = [*architectures(), OPEN]
    name = lambda each: name_of(lesson, each)  # noqa: E731
    frame.bound_widget(st.selectbox, lesson.view, "shape", "Model", options=options, format_func=name)


def pasting(lesson: Lesson) -> None:
    """The box for a configuration, and what was read from it, or why it cannot be."""
    held = pasted()
    box = st.expander(
        "Another model: paste its config.json", key="paste", on_change="rerun", icon=":material/content_paste:"
    )
    if box.open:
        with box:
            _box(lesson, held)
            if held.text.strip():
                _verdict(held)
    elif in_force(lesson) is not None:
        prose.aside("The plan is for the pasted configuration. Choose a model above to go back to the table.")


def _box(lesson: Lesson, held: Pasted) -> None:
    def take(text: str) -> str:
        held.over = lesson.view.shape
        return text[: LONGEST_CONFIG + 1]

    frame.bound_widget(
        st.text_area,
        held,
        "text",
        f"config.json, at most {LONGEST_CONFIG:,} characters",
        key="pasted_config",
        read=take,
        height=200,
        max_chars=LONGEST_CONFIG,
    )
    prose.aside(
        "It is read as JSON and nothing else: no file, no hub and no code is opened, and a link to this page does "
        "not hold it."
    )
    all_of_them, active = st.columns(2)
    for column, name, label in (
        (all_of_them, "parameters", "All parameters, 10⁹ (only for a mixture of experts or latent attention)"),
        (active, "active", "Parameters a token uses, 10⁹ (only for a mixture of experts)"),
    ):
        with column:
            frame.bound_widget(
                st.number_input,
                held,
                name,
                label,
                key=f"pasted_{name}",
                min_value=0.0,
                max_value=100_000.0,
                read=lambda value: value or 0.0,
            )


def _verdict(held: Pasted) -> None:
    try:
        found = read_config(held.text, round(held.parameters * 1e9), round(held.active * 1e9))
    except SettingRefused as problem:
        st.warning(prose.plain(str(problem)), icon=":material/edit:")
        prose.aside("Until it can be read, the plan is for the model chosen above.")
        return
    shape = found.shape
    prose.say(
        "Read: {layers} layers, {heads} query heads and {kv} KV heads of {size} numbers, hidden size {hidden:,}, "
        "{parameters:,} parameters. The plan below is for this model.",
        layers=shape.layers,
        heads=shape.query_heads,
        kv=shape.kv_heads,
        size=shape.head_size,
        hidden=shape.hidden_size,
        parameters=shape.parameters,
    )
    for note in found.notes:
        prose.aside("{note}", note=prose.literal(note))


def experts_note(lesson: Lesson, used: int, parameters: int) -> None:
    """Say that a token uses a part of the parameters, and what is done with that."""
    if used == parameters:
        return
    where = "as its makers state" if lesson.view.shape in active_parameters() else "as you state"
    prose.aside(
        "A mixture of experts: all {parameters:.3g} × 10⁹ parameters lie in memory, a token uses {used:.3g} × 10⁹ of "
        "them, {where}. A step reads each request's own part at most, and never more than all.",
        parameters=parameters / 1e9,
        used=used / 1e9,
        where=prose.literal(where),
    )
