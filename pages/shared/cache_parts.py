"""The parts of the lesson on the KV cache that look at the open model's own cache as it fills."""

import streamlit as st

from model.architecture import Architecture
from model.kept import head_rows, kept_positions, kept_values
from model.timing import Measurement, TimedPass, TimedWriting
from model.tokens import extended
from pages.shared import anatomy, frame, prose
from pages.shared.attention_parts import stepper
from pages.shared.frame import Lesson
from viz import cache as figures
from viz.calculator import both_units


def value_bytes(lesson: Lesson) -> int:
    """Bytes of one number of the model as it is computed here."""
    return {"float32": 4, "float16": 2, "bfloat16": 2}[lesson.lm.dtype]


def seen_after(each: TimedPass) -> int:
    """Positions that have been through the model after a forward pass."""
    return each.read + each.computed


def by_formula(lesson: Lesson, each: TimedPass) -> int:
    """Bytes that the cache must have after a forward pass."""
    return kept_values(lesson.lm.architecture, seen_after(each)) * value_bytes(lesson)


def live(lesson: Lesson, measurement: Measurement) -> None:
    """Bytes after each step, as the steps go."""
    if measurement.cached is None:
        prose.aside("Warming up: the first run of a model is not shown.")
        return
    passes = measurement.cached.passes
    sizes, formula = [each.cache_bytes for each in passes], [by_formula(lesson, each) for each in passes]
    anatomy.figure(
        figures.growth_bars(sizes, formula, theme=lesson.theme),
        key="growth",
        title="Bytes of the cache's own tensors after each step; the mark on each bar is the formula",
        mark=prose.FROM_THE_MODEL,
        alt=f"After the prefill the cache holds {sizes[0]:,} bytes, after step {len(sizes) - 1} {sizes[-1]:,}.",
        table=lambda: figures.growth_table(sizes, formula, [seen_after(each) for each in passes]),
    )


def labels_of(lesson: Lesson, writing: TimedWriting) -> list[str]:
    """Labels of the text and of all that was written after it."""
    return extended(lesson.tokens, lesson.lm.vocabulary, writing.tokens).labels


def grid_figure(lesson: Lesson, writing: TimedWriting, step: int) -> None:
    """Which positions each layer holds after a step."""
    each, prompt = writing.passes[step], writing.passes[0].computed
    seen = seen_after(each)
    anatomy.figure(
        figures.held_grid(each.held, seen, each.computed, prompt, labels_of(lesson, writing), lesson.theme),
        key="held_grid",
        title="Step {step}: the positions that each layer's cache holds. P from the prefill, D (hatched) from decodes",
        mark=prose.FROM_THE_MODEL,
        alt=f"After step {step}, {seen} positions have been read. Layers hold {min(each.held)} to {max(each.held)} "
        f"of them; {each.computed} were new in this step.",
        table=lambda: figures.held_table(each.held, seen, each.computed, prompt),
        step=step,
    )


def grid_sentence(lesson: Lesson, writing: TimedWriting, step: int) -> None:
    """The grid read aloud."""
    each, shape = writing.passes[step], lesson.lm.architecture
    if step == 0:
        prose.read_aloud(
            "The prefill read {n} tokens and left {n} rows in each of {layers} layers: {size}. The token it drew, "
            "{token}, has no row yet: it has not been read.",
            n=each.computed,
            layers=shape.layers,
            size=prose.literal(both_units(each.cache_bytes)),
            token=lesson.lm.vocabulary.labels[each.token],
        )
    else:
        prose.read_aloud(
            "Step {step} read one token, {read}, and wrote <b>one</b> new row into each layer. {drawn} tokens have "
            "been drawn now, and {rows} of them have rows: the last, {last}, has not been read. {n} + {rows} = "
            "{seen} positions have been seen, and the cache holds {size}.",
            step=step,
            read=lesson.lm.vocabulary.labels[writing.passes[step - 1].token],
            drawn=step + 1,
            rows=step,
            last=lesson.lm.vocabulary.labels[each.token],
            n=writing.passes[0].computed,
            seen=seen_after(each),
            size=prose.literal(both_units(each.cache_bytes)),
        )
    if shape.windowed_layers:
        window_sentence(shape, each)


