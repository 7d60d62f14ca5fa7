"""The parts of the lesson on prefill and decode: the staircase, one step, both ways."""

import streamlit as st

from model.cost import work
from model.head_view import HeadView
from model.timing import Measurement, TimedPass, TimedWriting
from model.tokens import extended
from pages.shared import anatomy, frame, prose
from pages.shared.attention_parts import stepper
from pages.shared.frame import Lesson
from pages.shared.measuring import TAKES, WRITTEN
from pages.shared.store import shared_trace
from viz import staircase as figures
from viz.staircase import Lane, Rectangle

#: A text long enough to make the prefill the larger part.
LONG_TEXT = (
    "The river rose in the hills and ran down through the old town, past the mill and the market, under three "
    "bridges, and out across the plain to the sea. In spring it carried snow, in autumn leaves, and in a dry summer "
    "the children walked across it on stones. Every spring the people of the town"
)


def lane(lesson: Lesson, writing: TimedWriting, way: str = "") -> Lane:
    """A timed writing as the figures take it; ``way`` goes before its name."""
    labels = lesson.lm.vocabulary.labels
    name = f"{way}prefill {1e3 * writing.passes[0].seconds:,.0f} ms"
    if writing.between:
        name += f", then {len(writing.between)} decodes of {1e3 * writing.typical_decode:,.0f} ms"
    note = f"in the cache: {writing.in_cache} positions; the last token is not" if writing.use_cache else ""
    return Lane(name, tuple(_rectangle(each, writing.use_cache, labels) for each in writing.passes), note)


def _rectangle(each: TimedPass, use_cache: bool, labels) -> Rectangle:
    again = 0 if use_cache or each.index == 0 else each.computed - 1
    return Rectangle(
        milliseconds=1e3 * each.times.median,
        least=1e3 * each.times.least,
        most=1e3 * each.times.most,
        read=each.read,
        again=again,
        new=each.computed - again,
        token=labels[each.token],
        kept=use_cache,
    )


def staircase_figure(lesson: Lesson, measurement: Measurement) -> None:
    """The measurement as it stands: the way with the cache."""
    if measurement.cached is None:
        prose.aside("Warming up: the first run of a model pays for what later ones find ready, and is not shown.")
        return
    drawn = lane(lesson, measurement.cached)
    step = chosen_step(lesson, measurement.cached)
    anatomy.figure(
        figures.staircase([drawn], selected=step, theme=lesson.theme),
        key="staircase",
        title="One rectangle a step: as wide as its time, as high as the positions in it; medians of {takes} takes",
        mark=prose.TIMED_HERE,
        alt=_staircase_alt(measurement.cached),
        table=lambda: figures.staircase_table([drawn]),
        on_click=lambda x, y: _take_step(lesson, figures.pass_at(drawn, x)),
        takes=measurement.cached.takes,
    )


def _take_step(lesson: Lesson, step: int) -> None:
    lesson.view.step = step


def _staircase_alt(writing: TimedWriting) -> str:
    first = writing.passes[0]
    text = f"The prefill computes {first.computed} positions in {1e3 * first.seconds:.0f} ms."
    if writing.between:
        text += (
            f" Then {len(writing.between)} decode steps compute one position each, in "
            f"{1e3 * writing.typical_decode:.0f} ms in the middle."
        )
    return text


def chosen_step(lesson: Lesson, writing: TimedWriting) -> int:
    """The step that is opened up; clamped, for another text may have had more."""
    last = len(writing.passes) - 1
    return last if lesson.view.step < 0 else min(lesson.view.step, last)


def live(lesson: Lesson, measurement: Measurement) -> None:
    """The staircase, read aloud, with its four numbers."""
    staircase_figure(lesson, measurement)
    if measurement.cached is None:
        return
    numbers(measurement.cached)
    sentence(lesson, measurement.cached)


