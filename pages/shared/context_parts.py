"""The parts of the lesson on context that compare one word in two sentences."""

from dataclasses import dataclass

import streamlit as st

from model import ExplainerError, Trace, tokenize
from model.context import (
    Meeting,
    Place,
    Scale,
    cosine_arithmetic,
    further_sentences,
    lens_by_layer,
    library_cosine,
    places,
    scale_of,
    some_layers,
)
from model.head_view import HeadView
from pages.shared import anatomy, frame, prose
from pages.shared.attention_parts import stepper
from pages.shared.frame import MAX_TOKENS, Lesson
from pages.shared.store import shared_telling_head, shared_trace
from viz import attention as attention_figures
from viz import context as figures

#: Further sentences of either sense that are run for the scale.
FURTHER = 3
#: The two sentences: field of the view, field of the place looked at, in words.
SIDES = (("one", "one_at", "first"), ("two", "two_at", "second"))


def sentence_controls(lesson: Lesson) -> None:
    """The two sentences and the word."""
    columns = st.columns([5, 5, 2])
    for column, (name, _, order) in zip(columns, SIDES, strict=False):
        with column:
            frame.bound_widget(
                st.text_input, lesson.view, name, f"The {order} sentence", key=f"context_{name}", max_chars=400
            )
    with columns[2]:
        frame.bound_widget(st.text_input, lesson.view, "word", "The word", key="context_word", max_chars=60)


@dataclass(frozen=True, eq=False)
class Found:
    """What the two sentences came to.

    Attributes:
        meeting: the word in both.
        counts: how often it stands in each.
    """

    meeting: Meeting
    counts: tuple[int, int]


def read_sentences(lesson: Lesson) -> Found | None:
    """Both sentences run, the word found in both; a sentence to the visitor where that cannot be."""
    view = lesson.view
    if not view.word.strip():
        st.warning("Type the word to look for: it must stand in both sentences.", icon=":material/edit:")
        return None
    sides, counts = [], []
    for name, at, order in SIDES:
        found = _one_sentence(lesson, getattr(view, name), order)
        if found is None:
            return None
        run, held = found
        setattr(view, at, min(getattr(view, at), len(held) - 1))
        sides += [run, held[getattr(view, at)]]
        counts.append(len(held))
    return Found(Meeting(*sides), (counts[0], counts[1]))


def _one_sentence(lesson: Lesson, text: str, order: str) -> tuple[Trace, list[Place]] | None:
    word = lesson.view.word.strip()
    try:
        tokens = tokenize(lesson.lm, text)
        if not text.strip():
            lesson.lm.check_length(0)
        lesson.lm.check_length(len(tokens), MAX_TOKENS)
        held = places(tokens, word)
        if not held:
            st.warning(
                prose.plain(
                    f"“{word}” does not stand in the {order} sentence as a word of its own. Write it there, or look "
                    "for another word."
                ),
                icon=":material/search_off:",
            )
            return None
        return shared_trace(lesson.lm, tokens), held
    except ExplainerError as problem:
        st.warning(prose.plain(f"The {order} sentence: {problem}"), icon=":material/edit:")
        return None


def occurrence_controls(lesson: Lesson, found: Found) -> None:
    """Which of several places is looked at."""
    several = [(side, count) for side, count in zip(SIDES, found.counts, strict=True) if count > 1]
    if not several:
        return
    for column, ((_, at, order), count) in zip(st.columns([2] * len(several) + [6]), several, strict=False):
        with column:
            frame.bound_widget(
                st.number_input,
                lesson.view,
                at,
                f"Which of {count} in the {order} (0–{count - 1})",
                key=f"context_{at}",
                min_value=0,
                max_value=count - 1,
            )


