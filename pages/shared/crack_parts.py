"""The parts of the lesson on context that edit one word of the prompt: the crack."""

from functools import partial

import streamlit as st

from model import ExplainerError, Tokens, tokenize
from model.crack import COLUMNS, ROUNDING, Crack, both_answers, chosen_word, edited, words
from model.head_view import HeadView
from pages.shared import anatomy, frame, prose
from pages.shared.context_parts import attention_row
from pages.shared.frame import MAX_TOKENS, Lesson
from pages.shared.store import shared_trace
from viz import cache as bars
from viz import crack as figures
from viz.style import escaped, shortened

#: Next tokens of either run that are told apart.
ANSWERS = 5


def prompt_tokens(lesson: Lesson) -> Tokens:
    """The prompt alone, without what was written after it."""
    return tokenize(lesson.lm, lesson.view.prompt, lesson.view.specials)


def edit_controls(lesson: Lesson, tokens: Tokens) -> tuple[int, int, int] | None:
    """Which word is edited, and what is put in its place; None if there is no word."""
    view, offers = lesson.view, {word[0]: word for word in words(tokens)}
    chosen = chosen_word(tokens, view.swap_at)
    if chosen is None:
        st.warning("There is no word in this text to edit. Type one above.", icon=":material/edit:")
        return None
    which, replacement = st.columns([2, 3])
    st.session_state.crack_word = chosen[0]
    with which:
        st.selectbox(
            "The word that is edited",
            list(offers),
            key="crack_word",
            format_func=lambda at: f"{at}  {shortened(tokens.text[offers[at][1] : offers[at][2]], 30)}",
            on_change=lambda: setattr(view, "swap_at", st.session_state.crack_word),
        )
    with replacement:
        frame.bound_widget(
            st.text_input,
            view,
            "swap",
            "What stands there instead (nothing takes the word out)",
            key="crack_swap",
            max_chars=60,
        )
    return chosen


def read_edit(lesson: Lesson, tokens: Tokens, word: tuple[int, int, int]) -> Crack | None:
    """Both runs; a sentence to the visitor where the edited text cannot be run."""
    _, start, end = word
    try:
        after = tokenize(lesson.lm, edited(tokens.text, start, end, lesson.view.swap), lesson.view.specials)
        if not after.text.strip():
            lesson.lm.check_length(0)
        lesson.lm.check_length(len(after), MAX_TOKENS)
        return Crack(shared_trace(lesson.lm, tokens), shared_trace(lesson.lm, after))
    except ExplainerError as problem:
        st.warning(prose.plain(f"The edited text: {problem}"), icon=":material/edit:")
        return None


def notes(lesson: Lesson, crack: Crack) -> None:
    """What a visitor must know before the picture is read."""
    if len(lesson.tokens) > lesson.prompt_length:
        prose.aside("The prompt alone is edited; what was written after it is left out here.")
    if crack.same:
        prose.say("The edited text has the same tokens as the text: nothing differs. Put another word there.")
    if not crack.aligned:
        prose.say(
            "The two texts have {one} and {other} tokens. Their first {prefix} are the same and are compared; after "
            "the edit, positions are <i>shifted</i>, so only the last token of one is compared with the other's last.",
            one=len(crack.first),
            other=len(crack.second),
            prefix=crack.prefix,
        )
    if crack.count > COLUMNS:
        prose.aside(
            "Of {count} positions {shown} are drawn, {first} to {last}, around the edit. All were compared.",
            count=crack.count,
            shown=COLUMNS,
            first=crack.window.start,
            last=crack.window.stop - 1,
        )


def column_labels(crack: Crack) -> list[str]:
    """The tokens of the text; of an edited position, both tokens."""
    labels = list(crack.first.tokens.labels)
    if crack.aligned:
        for position in crack.changed:
            labels[position] += f"→{crack.second.tokens.labels[position].lstrip('␣')}"
    return labels


