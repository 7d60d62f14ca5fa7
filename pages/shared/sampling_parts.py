"""The parts of the sampling lesson. None of them runs the model."""

import streamlit as st

from model.choice import Choice
from model.sampling import uniform_at
from pages.shared import anatomy, prose
from pages.shared.frame import Lesson, bound_widget
from pages.shared.state import View
from pages.shared.store import shared_nucleus
from viz import sampling as figures

#: Tokens told apart in the figures; the others have one bar together.
SHOWN = 8
DRAWS = 1_000
#: Seeds are sent in blocks of this many, so that dropping the pin again needs no trip to the server.
SEED_BLOCK = 256


def uniforms_ahead(seed: int, index: int) -> dict[int, float]:
    """Number ``index`` of each seed in the block of ``seed`` and the next one."""
    first = seed // SEED_BLOCK * SEED_BLOCK
    return {each: uniform_at(each, index) for each in range(first, first + 2 * SEED_BLOCK)}


def rest_label(lesson: Lesson, shown: int) -> str:
    """A name for all the tokens that a figure does not tell apart."""
    return f"{lesson.lm.architecture.vocabulary_size - shown:,} others"


def penalty(view: View) -> None:
    """The one setting that acts on the logits, before the strip sees them."""
    bound_widget(
        st.slider,
        view,
        "penalty",
        "Repetition penalty",
        min_value=1.0,
        max_value=2.0,
        step=0.05,
        width=320,
        help="Acts first, on the logits: tokens that stand in the text already are made less likely. 1 is off.",
    )


def result_sentence(lesson: Lesson, choice: Choice) -> None:
    """The draw read aloud."""
    after, drawn = lesson.labels[lesson.selected], choice.draw
    if choice.settings.greedy:
        prose.read_aloud(
            "After {after}, temperature 0 is <i>greedy</i>: it takes the likeliest token, {token}, and draws nothing.",
            after=after,
            token=choice.drawn_label,
        )
        return
    prose.read_aloud(
        "After {after}, {count:,} of {all:,} tokens can be drawn. Seed {seed} gives the number "
        "<b class='p'>{uniform:.4f}</b>, which falls on the stretch {start:.4f} to {end:.4f}: that belongs to "
        "{token}, a token with a probability of {probability:.2%} (rank {rank:,}).",
        after=after,
        count=choice.stages.candidates,
        all=lesson.lm.architecture.vocabulary_size,
        seed=choice.settings.seed,
        uniform=drawn.uniform,
        start=drawn.start,
        end=drawn.end,
        token=choice.drawn_label,
        probability=drawn.probability,
        rank=drawn.rank + 1,
    )


def numbers(choice: Choice) -> None:
    """Three numbers that sum the choice up."""
    kept = choice.stages.stages[-1].remaining
    for column, (name, value, why) in zip(
        st.columns(3),
        (
            ("Candidates", f"{choice.stages.candidates:,}", f"They hold {kept:.1%} of what the temperature gave."),
            ("Entropy", f"{choice.entropy:.2f} bits", f"{choice.entropy_before:.2f} bits before anything was cut."),
            ("Likeliest token", f"{float(choice.stages.probabilities[0]):.1%}", "Its probability at the end."),
        ),
        strict=True,
    ):
        column.metric(name, value, help=why)


def stages_figure(lesson: Lesson, choice: Choice) -> None:
    """The likeliest tokens through the stages."""
    names, labels, bars = choice.stage_bars(SHOWN)
    rest = rest_label(lesson, SHOWN)
    kept = ", ".join(f"{stage.name}: {stage.candidates:,} left" for stage in choice.stages.stages)
    anatomy.figure(
        figures.stage_bars(names, labels, bars, rest, lesson.theme),
        key="stages",
        title="Through the stages: the {shown} likeliest tokens, and all others together",
        mark=prose.BY_FORMULA,
        alt=f"Probabilities after each stage. {kept}.",
        table=lambda: figures.stage_table(names, labels, bars, rest),
        shown=SHOWN,
    )
    prose.aside(
        "In this order: temperature, top-k, top-p, min-p; after each the rest is brought back to a sum of 1. "
        "{kept}. Tokens exactly as likely as the k-th are kept with it. Some programs apply the temperature last, "
        "and then keep other tokens.",
        kept=prose.literal(kept[0].upper() + kept[1:]),
    )


def cumulative_figure(lesson: Lesson, choice: Choice) -> None:
    """How much the likeliest tokens hold together."""
    ranks, total = choice.cumulative()
    last = choice.stages.stages[-1]
    anatomy.figure(
        figures.cumulative_curve(
            ranks, total, kept=last.candidates, reached=last.remaining, top_p=choice.settings.top_p, theme=lesson.theme
        ),
        key="cumulative",
        title="How much probability the likeliest tokens hold together, at temperature {t:.2f}",
        mark=prose.BY_FORMULA,
        alt=f"The {last.candidates:,} tokens that are left hold {last.remaining:.1%} of the probability.",
        table=lambda: figures.curve_table(ranks, total),
        t=choice.settings.temperature,
    )


