"""Which part matters here? Every head, layer or position taken away alone, and the one that is looked at."""

import streamlit as st

from model.edits import HeadOff
from model.head_view import HeadView, pooled
from model.sweep_view import by_head, by_layer, by_position
from model.what_if import Sweep, all_heads, all_keys, all_layers, sweep
from pages.shared import anatomy, prose
from pages.shared.attention_parts import stepper
from pages.shared.frame import Lesson
from pages.shared.limits import LIMITS
from pages.shared.whatif_parts import head_off_button
from viz import attention as attention_figures
from viz import whatif as figures

KINDS = {"heads": "every head", "layers": "every layer", "positions": "every position"}


def sweeping(lesson: Lesson) -> Sweep | None:
    """The choice of what to take away one by one, and the sweep."""
    kind = st.segmented_control(
        "Take away, one at a time", list(KINDS), default="heads", key="sweep_kind", format_func=KINDS.get, required=True
    )
    lm, tokens = lesson.lm, lesson.tokens
    tried = {"heads": all_heads, "layers": all_layers, "positions": lambda _: all_keys(tokens)}[kind](lm)
    if not tried:
        prose.aside("A text of one token has no other position to hide.")
        return None
    if len(tokens) > LIMITS.swept:
        prose.aside(
            "Trying each alone is offered for texts of at most {most:,} tokens on this server; this one has {count:,}.",
            most=LIMITS.swept,
            count=len(tokens),
        )
        return None
    chosen = (lesson.view.layer, lesson.view.head, lesson.view.position)

    def show(found: Sweep) -> None:
        if (lesson.view.layer, lesson.view.head, lesson.view.position) != chosen:
            st.rerun()  # a click chose another head: the figures below follow
        {"heads": _head_map, "layers": _layer_columns, "positions": _position_columns}[kind](lesson, found)
        _most(lesson, found)

    return anatomy.measured(
        ("sweep", lm.key, lm.device, lm.dtype, tokens.ids, kind),
        f"sweep_{kind}",
        lambda: sweep(lm, tokens, tried),
        show,
        button=f"Try all {len(tried):,}, each alone",
        progress=lambda found: (len(found.effects) / found.planned, f"{len(found.effects)} of {found.planned} tried"),
    )


def _title(found: Sweep, labels) -> dict:
    return {"token": labels[found.target], "before": found.probability}


def _head_map(lesson: Lesson, found: Sweep) -> None:
    view, shape = lesson.view, lesson.lm.architecture
    change = by_head(found, shape)
    anatomy.figure(
        figures.effect_map(
            change,
            layer=view.layer,
            head=view.head,
            marked=[(edit.layer, edit.head) for edit in view.edits if isinstance(edit, HeadOff)],
            theme=lesson.theme,
        ),
        key="sweep_heads",
        title="How the probability of {token}, {before:.1%}, changes when one head is off",
        mark=prose.FROM_THE_MODEL,
        alt=_alt(found),
        table=lambda: figures.effect_table(change),
        on_click=lambda x, y: _take_head(lesson, round(x), round(y)),
        **_title(found, lesson.lm.vocabulary.labels),
    )


def _take_head(lesson: Lesson, layer: int, head: int) -> None:
    lesson.view.layer, lesson.view.head = layer, head


def _layer_columns(lesson: Lesson, found: Sweep) -> None:
    layers = lesson.lm.architecture.layers
    series = by_layer(found, layers)
    anatomy.figure(
        figures.effect_columns(series, figures.layer_axis(layers), selected=lesson.view.layer, theme=lesson.theme),
        key="sweep_layers",
        title="How the probability of {token}, {before:.1%}, changes when a layer's attention or feed-forward is off",
        mark=prose.FROM_THE_MODEL,
        alt=_alt(found),
        table=lambda: figures.columns_table(series, list(range(layers)), "layer"),
        **_title(found, lesson.lm.vocabulary.labels),
    )


def _position_columns(lesson: Lesson, found: Sweep) -> None:
    labels = lesson.labels[:-1]
    series = {"hidden": by_position(found, len(labels))}
    anatomy.figure(
        figures.effect_columns(series, figures.position_axis(labels), theme=lesson.theme),
        key="sweep_positions",
        title="How the probability of {token}, {before:.1%}, changes when one position is hidden from the others",
        mark=prose.FROM_THE_MODEL,
        alt=_alt(found),
        table=lambda: figures.columns_table(series, labels, "token"),
        **_title(found, lesson.lm.vocabulary.labels),
    )


def _alt(found: Sweep) -> str:
    if not found.effects:
        return "Nothing tried yet."
    return f"The largest change: {found.most.edit}, from {found.probability:.3f} to {found.most.probability:.3f}."


def _most(lesson: Lesson, found: Sweep) -> None:
    """The sweep read aloud."""
    if not found.effects:
        return
    prose.read_aloud(
        "The largest change of {tried}: with {most}, alone, the probability of {token} goes from <b>{before:.1%}</b> "
        "to <b>{after:.1%}</b>. {less} of them halve it or more.",
        tried=len(found.effects),
        most=prose.literal(str(found.most.edit)),
        token=lesson.lm.vocabulary.labels[found.target],
        before=found.probability,
        after=found.most.probability,
        less=found.halving,
    )


def chosen_head(lesson: Lesson, found: Sweep | None) -> None:
    """The head that is looked at: its map on the whole run, what it alone is worth, and a switch."""
    view, shape = lesson.view, lesson.lm.architecture
    look = HeadView(lesson.trace, view.layer, view.head, lesson.selected)
    layer, head, switch = st.columns([2, 2, 3], vertical_alignment="bottom")
    with layer:
        stepper(view, "layer", shape.layers, "_looked_at")
    with head:
        stepper(view, "head", shape.query_heads, "_looked_at")
    with switch:
        head_off_button(lesson)
    picture, words = st.columns([3, 2], gap="large", vertical_alignment="center")
    with picture:
        weights = pooled(look.weights, look.block)
        largest = f"; each cell is the largest of {look.block} × {look.block}" if look.block > 1 else ""
        anatomy.figure(
            attention_figures.attention_map(
                weights, lesson.labels, kind="weights", query=look.query, block=look.block, theme=lesson.theme
            ),
            key="whatif_map",
            title="Where layer {layer}, head {head} looks, in the whole run{largest}",
            mark=prose.FROM_THE_MODEL,
            alt=f"Attention map of layer {view.layer}, head {view.head}.",
            table=lambda: attention_figures.map_table(weights, lesson.labels, block=look.block),
            layer=view.layer,
            head=view.head,
            largest=prose.Html(largest),
        )
    with words:
        _worth(lesson, look, found)


def _worth(lesson: Lesson, look: HeadView, found: Sweep | None) -> None:
    """One sentence on the head: where it looks, and what changed without it."""
    at = look.strongest[0]
    text = "Layer {layer}, head {head}: {query} looks most at {key}, with {share:.0%} of its weight. "
    values = {"layer": look.layer, "head": look.head, "query": lesson.labels[look.query]}
    values |= {"key": lesson.labels[at], "share": float(look.row[at])}
    alone = HeadOff(look.layer, look.head)
    effect = found and next((each for each in found.effects if each.edit == alone), None)
    if effect:
        text += "Without it, {token} has <b>{after:.1%}</b> in place of <b>{before:.1%}</b>; {apart:.3f} nats apart."
        values |= {"token": lesson.lm.vocabulary.labels[found.target], "after": effect.probability}
        values |= {"before": found.probability, "apart": effect.divergence}
    else:
        text += "Try all heads above to see what it is worth here."
    prose.read_aloud(text, **values)