def numbers(writing: TimedWriting) -> None:
    """Four durations and rates, each defined where it stands."""
    prose.figure_title("The same in four numbers", prose.TIMED_HERE)
    between = sorted(writing.between)
    middle = f"{1e3 * writing.typical_decode:.0f} ms" if between else "–"
    spread = f"From {1e3 * between[0]:.0f} to {1e3 * between[-1]:.0f} ms over the steps." if between else ""
    rate = f"{writing.decode_rate:.1f} tokens/s" if between else "–"
    first = writing.first_token
    shown = (
        ("Time to first token", f"{1e3 * first.median:.0f} ms", "Prefill and first draw. " + _takes(first)),
        ("Time between tokens", middle, "Median of the decode steps; the first token is not among them. " + spread),
        ("Prefill", f"{writing.prefill_rate:.0f} tokens/s", "Tokens of the prompt over the time to first token."),
        ("Decode", rate, "Tokens written after the first over the time they took."),
    )
    for column, (name, value, meaning) in zip(st.columns(4), shown, strict=True):
        with column:
            st.metric(name, value)
            prose.aside("{meaning}", meaning=prose.literal(meaning))


def _takes(times) -> str:
    return f"{len(times)} takes, {1e3 * times.least:.0f} to {1e3 * times.most:.0f} ms."


def sentence(lesson: Lesson, writing: TimedWriting) -> None:
    """The staircase read aloud."""
    first, others = writing.passes[0], writing.passes[1:]
    labels = lesson.lm.vocabulary.labels
    if not others:
        return
    prose.read_aloud(
        "The first pass computes all <b>{n}</b> positions of the text at once, in {first:.0f} ms, and draws {token}. "
        "Each later pass computes <b>one</b> position and reads the others' keys and values from the cache: "
        "{each:.0f} ms a token. For each token the prompt was read {ratio:.1f} times as fast as the answer was "
        "written. {written} tokens written leave <b>{held}</b> positions in the cache, {n} + {written} − 1: the last "
        "token, {last}, has been drawn but not yet read.",
        n=first.computed,
        first=1e3 * first.seconds,
        token=labels[first.token],
        each=1e3 / writing.decode_rate,
        ratio=writing.prefill_rate / writing.decode_rate,
        written=len(writing.passes),
        held=writing.in_cache,
        last=labels[writing.passes[-1].token],
    )


def noise(measurement: Measurement | None) -> None:
    """What a time here is worth."""
    if measurement is None or measurement.cached is None:
        return
    total = measurement.cached.total
    prose.aside(
        "This machine does other things as well. The whole writing took {least:.0f} to {most:.0f} ms over {takes} "
        "takes; a run before them, which is not shown, warmed it up. Measure again, and the numbers will differ.",
        least=1e3 * total.least,
        most=1e3 * total.most,
        takes=len(total),
    )


def times_figure(lesson: Lesson, writing: TimedWriting) -> None:
    """Each step's time with its spread."""
    drawn = lane(lesson, writing)
    anatomy.figure(
        figures.times_chart(drawn, selected=chosen_step(lesson, writing), theme=lesson.theme),
        key="step_times",
        title="Time of each step: median, shortest and longest of {takes} takes",
        mark=prose.TIMED_HERE,
        alt=_staircase_alt(writing),
        table=lambda: figures.staircase_table([drawn]),
        takes=writing.takes,
    )


def step_slider(lesson: Lesson, writing: TimedWriting) -> int:
    """The step that is opened up, chosen."""
    step = chosen_step(lesson, writing)
    lesson.view.step = step
    frame.bound_widget(
        st.slider,
        lesson.view,
        "step",
        "Step (0 is the prefill)",
        min_value=0,
        max_value=max(1, len(writing.passes) - 1),
    )
    return step