def same_row_sentence(lesson: Lesson, meeting: Meeting) -> None:
    """The same ID, the same row, and what enters layer 0."""
    here, there = meeting.here, meeting.there
    label = here.tokens[-1].label
    if len(here.tokens) > 1 or len(there.tokens) > 1:
        prose.aside(
            "This model writes the word with {first} tokens in the first sentence and {second} in the second. The last "
            "of them is looked at: only it has seen the whole word.",
            first=len(here.tokens),
            second=len(there.tokens),
        )
    if not meeting.same_token:
        prose.say(
            "Here these are two different tokens, {one} (ID {first}) and {other} (ID {second}): their rows of the "
            "embedding table are {apart:.3g} apart before anything is read. At the start of a text, or with a capital, "
            "a word is often another token.",
            one=label,
            other=there.tokens[-1].label,
            first=here.id,
            second=there.id,
            apart=meeting.row_distance,
        )
        return
    prose.say(
        "In both sentences it is the token {label}, ID {id}: the same row of the embedding table. The distance "
        "between the two rows is exactly <b>{apart:g}</b>. " + _what_enters(lesson, meeting),
        label=label,
        id=here.id,
        apart=meeting.row_distance,
        entering=meeting.entering_distance,
    )


def _what_enters(lesson: Lesson, meeting: Meeting) -> str:
    if meeting.entering_distance == 0:
        return "So is that between what enters layer 0 at the two places: up to here the word means one thing."
    if lesson.lm.architecture.position_encoding == "learned":
        return (
            "Between what enters layer 0 it is {entering:.3g}: this model adds a row for the position, and the two "
            "stand at different ones."
        )
    return "Between what enters layer 0 it is {entering:.3g}."


def scale(lesson: Lesson, meeting: Meeting) -> Scale:
    """The word of the first sentence beside further sentences in either sense; empty for other words."""
    view, further = lesson.view, []
    for sentences in further_sentences(view.word, (view.one, view.two)):
        runs = []
        for sentence in sentences[:FURTHER]:
            try:
                runs.append(shared_trace(lesson.lm, tokenize(lesson.lm, sentence)))
            except ExplainerError:  # too long for this model, or the model is busy: the scale is shorter
                continue
        further.append(runs)
    if not any(further):
        return Scale((), (), ())
    return scale_of(meeting.vectors[0], view.word.strip(), further)


def cosine_figure(lesson: Lesson, meeting: Meeting, beside: Scale) -> None:
    """How alike the two are, by layer: the main figure of the page."""
    likeness, layer = meeting.likeness, lesson.view.layer
    anatomy.figure(
        figures.cosine_lines(likeness, beside.senses, beside.curves, layer, lesson.theme),
        key="cosine_lines",
        title="Cosine of the vectors at {word} in the two sentences, after each layer; layer {layer} is marked",
        mark=prose.FROM_THE_MODEL,
        alt=f"The cosine begins at {likeness[0]:.2f}, is {likeness[layer + 1]:.2f} after layer {layer}, lowest at "
        f"{likeness.min():.2f}, and ends at {likeness[-1]:.2f}.",
        table=lambda: figures.cosine_table(likeness, beside.sentences, beside.curves),
        word=meeting.here.tokens[-1].label,
        layer=layer,
    )


def cosine_sentence(lesson: Lesson, meeting: Meeting, beside: Scale) -> None:
    """The figure read aloud, against its scale."""
    likeness, layer = meeting.likeness, lesson.view.layer
    values = {
        "layer": layer,
        "value": float(likeness[layer + 1]),
        "start": float(likeness[0]),
        "lowest": float(likeness.min()),
        "at": _depth(int(likeness.argmin()) - 1),
    }
    words = (
        "The cosine is {start:.3g} where the word enters and <b>{value:.3f}</b> after layer {layer}. It is lowest, "
        "{lowest:.3f}, {at}."
    )
    ranges = []
    for name, (low, high) in zip(beside.senses, beside.between(layer + 1), strict=True):
        ranges.append(f"{low:.3f} to {high:.3f} with {name}")
    if ranges:
        words += " For scale, there the word of the first sentence has, in further sentences, {ranges}."
        values["ranges"] = prose.literal("; ".join(ranges))
    prose.read_aloud(words, **values)
    if not ranges:
        prose.aside(
            "For this word there are no further sentences, so the curve has no scale. They are kept for {known}; for "
            "another word, write two sentences of one sense first and note the number, then one of each.",
            known=prose.literal("bank, mouse and spring"),
        )


