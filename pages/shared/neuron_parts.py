"""The parts of the lesson on layers that open one feed-forward network."""

import streamlit as st

from model.feed_forward import Neurons, Promotion, activity, neurons_at
from pages.shared import anatomy, prose
from pages.shared.frame import Lesson
from pages.shared.store import shared_promotions
from pages.shared.stream_parts import numbers
from viz import neurons as figures

#: Neurons in the bars, and tokens named at each.
BARS, TOKENS = 10, 3


def opened(lesson: Lesson) -> Neurons | None:
    """The neurons of the selected layer at the selected position."""
    return neurons_at(lesson.trace, lesson.view.layer, lesson.selected)


def chosen_neuron(lesson: Lesson, found: Neurons) -> int:
    """The neuron of the view, brought into range; −1 is the strongest."""
    if lesson.view.neuron < 0:
        return found.strongest(1)[0]
    lesson.view.neuron = min(lesson.view.neuron, len(found.activation) - 1)
    return lesson.view.neuron


def network_sentence(lesson: Lesson, found: Neurons) -> None:
    """How this model's networks are built, and what they read."""
    text = "The network of layer {layer} has {count:,} <b>neurons</b>. "
    if found.gate is not None:
        text += (
            "Each reads the normalised vector twice, as <i>gate</i> and as <i>up</i>, and makes one number of it: "
            "{function}(gate) × up, its <i>activation</i>. "
        )
    else:
        text += (
            "Each reads the normalised vector once; this network has no gate. {function} of what it reads is its "
            "<i>activation</i>. "
        )
    text += "Then it adds its own <i>output row</i>, that many times, to the sum."
    if found.parallel:
        text += " In this model the network reads the stream as it enters the layer, beside attention, not after it."
    if found.normed_after:
        text += " The sum is normalised once more before it is added to the stream."
    prose.say(text, layer=found.layer, count=len(found.activation), function=prose.literal(found.function))


def strongest_figure(lesson: Lesson, found: Neurons) -> int:
    """The strongest neurons, and the chosen one among or after them; returns the chosen one."""
    chosen = chosen_neuron(lesson, found)
    shown = found.strongest(BARS)
    promoted = [_words(lesson, each) for each in shared_promotions(lesson.trace, found, shown, TOKENS) or []]
    promoted = promoted or [[] for _ in shown]
    anatomy.figure(
        figures.strongest_bars(
            shown, found.strengths[shown], found.activation[shown], promoted, chosen=chosen, theme=lesson.theme
        ),
        key="strongest_neurons",
        title="Layer {layer} at {token} (position {place}): the {count} strongest neurons and the tokens they promote",
        mark=prose.FROM_THE_MODEL,
        alt=f"Neuron {shown[0]} adds the longest vector, of size {found.strengths[shown[0]]:.3g}; number {len(shown)} "
        f"is neuron {shown[-1]} with {found.strengths[shown[-1]]:.3g}.",
        table=lambda: figures.neurons_table(
            shown,
            None if found.gate is None else found.gate[shown],
            found.up[shown],
            found.activation[shown],
            found.row_sizes[shown],
            promoted,
        ),
        on_click=lambda x, y: setattr(lesson.view, "neuron", shown[min(max(int(y), 0), len(shown) - 1)]),
        layer=found.layer,
        token=lesson.labels[found.position],
        place=found.position,
        count=len(shown),
    )
    prose.aside(
        "Ordered by |activation| × length of the output row: how long a vector each neuron adds here. Hatched: the "
        "activation is negative, and the row is added the other way round. Click a bar to choose its neuron."
    )
    return chosen


def _words(lesson: Lesson, promotion: Promotion) -> list[str]:
    return [lesson.lm.vocabulary.labels[id] for id in promotion.ids]


def neuron_stepper(lesson: Lesson, found: Neurons, neuron: int) -> None:
    """The neuron as a number, and the way back to the strongest."""
    view, last = lesson.view, len(found.activation) - 1
    st.session_state.neuron_box = neuron
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.number_input(
            f"Neuron (0–{last})",
            key="neuron_box",
            min_value=0,
            max_value=last,
            on_change=lambda: setattr(view, "neuron", st.session_state.neuron_box),
            width=160,
        )
        st.button(
            "The strongest here",
            key="strongest_neuron",
            disabled=view.neuron < 0,
            on_click=lambda: setattr(view, "neuron", -1),
        )