def one_step(lesson: Lesson, writing: TimedWriting, step: int, use_cache: bool) -> None:
    """The triangle of one head after a step, and the step's arithmetic."""
    view, each = lesson.view, writing.passes[step]
    run = shared_trace(lesson.lm, extended(lesson.tokens, lesson.lm.vocabulary, writing.tokens[:-1]))
    total = each.read + each.computed
    first = each.read if use_cache else 0
    weights = HeadView(run, view.layer, view.head, total - 1).weights[:total, :total]
    labels = run.tokens.labels[:total]
    picture, arithmetic = st.columns([2, 3], gap="large")
    with picture:
        anatomy.figure(
            figures.work_triangle(weights, labels, first=first, last=total - 1, theme=lesson.theme),
            key="work_triangle",
            title="Layer {layer}, head {head}, step {step}: {rows} of {total} rows computed",
            mark=prose.FROM_THE_MODEL,
            alt=f"Attention map of {total} positions; rows {first} to {total - 1} are computed in this step.",
            table=lambda: figures.triangle_table(weights, labels, first, total - 1),
            layer=view.layer,
            head=view.head,
            step=step,
            rows=total - first,
            total=total,
        )
    with arithmetic:
        step_sentence(lesson, writing, step, use_cache)
        _arithmetic(lesson, total - first, first, use_cache)


def step_sentence(lesson: Lesson, writing: TimedWriting, step: int, use_cache: bool) -> None:
    """What the step does, in words."""
    each, labels = writing.passes[step], lesson.lm.vocabulary.labels
    if step == 0:
        text = "The <b>prefill</b> fills the whole causal triangle at once: all {n} rows, in every head of every layer."
    elif use_cache:
        text = (
            "A <b>decode</b> adds one row: that of {token}, drawn in the step before. The rows above it are not worked "
            "out again; what it needs of them, their <b class='k'>keys</b> and <b class='v'>values</b>, lies in the "
            "<b class='c'>cache</b>."
        )
    else:
        text = "Without the cache the model forgets: all {n} rows are worked out again for the sake of the last one."
    token = labels[writing.passes[step - 1].token] if step else ""
    prose.say(text, n=each.read + each.computed, token=token)


def _arithmetic(lesson: Lesson, computed: int, read: int, cached: bool) -> None:
    """Shapes, bytes and operations of a step, with the numbers put in."""
    shape, size = lesson.lm.architecture, lesson.lm.bytes_per_value
    done = work(shape, computed, read, bytes_per_value=size, cached=cached)
    prose.figure_title("What this step works out, reads and writes", prose.BY_FORMULA)
    prose.equation(
        "<b class='q'>queries</b>          {layers} layers × {heads} heads × {computed} × {size}\n"
        "<b class='k'>keys</b>, <b class='v'>values</b>     2 × {layers} × {kv} KV heads × {computed} × {size}\n"
        "<b class='c'>written</b>          2 × {layers} × {kv} × {computed} × {size} × {bytes} bytes = {written:,} B\n"
        "<b class='c'>read</b>             2 × {layers} × {kv} × {read} × {size} × {bytes} bytes = {read_bytes:,} B\n"
        "weights read     {weights:,} B, whatever the step\n"
        "operations       {matrices:,} with the weights\n"
        "               + {attention:,} between positions\n"
        "               = {operations:,}, {intensity:.2f} for each byte moved",
        layers=shape.layers,
        heads=shape.query_heads,
        kv=shape.kv_heads,
        computed=computed,
        read=read,
        size=shape.head_size,
        bytes=size,
        written=done.written_bytes,
        read_bytes=done.read_bytes,
        weights=done.weight_bytes,
        matrices=done.matrices,
        attention=done.attention,
        operations=done.operations,
        intensity=done.intensity,
    )


def head_choice(lesson: Lesson) -> None:
    """Which head's triangle is drawn."""
    layer, head = st.columns(2)
    with layer:
        stepper(lesson.view, "layer", lesson.lm.architecture.layers)
    with head:
        stepper(lesson.view, "head", lesson.lm.architecture.query_heads)


