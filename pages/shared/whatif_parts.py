"""The parts of the lesson that breaks things: what is broken, before and after, and writing on."""

import streamlit as st

from model import Trace, edits
from model.edits import AttentionOff, Edit, FeedForwardOff, HeadOff, KeyHidden, MaskLifted, PositionsRemoved, Window
from model.what_if import Continuations, Following, Reading, continuations, following
from pages.shared import anatomy, prose
from pages.shared.attention_parts import stepper
from pages.shared.frame import Lesson
from pages.shared.state import MAX_EDITS, View
from pages.shared.store import shared_reading
from viz import whatif as figures
from viz.whatif import Pair

#: Tokens of either run that are drawn, and tokens written on.
SHOWN, WRITTEN = 6, 16
#: Positions whose foreseen probabilities are drawn.
COLUMNS = 48


def usable(lesson: Lesson) -> edits.Edits:
    """The edits that fit this model and this text; the others are taken out of the view, and said."""
    shape, count = lesson.lm.architecture, len(lesson.tokens)
    kept = tuple(edit for edit in lesson.view.edits if edits.inside(edit, shape, count))
    for edit in lesson.view.edits:
        if edit not in kept and edit not in View.edits:  # nobody asked for the default
            prose.aside("Left out: {edit}. There is no such thing in this run.", edit=prose.literal(str(edit)))
    lesson.view.edits = kept
    return kept


KINDS: dict[str, str] = {
    "heads": "heads of a layer",
    "attention": "a layer's attention",
    "feed_forward": "a layer's feed-forward network",
    "key": "a token, hidden from the others",
    "window": "all but a window of tokens",
    "mask": "the causal mask",
    "positions": "the positions",
}


def controls(lesson: Lesson) -> None:
    """What to break next, and a button that breaks it."""
    view, shape = lesson.view, lesson.lm.architecture
    kind, *places, button = st.columns([3, 2, 3, 2], vertical_alignment="bottom")
    with kind:
        chosen = st.selectbox("Break", list(KINDS), format_func=KINDS.get, key="whatif_kind")
    made = _choice(lesson, chosen, places)
    with button:
        st.button(
            "Break it",
            type="primary",
            icon=":material/build:",
            disabled=not made or len(view.edits) + len(made) > MAX_EDITS,
            on_click=_add,
            args=(view, made),
            width="stretch",
        )
    if chosen == "positions" and shape.position_encoding not in ("RoPE", "learned"):
        prose.aside("This model tells positions apart in a way that this program cannot take away.")


def _choice(lesson: Lesson, kind: str, places: list) -> tuple[Edit, ...]:
    """The edits that the chosen kind stands for, with its controls."""
    view, shape = lesson.view, lesson.lm.architecture
    first, second = places
    if kind in ("heads", "attention", "feed_forward"):
        with first:
            stepper(view, "layer", shape.layers)
    if kind == "heads":
        with second:
            heads = st.multiselect(
                "Heads", list(range(shape.query_heads)), default=[view.head], key=f"whatif_heads_{view.head}"
            )
        return tuple(HeadOff(view.layer, head) for head in heads)
    if kind == "key":
        with second:
            label = prose.plain(lesson.labels[lesson.selected])
            st.markdown(f"position {lesson.selected}, {label}: selected above")
        return (KeyHidden(lesson.selected),)
    if kind == "window":
        with first:
            length = st.number_input("Tokens it can look back over", 1, 512, 4, key="whatif_window")
        return (Window(int(length)),)
    simple = {
        "attention": AttentionOff(view.layer),
        "feed_forward": FeedForwardOff(view.layer),
        "mask": MaskLifted(),
        "positions": PositionsRemoved(),
    }
    edit = simple[kind]
    return (edit,) if edits.inside(edit, shape, len(lesson.tokens)) else ()


def _add(view: View, made: tuple[Edit, ...]) -> None:
    view.edits = tuple(dict.fromkeys((*view.edits, *made)))


