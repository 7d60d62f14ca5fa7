"""What goes into a plan: the model, the machines and the requests, as controls that keep to their limits."""

from dataclasses import dataclass, replace

import streamlit as st

from model.architecture import Architecture
from model.plan import Plan, Shares
from model.published import active_parameters, gpus
from pages.shared import anatomy, config_parts, frame, prose
from pages.shared.calculator_parts import MOST_REQUESTS, bits_choice, name_of, number_box, shape_of
from pages.shared.frame import Lesson
from pages.shared.plan_words import percent
from pages.shared.state import MAX_CONTEXT, View
from viz.calculator import in_gb, rounded

#: The longest prompt or answer that is typed here.
MOST_TOKENS = MAX_CONTEXT // 2
MOST_GPUS, MOST_PRICE = 1_024, 10_000.0


def _prompt(total: str, answer: str) -> property:
    """What a request has beside its answer."""

    def take(self, value: int) -> None:
        setattr(self.view, total, value + getattr(self.view, answer))

    return property(lambda self: getattr(self.view, total) - getattr(self.view, answer), take)


def _answer(total: str, answer: str) -> property:
    """An answer; the prompt stays when it changes."""

    def take(self, value: int) -> None:
        setattr(self.view, total, getattr(self.view, total) - getattr(self.view, answer) + value)
        setattr(self.view, answer, value)

    return property(lambda self: getattr(self.view, answer), take)


def _share(low: str, high: str) -> property:
    """Two ends of a range, the lower one first."""

    def take(self, value: tuple[int, int]) -> None:
        for name, end in zip((low, high), sorted(value), strict=True):
            setattr(self.view, name, int(end))

    return property(lambda self: (getattr(self.view, low), getattr(self.view, high)), take)


