"""The parts of the attention lesson: each reads one thing from the trace and says it."""

from functools import partial

import streamlit as st

from model.architecture import Architecture
from model.head_view import CELLS, CLOSE, HeadView, pooled
from model.overview import Overview
from pages.shared import anatomy, frame, prose
from pages.shared.frame import Lesson
from pages.shared.state import View
from pages.shared.store import shared_overview
from viz import attention as figures
from viz.components import reported


def overview_alt(overview: Overview) -> str:
    """The overview in a sentence, for those who do not see it."""
    layers, heads = overview.on_first.shape
    return (
        f"Attention maps of all {layers * heads} heads, {layers} layers by {heads} heads. {overview.sinks} heads put "
        "more than half of their weight on the first token. Arrow keys move between heads."
    )


def overview_legend(overview: Overview, most: float) -> None:
    """What the colours of the overview mean."""
    block = overview.block
    pooled = f" Each small cell is the largest weight among {block} × {block} pairs." if block > 1 else ""
    prose.aside(
        "Dark is 0, bright is {most:.2f}; empty is masked: a token cannot look at what comes after it.{pooled} "
        "Click a head, or move with the arrow keys.",
        most=most,
        pooled=prose.Html(pooled),
    )


def overview_table(overview: Overview):
    return figures.heads_table(
        overview.on_first.numpy(), overview.on_previous.numpy(), overview.distance.numpy(), overview.entropy.numpy()
    )


def take_head(view: View, shape: Architecture) -> None:
    """The head chosen in the overview, checked: it comes from a browser."""
    chosen = reported("head_grid", "chosen") or {}
    layer, head = chosen.get("layer"), chosen.get("head")
    if isinstance(layer, int) and isinstance(head, int) and 0 <= layer < shape.layers and 0 <= head < shape.query_heads:
        view.layer, view.head, view.key = layer, head, -1


def head_steppers(view: View, shape: Architecture) -> None:
    """Layer and head as numbers, for the keyboard and for those who know where they want to go."""
    columns = st.columns([1, 1, 3], vertical_alignment="bottom")
    for column, name, count in ((columns[0], "layer", shape.layers), (columns[1], "head", shape.query_heads)):
        with column:
            stepper(view, name, count)
    with columns[2]:
        sharing_sentence(view, shape)


def stepper(view: View, name: str, count: int, place: str = "") -> None:
    """A number box for one field of the view that counts from 0 to ``count`` − 1.

    Args:
        place: where on the page it stands, if there is another for the same field.
    """
    label = f"{name.capitalize()} (0–{count - 1})"
    key = f"stepper_{name}{place}"
    frame.bound_widget(st.number_input, view, name, label, key=key, min_value=0, max_value=count - 1)


def sharing_sentence(view: View, shape: Architecture) -> None:
    """Which query heads ask the same KV head."""
    kv = shape.kv_head_of(view.head)
    sharing = list(shape.query_heads_of(kv))
    if len(sharing) == 1:
        prose.aside("Each query head has a <b>KV head</b> of its own here: {n} of each.", n=shape.query_heads)
        return
    prose.aside(
        "Query heads {heads} share KV head {kv}: the same keys and values, asked with different queries.",
        heads=prose.Html(", ".join(map(str, sharing))),
        kv=kv,
    )


_STEPS = {
    "Scores": (
        "<b>Scores</b>: how well each <b class='q'>query</b> fits each <b class='k'>key</b>: their dot product × "
        "{scale:.4g}, here from {low:.2f} to {high:.2f}. All pairs are shown, also those the mask will strike out."
    ),
    "Mask": (
        "<b>Mask</b>: a token cannot look at what comes after it, so {struck} of {all} pairs are struck out. "
        "They are empty, not zero: no weight is worked out for them."
    ),
    "Weights": (
        "<b>Weights</b>: softmax turns each row's scores into shares of 1. Here every row sums to 1 within "
        "{rounding:.1e}."
    ),
}


def steps_sentence(kind: str, look: HeadView) -> None:
    """What the view on show is, of the three: scores, mask, weights."""
    prose.say(
        _STEPS[kind],
        scale=look.run.records[look.layer].scale,
        low=float(look.scores.min()),
        high=float(look.scores.max()),
        struck=look.struck_out,
        all=look.visible.size,
        rounding=look.row_sum_error,
    )