def _depth(layer: int) -> prose.Html:
    return prose.Html("where it enters" if layer < 0 else f"after layer {layer}")


def side_steppers(lesson: Lesson, meeting: Meeting) -> None:
    """Layer and head, for both sentences at once."""
    shape = lesson.lm.architecture
    layer, head, telling = st.columns([1, 1, 3], vertical_alignment="bottom")
    with layer:
        stepper(lesson.view, "layer", shape.layers)
    with head:
        stepper(lesson.view, "head", shape.query_heads)
    at, which, weight = shared_telling_head(meeting)
    with telling:
        st.button(
            f"Layer {at}, head {which}: looks most at other words",
            key="context_telling",
            help=f"In both sentences it puts at least {weight:.0%} of its weight on tokens that are neither the first "
            "nor the word's own.",
            on_click=_take_head,
            args=(lesson, at, which),
        )


def _take_head(lesson: Lesson, layer: int, head: int) -> None:
    lesson.view.layer, lesson.view.head = layer, head


def attention_pair(lesson: Lesson, meeting: Meeting) -> None:
    """Where the word looks in either sentence, with the same head."""
    looks = [HeadView(run, lesson.view.layer, lesson.view.head, place.position) for run, place in meeting.sides]
    for column, look, (name, _, order) in zip(st.columns(2, gap="large"), looks, SIDES, strict=True):
        with column:
            attention_row(lesson, look, f"context_attention_{name}", f"in the {order} sentence")
    words = (
        "Layer {layer}, head {head}: in the first sentence {one} looks most at {first} ({share:.0%}), in the second at "
    )
    prose.read_aloud(
        words + "{second} ({other:.0%}).",
        layer=lesson.view.layer,
        head=lesson.view.head,
        one=meeting.here.tokens[-1].label,
        first=meeting.first.tokens.labels[looks[0].strongest[0]],
        share=float(looks[0].row.max()),
        second=meeting.second.tokens.labels[looks[1].strongest[0]],
        other=float(looks[1].row.max()),
    )


def attention_row(lesson: Lesson, look: HeadView, key: str, where: str) -> None:
    """One row of attention weights, as bars.

    Args:
        where: a phrase of the program's own.
    """
    labels = look.run.tokens.labels[: look.query + 1]
    strongest = look.strongest[0]
    anatomy.figure(
        attention_figures.attention_row(look.row, labels, key=strongest, theme=lesson.theme),
        key=key,
        title="Layer {layer}, head {head}: where {token} looks, {where}",
        mark=prose.FROM_THE_MODEL,
        alt=f"Attention weights of position {look.query}, {where}: most, {look.row[strongest]:.2f}, on position "
        f"{strongest}, {labels[strongest]}.",
        table=lambda: attention_figures.row_table(look.row, look.row_scores, labels),
        layer=look.layer,
        head=look.head,
        token=labels[-1],
        where=prose.literal(where),
    )


@st.cache_data(max_entries=256, show_spinner=False)
def _lens(_run: Trace, key: tuple, ids: tuple[int, ...], position: int, layers: list[int]) -> list[tuple[int, float]]:
    """What the lens reads; the model's ``key`` and the token IDs name the run in the cache."""
    return lens_by_layer(_run, position, layers)