def draws_figure(lesson: Lesson, choice: Choice) -> None:
    """Many draws beside the probabilities."""
    counts, probabilities = choice.many_draws(DRAWS, SHOWN)
    labels = [label for label, _, _ in choice.likeliest(SHOWN)]
    if len(labels) < SHOWN:
        counts, probabilities = counts[: len(labels)], probabilities[: len(labels)]
    rest = rest_label(lesson, SHOWN)
    anatomy.figure(
        figures.draws_chart(labels, counts, probabilities, rest, lesson.theme),
        key="draws",
        title="{draws:,} draws: bars count them, the line is the probability",
        mark=prose.BY_FORMULA,
        alt=f"In {DRAWS:,} draws the likeliest token came {counts[0]:,} times; its probability is "
        f"{probabilities[0]:.1%}.",
        table=lambda: figures.draws_table(labels, counts, probabilities, rest),
        draws=DRAWS,
    )


def nucleus_figure(lesson: Lesson, temperature: float) -> None:
    """How open each position of the text is."""
    first, sizes = shared_nucleus(lesson.trace, temperature)
    labels = lesson.labels[first:]
    position = int(sizes.argmax())
    anatomy.figure(
        figures.nucleus_columns(sizes, labels, first, lesson.selected, lesson.theme),
        key="nucleus",
        title="How many tokens make up 90% of what may follow each token, at temperature {t:.2f}",
        mark=prose.BY_FORMULA,
        alt=f"Most open after position {first + position}: {sizes[position]:,} tokens make up 90 %.",
        table=lambda: figures.nucleus_table(sizes, labels, first),
        on_click=lambda x, y: setattr(lesson.view, "position", int(x)),
        t=temperature,
    )
    prose.read_aloud(
        "The text is most open after {token}: {most:,} tokens share 90% there. It is most settled after {settled}, "
        "with {least:,}.{cut}",
        token=labels[position],
        most=int(sizes[position]),
        settled=labels[int(sizes.argmin())],
        least=int(sizes.min()),
        cut=prose.literal(f" Only the last {len(sizes)} positions are worked out." if first else ""),
    )


def arithmetic(lesson: Lesson, choice: Choice) -> None:
    """From the logit of the drawn token to its stretch of 0 to 1, with the numbers put in."""
    drawn, stages, settings = choice.draw, choice.stages, choice.settings
    if settings.greedy:
        prose.equation(
            "temperature 0: the largest logit wins, {logit:.4f}, and that is {token}",
            logit=float(stages.logits[0]),
            token=choice.drawn_label,
        )
        return
    t, logit, top = settings.temperature, float(stages.logits[drawn.rank]), float(stages.logits[0])
    first, last = stages.stages[0], stages.stages[-1]
    prose.equation(
        "logit of {token} = {logit:.4f}, the largest is {top:.4f}\n"
        "divided by the temperature: {logit:.4f} / {t:.2f} = {scaled:.4f}\n"
        "softmax over all {all:,} tokens: exp({scaled:.4f} − {top_scaled:.4f}) / Σ = {p:.6f}\n"
        "the {kept:,} tokens that are kept hold {remaining:.6f} together\n"
        "brought back to a sum of 1: {p:.6f} / {remaining:.6f} = <b class='a'>{final:.6f}</b>\n"
        "likelier tokens end at {start:.6f}, so its stretch is {start:.6f} to {end:.6f}\n"
        "the number drawn, <b class='p'>{uniform:.6f}</b>, lies in it",
        token=choice.drawn_label,
        logit=logit,
        top=top,
        t=t,
        scaled=logit / t,
        top_scaled=top / t,
        all=first.candidates,
        p=float(first.probabilities[drawn.rank]),
        kept=last.candidates,
        remaining=last.remaining,
        final=drawn.probability,
        start=drawn.start,
        end=drawn.end,
        uniform=drawn.uniform,
    )


def check(lesson: Lesson, choice: Choice) -> None:
    """A prediction: which token changes its rank with the temperature? None."""
    one, two = (Choice(choice.logits, type(choice.settings)(temperature=t), choice.labels) for t in (1.0, 2.0))
    (label, _, before), (same, _, after) = one.likeliest(1)[0], two.likeliest(1)[0]
    anatomy.check_yourself(
        "sampling",
        "The temperature goes from 1 to 2. What happens to the likeliest token?",
        [
            "It stays the likeliest, with less probability",
            "Another token becomes the likeliest",
            "Nothing: the temperature changes only the draw",
        ],
        0,
        lambda: prose.say(
            "{label} has {before:.1%} at temperature 1, and {same} is the likeliest at temperature 2, with "
            "{after:.1%}. Dividing all logits by one number cannot change their order, only the distances between "
            "them.",
            label=label,
            before=before,
            same=same,
            after=after,
        ),
    )
