"""The parts of the lesson on context about order: the same words otherwise arranged, and more words after them."""

import streamlit as st

from model import ExplainerError, Tokens, Trace, tokenize
from model.crack import PrefixDifference, both_answers, common_prefix, prefix_difference
from model.tokens import extended
from model.word_order import ORDERS, MovedWord, likeness_array, moved_words, other_continuation, reordered
from pages.shared import anatomy, frame, prose
from pages.shared.crack_parts import ANSWERS, two_answers
from pages.shared.frame import MAX_TOKENS, Lesson
from pages.shared.store import shared_trace
from viz import context as figures

#: Words whose bars are drawn.
BARS = 48


def order_control(lesson: Lesson) -> None:
    """Which other order."""
    frame.bound_widget(
        st.segmented_control,
        lesson.view,
        "order",
        "The same words",
        options=list(ORDERS),
        required=True,
        key="context_order",
    )


def other_order(lesson: Lesson, tokens: Tokens) -> None:
    """The prompt's words in another order: what the model says next, and how far each word's vector went."""
    view = lesson.view
    words = reordered(tokens.text, view.order, view.seed)
    if len(words.words) < 2:
        prose.say("One word has only one order. Type a few words above.")
        return
    second = _run(lesson, words.text, view.specials, "The words in another order")
    if second is None:
        return
    first = shared_trace(lesson.lm, tokens)
    how = "reversed" if view.order == "reversed" else f"shuffled, seed {view.seed}"
    prose.say(
        "Your words, {how}: {text}{same}",
        how=prose.literal(how),
        text=words.text if len(words.text) <= 300 else words.text[:299] + "…",
        same=prose.Html("." if words.text != tokens.text else ". It is the same text again, so nothing differs."),
    )
    ids, shares = both_answers(first.last_logits, second.last_logits, ANSWERS)
    labels = [lesson.lm.vocabulary.labels[id] for id in ids]
    answers, likeness = st.columns(2, gap="large")
    with answers:
        two_answers(lesson, "order_answers", ("your order", view.order), labels, shares)
    with likeness:
        word_figure(lesson, moved_words(first, second, words))


def _run(lesson: Lesson, text: str, specials: str, name: str) -> Trace | None:
    try:
        tokens = tokenize(lesson.lm, text, specials)
        lesson.lm.check_length(len(tokens), MAX_TOKENS)
        return shared_trace(lesson.lm, tokens)
    except ExplainerError as problem:
        st.warning(prose.plain(f"{name}: {problem}"), icon=":material/edit:")
        return None


def word_figure(lesson: Lesson, moved: list[MovedWord]) -> None:
    """How alike each word's vectors are in the two orders."""
    shown = moved[:BARS]
    if not shown:
        return
    values = likeness_array(shown)
    anatomy.figure(
        figures.word_bars([word.word for word in shown], values, lesson.theme),
        key="order_words",
        title="Cosine of each word's two vectors, after the last layer",
        mark=prose.FROM_THE_MODEL,
        alt=f"Bars of {len(shown)} words, from {values.min():.2f} to {values.max():.2f}.",
        table=lambda: figures.word_table(
            [word.word for word in moved],
            [word.here for word in moved],
            [word.there for word in moved],
            [word.likeness for word in moved],
        ),
    )
    least = min(moved, key=lambda word: word.likeness)
    others = sum(not word.same_token for word in moved)
    prose.read_aloud(
        "Same words, other vectors: least alike is {word}, {value:.2f}, which stood at position {here} and stands at "
        "{there}.{others}",
        word=least.word,
        value=least.likeness,
        here=least.here,
        there=least.there,
        others=prose.Html(
            f" {others} of {len(moved)} words are another token there: at the start of a text there is no space."
            if others
            else ""
        ),
    )


def more_control(lesson: Lesson) -> None:
    """What is put after the prompt."""
    frame.bound_widget(st.text_input, lesson.view, "more", "Put after your text", key="context_more", max_chars=400)


def longer(lesson: Lesson, tokens: Tokens) -> None:
    """More text after the prompt, and whether it changes what came before: it cannot."""
    more = tokenize(lesson.lm, tokens.text + lesson.view.more, lesson.view.specials)
    if len(more) <= len(tokens):
        prose.say("Nothing is put after your text, so there is nothing to compare. Type a few words.")
        return
    second = _run(lesson, more.text, lesson.view.specials, "Your text and more")
    if second is None:
        return
    first = shared_trace(lesson.lm, tokens)
    try:
        other = extended(Tokens("", ()), lesson.lm.vocabulary, other_continuation(tokens, second.tokens))
        third = shared_trace(lesson.lm, other)
    except ExplainerError as problem:
        st.warning(prose.plain(str(problem)), icon=":material/edit:")
        return
    prefix = common_prefix(tokens, second.tokens)
    longer_sentence(lesson, prefix_difference(second, third, prefix), prefix_difference(first, second), second)


def longer_sentence(lesson: Lesson, exact: PrefixDifference, other_length: PrefixDifference, run: Trace) -> None:
    """The two comparisons, as numbers beside what they are compared to."""
    prose.figure_title(
        "The first {n} tokens with different words after them: largest |a − b| of any number in any layer",
        prose.FROM_THE_MODEL,
        n=exact.positions,
    )
    prose.equation(
        "numbers compared   {n} positions × {depths} vectors × {size} = {all:,}\n"
        "their size         up to {scale:,.3f}\n"
        "followed by your {rest} tokens, or by {rest} others:\n"
        "                   |a − b| ≤ {exact}\n"
        "followed by your {rest} tokens, or by nothing:\n"
        "                   |a − b| ≤ {rounding}",
        n=exact.positions,
        depths=len(run.streams),
        size=lesson.lm.architecture.hidden_size,
        all=exact.vectors * lesson.lm.architecture.hidden_size,
        scale=exact.scale,
        rest=len(run) - exact.positions,
        exact=prose.literal(_number(exact.largest)),
        rounding=prose.literal(_number(other_length.largest)),
    )
    prose.read_aloud(
        "Whatever comes after, the vectors of the first {n} tokens are {same}: the mask forbids a token to see what "
        "follows it." + _rounding_words(other_length),
        n=exact.positions,
        same=prose.Html("<b>the same to the last bit</b>" if exact.largest == 0 else "the same up to rounding"),
        relative=other_length.relative,
    )
    if other_length.positions < lesson.prompt_length:
        prose.aside(
            "Of your {count} tokens the last became another one when more was put after it; the {n} before it are "
            "compared.",
            count=lesson.prompt_length,
            n=other_length.positions,
        )


def _rounding_words(found: PrefixDifference) -> str:
    if found.largest == 0:
        return " A shorter text gives the same bits, too."
    return (
        " Against the shorter text they differ by at most {relative:.1e} of their length: with another number of rows "
        "the machine adds up in another order and rounds otherwise. No word had anything to do with it."
    )


def _number(value: float) -> str:
    return "0.0, exactly" if value == 0 else f"{value:.1e}, rounding"
