"""The parts of the embeddings lesson on order: rows that are added, queries and keys that are turned."""

import streamlit as st

from model.embeddings import PositionAdded, entering_apart, moved_back, position_added
from model.rotary import (
    Dials,
    Rotary,
    RotaryPair,
    dials,
    most_telling_pair,
    probe_tokens,
    rotary_of,
    rotary_pair,
    score_in_run,
    shifted_scores,
    strongest_other,
)
from pages.shared import anatomy, frame, prose
from pages.shared.frame import Lesson
from pages.shared.store import shared_trace
from viz import embeddings as figures

#: Rows and columns of dials.
DIAL_ROWS, DIAL_COLUMNS = 8, 10

#: Tokens put in front of the text to answer the question at the end.
FURTHER = 10


# ---- a second row, added -----------------------------------------------------------------------


def added_rows(lesson: Lesson) -> None:
    """For models with a table of positions: token row + position row = what enters layer 0."""
    added = position_added(lesson.trace, lesson.selected)
    if added is None:
        prose.say("This model adds a row for the position, but changes its size on the way; it is not drawn here.")
        return
    prose.say(
        "This model has a second table with one row for each <i>position</i>. The row of position {here} is added to "
        "the row of the token, number by number, and the sum enters layer 0.",
        here=lesson.selected,
    )
    _added_figure(lesson, added)
    prose.read_aloud(
        "In length the position's row is {share:.0%} of the token's. Added up here and compared with what entered "
        "layer 0 in this run, all {size} numbers differ by at most {difference:.8f}.",
        share=added.relative_length,
        size=added.size,
        difference=added.difference,
    )


def _added_figure(lesson: Lesson, added: PositionAdded) -> None:
    here, rows = lesson.selected, added.stacked.numpy()
    names = ["token row", "+ position row", "= enters layer 0"]
    anatomy.figure(
        figures.added_strips(names, rows, lesson.theme),
        key="added",
        title="{label} at position {here}: the first {drawn} of {size} numbers; colour saturates at ±{limit:.2f}",
        mark=prose.FROM_THE_MODEL,
        alt=f"Three strips: the token's row, the row of position {here}, and their sum, which enters layer 0. The sum "
        f"differs from what the model used by at most {added.difference:.1e}.",
        table=lambda: figures.table(dict(zip(names, rows, strict=True))),
        label=lesson.labels[here],
        here=here,
        drawn=min(figures.BARS_A_LINE, added.size),
        size=added.size,
        limit=figures.saturation(rows),
    )


# ---- turning -----------------------------------------------------------------------------------


def rotary_shown(lesson: Lesson) -> Rotary | None:
    """How the layer on show turns its queries and keys, tried on the model; if not known, a sentence."""
    rotary = rotary_of(shared_trace(lesson.lm, probe_tokens(lesson.lm)), lesson.view.layer)
    if rotary is None:
        prose.say(
            "Layer {layer} of this model does not turn its queries in a way known here, so nothing is drawn.",
            layer=lesson.view.layer,
        )
        _layer_choice(lesson)
    return rotary


def _layer_choice(lesson: Lesson) -> None:
    """The layer on show."""
    layers = range(lesson.lm.architecture.layers)
    frame.bound_widget(st.selectbox, lesson.view, "layer", "Layer", options=layers)


def dials_shown(lesson: Lesson, rotary: Rotary) -> Dials:
    """The dials of the positions around the selected one."""
    return dials(rotary, lesson.selected, len(lesson.tokens), DIAL_ROWS, DIAL_COLUMNS)


def dials_figure(lesson: Lesson, rotary: Rotary, drawn: Dials) -> None:
    """The angle of each position and pair."""
    angles, positions, pairs = drawn.angles.numpy(), drawn.positions, drawn.pairs
    labels, slowest = [lesson.labels[position] for position in positions], rotary.slowest
    anatomy.figure(
        figures.clocks(angles, labels, positions, pairs, lesson.selected, lesson.theme),
        key="dials",
        title="How far each pair is turned: angle = position × speed",
        mark=prose.BY_FORMULA,
        alt=f"Dials in rows by position and columns by pair. The first pair turns {rotary.degrees(0):.1f} degrees "
        f"a position, pair {slowest} {rotary.degrees(slowest):.4f}, so it hardly moves.",
        table=lambda: figures.angle_table(angles, positions, pairs),
    )