def map_figure(lesson: Lesson, look: HeadView, kind: str) -> None:
    """The head's map; clicking a cell selects its query and key."""
    values = look.step(kind.lower())
    key = look.key_or_strongest(lesson.view.key)
    common = {
        "kind": "weights" if kind == "Weights" else "scores",
        "query": look.query,
        "key": key,
        "most": look.most,
        "theme": lesson.theme,
    }
    queries, keys = look.close(key)
    close = values[queries.start : queries.stop, keys.start : keys.stop]
    if look.block > 1:
        _whole_map(lesson, look, kind, common)
    first = (queries.start, keys.start)
    part = "" if look.block == 1 else f", queries {queries[0]} to {queries[-1]} and keys {keys[0]} to {keys[-1]}"
    anatomy.figure(
        figures.attention_map(close, lesson.labels, first=first, **common),
        key="attention_map",
        title="Layer {layer}, head {head}: {what}{part}",
        mark=prose.FROM_THE_MODEL,
        alt=map_alt(lesson, look, kind),
        table=lambda: figures.map_table(close, lesson.labels, first),
        on_click=partial(_select, lesson.view),
        layer=look.layer,
        head=look.head,
        what=prose.Html(kind.lower()),
        part=prose.Html(part),
    )


def _whole_map(lesson: Lesson, look: HeadView, kind: str, common: dict) -> None:
    """The map of a long text, reduced to what a screen can show."""
    values = pooled(look.step(kind.lower()), look.block)
    anatomy.figure(
        figures.attention_map(values, lesson.labels, block=look.block, **common),
        key="attention_whole",
        title="Layer {layer}, head {head}, the whole text: each cell is the largest of {block} × {block} pairs",
        mark=prose.FROM_THE_MODEL,
        alt=f"The whole map of {len(look.run)} by {len(look.run)} tokens, as the largest value of each block.",
        table=lambda: figures.map_table(values, lesson.labels, block=look.block),
        layer=look.layer,
        head=look.head,
        block=look.block,
    )
    prose.aside(
        "Below, cell by cell: the {count} positions around the selected token and around the key that it looks at. "
        "Another token in the strip, or another key, moves the part.",
        count=min(CLOSE, len(look.run)),
    )


def _select(view: View, key: float, query: float) -> None:
    view.position, view.key = int(query), int(key)


def map_alt(lesson: Lesson, look: HeadView, kind: str) -> str:
    """The map in a sentence."""
    n, best = len(lesson.labels), look.strongest[0]
    return (
        f"{kind} of layer {look.layer}, head {look.head}, {n} by {n} tokens. The selected query, position "
        f"{look.query}, looks most at position {best} with weight {look.row[best]:.2f}."
    )


def row_figure(lesson: Lesson, look: HeadView) -> None:
    """Where the selected query looks; clicking a bar selects its key."""
    labels = lesson.labels[: look.query + 1]
    drawing = figures.attention_row(look.row, labels, key=look.key_or_strongest(lesson.view.key), theme=lesson.theme)
    anatomy.figure(
        drawing,
        key="attention_row",
        title="Where {token} looks",
        mark=prose.FROM_THE_MODEL,
        alt=map_alt(lesson, look, "Weights"),
        table=lambda: figures.row_table(look.row, look.row_scores, labels),
        on_click=lambda x, y: setattr(lesson.view, "key", int(x)),
        token=lesson.labels[look.query],
    )


def row_sentence(lesson: Lesson, look: HeadView) -> None:
    """The row read aloud."""
    first, *others = look.strongest
    text = "In layer {layer}, head {head}, {query} looks most at {first} (position {place}): {share:.0%} of its weight"
    values = {"first": lesson.labels[first], "place": first, "share": float(look.row[first])}
    if others:
        text += ", then at {second}: {next_share:.0%}"
        values |= {"second": lesson.labels[others[0]], "next_share": float(look.row[others[0]])}
    prose.read_aloud(text + ".", layer=look.layer, head=look.head, query=lesson.labels[look.query], **values)


def key_choice(lesson: Lesson, look: HeadView) -> int:
    """Which key the arithmetic is about: what a click in the figures chooses, for the keyboard."""
    view = lesson.view
    st.session_state.key_choice = look.key_or_strongest(view.key)
    # A widget keeps the function that names its options: this one must not keep the run.
    names = {place: f"{place}  {lesson.labels[place]}  ({look.row[place]:.4f})" for place in look.seen_keys}
    return st.selectbox(
        f"Key that position {look.query} looks at",
        look.seen_keys,
        key="key_choice",
        format_func=names.get,
        on_change=lambda: setattr(view, "key", st.session_state.key_choice),
        width=360,
    )


