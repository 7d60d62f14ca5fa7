"""Does it fit, what makes a cache smaller, and for what price: by formula. Nothing here runs a model."""

import streamlit as st

from model.deployment import PCI_EXPRESS, Fit, fit, offload_seconds
from model.published import gpus
from model.sizing import Sizing
from pages.shared import anatomy, frame, prose
from pages.shared.calculator_parts import bits_choice, name_of, number_box, shape_of
from pages.shared.frame import Lesson
from pages.shared.state import MAX_CONTEXT, View
from viz import calculator as figures
from viz.calculator import both_units

#: Tokens of the window that is tried on a shape that has none.
WINDOW = 4_096


def overhead_box(view: View) -> None:
    """GB that are set aside."""
    frame.bound_widget(
        st.number_input,
        view,
        "overhead",
        "Set aside, GB",
        min_value=0.0,
        max_value=10_000.0,
        step=1.0,
        read=lambda value: view.overhead if value is None else float(value),
        help="For activations, the libraries, the operating system.",
    )


def machine_controls(lesson: Lesson) -> None:
    """Machine, bits of a weight, typical request, overhead."""
    view = lesson.view
    machine, bits, typical, overhead = st.columns([3, 3, 2, 2])
    with machine:
        name = lambda each: f"{each} ({figures.rounded(gpus()[each].memory / 1e9)} GB)"  # noqa: E731
        frame.bound_widget(st.selectbox, view, "gpu", "Machine", options=list(gpus()), format_func=name)
    with bits:
        bits_choice(view, "weight_bits", "Bits of a weight", (32, 16, 8, 4))
    with typical:
        number_box(view, "typical", "Tokens of a typical request", "tokens", MAX_CONTEXT)
    with overhead:
        overhead_box(view)


def fits(lesson: Lesson) -> dict[str, Fit]:
    """How the memory is shared out, at worst and typically."""
    view, shape = lesson.view, shape_of(lesson)
    memory, overhead = gpus()[view.gpu].memory, round(view.overhead * 1e9)
    bits = {"weight_bits": view.weight_bits, "cache_bits": view.cache_bits}
    lengths = {"longest": view.context, "typical": view.typical}
    return {name: fit(shape, memory, tokens, overhead=overhead, **bits) for name, tokens in lengths.items()}


def memory_figure(lesson: Lesson, shared: dict[str, Fit]) -> None:
    """The machine's memory as one bar a length of request."""
    view = lesson.view
    rows = [
        {
            "name": f"{name}:<br>{tokens:,} tokens",
            "weights": each.weights,
            "overhead": each.overhead,
            "a_request": each.a_request,
            "requests": each.requests,
            "left": each.left,
        }
        for (name, each), tokens in zip(shared.items(), (view.context, view.typical), strict=True)
    ]
    memory = gpus()[view.gpu].memory
    many = {name: each.requests for name, each in shared.items()}
    anatomy.figure(
        figures.memory_bars(rows, memory, lesson.theme),
        key="memory",
        title="The memory of one {gpu}, {memory}: weights, what is set aside, and as many caches as fit",
        mark=prose.BY_FORMULA,
        alt=f"{many['longest']:,} requests of {view.context:,} tokens fit, {many['typical']:,} of {view.typical:,}.",
        table=lambda: figures.memory_table([row | {"name": row["name"].replace("<br>", " ")} for row in rows], memory),
        gpu=prose.literal(view.gpu),
        memory=prose.literal(both_units(memory)),
    )


def fit_sentence(lesson: Lesson, shared: dict[str, Fit]) -> None:
    """Whether it fits."""
    view, longest, typical = lesson.view, shared["longest"], shared["typical"]
    if longest.room < 0:
        prose.read_aloud(
            "<b>It does not fit.</b> The weights take {weights} and {overhead:g} GB are set aside: that is "
            "{missing} more than the memory of one {gpu}, before a single token is kept. Fewer bits a weight, or "
            "more machines.",
            weights=prose.literal(both_units(longest.weights)),
            overhead=view.overhead,
            missing=prose.literal(both_units(-longest.room)),
            gpu=prose.literal(view.gpu),
        )
        return
    prose.read_aloud(
        "After the weights ({weights}) and {overhead:g} GB set aside, {room} are left for caches. Of requests with "
        "{context:,} tokens, <b>{worst:,}</b> fit at once; of those with {typical:,}, <b>{usual:,}</b>. {asked}",
        weights=prose.literal(both_units(longest.weights)),
        overhead=view.overhead,
        room=prose.literal(both_units(longest.room)),
        worst=longest.requests,
        context=view.context,
        usual=typical.requests,
        typical=view.typical,
        asked=prose.literal(_asked_for(view, longest)),
    )
    prose.aside(
        "Grey: weights. Crossed: set aside. Hatched: caches, one block each, or one for all beyond {most}. Pale: left.",
        most=figures.MOST_SEGMENTS,
    )
    prose.aside(
        "A server that sets memory aside for the longest request serves {worst:,} at once. One that gives each "
        "request what it uses, page by page, serves up to {usual:,} typical ones.",
        worst=longest.requests,
        usual=typical.requests,
    )


