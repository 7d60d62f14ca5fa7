"""The parts of the lesson on layers that look at the residual stream and its normalisation."""

import streamlit as st

from model.journey import stream_check
from model.normalisation import Normalised
from model.residual import NORMS, StreamProfile, norm_before
from pages.shared import anatomy, prose
from pages.shared.frame import Lesson
from pages.shared.layers_parts import take_layer
from viz import layers as figures

#: Numbers of a vector that are written out.
SHOWN = 3


def sizes_figure(lesson: Lesson, profile: StreamProfile) -> None:
    """How long the stream is, and what is added to it, layer by layer."""
    view, known = lesson.view, lesson.lm.additions_add_up
    added = (profile.attention, profile.feed_forward) if known else (None, None)
    last = len(profile.attention) - 1
    anatomy.figure(
        figures.stream_sizes(profile.sizes, *added, layer=view.layer, theme=lesson.theme),
        key="stream_sizes",
        title="The residual stream of {token} (position {place}): its size after each layer"
        + (", and what is added to it" if known else ""),
        mark=prose.FROM_THE_MODEL,
        alt=f"The stream of position {lesson.selected} has size {profile.sizes[0]:.3g} when it enters layer 0 and "
        f"{profile.sizes[-1]:.4g} after layer {last}. In layer {view.layer} attention adds a vector of size "
        f"{profile.attention[view.layer]:.3g}, the feed-forward network one of {profile.feed_forward[view.layer]:.3g}.",
        table=lambda: stream_table(profile),
        on_click=lambda x, y: take_layer(view, int(x), lesson.lm.architecture.layers),
        token=lesson.labels[lesson.selected],
        place=lesson.selected,
    )


def stream_table(profile: StreamProfile):
    return figures.stream_table(
        profile.sizes, profile.attention, profile.feed_forward, profile.with_before, profile.with_final
    )


def sizes_sentence(lesson: Lesson, profile: StreamProfile) -> None:
    """The figure read aloud."""
    layer, shape = lesson.view.layer, lesson.lm.architecture
    text = (
        "{token} enters layer 0 as a vector of size {first:.3g} and leaves layer {last} at {end:,.4g}. "
        "Size here is length: the root of the sum of all {numbers} squares."
    )
    if lesson.lm.additions_add_up:
        text += (
            " In layer {layer}, <b class='a'>attention</b> adds a vector of size {attention:,.3g} and the "
            "<b>feed-forward network</b> one of {feed_forward:,.3g} to a stream of {before:,.4g}."
        )
    prose.read_aloud(
        text,
        token=lesson.labels[lesson.selected],
        first=profile.sizes[0],
        last=shape.layers - 1,
        end=profile.sizes[-1],
        numbers=shape.hidden_size,
        layer=layer,
        attention=profile.attention[layer],
        feed_forward=profile.feed_forward[layer],
        before=profile.sizes[layer],
    )


def sum_check(lesson: Lesson) -> None:
    """Stream in + attention + feed-forward = stream out, with the first numbers put in."""
    if not lesson.lm.additions_add_up:
        prose.say(
            "In this model the stream, what attention hands on and what the feed-forward network hands on do not add "
            "up to the next stream: it does something more in between, so the two additions are not shown."
        )
        return
    check = stream_check(lesson.trace, lesson.view.layer, lesson.selected, SHOWN)
    prose.equation(
        "stream in      {before} …\n"
        "+ <b class='a'>attention</b>    {attention} …\n"
        "+ feed-forward {feed_forward} …\n"
        "= stream out   {after} …",
        before=numbers(check.before),
        attention=numbers(check.attention),
        feed_forward=numbers(check.feed_forward),
        after=numbers(check.after),
    )
    prose.aside(
        "The first numbers of layer {layer}. Added up and compared with what the model had after the layer: over all "
        "{size} numbers the largest difference is {difference:.1e}, where the largest number is {largest:,.4g}"
        + (". That is rounding." if check.difference else ": exactly the same."),
        layer=lesson.view.layer,
        size=lesson.lm.architecture.hidden_size,
        difference=check.difference,
        largest=check.largest,
    )


def numbers(values) -> prose.Html:
    """The first numbers of a vector, under one another when they stand in lines."""
    return prose.Html(" ".join(f"{value:>8.3f}".replace("-", "−") for value in values))


def turns_figure(lesson: Lesson, profile: StreamProfile) -> None:
    """Where the stream points, layer by layer."""
    view = lesson.view
    anatomy.figure(
        figures.stream_turns(profile.with_before, profile.with_final, layer=view.layer, theme=lesson.theme),
        key="stream_turns",
        title="Where the stream of {token} points: cosine with what entered the layer, and with the end",
        mark=prose.FROM_THE_MODEL,
        alt=f"Layer {view.layer} leaves the stream of position {lesson.selected} at a cosine of "
        f"{profile.with_before[view.layer]:.2f} with what entered it, and {profile.with_final[view.layer + 1]:.2f} "
        "with what leaves the last layer.",
        table=lambda: stream_table(profile),
        on_click=lambda x, y: take_layer(view, int(x), lesson.lm.architecture.layers),
        token=lesson.labels[lesson.selected],
    )


