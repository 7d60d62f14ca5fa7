"""The parts of the lesson on prefill and decode that measure the machine: growth and the roofline."""

from collections.abc import Callable

import streamlit as st

from model.clock import Takes
from model.machine import (
    DECODES,
    MULTIPLIED,
    READ,
    GrowthPoint,
    Roofline,
    TimedWork,
    lengths_up_to,
    roofline,
)
from model.published import gpus
from pages.shared import anatomy, prose
from pages.shared.frame import Lesson
from pages.shared.limits import LIMITS
from pages.shared.store import Points
from viz import machine as figures
from viz.machine import Reached, Roof, Timed

#: The longest prompt of the sweep, tokens.
LONGEST = 2_048
GPUS = ("NVIDIA RTX 4090", "NVIDIA H100 SXM")


def sweep_lengths(lesson: Lesson) -> list[int]:
    """Lengths that the model was made for, and this server allows."""
    return lengths_up_to(max(1, min(LONGEST, LIMITS.one_pass, lesson.lm.architecture.positions - DECODES)))


def sweep_progress(points: Points) -> tuple[float, str]:
    """How much of the work is done: a prompt twice as long takes more than twice the time."""
    last = points.items[-1].length
    return len(points.items) / points.planned, f"up to {last:,} tokens"


def growth_figures(lesson: Lesson, points: Points) -> None:
    """Prefill and decode against length, by the clock, and a prefill's operations by formula."""
    found: tuple[GrowthPoint, ...] = points.items
    sizes = [point.length for point in found]
    timed, formula, decode = st.columns(3, gap="medium")
    with timed:
        prefills = [point.prefill.times for point in found]
        _timed_figure(lesson, "prefill", sizes, prefills, "tokens of the prompt", "Prefill: time")
    with formula:
        linear = [point.prefill.work.matrices / 1e9 for point in found]
        quadratic = [point.prefill.work.attention / 1e9 for point in found]
        anatomy.figure(
            figures.parts_chart(sizes, linear, quadratic, lesson.theme),
            key="growth_parts",
            title="Prefill: operations",
            mark=prose.BY_FORMULA,
            alt=f"At {sizes[-1]} tokens: matrices {linear[-1]:.1f}, attention {quadratic[-1]:.1f} thousand million.",
            table=lambda: figures.parts_table(sizes, linear, quadratic),
        )
    with decode:
        decodes = [point.decode.times for point in found]
        _timed_figure(lesson, "decode", sizes, decodes, "tokens of context", "One decode step: time")


def _timed_figure(lesson: Lesson, key: str, sizes: list[int], takes: list[Takes], size_title: str, title: str) -> None:
    timed = Timed(
        sizes,
        [1e3 * each.median for each in takes],
        [1e3 * each.least for each in takes],
        [1e3 * each.most for each in takes],
    )
    anatomy.figure(
        figures.growth_chart(timed, size_title, lesson.theme),
        key=f"growth_{key}",
        title=title,
        mark=prose.TIMED_HERE,
        alt=f"{title}: {timed.milliseconds[0]:.0f} ms at {sizes[0]}, {timed.milliseconds[-1]:.0f} ms at {sizes[-1]}.",
        table=lambda: figures.timed_table(timed, size_title),
    )


def growth_sentence(points: Points) -> None:
    """The sweep read aloud."""
    first, last = points.items[0], points.items[-1]
    if first is last:
        return
    share = last.prefill.work.attention / last.prefill.work.operations
    prose.read_aloud(
        "{times:.0f} times as long a prompt took {prefill:.0f} times as long to read, and a decode step after it "
        "{decode:.1f} times as long. At {length:,} tokens attention between positions, the part that grows as the "
        "square, is {share:.0%} of the operations: on a model of this size most of the time is still the matrices'.",
        times=last.length / first.length,
        prefill=last.prefill.times.median / first.prefill.times.median,
        decode=last.decode.times.median / first.decode.times.median,
        length=last.length,
        share=share,
    )


def measured_roofline(lesson: Lesson, show: Callable[[Roofline], None]) -> Roofline | None:
    """The machine and the model measured, once for all pages that show it, each with its own picture."""
    lm = lesson.lm
    return anatomy.measured(
        ("roofline", lm.key, lm.device, lm.dtype),
        "roofline",
        lambda: roofline(lm, lesson.tokens),
        show,
        button="Measure this machine (about half a minute)",
        progress=roofline_progress,
    )


def roofline_progress(state: Roofline) -> tuple[float, str]:
    """How many of the measurements are done."""
    return state.done / state.planned, state.doing


