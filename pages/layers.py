"""What happens between the first layer and the last? The residual stream, the lens, and the neurons."""

import streamlit as st

from model.residual import stream_profile
from pages.shared import anatomy, frame, lens_parts, neuron_parts, prose, stream_parts
from pages.shared import layers_parts as parts
from pages.shared.state import write_address

lesson = frame.open_page("layers")
view, shape = lesson.view, lesson.lm.architecture

prose.say(
    "Each token travels as one vector of {size} numbers, the <b>residual stream</b>. Each of {layers} layers adds to "
    "it twice: what <b class='a'>attention</b> fetched from other positions, and what a <b>feed-forward network</b> "
    "made of it. Nothing is replaced; all is added up, and the last sum is read as the answer.",
    size=shape.hidden_size,
    layers=shape.layers,
)


@st.fragment
def inside() -> None:
    """Everything that follows the selected layer, position and neuron. Nothing here runs the model."""
    lesson.redraw_if_moved()
    the_stream()
    the_lens()
    the_neurons()
    write_address(view)


def the_stream() -> None:
    profile = stream_profile(lesson.trace, lesson.selected)
    stream_parts.sizes_figure(lesson, profile)
    parts.layer_stepper(lesson, "stream")
    stream_parts.sizes_sentence(lesson, profile)
    stream_parts.sum_check(lesson)
    stream_parts.turns_figure(lesson, profile)
    stream_parts.turns_sentence(lesson, profile)
    if box := anatomy.look_inside("how the vector is normalised before it is read", "layers_norm"):
        with box:
            stream_parts.normalisation(lesson)


def the_lens() -> None:
    st.header("The lens: if this layer were the last", anchor=False)
    prose.say(
        "Put the model's own ending, the final normalisation and the unembedding, on the stream of an earlier layer, "
        "and read what it would answer. In the last row this is the model's own answer."
    )
    grid = lens_parts.window(lesson)
    lens_parts.grid_figure(lesson, grid)
    lens_parts.cell_sentence(lesson, grid)
    lens_parts.misleading_sentence(lesson, grid)
    column = lens_parts.column_of(lesson, grid)
    lens_parts.verdict_figure(lesson, column)
    lens_parts.verdict_sentence(lesson, column)


def the_neurons() -> None:
    st.header("Inside one feed-forward network", anchor=False)
    found = neuron_parts.opened(lesson)
    if found is None:
        prose.say(
            "This model's feed-forward network is built in a way that cannot be taken apart here, as in a mixture of "
            "experts, so its neurons are not shown."
        )
        return
    parts.layer_stepper(lesson, "neurons")
    neuron_parts.network_sentence(lesson, found)
    strongest, activity = st.columns(2, gap="large")
    with strongest:
        neuron = neuron_parts.strongest_figure(lesson, found)
    with activity:
        neuron_parts.neuron_stepper(lesson, found, neuron)
        neuron_parts.activity_figure(lesson, found, neuron)
        neuron_parts.neuron_arithmetic(found, neuron)
    neuron_parts.neuron_sentence(lesson, found, neuron)
    neuron_parts.sum_check(found)


inside()
parts.presets(lesson)
parts.check(lesson)
anatomy.limit(
    "The lens and a neuron's tokens are readings, not what the model does. No layer but the last was trained to be "
    "read by the unembedding, and what a neuron writes is read by all later layers before it reaches the answer, if "
    "it does. A long vector need not matter, either: to know what a part was for, change it and run the model again."
)
anatomy.code(
    f"""import model
from model.residual import stream_profile
from viz.layers import stream_sizes

lm = model.open_model({view.model!r})
run = {lesson.trace_call}
profile = stream_profile(run, position={lesson.selected})
stream_sizes(profile.sizes, profile.attention, profile.feed_forward, layer={view.layer}).show()"""
)
frame.next_page(lesson)