def broken_list(lesson: Lesson) -> None:
    """What is broken now; each can be mended."""
    view = lesson.view
    if not view.edits:
        prose.say("Nothing is broken. Choose something above, or one of the examples at the foot of the page.")
        return
    prose.aside("Broken now; a click mends it:")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        for place, edit in enumerate(view.edits):
            st.button(str(edit), key=f"mend_{place}", icon=":material/close:", on_click=_mend, args=(view, edit))
        if len(view.edits) > 1:
            st.button("Mend all", key="mend_all", type="tertiary", on_click=_mend_all, args=(view,))


def _mend(view: View, edit: Edit) -> None:
    view.edits = tuple(each for each in view.edits if each != edit)


def _mend_all(view: View) -> None:
    view.edits = ()


def before_and_after(lesson: Lesson, whole: Trace, broken: Trace) -> None:
    """The next-token distributions side by side, and what the difference amounts to."""
    labels, found = lesson.lm.vocabulary.labels, following(whole, broken, SHOWN)
    pair = Pair([labels[id] for id in found.ids], found.whole, found.broken)
    anatomy.figure(
        figures.next_token_bars(pair, lesson.theme),
        key="whatif_next",
        title="What follows {token}: the {shown} likeliest of either run",
        mark=prose.FROM_THE_MODEL,
        alt=f"Next-token probabilities of the whole and the broken run; KL divergence {found.divergence:.3f} nats.",
        table=lambda: figures.pair_table(pair, "token"),
        token=lesson.labels[-1],
        shown=SHOWN,
    )
    change_sentence(labels, found, broken.edits)


def change_sentence(labels, found: Following, broken: edits.Edits) -> None:
    """What the edits did, in one sentence with this run's numbers."""
    still = found.best == found.target
    prose.read_aloud(
        "With {edits}, the probability of {token} goes from <b>{before:.1%}</b> to <b>{after:.1%}</b>. "
        + ("It is still the likeliest. " if still else "The likeliest is now {best}, with {chance:.1%}. ")
        + "The broken distribution is {apart:.3f} nats (KL divergence) from the whole one.",
        edits=prose.literal(" and ".join(map(str, broken)) or "nothing broken"),
        token=labels[found.target],
        before=found.whole[0],
        after=found.broken[0],
        best=labels[found.best],
        chance=found.broken[found.ids.index(found.best)],
        apart=found.divergence,
    )


def foreseen(lesson: Lesson, whole: Trace, broken: Trace) -> None:
    """How well either run foresaw the text itself, token by token and in one number."""
    if len(lesson.tokens) < 2:
        prose.aside("A text of one token has nothing to foresee.")
        return
    readings = [shared_reading(run) for run in (whole, broken)]
    first = max(1, len(lesson.tokens) - COLUMNS)
    pair = Pair(lesson.labels[first:], *(each.probabilities[first - 1 :] for each in readings))
    anatomy.figure(
        figures.foreseen_columns(pair, first, lesson.theme),
        key="whatif_foreseen",
        title="How likely each token of your text was before it came",
        mark=prose.FROM_THE_MODEL,
        alt=f"Perplexity {readings[0].perplexity:.1f} whole, {readings[1].perplexity:.1f} broken.",
        table=lambda: figures.pair_table(pair, "token"),
    )
    perplexity_sentence(readings)
    if MaskLifted() in broken.edits:
        peeking(readings)


def perplexity_sentence(readings: list[Reading]) -> None:
    """The two perplexities, and what such a number means."""
    prose.read_aloud(
        "Perplexity of the text: <b>{whole:,.1f}</b> whole, <b>{broken:,.1f}</b> broken. It is as if, at each token, "
        "so many had been equally likely: exp of the mean of −log p over {n} tokens. Lower is better foreseen.",
        whole=readings[0].perplexity,
        broken=readings[1].perplexity,
        n=len(readings[0].log_probabilities),
    )


def peeking(readings: list[Reading]) -> None:
    """Why a lifted mask flatters on a text that is there, and fails on one that is not."""
    better = readings[1].perplexity < readings[0].perplexity
    judged = (
        "It looks better on this text, and nothing was learned: at each place the answer, the next token, stands "
        "in sight, and heads that copy bring it over."
        if better
        else "On this text it does not even help: the model was never trained with a future in sight, and what it "
        "sees there confuses it more than it gives away."
    )
    prose.say(
        "<b>A model that peeks.</b> " + judged + " When it writes, there is no next token to peek at: see what it "
        "writes on below. A lifted mask is no better model, only a test with the answers on the desk. That is why a "
        "model that is to write is trained and run with the mask."
    )


