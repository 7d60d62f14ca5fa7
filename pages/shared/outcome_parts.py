"""What a plan comes to: the memory bar, every result with its formula, and how results move under load."""

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from model.plan import Between, Outcome, Plan
from model.plan_curves import Curve, by_context, by_requests
from model.reproduced import SOURCES, reproduced
from pages.shared import anatomy, plan_words, prose
from pages.shared.frame import Lesson
from viz import calculator, plan_bars
from viz import plan as figures
from viz.calculator import both_units


def memory_figure(lesson: Lesson, plan: Plan, found: Outcome, name: str) -> None:
    """All machines' memory, shared out among the longest requests and among typical ones."""
    rows = [
        {
            "name": f"{kind}:<br>{tokens:,} tokens",
            "weights": each.weights,
            "overhead": each.overhead,
            "a_request": each.a_request,
            "requests": each.requests,
            "left": each.left,
        }
        for kind, each, tokens in (
            ("longest", found.longest, plan.longest),
            ("typical", found.typical, plan.typical),
        )
    ]
    anatomy.figure(
        calculator.memory_bars(rows, plan.memory, lesson.theme),
        key="plan_memory",
        title="{name} on {count} {gpu}, {memory}: weights, what is set aside, and as many caches as fit",
        mark=prose.BY_FORMULA,
        alt=f"{found.longest.requests:,} of the longest requests fit, {found.typical.requests:,} typical ones.",
        table=lambda: calculator.memory_table(
            [row | {"name": row["name"].replace("<br>", " ")} for row in rows], plan.memory
        ),
        name=prose.literal(name),
        count=plan.gpus,
        gpu=prose.literal(plan.gpu.name),
        memory=prose.literal(both_units(plan.memory)),
    )


def read_aloud(plan: Plan, found: Outcome) -> None:
    """The plan's answer, with its numbers."""
    prose.read_aloud(
        "<b>{verdict}</b> {with_} {requests}, the first token comes {first} after a prompt of {prompt:,} tokens, then "
        "one every {between}: {each} tokens a second for each user, {all} in all. A million tokens cost {cost_in} to "
        "read and {cost_out} to write.",
        verdict=prose.literal(plan_words.verdict(plan, found)),
        with_=prose.Html("With" if plan.requests <= found.typical.requests else "If there were room, with"),
        requests=prose.literal(f"{plan_words.requests_word(plan.requests)} at once"),
        prompt=plan.prompt,
        first=prose.literal(figures.time_between(found.first_token.low, found.first_token.high)),
        between=prose.literal(figures.time_between(found.between.low, found.between.high)),
        each=prose.literal(figures.between(found.one_user.low, found.one_user.high)),
        all=prose.literal(figures.between(found.in_all.low, found.in_all.high)),
        cost_in=prose.literal(plan_words.money(found.cost_in.low, found.cost_in.high)),
        cost_out=prose.literal(plan_words.money(found.cost_out.low, found.cost_out.high)),
    )
    prose.aside("{what}", what=prose.literal(plan_words.binding(plan, found)))


def result_table(plan: Plan, found: Outcome) -> None:
    """Every result, and the formula that gives it."""
    prose.figure_title("Every result, and its formula with the numbers put in", prose.BY_FORMULA)
    rows = [
        f"<tr><th scope='row'>{prose.literal(line.name)}</th><td class='result'>{prose.literal(line.result)}</td>"
        f"<td class='formula'>{prose.literal(line.formula)}</td></tr>"
        for line in plan_words.all_lines(plan, found)
    ]
    st.html(f"<table class='results'>{''.join(rows)}</table>")


@dataclass(frozen=True)
class Metric:
    """A result that is drawn over what is moved.

    Attributes:
        name: of the choice, and of the figure.
        axis: with its unit.
        by_requests, by_context: the result, for either curve.
        factor: from the result's unit to the axis's.
        words: writes a range.
    """

    name: str
    axis: str
    by_requests: Callable[[Outcome], Between]
    by_context: Callable[[Outcome], Between]
    factor: float
    words: Callable[[float, float], str]


