"""The open model with its cache in fewer bits: real bytes, and what becomes of its answers."""

from collections.abc import Hashable, Iterator

from model.cost import stored_bits
from model.fewer_bits import KeptIn, kept_in_fewer_bits, likeliest_together
from model.kept import kept_values
from model.kv_cache import BACKEND, group_size
from pages.shared import anatomy, prose
from pages.shared.frame import Lesson
from pages.shared.store import Points, gathered
from viz import cache as figures
from viz.calculator import both_units

BITS = (8, 4, 2)
WRITTEN = 16
#: Positions that the quantised cache keeps in full precision before it rounds them.
REMAINDER = 128
#: Tokens told apart for each cache.
SHOWN = 4


def key(lesson: Lesson) -> Hashable:
    """All that the measurement depends on."""
    return ("fewer bits", lesson.lm.key, lesson.lm.device, lesson.lm.dtype, lesson.tokens.ids)


def work(lesson: Lesson) -> Iterator[Points]:
    """The greedy continuation with each cache."""
    return gathered(kept_in_fewer_bits(lesson.lm, lesson.tokens, BITS, WRITTEN), 1 + len(BITS))


def progress(points: Points) -> tuple[float, str]:
    """How far it is."""
    done = len(points.items)
    doing = f"{BITS[done - 1]} bits" if 0 < done <= len(BITS) else "done"
    return done / points.planned, doing


def in_force(lesson: Lesson) -> None:
    """What quantises, and how."""
    prose.aside(
        "In force: back-end {backend}, groups of {group} values with a scale and a zero in 32 bit each, and a "
        "remainder: up to {remainder} positions written after the prompt stay in full precision before they are "
        "rounded together. The prompt's own pass still reads the values it has just worked out, unrounded; the "
        "first pass that reads rounded ones is step 1.",
        backend=prose.literal(BACKEND),
        group=group_size(lesson.lm.architecture),
        remainder=REMAINDER,
    )


def show(lesson: Lesson, points: Points) -> None:
    """The caches that have been tried so far."""
    exact, others = points.items[0], points.items[1:]
    bytes_equation(lesson, points.items)
    if not others:
        return
    if len(exact.tokens) == 1:
        prose.aside("The continuation ends with its first token: no pass reads the cache.")
        return
    answers_figure(lesson, exact, others)
    departures(lesson, exact, others)
    divergence_figure(lesson, exact, others)


def bytes_equation(lesson: Lesson, runs: tuple[KeptIn, ...]) -> None:
    """Bytes of the tensors after the prompt, beside the formula."""
    shape = lesson.lm.architecture
    values, group = kept_values(shape, len(lesson.tokens)), group_size(shape)
    lines, numbers = [], {"values": values}
    for place, run in enumerate(runs):
        whole = run.bits if run.bits >= 16 else stored_bits(run.bits, group)
        formula = round(values * whole / 8)
        inside = f"({run.bits} + 64/{group})" if run.bits < 16 else f"{run.bits}"
        verdict = "equal" if formula == run.prompt_bytes else "they differ"
        lines.append(
            f"{run.bits:>2} bits: {{values:,}} values × {inside} / 8 = {{formula_{place}:,}} bytes; "
            f"tensors: {{tensors_{place}:,}} bytes, {verdict}"
        )
        numbers |= {f"formula_{place}": formula, f"tensors_{place}": run.prompt_bytes}
    prose.equation("\n".join(lines), **numbers)


def _name(run: KeptIn, exact: KeptIn) -> str:
    return f"{run.bits} bits, as is" if run is exact else f"{run.bits} bits"


def answers_figure(lesson: Lesson, exact: KeptIn, others: tuple[KeptIn, ...]) -> None:
    """The next token at the first pass that reads rounded values."""
    runs, labels = (exact, *others), lesson.lm.vocabulary.labels
    chosen, bars = likeliest_together(runs, step=1, shown=SHOWN)
    names = [_name(run, exact) for run in runs]
    rest = f"{lesson.lm.architecture.vocabulary_size - len(chosen):,} others"
    tokens = [labels[id] for id in chosen]
    anatomy.figure(
        figures.answers(names, tokens, bars, rest, lesson.theme),
        key="bits_answers",
        title="What may follow {after} at step 1, the first that reads the cache",
        mark=prose.FROM_THE_MODEL,
        alt="Probability of the likeliest token from the exact cache: "
        + ", ".join(f"{name}: {bar[0]:.1%}" for name, bar in zip(names, bars, strict=True))
        + ".",
        table=lambda: figures.answers_table(names, tokens, bars, rest),
        after=labels[exact.tokens[0]],
    )


def departures(lesson: Lesson, exact: KeptIn, others: tuple[KeptIn, ...]) -> None:
    """Where each continuation leaves the exact one."""
    labels, count = lesson.lm.vocabulary.labels, len(exact.tokens)
    for run in others:
        step_1, place = run.divergence(exact)[1], run.departs(exact)
        start = "<b>{bits} bits</b>: {size} after the prompt. KL divergence at step 1: {kl:.2g} nats. "
        common = {"bits": run.bits, "size": prose.literal(both_units(run.prompt_bytes)), "kl": step_1}
        if place is None:
            prose.say(start + "All {count} greedy tokens are the same.", count=count, **common)
        else:
            prose.say(
                start + "The greedy text departs with token {place} of {count}: {mine} in place of {exact}.",
                place=place + 1,
                count=count,
                mine=labels[run.tokens[place]],
                exact=labels[exact.tokens[place]],
                **common,
            )


def divergence_figure(lesson: Lesson, exact: KeptIn, others: tuple[KeptIn, ...]) -> None:
    """KL divergence at each step while the text is the same."""
    curves = {run.bits: run.divergence(exact) for run in others}
    if not any(value > 0 for values in curves.values() for value in values):
        return
    worst = max(curves, key=lambda bits: max(curves[bits]))
    anatomy.figure(
        figures.divergence_lines(curves, lesson.theme),
        key="bits_divergence",
        title="KL divergence of each step's answer from the exact cache's, while the text is still the same",
        mark=prose.FROM_THE_MODEL,
        alt=f"The divergence is largest at {worst} bits: {max(curves[worst]):.2g} nats.",
        table=lambda: figures.divergence_table(curves),
    )
    prose.aside(
        "KL divergence is 0 where both give every token the same probability. It is drawn up to where the texts "
        "part: after that, the answers are to different questions."
    )
