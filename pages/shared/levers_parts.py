"""What can be done about a plan: one thing changed at a time, what it buys and what it costs."""

import streamlit as st

from model.levers import Lever, levers
from model.plan import Between, Plan
from pages.shared import anatomy, frame, prose
from pages.shared.frame import Lesson
from pages.shared.plan_words import money
from viz import plan_bars as figures
from viz.plan import time_between


def share_of_prompt(lesson: Lesson) -> None:
    """How much of every prompt is the same."""
    with st.container(width=420):
        frame.bound_widget(
            st.slider,
            lesson.view,
            "same",
            prose.plain("Share of the prompt that all requests have in common, %"),
            min_value=0,
            max_value=100,
        )


def lever_figure(lesson: Lesson, plan: Plan) -> None:
    """All levers side by side."""
    found = levers(plan, lesson.view.same / 100)
    names = [each.name for each in found]
    columns = [
        _fitting(found),
        _column("time to first token", [each.outcome.first_token for each in found], time_between),
        _column("time between tokens", [each.outcome.between for each in found], time_between),
        _column("a million tokens out", [each.outcome.cost_out for each in found], money),
    ]
    fastest = min(found, key=lambda each: each.outcome.between.high)
    roomiest = max(found, key=lambda each: each.outcome.longest.requests)
    with st.container(key="sideways_levers"):
        st.html("<style>.st-key-sideways_levers { --needed: 62rem; }</style>")
        anatomy.figure(
            figures.lever_bars(names, columns, lesson.theme),
            key="plan_levers",
            title="The plan, and one thing changed at a time; hatched: up to the worse end of what is assumed",
            mark=prose.BY_FORMULA,
            alt=f"Most of the longest requests fit with {roomiest.name}: {roomiest.outcome.longest.requests:,}. "
            f"Tokens come fastest with {fastest.name}.",
            table=lambda: figures.lever_table(names, columns, [each.price for each in found]),
        )
    _aloud(found, roomiest, fastest)


def _fitting(found: list[Lever]) -> figures.Column:
    counts = [0 if each.unbounded else each.outcome.longest.requests for each in found]
    labels = ["the host decides" if each.unbounded else f"{each.outcome.longest.requests:,}" for each in found]
    return figures.Column("longest requests that fit", counts, counts, labels)


def _column(title: str, ranges: list[Between], words) -> figures.Column:
    low, high = [each.low for each in ranges], [each.high for each in ranges]
    return figures.Column(title, low, high, [words(*ends) for ends in zip(low, high, strict=True)])


def _aloud(found: list[Lever], roomiest: Lever, fastest: Lever) -> None:
    now = found[0].outcome
    prose.read_aloud(
        "As planned, {now:,} of the longest requests fit. Most would fit with <b>{room}</b>: {most:,}. Tokens would "
        "come fastest with <b>{fast}</b>: one every {after} in place of {before}.",
        now=now.longest.requests,
        room=prose.literal(roomiest.name),
        most=roomiest.outcome.longest.requests,
        fast=prose.literal(fastest.name),
        after=prose.literal(time_between(fastest.outcome.between.low, fastest.outcome.between.high)),
        before=prose.literal(time_between(now.between.low, now.between.high)),
    )


def lever_prices(lesson: Lesson, plan: Plan) -> None:
    """What each of them costs elsewhere."""
    for each in levers(plan, lesson.view.same / 100)[1:]:
        prose.aside(
            "<b>{name}</b>: {price}.",
            name=prose.literal(each.name[0].upper() + each.name[1:]),
            price=prose.literal(each.price),
        )