def dials_sentence(lesson: Lesson, rotary: Rotary, drawn: Dials) -> None:
    """The dials read aloud, and what was tried on the model."""
    prose.read_aloud(
        "From one position to the next, pair {first} turns by {fast:.1f}° and pair {last} by {slow:.4f}°. Fast clocks "
        "tell neighbours apart; slow ones, which need {far:,.0f} positions for one turn, tell near from far.",
        first=0,
        fast=rotary.degrees(0),
        last=rotary.slowest,
        slow=rotary.degrees(rotary.slowest),
        far=rotary.whole_turn(rotary.slowest),
    )
    prose.aside(
        "Straight up is not turned; clockwise is more. Drawn are {columns} of {pairs} pairs and {rows} of {all} "
        "positions.",
        columns=len(drawn.pairs),
        pairs=rotary.pairs,
        rows=len(drawn.positions),
        all=len(lesson.tokens),
    )
    prose.aside(
        "Tried on this model: with one token six times over, the queries and keys of layer {layer}, turned back by "
        "these angles, are all the same to {off:.7f} of their size.",
        layer=lesson.view.layer,
        off=rotary.disagreement,
    )
    if rotary.partial:
        prose.aside(
            "This model turns {turned} of the {size} numbers of a query; the rest is left as it is.",
            turned=rotary.turned,
            size=rotary.head_size,
        )


# ---- one pair of one query ---------------------------------------------------------------------


def pair_choice(lesson: Lesson, rotary: Rotary) -> RotaryPair:
    """Layer, head and pair; the pair of the selected token's query, before and after turning."""
    view, run, here = lesson.view, lesson.trace, lesson.selected
    st.session_state.setdefault("pair", most_telling_pair(run, rotary, view.layer, view.head, here))
    st.session_state.pair = min(st.session_state.pair, rotary.pairs - 1)
    layer, head, pair = st.columns([1, 1, 3], gap="medium")
    with layer:
        _layer_choice(lesson)
    with head:
        heads = range(lesson.lm.architecture.query_heads)
        frame.bound_widget(st.selectbox, view, "head", "Query head", options=heads)
    if rotary.pairs > 1:
        pair.slider("Pair of numbers", 0, rotary.pairs - 1, key="pair")
    return rotary_pair(run, rotary, view.layer, view.head, here, st.session_state.pair)


def pair_figure(lesson: Lesson, turned: RotaryPair) -> None:
    """The pair as an arrow, before and after turning."""
    anatomy.figure(
        figures.turned_arrow(turned.before, turned.after, turned.angle, lesson.theme),
        key="arrow",
        title="Query of {label}, layer {layer}, head {head}, pair {pair}: numbers {one} and {two}",
        mark=prose.FROM_THE_MODEL,
        alt=f"Pair {turned.pair} of the query at position {turned.position}: an arrow before turning and one of the "
        f"same length after turning by {turned.degrees:.1f} degrees.",
        table=lambda: figures.table(
            {
                "number": turned.places,
                "before": turned.before,
                "after": turned.after,
                "in the model": turned.recorded,
            }
        ),
        label=lesson.labels[turned.position],
        layer=lesson.view.layer,
        head=lesson.view.head,
        pair=turned.pair,
        one=turned.places[0],
        two=turned.places[1],
    )


def pair_sentence(turned: RotaryPair) -> None:
    """The turning read aloud."""
    prose.read_aloud(
        "At position {here} pair {pair} is turned by {here} × {speed:.4g} = {angle:.4g} radians, {degrees:,.1f}°. "
        "Its length stays {length:.3g}: turning loses nothing.",
        here=turned.position,
        pair=turned.pair,
        speed=turned.frequency,
        angle=turned.angle,
        degrees=turned.degrees,
        length=turned.length,
    )


def pair_arithmetic(turned: RotaryPair) -> None:
    """The turning with its numbers put in, against what the model used."""
    prose.equation(
        "angle = position × speed = {position} × {speed:.6f} = {angle:.6f} radians\n"
        "cos(angle) = {cos:.6f}    sin(angle) = {sin:.6f}\n"
        "before     = ({x:.6f}, {y:.6f})\n"
        "<b class='q'>x' = x·cos − y·sin</b> = ({x:.6f}) × ({cos:.6f}) − ({y:.6f}) × ({sin:.6f}) = {ax:.6f}\n"
        "<b class='q'>y' = x·sin + y·cos</b> = ({x:.6f}) × ({sin:.6f}) + ({y:.6f}) × ({cos:.6f}) = {ay:.6f}\n"
        + ("" if turned.scaling == 1 else "this model then multiplies by {scaling:.6f}; it is in the results above\n")
        + "the model used ({rx:.6f}, {ry:.6f}); largest difference {off:.7f}",
        position=turned.position,
        speed=turned.frequency,
        angle=turned.angle,
        cos=turned.cos,
        sin=turned.sin,
        x=turned.before[0],
        y=turned.before[1],
        ax=turned.after[0],
        ay=turned.after[1],
        scaling=turned.scaling,
        rx=turned.recorded[0],
        ry=turned.recorded[1],
        off=turned.difference,
    )
    if turned.projected:
        prose.aside("“Before” was worked out anew from the stream and this layer's weights, so this tests the turning.")
    else:
        prose.aside("“Before” is the model's own query turned back, so the last line tests only the arithmetic here.")