def window_sentence(shape: Architecture, each: TimedPass) -> None:
    """What a window drops."""
    prose.say(
        "{windowed} of {layers} layers look back over a window of {window} tokens. They keep {kept} positions, one "
        "less than the window, because the next token brings its own; older rows are dropped, though {seen} "
        "positions have been seen. On the axis stand the real positions.",
        windowed=shape.windowed_layers,
        layers=shape.layers,
        window=shape.sliding_window,
        kept=min(each.held),
        seen=seen_after(each),
    )


def bytes_equation(lesson: Lesson, each: TimedPass) -> None:
    """The formula with its numbers put in, beside the bytes of the tensors."""
    shape, seen = lesson.lm.architecture, seen_after(each)
    everywhere, windowed = kept_positions(shape, seen)
    formula = by_formula(lesson, each)
    verdict = "equal, to the byte" if formula == each.cache_bytes else "they differ: this cache keeps something else"
    held = "{layers} layers × {seen} positions"
    if shape.windowed_layers:
        held = "({layers} layers × {seen} + {short} layers × {kept}) positions"
    prose.equation(
        "2 (<b class='k'>K</b> and <b class='v'>V</b>) × "
        f"{held} × {{kv}} KV heads × {{size}} numbers × {{each}} bytes\n"
        "  by formula    {formula:>12,} bytes\n"
        "  in tensors    {tensors:>12,} bytes   {verdict}\n"
        "                <b class='c'>{units}</b>",
        layers=shape.layers - shape.windowed_layers,
        seen=everywhere,
        short=shape.windowed_layers,
        kept=windowed,
        kv=shape.kv_heads,
        size=shape.head_size,
        each=value_bytes(lesson),
        formula=formula,
        tensors=each.cache_bytes,
        verdict=prose.literal(verdict),
        units=prose.literal(both_units(each.cache_bytes)),
    )


def head_choice(lesson: Lesson) -> None:
    """Which layer and KV head's rows are shown."""
    shape, view = lesson.lm.architecture, lesson.view
    layer, head, _ = st.columns([1, 1, 2])
    with layer:
        stepper(view, "layer", shape.layers)
    with head:
        last = shape.kv_heads - 1
        frame.bound_widget(
            st.number_input, view, "kv_head", f"KV head (0–{last})", key="stepper_kv", min_value=0, max_value=last
        )


def rows_figures(lesson: Lesson, writing: TimedWriting, step: int) -> None:
    """The real K and V rows of one KV head, those of this step outlined."""
    view, shape, each = lesson.view, lesson.lm.architecture, writing.passes[step]
    if writing.rows is None:
        prose.aside("The rows are copied out of the cache when writing has come to an end.")
        return
    seen = seen_after(each)
    first, *strips = head_rows(writing.rows, view.layer, view.kv_head, seen)
    _, *ends = head_rows(writing.rows, view.layer, view.kv_head, seen_after(writing.passes[-1]))
    labels = labels_of(lesson, writing)[first:seen]
    for column, role, rows, end in zip(st.columns(2, gap="large"), ("key", "value"), strips, ends, strict=True):
        with column:
            _strip(lesson, role, rows, labels, first, each, figures.saturation(end))
    held = each.held[view.layer]
    prose.aside(
        "Layer {layer}, KV head {kv}: two rows of {size} numbers a position. The outlined rows are new in this step; "
        "all others were only read.{turned}{dropped}",
        layer=view.layer,
        kv=view.kv_head,
        size=shape.head_size,
        turned=prose.Html(
            " Keys are kept as they are after they were turned by their position."
            if shape.position_encoding == "RoPE"
            else ""
        ),
        dropped=prose.Html(
            f" After this step the layer held {held} rows; those it has dropped since cannot be shown."
            if held > len(labels)
            else ""
        ),
    )