def pair_arithmetic(lesson: Lesson, look: HeadView, key: int) -> None:
    """One weight, from two vectors to the value that is mixed in, with the numbers put in."""
    pair = look.run.pair(look.layer, look.head, look.query, key)
    shown = 4
    terms = " + ".join(
        f"<b class='q'>{q:.2f}</b>×<b class='k'>{k:.2f}</b>"
        for q, k in zip(pair.query_vector[:shown].tolist(), pair.key_vector[:shown].tolist(), strict=True)
    )
    prose.equation(
        "<b class='q'>query</b> of {q} · <b class='k'>key</b> of {k}\n"
        "       = {terms} + … ({size} products)\n"
        "       = {dot:.4f}\n"
        "score  = {dot:.4f} × {scale:.4g} = {score:.4f}{capped}\n"
        "weight = exp({score:.4f} − {largest:.4f}) / the same, summed over the {seen} keys it can see\n"
        "       = {exponential:.4f} / {total:.4f} = <b class='a'>{weight:.4f}</b>\n"
        "mixed in: {weight:.4f} × <b class='v'>value</b> of {k} = {weight:.4f} × [{value}, …]\n"
        "the head's output, {seen} values mixed: [{output}, …]",
        q=lesson.labels[look.query],
        k=lesson.labels[key],
        terms=prose.Html(terms),
        size=len(pair.products),
        dot=pair.dot,
        scale=pair.scale,
        score=pair.score,
        capped=prose.Html("" if look.run.records[look.layer].softcap is None else " after the cap"),
        largest=pair.largest,
        seen=len(look.seen_keys),
        exponential=pair.exponential,
        total=pair.total,
        weight=pair.weight,
        value=prose.Html(", ".join(f"{v:.3f}" for v in pair.value_vector[:shown].tolist())),
        output=prose.Html(", ".join(f"{v:.3f}" for v in pair.output[:shown].tolist())),
    )
    difference, largest = look.run.attention_check(look.layer)
    prose.aside(
        "Checked against the model: the outputs of all heads of layer {layer}, worked out this way and put through "
        "the output projection, differ from what the model itself added to the stream by at most {difference:.1e} "
        "(the largest value added is {largest:.2f}).",
        layer=look.layer,
        difference=difference,
        largest=largest,
    )


def lines_figure(lesson: Lesson, look: HeadView) -> None:
    """The head as lines between tokens."""
    if look.block > 1:
        prose.aside(
            "Lines between {count:,} tokens could not be told apart: they are drawn for texts of at most {most}.",
            count=len(lesson.labels),
            most=CELLS,
        )
        return
    drawing = figures.attention_lines(
        look.weights, lesson.labels, query=look.query, theme=lesson.theme, hide_first=look.first_aside
    )
    anatomy.figure(
        drawing,
        key="attention_lines",
        title="Layer {layer}, head {head}: weights of 0.02 and more, as lines; {token} in colour",
        mark=prose.FROM_THE_MODEL,
        alt=map_alt(lesson, look, "Lines"),
        table=lambda: figures.map_table(look.weights, lesson.labels),
        layer=look.layer,
        head=look.head,
        token=lesson.labels[look.query],
    )


def sink_sentence(lesson: Lesson, overview: Overview) -> None:
    """What an attention sink is, with this text's numbers."""
    if len(lesson.labels) < 3:
        return
    if 2 * overview.sinks < overview.on_first.numel():
        prose.read_aloud(
            "{sinks} of {all} heads put more than half of their weight on the first token, {first}.",
            sinks=overview.sinks,
            all=overview.on_first.numel(),
            first=lesson.labels[0],
        )
        return
    layer, share = overview.strongest_sink_layer
    prose.read_aloud(
        "{sinks} of {all} heads put more than half of their weight on the first token, {first}; in layer {layer} "
        "it is {share:.0%} on average. That token is an <i>attention sink</i>: weights must sum to 1, so a head "
        "that finds nothing to fetch parks its weight there.",
        sinks=overview.sinks,
        all=overview.on_first.numel(),
        first=lesson.labels[0],
        layer=layer,
        share=share,
    )


def presets(lesson: Lesson) -> None:
    """Heads and texts that show the effect best."""
    offers = []
    if len(lesson.labels) > 2:
        layer, head, weight = shared_overview(lesson.trace).previous_token_head
        why = f"On this text it puts {weight:.0%} of its weight on the token just before."
        offers.append((f"Layer {layer}, head {head}: one token back", why, {"layer": layer, "head": head, "key": -1}))
    offers += [
        (
            "A pattern to copy",
            "Look for heads with a second diagonal: they look at what followed the same word last time.",
            {"prompt": "one two three one two three one two"},
        ),
        (
            "Who is 'it'?",
            "Select 'it' in the strip and step through the heads.",
            {"prompt": "The cat sat on the mat because it was"},
        ),
    ]
    anatomy.try_presets(lesson, offers)


def check(lesson: Lesson) -> None:
    """A prediction that this run decides."""
    first = shared_overview(lesson.trace).first_on_itself
    anatomy.check_yourself(
        "attention",
        "What does the very first token look at, in every head of every layer?",
        ["At all tokens, evenly", "At itself, with all its weight", "At the last token"],
        1,
        lambda: prose.say(
            "It can see nothing but itself, and weights sum to 1. In all {count} heads of this run its weight on "
            "itself is at least {low:.6f}.",
            count=first.numel(),
            low=float(first.min()),
        ),
    )