def ruler(lesson: Lesson) -> None:
    """The layer that is read off."""
    layers = lesson.lm.architecture.layers
    if layers > 1:
        frame.bound_widget(
            st.slider,
            lesson.view,
            "layer",
            "The ruler: after layer",
            key="crack_ruler",
            min_value=0,
            max_value=layers - 1,
        )


def position_in(lesson: Lesson, crack: Crack) -> int:
    """The selected position, within the prompt."""
    return min(lesson.selected, crack.count - 1)


def crack_figure(lesson: Lesson, crack: Crack) -> None:
    """The picture: positions × layers; a click opens a cell."""
    view, window = lesson.view, crack.window
    labels, values = column_labels(crack)[window], crack.differences[:, window]
    untouched = max(0, min(crack.prefix, window.stop) - window.start)
    drawing = figures.crack_map(
        crack.drawn[:, window],
        values,
        labels,
        first=window.start,
        untouched=untouched,
        edited=crack.changed,
        layer=view.layer,
        position=position_in(lesson, crack),
        theme=lesson.theme,
    )
    anatomy.figure(
        drawing,
        key="crack",
        title="How far the two runs' vectors differ, ‖a − b‖ / ((‖a‖ + ‖b‖) / 2): plain paper is exactly 0",
        mark=prose.FROM_THE_MODEL,
        alt=_alt(lesson, crack),
        table=lambda: figures.crack_table(values, labels, window.start),
        on_click=partial(_take, lesson, crack.count),
    )
    prose.aside(
        "Click a cell to open both runs' attention there. The row “embedding” is what enters layer 0; a click there "
        "opens layer 0, which reads it."
    )


def _take(lesson: Lesson, count: int, x: float, y: float) -> None:
    """A cell that was clicked, checked: it comes from a browser."""
    position, layer = int(x), max(0, int(y))
    if 0 <= position < count and layer < lesson.lm.architecture.layers:
        lesson.view.position, lesson.view.layer, lesson.view.key = position, layer, -1


def _alt(lesson: Lesson, crack: Crack) -> str:
    words = f"Grid of {crack.count} positions and {lesson.lm.architecture.layers + 1} depths. "
    if crack.same:
        return words + "The two texts are the same, so all is empty."
    left = crack.untouched
    words += f"Left of the edit, {left.positions} columns, the largest difference is {left.largest:g}. "
    if crack.steepest is not None:
        layer, before, after = crack.steepest
        words += f"Right of it the mean difference grows most in layer {layer}, from {before:.2f} to {after:.2f}."
    return words


def crack_sentence(lesson: Lesson, crack: Crack) -> None:
    """The picture read aloud: left of the edit, at it, right of it."""
    if crack.same:
        return
    _left_sentence(crack)
    if not crack.aligned:
        return
    at = crack.changed[0]
    column = crack.differences[:, at]
    prose.say(
        "The edited column itself begins {start:.2f} apart, in the embedding, and ends {end:.2f} apart. ",
        start=float(column[0]),
        end=float(column[-1]),
    )
    if crack.steepest is None:
        prose.say("Nothing stands right of it: edit an earlier word to see how the difference travels.")
        return
    layer, before, after = crack.steepest
    prose.say(
        "Right of it, where every token is the same, the mean difference is {first:.3f} after layer 0 and {last:.2f} "
        "after the last. It grows most in layer {layer}: {before:.2f} before it, {after:.2f} after it. That is "
        "measured, not explained.",
        first=crack.mean_right(1),
        last=crack.mean_right(-1),
        layer=layer,
        before=before,
        after=after,
    )


def _left_sentence(crack: Crack) -> None:
    left = crack.untouched
    if left.positions == 0:
        prose.read_aloud("The very first token is edited, so nothing stands left of it: every column may change.")
        return
    values = {"positions": left.positions, "vectors": left.vectors, "largest": left.largest, "scale": left.scale}
    if left.largest == 0:
        prose.read_aloud(
            "Left of the edit, the largest difference of any number in {positions} columns × all layers ({vectors} "
            "vectors) is <b>{largest:.1f}</b>, exactly. They have not seen the edit and cannot: this is what a "
            "<b class='c'>cache</b> may reuse.",
            **values,
        )
        return
    prose.read_aloud(
        "Left of the edit, the largest difference in {positions} columns × all layers ({vectors} vectors) is "
        "<b>{largest:.1e}</b>, where numbers go up to {scale:,.0f}: relative to their length no vector differs by more "
        "than {relative:.1e}. It is not exactly 0 because the two texts have different lengths, and arithmetic on "
        "another length adds up in another order, which rounds otherwise. Differences below {bound:.0e} are drawn as "
        "paper there.",
        relative=left.relative,
        bound=ROUNDING,
        **values,
    )


