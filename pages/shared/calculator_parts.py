"""The memory calculator: any published shape, or the open model's, by formula. Nothing here runs a model."""

import streamlit as st

from model.architecture import Architecture
from model.errors import SettingRefused
from model.published import architectures, gpus, notes
from model.sizing import Sizing, whole_number
from pages.shared import anatomy, frame, prose
from pages.shared.frame import Lesson
from pages.shared.state import MAX_CONTEXT, View
from viz import calculator as figures
from viz.calculator import both_units

OPEN = "open"
MOST_REQUESTS = 100_000
#: Two numbers of tokens that are both called 128k.
ROUND, POWER = 128_000, 131_072


def names_checked(view: View) -> list[str]:
    """Bring names that no table has back to the default; sentences on what was changed."""
    changed = []
    for field, known, what in (("shape", {OPEN, *architectures()}, "shape"), ("gpu", set(gpus()), "machine")):
        asked = getattr(view, field)
        if asked not in known:
            setattr(view, field, getattr(View, field))
            changed.append(f"There is no {what} {asked[:40]!r} in the table: {getattr(view, field)} is shown.")
    return changed


def shape_of(lesson: Lesson) -> Architecture:
    """The shape that is calculated with."""
    return lesson.lm.architecture if lesson.view.shape == OPEN else architectures()[lesson.view.shape]


def name_of(lesson: Lesson, shape: str | None = None) -> str:
    """A shape's name for people."""
    shape = shape or lesson.view.shape
    return f"{lesson.lm.title} (the open model)" if shape == OPEN else shape


def sizing_of(lesson: Lesson) -> Sizing:
    """What the calculator is set to."""
    view = lesson.view
    return Sizing(shape_of(lesson), view.context, view.cache_bits, view.requests)


def number_box(view: View, name: str, label: str, what: str, most: int) -> None:
    """A whole number, typed: what cannot be meant is refused with a sentence, and the old number stays."""
    key = f"typed_{name}"
    frame.give(key, f"{getattr(view, name):,}")

    def take() -> None:
        try:
            setattr(view, name, whole_number(st.session_state[key], what, most))
        except SettingRefused as problem:
            st.session_state[f"{key}_problem"] = f"{problem} {getattr(view, name):,} stays."

    st.text_input(label, st.session_state[key], key=key, on_change=take)
    if problem := st.session_state.pop(f"{key}_problem", None):
        st.warning(prose.plain(problem), icon=":material/edit:")


def cache_controls(lesson: Lesson) -> None:
    """Shape, tokens, bits, requests."""
    view = lesson.view
    shape, tokens, bits, requests = st.columns([3, 2, 3, 2])
    with shape:
        options = [*architectures(), OPEN]
        name = lambda each: name_of(lesson, each)  # noqa: E731
        frame.bound_widget(st.selectbox, view, "shape", "Model", options=options, format_func=name)
    with tokens:
        number_box(view, "context", "Tokens of a request", "tokens", MAX_CONTEXT)
    with bits:
        bits_choice(view, "cache_bits", "Bits of a cached value", (32, 16, 8, 4, 2))
    with requests:
        number_box(view, "requests", "Requests at once", "requests", MOST_REQUESTS)


def bits_choice(view: View, name: str, label: str, options: tuple[int, ...]) -> None:
    """One of a few numbers of bits."""
    frame.bound_widget(st.segmented_control, view, name, label, options=options, required=True)


def cache_equation(lesson: Lesson, sizing: Sizing) -> None:
    """The cache with the numbers put in; layers with a window, and latent attention, by their own lines."""
    shape = sizing.shape
    if shape.latent_size:
        a_token = "{latent} numbers (one compressed vector for K and V together)"
    else:
        a_token = "2 (<b class='k'>K</b> and <b class='v'>V</b>) × {kv} KV heads × {size} head size"
    tail = "{bytes:g} {byte} a value × {requests:,} request" + ("s" if sizing.requests > 1 else "")
    lines = []
    if sizing.global_layers:
        lines.append(
            f"{a_token} × {{everywhere}} layers\n  × {{tokens:,}} tokens × {tail}\n  = {{global_bytes:,}} bytes"
        )
    if shape.windowed_layers:
        lines.append(
            f"{a_token} × {{windowed}} layers with a window\n  × min({{tokens:,}}, {{window:,}}) tokens × {tail}\n"
            "  = {windowed_bytes:,} bytes"
        )
    if len(lines) == 2:
        lines.append("together {total:,} bytes")
    lines.append("  = <b class='c'>{units}</b>")
    prose.equation(
        "\n".join(lines),
        latent=shape.latent_size,
        kv=shape.kv_heads,
        size=shape.head_size,
        everywhere=sizing.global_layers,
        windowed=shape.windowed_layers,
        window=shape.sliding_window,
        tokens=sizing.tokens,
        bytes=sizing.bits / 8,
        byte=prose.Html("byte" if sizing.bits == 8 else "bytes"),
        requests=sizing.requests,
        global_bytes=sizing.global_bytes,
        windowed_bytes=sizing.windowed_bytes,
        total=sizing.bytes,
        units=prose.literal(both_units(sizing.bytes)),
    )
    if shape.latent_size:
        prose.aside(
            "Latent attention: no factor 2 and no KV heads. All heads' keys and values are worked out again from one "
            "vector of {latent} numbers a layer.",
            latent=shape.latent_size,
        )


