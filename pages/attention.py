"""Who looks at whom? From all heads at a glance to one pair of tokens."""

import streamlit as st

from model.head_view import HeadView, drawn_maps
from pages.shared import anatomy, frame, prose
from pages.shared import attention_parts as parts
from pages.shared.state import write_address
from pages.shared.store import shared_overview
from viz.heads import head_grid

lesson = frame.open_page("attention")
view, shape = lesson.view, lesson.lm.architecture

prose.say(
    "A model understands each token by <b class='a'>looking back</b> at the tokens before it. It does so "
    "{heads} times in each of its {layers} layers, every time with another question. One such question is a "
    "<i>head</i>.",
    heads=shape.query_heads,
    layers=shape.layers,
)


@st.fragment
def heads() -> None:
    """From the overview to one head, one row, one pair. A fragment: the strip above stays still."""
    lesson.redraw_if_moved()
    aside = st.session_state.get("sink_aside", False)
    run = lesson.trace
    overview = shared_overview(run)
    all_heads(overview, aside)
    parts.sink_sentence(lesson, overview)
    st.toggle(
        "Set the first token's column aside",
        key="sink_aside",
        help="Hides the column and stretches the colours over what is left. Nothing is renormalised.",
    )
    look = HeadView(run, view.layer, view.head, lesson.selected, aside)
    one_head(look)
    one_pair(look)
    st.header("The same as lines", anchor=False)
    parts.lines_figure(lesson, look)
    write_address(view)


def all_heads(overview, aside: bool) -> None:
    maps, most = drawn_maps(overview, aside)
    prose.figure_title(
        "All {count} heads on this text: row = the token that looks, column = the token looked at",
        prose.FROM_THE_MODEL,
        count=shape.layers * shape.query_heads,
    )
    head_grid(
        maps,
        overview.on_first.numpy(),
        overview.distance.numpy(),
        most=most,
        kv_heads=shape.kv_heads,
        layer=view.layer,
        head=view.head,
        alt=parts.overview_alt(overview),
        key="head_grid",
        on_choose=lambda: parts.take_head(view, shape),
    )
    parts.overview_legend(overview, most)
    anatomy.table_twin("heads", lambda: parts.overview_table(overview))


def one_head(look: HeadView) -> None:
    st.header("One head", anchor=False)
    parts.head_steppers(view, shape)
    kind = st.segmented_control(
        "Three steps of the same head",
        ["Scores", "Mask", "Weights"],
        default="Weights",
        key="attention_kind",
        required=True,
    )
    parts.steps_sentence(kind, look)
    picture, row = st.columns([3, 2], gap="large")
    with picture:
        parts.map_figure(lesson, look, kind)
    with row:
        parts.row_figure(lesson, look)
    parts.row_sentence(lesson, look)


def one_pair(look: HeadView) -> None:
    st.header("One pair, by hand", anchor=False)
    key = parts.key_choice(lesson, look)
    parts.pair_arithmetic(lesson, look, key)


heads()
parts.presets(lesson)
parts.check(lesson)
anatomy.limit(
    "A large attention weight says where a head looked, not what it took from there, nor that the answer depends "
    "on it. What is taken is the value vector, and this head's output is one of {count} that are added up. To know "
    "what a head was for, switch it off and see what changes.",
    count=shape.layers * shape.query_heads,
)
anatomy.code(
    f"""import model
from model.head_view import HeadView
from viz.attention import attention_map

lm = model.open_model({view.model!r})
run = {lesson.trace_call}
look = HeadView(run, layer={view.layer}, head={view.head}, query={lesson.selected})
attention_map(look.weights, run.tokens.labels, kind="weights", query=look.query).show()"""
)
frame.next_page(lesson)