def _strip(lesson: Lesson, role: str, rows, labels: list[str], first: int, each: TimedPass, bound: float) -> None:
    view, new = lesson.view, seen_after(each) - each.computed
    anatomy.figure(
        figures.row_strip(rows, labels, first, new, role=role, bound=bound, theme=lesson.theme),
        key=f"rows_{role}",
        title="{what}: layer {layer}, KV head {kv}. Blue −, orange +; full colour at ±{bound:.2f}",
        mark=prose.FROM_THE_MODEL,
        alt=f"{len(rows)} {role} rows of {rows.shape[1]} numbers of layer {view.layer}, KV head {view.kv_head}.",
        table=lambda: figures.rows_table(rows, labels, first),
        what=prose.Html("<b class='k'>K</b> rows" if role == "key" else "<b class='v'>V</b> rows"),
        layer=view.layer,
        kv=view.kv_head,
        bound=bound,
    )


def tensors(lesson: Lesson, writing: TimedWriting, step: int) -> None:
    """The tensors of one layer, shape by shape, and their sum over the layers."""
    each, shape = writing.passes[step], lesson.lm.architecture
    held, wide = each.held[lesson.view.layer], value_bytes(lesson)
    one = shape.kv_heads * held * shape.head_size * wide
    prose.equation(
        "layer {layer}, K: {kv} KV heads × {held} positions × {size} numbers × {wide} bytes = {one:,} bytes\n"
        "layer {layer}, V: the same                                            = {one:,} bytes\n"
        "this layer: {both:,} bytes; all {layers} layers: {all:,} bytes\n"
        "if each of the {heads} query heads kept its own K and V: {wider:,} bytes, {times:g} times as much",
        layer=lesson.view.layer,
        kv=shape.kv_heads,
        held=held,
        size=shape.head_size,
        wide=wide,
        one=one,
        both=2 * one,
        layers=shape.layers,
        all=each.cache_bytes,
        heads=shape.query_heads,
        wider=each.cache_bytes * shape.query_heads // shape.kv_heads,
        times=shape.query_heads / shape.kv_heads,
    )
    a_token = 2 * shape.layers * shape.kv_heads * shape.head_size
    prose.aside(
        "A token costs this model {now:,} bytes here, at {wide} bytes a number; {half:,} in 16 bit. At 8 and 4 bits "
        "it would be {eight:,} and {four:,} before scales, zeros and the rows kept in full: an estimate, and one of "
        "the <b>cache</b>. In how many bits the weights are stored is another matter.",
        now=a_token * wide,
        wide=wide,
        half=2 * a_token,
        eight=a_token,
        four=a_token // 2,
    )


def check(lesson: Lesson) -> None:
    """A prediction: what one more token adds."""
    shape, wide = lesson.lm.architecture, value_bytes(lesson)
    a_token = 2 * shape.kv_heads * shape.head_size * wide
    n = len(lesson.tokens)
    anatomy.check_yourself(
        "cache",
        "The text is twice as long. What happens to the bytes that one more token adds to the cache?",
        [
            "They stay the same: a token leaves its own rows, however many came before",
            "They double: the new token must be kept with all earlier ones",
            "They grow with the square of the text",
        ],
        0,
        lambda: prose.say(
            "Each layer that sees everything grows by 2 × {kv} × {size} × {wide} = {each:,} bytes a token, after "
            "{n} tokens as after {twice}. What doubles is the cache as a whole, and with it what each step has to "
            "read.",
            kv=shape.kv_heads,
            size=shape.head_size,
            wide=wide,
            each=a_token,
            n=n,
            twice=2 * n,
        ),
    )
