"""The checklist of a plan: questions with numbers, answers that stay in the session, and a report to take away."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import streamlit as st

from model.plan import Outcome, Plan, outcome
from model.report import LONGEST_ANSWER, Answered, Report, as_html, as_markdown, one_line
from pages.shared import frame, plan_words, prose
from pages.shared.frame import PAGES
from viz.calculator import both_units, in_gb
from viz.plan import estimate, time_between

ANSWERS = ("yes", "no", "not known yet")
MEASURED = ("measured", "guessed", "not known yet")
DECIDED = ("decided", "still open", "not known yet")


@dataclass(frozen=True)
class Question:
    """One question.

    Attributes:
        text: as asked.
        number: what the plan says to it.
        pages: where it can be looked at, slugs; those that are not in the menu are left out.
        choices: to answer with.
    """

    text: str
    number: Callable[[Plan, Outcome], str]
    pages: tuple[str, ...]
    choices: tuple[str, ...] = ANSWERS


def _conversation(plan: Plan, found: Outcome) -> str:
    hundred = plan.cache(plan.typical + 100) - plan.cache(plan.typical)
    return (
        f"A typical request keeps {in_gb(plan.cache(plan.typical))} for {plan.typical:,} tokens; every 100 tokens of "
        f"earlier turns add {both_units(hundred)} and are read again at each step."
    )


def _documents(plan: Plan, found: Outcome) -> str:
    longest = time_between(found.longest_first_token.low, found.longest_first_token.high)
    tenth = outcome(replace(plan, prompt=max(1, plan.longest_prompt // 10))).first_token
    return (
        f"The longest prompt, {plan.longest_prompt:,} tokens, is read for {longest} before the first token; a tenth "
        f"of it for {time_between(tenth.low, tenth.high)}."
    )


def _lengths(plan: Plan, found: Outcome) -> str:
    return (
        f"Planned: {plan.typical:,} tokens typically, {plan.longest:,} at worst. "
        f"{found.typical.requests:,} requests fit in the one case, {found.longest.requests:,} in the other."
    )


def _latency(plan: Plan, found: Outcome) -> str:
    last = time_between(found.last_first_token.low, found.last_first_token.high)
    step = time_between(found.between.low, found.between.high)
    return f"With {plan_words.requests_word(plan.requests)} at once: up to {last} to the first token, {step} between."


def _stored(plan: Plan, found: Outcome) -> str:
    size = both_units(plan.requests * plan.cache(plan.typical))
    return f"The caches of {plan_words.requests_word(plan.requests)} are {size} worked out from what users wrote."


def _helps(plan: Plan, found: Outcome) -> str:
    memory = estimate(plan.cache(plan.longest) / max(1, plan.cache(plan.typical)))
    reading = estimate(found.longest_first_token.high / found.first_token.high)
    return (
        f"The longest request takes {memory} times the memory of a typical one, and {reading} times as long to its "
        "first token."
    )


QUESTIONS = (
    Question("Does the task need the whole conversation?", _conversation, ("conversation", "cache")),
    Question("Can documents be retrieved instead of resent?", _documents, ("decode",)),
    Question("How long are requests, typically and at worst?", _lengths, ("cache",), MEASURED),
    Question("What is the latency with as many users as will really come?", _latency, ("decode",), MEASURED),
    Question(
        "Which user data is stored, for how long, and how is it deleted?", _stored, ("cache", "conversation"), DECIDED
    ),
    Question("Does the extra context measurably help?", _helps, ("conversation", "context"), MEASURED),
)


@dataclass
class Given:
    """One answer, as long as the session lasts."""

    choice: str | None = None
    words: str = ""


def _given() -> list[Given]:
    return st.session_state.setdefault("plan_answers", [Given() for _ in QUESTIONS])


def checklist(plan: Plan, found: Outcome) -> list[Answered]:
    """The questions, each with its number, to be answered."""
    answered = []
    for place, (question, given) in enumerate(zip(QUESTIONS, _given(), strict=True)):
        number = question.number(plan, found)
        prose.say(
            "<b>{place}. {text}</b> {number}",
            place=prose.Html(str(place + 1)),
            text=prose.literal(question.text),
            number=prose.literal(number),
        )
        _answer(place, question, given)
        answered.append(Answered(question.text, number, given.choice or "", given.words))
    return answered


def _answer(place: int, question: Question, given: Given) -> None:
    choice, words, ways = st.columns([4, 5, 3], vertical_alignment="bottom")
    label = f"Answer to question {place + 1}"
    with choice:
        frame.bound_widget(
            st.segmented_control, given, "choice", label, key=f"answer_{place}", options=question.choices
        )
    with words:
        frame.bound_widget(
            st.text_input,
            given,
            "words",
            f"In words, at most {LONGEST_ANSWER} characters",
            key=f"words_{place}",
            max_chars=LONGEST_ANSWER,
            read=lambda text: one_line(text or "", LONGEST_ANSWER),
        )
    with ways:
        for slug in question.pages:
            if slug in PAGES:
                page = PAGES[slug]
                st.page_link(page.file, label=f"Look at it: {page.name}", icon=page.icon)


def the_report(plan: Plan, found: Outcome, name: str, answered: list[Answered], assumptions: list[str]) -> Report:
    """All of it, in words."""
    tokens = "{:,} + {:,} tokens"
    inputs = [
        ("Model", f"{name}, {plan_words.powers(plan.shape.parameters)} parameters"),
        ("Machines", f"{plan.gpus:,} × {plan.gpu.name}, {in_gb(plan.gpu.memory)} each"),
        ("Bits of a weight, of a cached value", f"{plan.weight_bits:g}, {plan.cache_bits:g}"),
        ("Requests at once", f"{plan.requests:,}"),
        ("Typical prompt + answer", tokens.format(plan.prompt, plan.answer)),
        ("Longest prompt + answer", tokens.format(plan.longest_prompt, plan.longest_answer)),
        ("Set aside on each machine", in_gb(plan.overhead)),
        ("An hour of one machine", f"${plan.price:,.2f}"),
        ("Reached of the matrix rate", plan_words.percent(plan.worst.rate, plan.best.rate)),
        ("Reached of the bandwidth", plan_words.percent(plan.worst.bandwidth, plan.best.bandwidth)),
    ]
    if plan.used < plan.shape.parameters:
        inputs.append(("Parameters that a token uses", plan_words.powers(plan.used)))
    return Report(
        title=f"Will it hold? {name} on {plan.gpus:,} × {plan.gpu.name}",
        verdict=f"{plan_words.verdict(plan, found)} {plan_words.binding(plan, found)}",
        inputs=inputs,
        results=[(line.name, line.formula, line.result) for line in plan_words.all_lines(plan, found)],
        answers=answered,
        assumptions=assumptions,
    )


def downloads(report: Report) -> None:
    """The report to take away, in both forms."""
    prose.say(
        "{given} of {all} questions are answered. Your answers stay in this session and go nowhere. The report holds "
        "them beside every number above: one page.",
        given=sum(1 for each in report.answers if each.choice or each.words),
        all=len(report.answers),
    )
    with st.container(horizontal=True):
        for label, made, name, kind, icon in (
            ("Report to print (HTML)", as_html, "plan.html", "text/html", ":material/print:"),
            ("Report as Markdown", as_markdown, "plan.md", "text/markdown", ":material/description:"),
        ):
            st.download_button(
                label, made(report), file_name=name, mime=kind, icon=icon, key=f"download_{name}", on_click="ignore"
            )