def turns_sentence(lesson: Lesson, profile: StreamProfile) -> None:
    """Directions read aloud."""
    turning, layer = profile.turning_layer, lesson.view.layer
    prose.read_aloud(
        "1 is the same direction, 0 has nothing in common. Layer {layer} keeps {kept:.2f} of the direction it was "
        "given; after the first layer, layer {turning} turns the stream most ({least:.2f}). What enters layer 0 has a "
        "cosine of {first:.2f} with the end, what enters the last layer {late:.2f}.",
        layer=layer,
        kept=profile.with_before[layer],
        turning=turning,
        least=profile.with_before[turning],
        first=profile.with_final[0],
        late=profile.with_final[-2],
    )


# ---- normalisation -----------------------------------------------------------------------------

_WHERE = {
    "attention": "the stream as it enters the layer, before attention reads it",
    "feed-forward": "the stream before the feed-forward network reads it",
    "final": "the stream as it leaves the last layer, before the unembedding",
}


def normalisation(lesson: Lesson) -> None:
    """What the normalisation in front of a half does to this position's real vector."""
    which = st.segmented_control(
        "Before",
        NORMS,
        default=NORMS[0],
        key="norm_kind",
        required=True,
        format_func=lambda name: {"feed-forward": "feed-forward network", "final": "the answer"}.get(name, name),
    )
    steps = norm_before(lesson.trace, lesson.view.layer, lesson.selected, which)
    if steps is None:
        prose.say(
            "There is no normalisation in front of this half that could be shown: some models normalise only what a "
            "half gives, others in a way that is neither RMSNorm nor LayerNorm."
        )
        return
    _strips(lesson, which, steps)
    _arithmetic(steps)


def _strips(lesson: Lesson, which: str, steps: Normalised) -> None:
    strips = [("before", steps.before.numpy())]
    strips += [] if steps.weight is None else [("weight, learned", steps.weight.numpy())]
    strips += [] if steps.bias is None else [("bias, learned", steps.bias.numpy())]
    strips += [("after", steps.after.numpy())]
    anatomy.figure(
        figures.norm_strips(strips, lesson.theme),
        key="norm_strips",
        title="{name} of {where}, {token} (position {place}{layer}). Blue −, orange +",
        mark=prose.FROM_THE_MODEL,
        alt=f"{steps.name}: numbers of sizes up to {float(steps.before.abs().max()):.3g} before, up to "
        f"{steps.largest:.3g} after.",
        table=lambda: figures.norm_table(strips),
        name=prose.literal(steps.name),
        where=prose.Html(_WHERE[which]),
        token=lesson.labels[lesson.selected],
        place=lesson.selected,
        layer=prose.Html("" if which == "final" else f", layer {lesson.view.layer}"),
    )


def _arithmetic(steps: Normalised) -> None:
    first = (
        "mean of the {size} numbers        = {mean:.5f}, taken off each\n"
        "variance, mean of their squares = {square:,.5f}\n"
        if steps.centred
        else "mean square of the {size} numbers = {square:,.5f}\n"
    )
    prose.equation(
        first + "divide by √({square:,.5f} + {epsilon:g}) = {divisor:,.5f}\n{lines}",
        size=len(steps.before),
        mean=steps.mean,
        square=steps.mean_square,
        epsilon=steps.epsilon,
        divisor=steps.divisor,
        lines=prose.Html("\n".join(_line(steps, place) for place in range(SHOWN))),
    )
    prose.aside(
        "Worked out this way, all {size} results differ from the module's own output by at most {difference:.1e}; the "
        "largest is {largest:.3g}. However long the stream has grown, what reads it sees numbers of ordinary size.",
        size=len(steps.before),
        difference=steps.difference,
        largest=steps.largest,
    )


def _line(steps: Normalised, place: int) -> str:
    """One number on its way: (before − mean) / divisor × weight + bias = after."""
    before = f"{float(steps.before[place]):.4f}"
    text = f"({before} − {steps.mean:.4f})" if steps.centred else before
    text += f" / {steps.divisor:,.4f}"
    text += "" if steps.weight is None else f" × {float(steps.weight[place]):.4f}"
    text += "" if steps.bias is None else f" + {float(steps.bias[place]):.4f}"
    return f"number {place}: {text} = {float(steps.after[place]):.4f}".replace("-", "−")