def roofline_figure(lesson: Lesson, state: Roofline) -> None:
    """This machine's roof, what runs reached below it, and data sheets as lines."""
    if state.machine is None:
        return
    machine = state.machine
    chosen = st.session_state.get("roofline_gpus", list(GPUS))
    here = Roof("this machine, measured", machine.matrix_rate.median, machine.bandwidth.median)
    others = [Roof(f"{name}, data sheet", gpus()[name].operations, gpus()[name].bandwidth) for name in chosen]
    points = [_reached("prefill", f"{each.work.computed}", each) for each in state.prefills]
    points += [_reached("decode", f"{each.requests}×", each.decode) for each in state.batches]
    anatomy.figure(
        figures.roofline_chart(here, others, points, lesson.theme),
        key="roofline",
        title="The roof is what a machine can do; points are what this model did below it",
        mark=prose.TIMED_AND_FORMULA,
        alt=f"Matrix rate {here.operations / 1e9:.0f} thousand million operations a second, read bandwidth "
        f"{here.bandwidth / 1e9:.1f} GB a second.",
        table=lambda: figures.roofline_table(here, others, points),
    )


def _reached(kind: str, label: str, timed: TimedWork) -> Reached:
    return Reached(kind, label, timed.work.intensity, timed.rate)


def gpu_choice() -> None:
    """Whose data sheets are drawn as lines."""
    st.multiselect(
        "Other machines, from their data sheets (by formula)",
        list(gpus()),
        default=list(GPUS),
        key="roofline_gpus",
        max_selections=4,
    )
    prose.aside(
        "Data sheets count 16-bit operations on dense matrices where the machine has units for them; here the model "
        "computes in 32 bit. Below the slope a run waits for memory (<b>memory-bound</b>), under the flat part for "
        "arithmetic (<b>compute-bound</b>)."
    )


def roofline_sentence(lesson: Lesson, state: Roofline) -> None:
    """The roofline read aloud."""
    if not state.batches or len(state.batches) < 2:
        return
    first, last = state.batches[0], state.batches[-1]
    prose.read_aloud(
        "A decode of one request does {low:.1f} operations for each byte it reads: it waits for the weights. {many} "
        "requests at once read the same weights once for all, so the point climbs to the right, to {high:.1f}: "
        "{rate:.1f} tokens a second in place of {single:.1f}, {time:.0f} ms a step in place of {short:.0f}. From "
        "{ridge:.1f} operations a byte on, this machine's arithmetic is the limit.",
        low=first.decode.work.intensity,
        many=last.requests,
        high=last.decode.work.intensity,
        rate=last.tokens_a_second,
        single=first.tokens_a_second,
        time=1e3 * last.decode.times.median,
        short=1e3 * first.decode.times.median,
        ridge=state.machine.ridge,
    )


def method(lesson: Lesson, state: Roofline) -> None:
    """How the rates were measured, and the limit they set to a decode step."""
    machine, shape = state.machine, lesson.lm.architecture
    if machine is None or not state.batches:
        return
    one = state.batches[0].decode
    seconds = one.work.bytes / machine.bandwidth.median
    prose.figure_title("How the two rates were found, and the limit they set", prose.TIMED_AND_FORMULA)
    prose.equation(
        "matrix rate     2 × {n}³ operations / time of one product of two {n} × {n} matrices = {rate:.1f} × 10⁹ /s\n"
        "read bandwidth  {read}² × {size} bytes / time of that matrix times a vector         = {band:.2f} GB/s\n"
        "a decode step   must read {bytes:,} bytes: at least {limit:.1f} ms\n"
        "                took {took:.1f} ms, {share:.0%} of the bandwidth",
        n=MULTIPLIED,
        read=READ,
        size=lesson.lm.bytes_per_value,
        rate=machine.matrix_rate.median / 1e9,
        band=machine.bandwidth.median / 1e9,
        bytes=one.work.bytes,
        limit=1e3 * seconds,
        took=1e3 * one.times.median,
        share=seconds / one.times.median,
    )
    prose.aside(
        "Median of {takes} takes on {threads} threads, in {dtype} on {device}. Each of the decodes timed reads one "
        "position more than the one before; the bytes and operations shown are those of the middle one. {layers} "
        "layers are many small products: starting each costs time that the bandwidth does not explain.",
        takes=len(machine.bandwidth),
        threads=machine.threads,
        dtype=prose.literal(lesson.lm.dtype),
        device=prose.literal(lesson.lm.device),
        layers=shape.layers,
    )