def both_lanes(lesson: Lesson, measurement: Measurement) -> None:
    """With the cache above, without it below, on one axis of time."""
    writings = [writing for writing in (measurement.cached, measurement.uncached) if writing is not None]
    if not writings:
        prose.aside("Warming up both ways.")
        return
    lanes = [lane(lesson, each, f"{'with' if each.use_cache else 'without'} the cache: ") for each in writings]
    anatomy.figure(
        figures.staircase(lanes, theme=lesson.theme),
        key="both_ways",
        title="The same tokens written both ways, on one axis of time; medians of {takes} takes",
        mark=prose.TIMED_HERE,
        alt="; ".join(f"{each.name}, {each.total:,.0f} ms in all" for each in lanes),
        table=lambda: figures.staircase_table(lanes),
        takes=writings[-1].takes,
    )


def proof(lesson: Lesson, measurement: Measurement | None) -> None:
    """That both ways wrote the same, and what the work by formula says beside the clock."""
    if measurement is None or measurement.cached is None or measurement.uncached is None:
        return
    cached, uncached = measurement.cached, measurement.uncached
    difference, largest = measurement.logit_difference
    same = "the same {n} token IDs" if measurement.same_tokens else "<b>not</b> the same token IDs"
    prose.read_aloud(
        f"Both ways wrote {same}. Their logits differ by at most {{difference:.1e}} (the largest logit is "
        "{largest:.1f}): sums of the same products in another order, rounded elsewhere. Without the cache "
        "<b>{uncached:,}</b> positions were computed in place of <b>{cached:,}</b>, {work:.1f} times the operations, "
        "in {time:.1f} times the time: {slow:,.0f} ms in place of {fast:,.0f}.",
        n=len(cached.tokens),
        difference=difference,
        largest=largest,
        uncached=uncached.rows_computed,
        cached=cached.rows_computed,
        work=measurement.times_the_operations,
        time=measurement.times_the_time,
        slow=1e3 * uncached.seconds,
        fast=1e3 * cached.seconds,
    )
    prose.aside(
        "Less work saves less time than it seems: a step has to read all weights, {weights:.0f} MB, whether it "
        "computes one position or thirty. The longer the text, the more the cache saves.",
        weights=work(lesson.lm.architecture, 1, bytes_per_value=lesson.lm.bytes_per_value).weight_bytes / 1e6,
    )


def check(lesson: Lesson, writing: TimedWriting | None) -> None:
    """One prediction, when something has been written."""
    if writing is None:
        return
    held = len(lesson.tokens) + len(writing.passes) - 1

    def because() -> None:
        prose.say(
            "{n} positions of the text, and every written token but the last: a token's key and value are worked out "
            "when it is <i>read</i>, and the last one drawn has not been read. {n} + {written} − 1 = <b>{held}</b>.",
            n=len(lesson.tokens),
            written=len(writing.passes),
            held=held,
        )

    anatomy.check_yourself(
        "decode",
        "When the last token has been drawn, how many positions does each layer's cache hold?",
        [str(held + 1), str(held), str(len(writing.passes))],
        1,
        because,
    )


def code(lesson: Lesson) -> None:
    """The measurement in a notebook."""
    view = lesson.view
    anatomy.code(
        f"""import model
from model.timing import measure_writing

lm = model.open_model({view.model!r})
settings = model.{view.settings!r}
for measurement in measure_writing(lm, {_text(lesson)}, settings, tokens={WRITTEN}, takes={TAKES}):
    pass
for step in measurement.cached.passes:
    print(step.index, step.computed, step.read, round(1000 * step.seconds, 1), "ms", step.cache_bytes, "bytes")"""
    )


def _text(lesson: Lesson) -> str:
    if len(lesson.tokens) > lesson.prompt_length or lesson.view.specials == "control":
        return str(list(lesson.tokens.ids))
    return repr(lesson.view.prompt)