METRICS = {
    "between": Metric("time between tokens", "ms", lambda o: o.between, lambda o: o.between, 1e3, figures.time_between),
    "first": Metric(
        "time to first token", "seconds", lambda o: o.last_first_token, lambda o: o.first_token, 1, figures.time_between
    ),
    "one": Metric(
        "tokens a second for one user", "tokens/s", lambda o: o.one_user, lambda o: o.one_user, 1, figures.between
    ),
    "all": Metric("tokens a second in all", "tokens/s", lambda o: o.in_all, lambda o: o.in_all, 1, figures.between),
    "out": Metric("cost of a million tokens out", "$", lambda o: o.cost_out, lambda o: o.cost_out, 1, plan_words.money),
}


def under_load(lesson: Lesson, plan: Plan) -> None:
    """One result over requests at once, and over the tokens of each."""
    chosen = st.segmented_control(
        "What is drawn",
        list(METRICS),
        default="between",
        key="plan_metric",
        format_func=lambda key: METRICS[key].name,
        required=True,
    )
    metric = METRICS[chosen]
    if chosen == "out" and not plan.price:
        prose.aside("At a price of 0 there is nothing to draw.")
        return
    requests, context = st.columns(2, gap="large")
    last = ", of the last of all that come at once" if chosen == "first" else ""
    with requests:
        _curve(lesson, by_requests(plan), metric, metric.by_requests, f"{metric.name}{last}", "requests at once")
    with context:
        _curve(lesson, by_context(plan), metric, metric.by_context, metric.name, "tokens of a request")
    prose.aside(
        "Both axes are logarithmic. Dashed and solid: the two ends of what is assumed to be reached. The diamonds "
        "are the plan; beyond the dotted line, typical requests do not fit into memory."
    )


def _curve(
    lesson: Lesson, curve: Curve, metric: Metric, of: Callable[[Outcome], Between], name: str, moved: str
) -> None:
    results = [of(each) for each in curve.outcomes]
    band = figures.Band(
        curve.places,
        [each.low * metric.factor for each in results],
        [each.high * metric.factor for each in results],
        curve.now,
        curve.full,
    )
    now = results[curve.places.index(curve.now)]
    label = metric.words(now.low, now.high)
    axis = f"{metric.name}, {metric.axis}"
    anatomy.figure(
        figures.band_chart(band, moved, axis, label, lesson.theme),
        key=f"plan_curve_{moved.split()[0]}",
        title="{name} against {moved}",
        mark=prose.BY_FORMULA,
        alt=f"{metric.name}: {label} at {curve.now:,} {moved}; memory is full at {curve.full:,}.",
        table=lambda: figures.band_table(band, moved, axis),
        name=prose.literal(name[0].upper() + name[1:]),
        moved=prose.literal(moved),
    )


def as_published(lesson: Lesson) -> None:
    """Figures that others published, worked out by the same formulas."""
    rows = reproduced()
    same = sum(each.published == each.ours for each in rows)
    prose.say(
        "The same formulas, given what the sources put in, give what they print: {same} of {all} figures, to the last "
        "digit printed.",
        same=same,
        all=len(rows),
    )
    prose.figure_title("As published, and as worked out here", prose.BY_FORMULA)
    st.dataframe(
        plan_bars.published_table([(each.what, each.assumed, each.published, each.ours, each.source) for each in rows]),
        hide_index=True,
        width="stretch",
        height="content",
    )
    prose.aside(
        "The sources round: 7 and 13 thousand million parameters, 6.7 GB of cache. The rows use their numbers; the "
        "plan above uses the exact ones. The 8 TPUs share every matrix, and nothing is counted for that. {sources}.",
        sources=prose.literal(". ".join(f"{short.capitalize()}: {whole}" for short, whole in SOURCES.items())),
    )