def lens_figure(lesson: Lesson, meeting: Meeting) -> None:
    """What the lens reads at the word, layer by layer, in both."""
    layers, names = some_layers(lesson.lm.architecture.layers), [run.tokens.text for run, _ in meeting.sides]
    read = [
        _lens(run, (lesson.lm.key, lesson.lm.dtype), run.tokens.ids, place.position, layers)
        for run, place in meeting.sides
    ]
    labels = [[lesson.lm.vocabulary.labels[id] for id, _ in side] for side in read]
    shares = [[share for _, share in side] for side in read]
    anatomy.figure(
        figures.lens_ladders(("first sentence", "second sentence"), layers, labels, shares, lesson.theme),
        key="context_lens",
        title="What could follow {word} if a layer were the last: the likeliest token and its probability",
        mark=prose.FROM_THE_MODEL,
        alt=f"After the last layer the likeliest token is {labels[0][-1]} in the first sentence and {labels[1][-1]} in "
        "the second.",
        table=lambda: figures.lens_table(names, layers, labels, shares),
        word=meeting.here.tokens[-1].label,
    )
    apart = [layer for layer, one, other in zip(layers, *labels, strict=True) if one != other]
    words = "After the last layer the model would go on with {first} ({share:.0%}) and with {second} ({other:.0%}). "
    words += (
        "The lens reads the same token in both, except after {apart} of the {all} layers shown."
        if len(apart) < len(layers)
        else "The lens reads another token after each of the {all} layers shown."
    )
    prose.read_aloud(
        words,
        first=labels[0][-1],
        share=shares[0][-1],
        second=labels[1][-1],
        other=shares[1][-1],
        apart=len(apart),
        all=len(layers),
    )
    prose.aside("The lens is a reading aid: no layer but the last was trained to be read this way.")


def cosine_by_hand(lesson: Lesson, meeting: Meeting) -> None:
    """One cosine with its numbers put in."""
    one, other = (vectors[lesson.view.layer + 1] for vectors in meeting.vectors)
    hand = cosine_arithmetic(one, other)
    terms = " + ".join(f"{a:.3f}×{b:.3f}" for a, b in zip(hand.first, hand.second, strict=True))
    prose.equation(
        "a, b   = the two vectors after layer {layer}, {size} numbers each\n"
        "a · b  = {terms} + … = {dot:,.3f}\n"
        "‖a‖    = {first:,.3f}      ‖b‖ = {second:,.3f}\n"
        "cosine = {dot:,.3f} / ({first:,.3f} × {second:,.3f}) = {cosine:.6f}\n"
        "torch  = {library:.6f}",
        layer=lesson.view.layer,
        size=hand.size,
        terms=prose.literal(terms),
        dot=hand.dot,
        first=hand.lengths[0],
        second=hand.lengths[1],
        cosine=hand.cosine,
        library=library_cosine(one, other),
    )
    prose.aside(
        "The largest single part is number {place} of the vectors: its product is {product:,.3f} of {dot:,.3f}.",
        place=hand.largest_place,
        product=hand.largest_product,
        dot=hand.dot,
    )


#: Two sentences that part only after the word, for the prediction.
AFTER = ("The bank of the river was green", "The bank of the town was closed")


def check(lesson: Lesson) -> None:
    """A prediction: what comes after the word."""

    def because() -> None:
        runs = [shared_trace(lesson.lm, tokenize(lesson.lm, sentence)) for sentence in AFTER]
        held = [places(run.tokens, "bank")[0] for run in runs]
        meeting = Meeting(runs[0], held[0], runs[1], held[1])
        prose.say(
            "Run just now: after every layer the cosine is at least {low:.6f}, and the largest difference of any "
            "number of the two vectors, in all layers, is {apart:g}. What tells the two apart comes <i>after</i> the "
            "word, and a token cannot see what comes after it. Only later tokens can put the two together.",
            low=float(meeting.likeness.min()),
            apart=meeting.largest_difference,
        )

    anatomy.check_yourself(
        "context",
        "“The bank of the river was green” and “The bank of the town was closed”: how far do the two vectors at ‘bank’ "
        "part?",
        [
            "Far, after the layers that understand words",
            "A little, because the sentences are alike",
            "Not at all, in no layer",
        ],
        2,
        because,
    )