# ---- one score, moved --------------------------------------------------------------------------


def key_choice(lesson: Lesson) -> int:
    """The token looked at, chosen or the strongest; returns its position."""

    def name(position: int) -> str:
        return "the one it looks at most, itself aside" if position < 0 else f"{position}  {lesson.labels[position]}"

    with st.container(width=420):
        frame.bound_widget(
            st.selectbox,
            lesson.view,
            "key",
            "Key: the token looked at",
            options=range(-1, lesson.selected + 1),
            format_func=name,
        )
    return _key(lesson)


def _key(lesson: Lesson) -> int:
    view = lesson.view
    return view.key if view.key >= 0 else strongest_other(lesson.trace, view.layer, view.head, lesson.selected)


def moved_figure(lesson: Lesson, rotary: Rotary, key: int) -> None:
    """The score of one query and one key, moved together and apart, and what it says."""
    view, query = lesson.view, lesson.selected
    scores = shifted_scores(lesson.trace, rotary, view.layer, view.head, query, key)
    shifts, together, apart = scores.shifts.numpy(), scores.together.numpy(), scores.apart.numpy()
    anatomy.figure(
        figures.shift_lines(shifts, together, apart, lesson.theme),
        key="shift",
        title="Score of query {query} with key {looked_at}, layer {layer}, head {head}, if they stood elsewhere",
        mark=prose.BY_FORMULA,
        alt=f"A flat line at {scores.recorded:.2f} while both move, and a changing one, from {scores.lowest:.2f} to "
        f"{scores.highest:.2f}, while the query moves alone.",
        table=lambda: figures.table({"moved by": shifts, "both move": together, "only the query moves": apart}),
        query=lesson.labels[query],
        looked_at=lesson.labels[key],
        layer=view.layer,
        head=view.head,
    )
    prose.read_aloud(
        "In this run the score is {recorded:.4f}. With both moved by up to {longest} positions it stays within "
        "{deviation:.7f} of that, which is rounding; with the query moved alone it ranges over {spread:.3g}.",
        recorded=scores.recorded,
        longest=scores.longest,
        deviation=scores.deviation,
        spread=scores.spread,
    )


# ---- the prediction ----------------------------------------------------------------------------


def check(lesson: Lesson) -> None:
    """One prediction, tried on the model when it has been made."""
    right = {"RoPE": 2, "learned": 1}.get(lesson.lm.architecture.position_encoding)
    if right is None:
        return
    anatomy.check_yourself(
        "order",
        "Put ten more tokens in front of the text, so that every token stands ten positions later. What changes, in "
        "layer 0, when the selected token looks at another one?",
        [
            "The row that each is looked up as",
            "The vector that enters layer 0, but not the row",
            "The angles, but not the score",
            "The score",
        ],
        right,
        lambda: _because(lesson),
    )


def _because(lesson: Lesson) -> None:
    run, shape, here = lesson.trace, lesson.lm.architecture, lesson.selected
    token, there = lesson.tokens[here], here + FURTHER
    prose.say("The row of {label} is number {id} wherever it stands.", label=token.label, id=token.id)
    if len(run) + FURTHER > min(frame.MAX_TOKENS, shape.positions):
        return
    later = shared_trace(lesson.lm, moved_back(run, FURTHER))
    if shape.position_encoding == "learned":
        prose.say(
            "Tried on the model: what enters layer 0 is {distance:.3g} away from what it was, because the row of "
            "position {there} is added instead of that of position {here}.",
            distance=entering_apart(run, here, later, there),
            here=here,
            there=there,
        )
        return
    head, key = lesson.view.head, _key(lesson)
    prose.say(
        "Tried on the model, with ten copies of the first token in front: in layer 0, head {head}, the score of "
        "{label} with {looked_at} was {before:.4f} and is {after:.4f}. Both angles grew by 10 × speed, and only their "
        "difference counts.",
        head=head,
        label=token.label,
        looked_at=lesson.labels[key],
        before=score_in_run(run, 0, head, here, key),
        after=score_in_run(later, 0, head, there, key + FURTHER),
    )