def weights_equation(lesson: Lesson, sizing: Sizing) -> None:
    """The weights with the numbers put in."""
    shape, bits = sizing.shape, lesson.view.weight_bits
    tied = "its first and last matrix are the same table, counted once"
    apart = "its first and last matrix are two tables, both counted"
    prose.equation(
        "{parameters:,} parameters\n  × {bytes:g} {byte} a weight\n  = {size:,} bytes\n  = <b class='c'>{units}</b>",
        parameters=shape.parameters,
        bytes=bits / 8,
        byte=prose.Html("byte" if bits == 8 else "bytes"),
        size=sizing.weights(bits),
        units=prose.literal(both_units(sizing.weights(bits))),
    )
    prose.aside(
        "The weights: {tables}.{estimate}",
        tables=prose.Html(tied if shape.tied_embeddings else apart),
        estimate=prose.Html(" Without the scales that go with so few bits: an estimate." if bits < 16 else ""),
    )


def size_sentences(lesson: Lesson, sizing: Sizing) -> None:
    """The calculation read aloud, and what is particular about it."""
    shape = sizing.shape
    prose.read_aloud(
        "{name} keeps {each:,} bytes for one token at {bits} bits. {requests} of {tokens:,} tokens: {total}, "
        "{ratio:.2g} times the bytes of its weights at {weight_bits} bits.",
        name=prose.literal(name_of(lesson)),
        each=Sizing(shape, 1, sizing.bits).bytes,
        bits=sizing.bits,
        requests=prose.Html("One request" if sizing.requests == 1 else f"{sizing.requests:,} requests"),
        tokens=sizing.tokens,
        total=prose.literal(both_units(sizing.bytes)),
        ratio=sizing.bytes / sizing.weights(lesson.view.weight_bits),
        weight_bits=lesson.view.weight_bits,
    )
    if shape.windowed_layers:
        prose.say(
            "{windowed} of {layers} layers keep at most {window:,} tokens: beyond that they stop growing. "
            "{rest} layers see everything and go on.",
            windowed=shape.windowed_layers,
            layers=shape.layers,
            window=shape.sliding_window,
            rest=sizing.global_layers,
        )
    if note := notes().get(lesson.view.shape):
        prose.aside("Of this shape: {note}.", note=prose.literal(note))
    if sizing.bits < 16:
        stored = sizing.in_bits(int(sizing.bits))[1]
        prose.aside(
            "An estimate: the values alone. With a scale and a zero for each {group} values it would be {stored}.",
            group=sizing.group,
            stored=prose.literal(both_units(stored)),
        )
    if sizing.tokens in (ROUND, POWER):
        _two_lengths(sizing)


def _two_lengths(sizing: Sizing) -> None:
    """128,000 is not 131,072."""
    small, large = (Sizing(sizing.shape, tokens, sizing.bits, sizing.requests).bytes for tokens in (ROUND, POWER))
    prose.aside(
        "Two lengths are called 128k, and they differ: {round:,} tokens take {small:.2f} GiB, {power:,} (2 to the "
        "power of 17) take {large:.2f} GiB.",
        round=ROUND,
        small=small / figures.GIB,
        power=POWER,
        large=large / figures.GIB,
    )


def too_long(lesson: Lesson, sizing: Sizing) -> None:
    """Say where the model was not made for so many tokens."""
    if sizing.is_too_long:
        st.warning(
            prose.plain(
                f"{name_of(lesson)} was made for at most {sizing.shape.positions:,} positions: it cannot use "
                f"{sizing.tokens:,} tokens. The arithmetic is shown as if it could."
            ),
            icon=":material/straighten:",
        )


def curve_figure(lesson: Lesson, sizing: Sizing) -> None:
    """Bytes against tokens, up to what the shape was made for."""
    tokens, everywhere, windowed = sizing.curve()
    end = both_units(int(everywhere[-1] + windowed[-1]))
    anatomy.figure(
        figures.growth_curve(tokens, everywhere, windowed, sizing.tokens, lesson.theme),
        key="growth_curve",
        title="The cache of {name} against tokens, up to the {most:,} it was made for",
        mark=prose.BY_FORMULA,
        alt=f"The cache grows to {end} at {tokens[-1]:,} tokens."
        + (f" Layers with a window stop at {both_units(int(windowed[-1]))}." if windowed.any() else ""),
        table=lambda: figures.curve_table(tokens, everywhere, windowed),
        name=prose.literal(name_of(lesson)),
        most=sizing.shape.positions,
    )