def _asked_for(view: View, longest: Fit) -> str:
    """What becomes of the requests the calculator was asked for."""
    if view.requests == 1:
        return f"The one request asked for above {'fits' if longest.requests else 'does not fit'}."
    fit = "fit" if view.requests <= longest.requests else "do not fit"
    return f"The {view.requests:,} requests asked for above {fit}."


def remedies(lesson: Lesson, sizing: Sizing) -> list[tuple[str, int, int, str]]:
    """What makes the cache smaller: name, bytes of values, bytes of scales and zeros, price. First as it is."""
    shape = sizing.shape
    found = [("as it is", sizing.bytes, 0, "–")]
    for count, size in sizing.with_heads():
        name = f"{count} KV heads" if count > 1 else "1 KV head"
        price = "query heads share keys and values: a little quality; the model must be trained so"
        if count == shape.query_heads:
            name, price = f"all {name}", "the most memory: one KV head a query head"
        if count != shape.kv_heads or shape.latent_size:
            found.append((name, size, 0, price))
    if not shape.windowed_layers and sizing.tokens > WINDOW:
        price = f"what lies more than {WINDOW:,} tokens back can only arrive through the layers between"
        found.append((f"window of {WINDOW:,}", sizing.with_window(WINDOW), 0, price))
    for bits in (8, 4, 2):
        if bits < sizing.bits:
            alone, stored = sizing.in_bits(bits)
            price = f"rounding in each step; with scale and zero {8 * stored / (alone * 8 / bits):g} bits a value"
            found.append((f"{bits} bits a value", alone, stored - alone, price))
    return found


def remedies_figure(lesson: Lesson, sizing: Sizing) -> None:
    """The same request after each remedy."""
    names, sizes, extra, prices = zip(*remedies(lesson, sizing), strict=True)
    best = min(range(len(names)), key=lambda place: sizes[place] + extra[place])
    anatomy.figure(
        figures.size_bars(names, sizes, extra, 0, lesson.theme),
        key="remedies",
        title="The cache of {name} at {tokens:,} tokens, one thing changed at a time; hatched: scales and zeros",
        mark=prose.BY_FORMULA,
        alt=f"As it is {both_units(sizes[0])}; smallest with {names[best]}: {both_units(sizes[best] + extra[best])}.",
        table=lambda: figures.size_table(names, sizes, extra, prices),
        name=prose.literal(name_of(lesson)),
        tokens=sizing.tokens,
    )


def prices(sizing: Sizing) -> None:
    """What each remedy costs elsewhere."""
    shape = sizing.shape
    prose.say(
        "<b>Fewer KV heads</b>: query heads share keys and values. It has to be trained that way, and costs a little "
        "quality. <b>A window</b>: a layer forgets what lies further back; it reaches it only through what earlier "
        "layers carried on. <b>Fewer bits</b>: each value is rounded. A group of {group} values shares a scale and a "
        "zero in 32 bit each, so 4 bits are really {four:g} and 2 bits {two:g}. <b>Offloading</b>: the cache lies in "
        "the host's memory, and every step waits for it.",
        group=sizing.group,
        four=4 + 64 / sizing.group,
        two=2 + 64 / sizing.group,
    )
    if shape.latent_size:
        prose.aside(
            "For a latent shape the bars with KV heads show what it would take if heads kept keys and values of "
            "{size} numbers each; it is trained otherwise.",
            size=shape.head_size,
        )


def offload_figure(lesson: Lesson, sizing: Sizing) -> None:
    """What a step waits for if the cache is not in the machine's own memory."""
    machine = gpus()[lesson.view.gpu]
    names = [f"{name}, {figures.rounded(rate / 1e9)} GB/s" for name, rate in PCI_EXPRESS.items()]
    own = offload_seconds(sizing.bytes, machine.bandwidth)
    names = [f"own memory, {figures.rounded(machine.bandwidth / 1e9)} GB/s", *names]
    seconds = [own, *(offload_seconds(sizing.bytes, rate) for rate in PCI_EXPRESS.values())]
    slowest, fastest = max(seconds[1:]), min(seconds[1:])
    anatomy.figure(
        figures.second_bars(names, seconds, lesson.theme),
        key="offload",
        title="Time in which one step reads the whole cache, {size}: from the memory of one {gpu}, or from the host",
        mark=prose.BY_FORMULA,
        alt=f"{figures.milliseconds(own)} from its own memory, {figures.milliseconds(fastest)} to "
        f"{figures.milliseconds(slowest)} over PCI Express.",
        table=lambda: figures.second_table(names, seconds),
        size=prose.literal(both_units(sizing.bytes)),
        gpu=prose.literal(lesson.view.gpu),
    )
    prose.read_aloud(
        "In its own memory {gpu} reads the cache in {own} a step. Over PCI Express each step waits {fastest} to "
        "{slowest} for it, before anything is computed: {times:,.0f} times as long at best.",
        gpu=prose.literal(lesson.view.gpu),
        own=prose.literal(figures.milliseconds(own)),
        fastest=prose.literal(figures.milliseconds(fastest)),
        slowest=prose.literal(figures.milliseconds(slowest)),
        times=fastest / own,
    )