def activity_figure(lesson: Lesson, found: Neurons, neuron: int) -> None:
    """One neuron along the whole text; clicking a bar selects its position."""
    values, view = activity(lesson.trace, found, neuron), lesson.view
    most = int(abs(values).argmax())
    anatomy.figure(
        figures.activity_bars(values, lesson.labels, position=lesson.selected, theme=lesson.theme),
        key="neuron_activity",
        title="Neuron {neuron} of layer {layer} at every position of the text",
        mark=prose.FROM_THE_MODEL,
        alt=f"Activation of neuron {neuron} at {len(values)} positions, from {values.min():.3g} to {values.max():.3g}; "
        f"largest in size at position {most}.",
        table=lambda: figures.activity_table(values, lesson.labels),
        on_click=lambda x, y: setattr(view, "position", min(max(int(x), 0), len(values) - 1)),
        neuron=neuron,
        layer=found.layer,
    )


def neuron_arithmetic(found: Neurons, neuron: int) -> None:
    """What the neuron read, what it makes of it, and how much it adds."""
    if found.gate is not None:
        lines = (
            "gate       = {gate:.4f}\n"
            "{function}(gate) = {bent:.4f}\n"
            "up         = {up:.4f}\n"
            "activation = {bent:.4f} × {up:.4f} = {activation:.4f}\n"
        )
    else:
        lines = "reads      = {up:.4f}\nactivation = {function}({up:.4f}) = {activation:.4f}\n"
    prose.equation(
        lines + "adds       = {activation:.4f} × its output row\n"
        "size       = {absolute:.4f} × {row:.4f} = {strength:.4f}",
        gate=0.0 if found.gate is None else float(found.gate[neuron]),
        up=float(found.up[neuron]),
        bent=float(found.bent[neuron]),
        activation=float(found.activation[neuron]),
        absolute=abs(float(found.activation[neuron])),
        row=float(found.row_sizes[neuron]),
        strength=float(found.strengths[neuron]),
        function=prose.literal(found.function),
    )


def neuron_sentence(lesson: Lesson, found: Neurons, neuron: int) -> None:
    """What the neuron promotes, read aloud, and how that is meant."""
    promoted = shared_promotions(lesson.trace, found, [neuron], TOKENS)
    if promoted is None:
        prose.say(
            "Which tokens a neuron promotes is not shown: this model's last normalisation is neither RMSNorm nor "
            "LayerNorm."
        )
        return
    (one,), names = promoted, lesson.lm.vocabulary.labels
    prose.read_aloud(
        "At {token} (position {place}) neuron {neuron} of layer {layer} raises {first} by {most:+.2f} logits, then "
        "{second} ({more:+.2f}) and {third} ({third_more:+.2f}); it lowers {least} most, by {down:.2f}.",
        token=lesson.labels[found.position],
        place=found.position,
        neuron=neuron,
        layer=found.layer,
        first=names[one.ids[0]],
        most=one.raised[0],
        second=names[one.ids[1]],
        more=one.raised[1],
        third=names[one.ids[2]],
        third_more=one.raised[2],
        least=names[one.lowered_ids[0]],
        down=-one.lowered[0],
    )
    prose.aside(
        "These are the logits that the vector adds by itself: activation × output row, times the final normalisation's "
        "weight, divided by what the whole stream of this position is divided by there{after}, then unembedded. What "
        "later layers make of it is not in them.",
        after=prose.Html(
            ", and before that through the normalisation behind this network in the same way"
            if found.normed_after
            else ""
        ),
    )


def sum_check(found: Neurons) -> None:
    """The sum over all neurons is what the network added."""
    prose.equation(
        "sum over all {count:,} neurons\n"
        "of activation × output row{bias}{norm}\n"
        "            {summed} …\n"
        "model added {added} …",
        count=len(found.activation),
        bias=prose.Html(" + bias" if found.biased else ""),
        norm=prose.Html(", normalised" if found.normed_after else ""),
        summed=numbers(found.summed),
        added=numbers(found.added),
    )
    prose.aside(
        "Checked over the whole vector: the largest difference is {difference:.1e}, where the largest number is "
        "{largest:,.4g}.",
        difference=found.difference,
        largest=found.largest,
    )