@dataclass
class Inputs:
    """The view as the planner's controls see it: a request is a prompt and an answer, shares are pairs.

    The view holds a request's tokens together, as the memory calculator does, and how many of them
    are the answer: so a link means the same on both pages.
    """

    view: View

    def whole_requests(self) -> list[str]:
        """Bring answers that are longer than their request into it; sentences on what was changed."""
        changed = []
        for total, answer in (("typical", "answer"), ("context", "answer_worst")):
            tokens = max(2, getattr(self.view, total))
            setattr(self.view, total, tokens)
            if getattr(self.view, answer) >= tokens:
                setattr(self.view, answer, max(1, tokens // 2))
                changed.append(f"A request of {tokens:,} tokens has a prompt, too: half of it is taken as its answer.")
        for low, high in (("rate_low", "rate_high"), ("band_low", "band_high")):
            ends = sorted((getattr(self.view, low), getattr(self.view, high)))
            for name, value in zip((low, high), ends, strict=True):
                setattr(self.view, name, value)
        return changed

    prompt, answer = _prompt("typical", "answer"), _answer("typical", "answer")
    longest_prompt, longest_answer = _prompt("context", "answer_worst"), _answer("context", "answer_worst")
    rate, bandwidth = _share("rate_low", "rate_high"), _share("band_low", "band_high")


def model_and_machines(lesson: Lesson) -> None:
    """Which model, in how many bits, on which machines, for what price."""
    view = lesson.view
    shape, machine, count, price = st.columns([4, 4, 2, 2])
    with shape:
        config_parts.shape_choice(lesson)
    with machine:
        name = lambda each: f"{each} ({rounded(gpus()[each].memory / 1e9)} GB)"  # noqa: E731
        frame.bound_widget(st.selectbox, view, "gpu", "Machine", options=list(gpus()), format_func=name)
    with count:
        number_box(view, "gpus", "How many", "machines", MOST_GPUS)
    with price:
        _amount(view, "price", "An hour of one, in $", MOST_PRICE, 0.1)
    weights, cache, overhead = st.columns([4, 4, 4])
    with weights:
        bits_choice(view, "weight_bits", "Bits of a weight", (32, 16, 8, 4))
    with cache:
        bits_choice(view, "cache_bits", "Bits of a cached value", (32, 16, 8, 4, 2))
    with overhead:
        _amount(view, "overhead", "Set aside on each machine, GB", 10_000.0, 1.0)


def _amount(view: View, name: str, label: str, most: float, step: float) -> None:
    """A number that need not be whole; an emptied box leaves the old one."""
    frame.bound_widget(
        st.number_input,
        view,
        name,
        prose.plain(label),
        min_value=0.0,
        max_value=most,
        step=step,
        read=lambda value: getattr(view, name) if value is None else float(value),
    )


def requests_asked(inputs: Inputs) -> None:
    """How long requests are, and how many come at once."""
    fields = (
        ("prompt", "Prompt, typical", "tokens of a prompt"),
        ("answer", "Answer, typical", "tokens of an answer"),
        ("longest_prompt", "Prompt, at worst", "tokens of the longest prompt"),
        ("longest_answer", "Answer, at worst", "tokens of the longest answer"),
    )
    columns = st.columns(5)
    for column, (name, label, what) in zip(columns[:4], fields, strict=True):
        with column:
            number_box(inputs, name, label, what, MOST_TOKENS)
    with columns[4]:
        number_box(inputs.view, "requests", "Requests at once", "requests", MOST_REQUESTS)


def shares_reached(inputs: Inputs) -> None:
    """What share of its data sheet a machine reaches: assumed, and therefore a range."""
    box = anatomy.look_inside(
        f"assumed, not measured: {_range(inputs.rate)} of a data sheet's matrix rate and {_range(inputs.bandwidth)} of "
        "its bandwidth are reached",
        "plan_shares",
    )
    if box:
        with box:
            _share_sliders(inputs)


def _range(ends: tuple[int, int]) -> str:
    return prose.plain(percent(ends[0] / 100, ends[1] / 100))


def _share_sliders(inputs: Inputs) -> None:
    rate, bandwidth = st.columns(2, gap="large")
    for column, name, label in (
        (rate, "rate", "Share of the matrix rate that is reached, %"),
        (bandwidth, "bandwidth", "Share of the bandwidth that is reached, %"),
    ):
        with column:
            frame.bound_widget(
                st.slider, inputs, name, prose.plain(label), min_value=1, max_value=100, key=f"share_{name}"
            )
    prose.aside(
        "<b>An assumption, not a measurement.</b> {sources} Measure yours and move these: every time and price below "
        "is a range from the better end to the worse, and is not worth more than two digits.",
        sources=prose.literal(SOURCES),
    )


SOURCES = (
    "A well-filled prefill is commonly reported at about 40 to 50 % of a data sheet's matrix rate, as papers on large "
    "models count it (PaLM's trained at 46 %), and decodes at 55 to 80 % of its bandwidth, as public guides to "
    "inference report it (Databricks' measured 55 to 60 % for a 70B model on several GPUs)."
)


def planned_shape(lesson: Lesson) -> tuple[Architecture, int | None, str]:
    """The shape that is planned with, the parameters a token uses if not all, and its name."""
    if (pasted := config_parts.in_force(lesson)) is not None:
        return pasted.shape, pasted.active, f"{pasted.shape.name} (pasted)"
    return shape_of(lesson), active_parameters().get(lesson.view.shape), name_of(lesson)


def plan_of(lesson: Lesson, inputs: Inputs) -> Plan:
    """The plan that the controls are set to."""
    view = lesson.view
    shape, active, _ = planned_shape(lesson)
    return Plan(
        shape=shape,
        gpu=gpus()[view.gpu],
        gpus=view.gpus,
        weight_bits=view.weight_bits,
        cache_bits=view.cache_bits,
        prompt=inputs.prompt,
        answer=inputs.answer,
        longest_prompt=inputs.longest_prompt,
        longest_answer=inputs.longest_answer,
        requests=view.requests,
        price=view.price,
        overhead=round(view.overhead * 1e9),
        best=Shares(view.rate_high / 100, view.band_high / 100),
        worst=Shares(view.rate_low / 100, view.band_low / 100),
        active=active,
    )


def too_long(plan: Plan, name: str) -> None:
    """Say where the model was not made for so many tokens."""
    if plan.longest > plan.shape.positions:
        st.warning(
            prose.plain(
                f"{name} was made for at most {plan.shape.positions:,} positions: it cannot use {plan.longest:,} "
                "tokens. The arithmetic is shown as if it could."
            ),
            icon=":material/straighten:",
        )


def check(plan: Plan) -> None:
    """What twice the requests do to the time between tokens."""
    twice = replace(plan, requests=2 * plan.requests)
    ratio = twice.step(plan.half_way, plan.worst) / plan.step(plan.half_way, plan.worst)
    right = 0 if ratio < 1.15 else 1 if ratio < 1.85 else 2

    def because() -> None:
        prose.say(
            "{many:,} requests in place of {few:,}: {ratio:.2f} times as long a step. The weights ({weights}) are "
            "read once for all, each cache ({cache}) for its own request alone.",
            many=twice.requests,
            few=plan.requests,
            ratio=ratio,
            weights=prose.literal(in_gb(plan.weights)),
            cache=prose.literal(in_gb(plan.cache(plan.half_way))),
        )

    anatomy.check_yourself(
        "planner",
        "Twice as many requests at once as in the plan above. The time between two tokens of one user…",
        ("hardly changes", "grows, but less than twice", "about doubles"),
        right,
        because,
    )