def writing(lesson: Lesson) -> None:
    """Both runs written on, token by token."""
    lm, view, tokens = lesson.lm, lesson.view, lesson.tokens
    room = lm.architecture.positions - len(tokens)
    if room < 1:
        prose.aside("The model's context is full: nothing can be written on.")
        return
    count = min(WRITTEN, room)
    prose.say(
        "Both write on from your text with the same seed, {count} tokens each, and part at the token marked.",
        count=count,
    )
    anatomy.measured(
        ("continuations", lm.key, lm.device, lm.dtype, tokens.ids, view.settings, view.edits, count),
        "continuations",
        lambda: continuations(lm, tokens, view.settings, view.edits, count),
        lambda found: _written(lesson, found),
        button="Write on",
        progress=lambda found: ((len(found.before) + len(found.after)) / (2 * found.planned), "writing"),
        automatic=True,
    )


def _written(lesson: Lesson, found: Continuations) -> None:
    labels = lesson.lm.vocabulary.labels
    for name, ids in (("whole", found.before), ("broken", found.after)):
        chips = prose.chips([labels[id] for id in ids], marked=found.departs)
        prose.say("{name}: {chips}", kind="lesson wide", name=prose.Html(f"<b>{name}</b>"), chips=chips)
    with_table = [(place, labels[one], labels[other]) for place, (one, other) in enumerate(_pairs(found))]
    anatomy.table_twin("whatif_written", lambda: figures.written_table(with_table))


def _pairs(found: Continuations) -> list[tuple[int, int]]:
    return list(zip(found.before, found.after, strict=False))


def try_presets(lesson: Lesson) -> None:
    """Edits that show the most."""
    capital = "The capital of France is"
    cat = "The cat sat on the mat because it was tired and wanted to sleep."
    count = "one two three one two three one two"
    anatomy.try_presets(
        lesson,
        [
            (
                "One head",
                "Layer 23, head 4 looks from 'is' at 'France'. Without it, Paris is no longer sure.",
                {"prompt": capital, "layer": 23, "head": 4, "edits": (HeadOff(23, 4),)},
            ),
            (
                "No place to park",
                "The first token hidden: many heads put their weight on it when they have nothing to say.",
                {"prompt": capital, "edits": (KeyHidden(0),)},
            ),
            (
                "A model that peeks",
                "The causal mask lifted, on a text the model knows: watch the perplexity, then what it writes.",
                {"prompt": cat, "edits": (MaskLifted(),)},
            ),
            (
                "A bag of tokens",
                "Positions removed, on a text in which order is everything.",
                {"prompt": count, "edits": (PositionsRemoved(),)},
            ),
            (
                "Short sight",
                "A window of three tokens, and one head off as well.",
                {"prompt": cat, "edits": (Window(3), HeadOff(23, 4))},
            ),
        ],
    )


def check(lesson: Lesson) -> None:
    """One prediction."""

    def because() -> None:
        prose.say(
            "The last token already sees all tokens before it, and after it there is none. What changes is what the "
            "<i>earlier</i> tokens have become: each has looked at those after it, and the last one reads their "
            "changed keys and values. So lifting the mask changes even an answer that never needed it."
        )

    anatomy.check_yourself(
        "whatif",
        "With the causal mask lifted, what does the <b>last</b> token of your text see that it did not see before?",
        ["Tokens that come later", "No further token, but the earlier ones have changed", "Nothing changes for it"],
        1,
        because,
    )


def head_off_button(lesson: Lesson) -> None:
    """Switch the head that is looked at off, or on again."""
    view = lesson.view
    edit = HeadOff(view.layer, view.head)
    if edit in view.edits:
        st.button("Switch it on again", key="head_on", icon=":material/toggle_on:", on_click=_mend, args=(view, edit))
    else:
        st.button("Switch it off", key="head_off", icon=":material/toggle_off:", on_click=_add, args=(view, (edit,)))