def ruler_figure(lesson: Lesson, crack: Crack) -> None:
    """The ruler's row with its numbers."""
    view, window = lesson.view, crack.window
    labels, row = column_labels(crack)[window], crack.differences[view.layer + 1, window]
    most = figures.largest_colour(crack.differences[:, window])
    anatomy.figure(
        figures.ruler_bars(
            row, labels, first=window.start, position=position_in(lesson, crack), most=most, theme=lesson.theme
        ),
        key="crack_row",
        title="The ruler's row: after layer {layer}",
        mark=prose.FROM_THE_MODEL,
        alt=f"Differences after layer {view.layer}: "
        + ", ".join(f"{label} {value:.2f}" for label, value in list(zip(labels, row.tolist(), strict=True))[:12]),
        table=lambda: figures.ruler_table(row, labels, window.start),
        layer=view.layer,
    )


def answers_figure(lesson: Lesson, crack: Crack) -> None:
    """What either run would write next."""
    ids, shares = both_answers(crack.first.last_logits, crack.second.last_logits, ANSWERS)
    labels = [lesson.lm.vocabulary.labels[id] for id in ids]
    two_answers(lesson, "crack_answers", ("your text", "edited"), labels, shares)


def two_answers(lesson: Lesson, key: str, names: tuple[str, str], labels: list[str], shares) -> None:
    """The next token's probabilities in two runs, side by side, read aloud.

    Args:
        names: of the runs, the program's own words.
        shares: (2, labels + 1) probabilities, the last all other tokens.
    """
    rest = f"{lesson.lm.architecture.vocabulary_size - len(labels):,} others"
    tops = [int(row[:-1].argmax()) for row in shares]
    anatomy.figure(
        bars.answers([escaped(name) for name in names], labels, shares, rest, lesson.theme),
        key=key,
        title="The next token: {first}, and {second}",
        mark=prose.FROM_THE_MODEL,
        alt="Next-token bars. "
        + "; ".join(
            f"{name}: {labels[top]} {row[top]:.0%}" for name, top, row in zip(names, tops, shares, strict=True)
        ),
        table=lambda: bars.answers_table(names, labels, shares, rest),
        first=prose.literal(names[0]),
        second=prose.literal(names[1]),
    )
    prose.read_aloud(
        "{one}: {first} ({share:.1%}). {two}: {second} ({other:.1%}), which had {had:.1%} before.",
        one=prose.literal(names[0].capitalize()),
        first=labels[tops[0]],
        share=float(shares[0, tops[0]]),
        two=prose.literal(names[1].capitalize()),
        second=labels[tops[1]],
        other=float(shares[1, tops[1]]),
        had=float(shares[0, tops[1]]),
    )


def attention_rows(lesson: Lesson, crack: Crack) -> None:
    """Both runs' attention at the ruler's layer and the selected position."""
    view, position = lesson.view, position_in(lesson, crack)
    there = crack.counterpart(position)
    if there is None:
        prose.say(
            "Position {position} has no counterpart in the edited text: it is shifted. Click a cell left of the edit, "
            "or in the last column.",
            position=position,
        )
        return
    for column, run, at, key, where in zip(
        st.columns(2, gap="large"),
        (crack.first, crack.second),
        (position, there),
        ("crack_before", "crack_after"),
        ("in your text", "in the edited text"),
        strict=True,
    ):
        with column:
            attention_row(lesson, HeadView(run, view.layer, view.head, at), key, where)
