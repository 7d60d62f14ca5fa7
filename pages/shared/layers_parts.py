"""The parts that the sections of the lesson on layers share, its presets and its prediction."""

import streamlit as st

from model.feed_forward import neurons_at
from model.residual import stream_profile
from pages.shared import anatomy, prose
from pages.shared.frame import Lesson
from pages.shared.state import View


def take_layer(view: View, layer: int, layers: int) -> None:
    """Select a layer; a neuron belongs to its layer, so the strongest is shown again."""
    layer = min(max(layer, 0), layers - 1)
    if layer != view.layer:
        view.layer, view.neuron = layer, -1


def layer_stepper(lesson: Lesson, place: str) -> None:
    """The layer as a number, for the keyboard. ``place`` is the section that it stands in."""
    view, layers, key = lesson.view, lesson.lm.architecture.layers, f"layer_{place}"
    st.session_state[key] = view.layer
    st.number_input(
        f"Layer (0–{layers - 1})",
        key=key,
        min_value=0,
        max_value=layers - 1,
        on_change=lambda: take_layer(view, st.session_state[key], layers),
        width=160,
    )


def presets(lesson: Lesson) -> None:
    """Where this run turns most, where a vector is longest, and a text that is settled early or late."""
    here = stream_profile(lesson.trace, lesson.selected)
    start = stream_profile(lesson.trace, 0)
    longest = int(start.feed_forward.argmax())
    anatomy.try_presets(
        lesson,
        [
            (
                f"Layer {here.turning_layer}: the turn",
                "After the first layer, none turns the selected position's stream more than this one.",
                {"layer": here.turning_layer, "neuron": -1},
            ),
            (
                f"Position 0, layer {longest}",
                f"The first token's feed-forward network adds a vector of size {start.feed_forward[longest]:,.0f} "
                "there: compare its neurons with those of other positions.",
                {"position": 0, "layer": longest, "neuron": -1},
            ),
            (
                "A pattern to copy",
                "In the lens, look for the layers in which the next number of the pattern comes first.",
                {"prompt": "one two three one two three one two", "neuron": -1},
            ),
        ],
    )


def check(lesson: Lesson) -> None:
    """A prediction: how many neurons do the work."""
    found = neurons_at(lesson.trace, lesson.view.layer, lesson.selected)
    if found is None:
        return
    count, needed = len(found.activation), found.needed_for(0.5)
    share = needed / count
    anatomy.check_yourself(
        "layers",
        "Add up the sizes of all that the neurons of the selected layer add at the selected position. How many of the "
        "strongest neurons does it take for half of that?",
        ["Fewer than 1 in 100", "Between 1 and 20 in 100", "More than 20 in 100"],
        0 if share < 0.01 else 1 if share <= 0.2 else 2,
        lambda: prose.say(
            "In layer {layer}, at {token} (position {place}), {needed:,} of {count:,} neurons, {share:.1%}, make up "
            "half. Look at other layers and positions: the share is not the same everywhere.",
            layer=found.layer,
            token=lesson.labels[found.position],
            place=found.position,
            needed=needed,
            count=count,
            share=share,
        ),
    )
