"""How do labels become vectors, and how is order told? From the table's row to RoPE's turning."""

import streamlit as st

from model.embeddings import likeness_kept, looked_up
from model.rotary import Rotary
from pages.shared import anatomy, frame, order_parts, prose
from pages.shared import embeddings_parts as parts
from pages.shared.state import write_address

lesson = frame.open_page("embeddings")
view, shape = lesson.view, lesson.lm.architecture
found = looked_up(lesson.trace, lesson.selected)

prose.say(
    "A label is nothing one can calculate with. So each token ID is the number of a row in a big table, the "
    "<b>embedding table</b>, and that row of {size} learned numbers is all that the model gets of the token.",
    size=len(found.row),
)
parts.row_figure(lesson, found)
parts.row_sentence(lesson, found)
parts.same_row_sentence(lesson)


def rows_alike() -> None:
    st.header("Which rows are alike?", anchor=False)
    near = parts.rows_alike(lesson)
    picture, words = st.columns([5, 4], gap="large")
    with picture:
        parts.alike_figure(lesson, near)
    with words:
        parts.alike_sentence(lesson, near)
        prose.aside("This is the table as stored, before any layer: no word around the token has been looked at.")


def rows_on_a_map() -> None:
    st.header("Where do these rows lie?", anchor=False)
    drawn = parts.rows_around(lesson)
    picture, words = st.columns([5, 4], gap="large")
    with picture:
        parts.map_figure(lesson, drawn)
    with words:
        parts.map_sentence(lesson, drawn)


def order() -> None:
    """How this model tells order, as far as it can be shown."""
    st.header("How is order told?", anchor=False)
    if shape.position_encoding == "learned":
        order_parts.added_rows(lesson)
    elif shape.position_encoding == "RoPE":
        order_by_turning()
    else:
        prose.say("This model tells order in another way than by turning or by added rows; it is not drawn here.")


@st.fragment
def order_by_turning() -> None:
    """RoPE. A fragment: its controls leave the strip and the map alone."""
    if rotary := order_parts.rotary_shown(lesson):
        clocks(rotary)
        one_pair(rotary)
        one_score_moved(rotary)
    write_address(view)


def clocks(rotary: Rotary) -> None:
    prose.say(
        "Nothing is added to the row. Instead, in each layer, the vectors with which tokens look at each other (the "
        "<b class='q'>query</b> and the <b class='k'>key</b>) are <i>turned</i>, two numbers at a time, like the hands "
        "of {pairs} clocks of different speed. Each position has its own reading of the clocks.",
        pairs=rotary.pairs,
    )
    drawn = order_parts.dials_shown(lesson, rotary)
    picture, words = st.columns([5, 4], gap="large")
    with picture:
        order_parts.dials_figure(lesson, rotary, drawn)
    with words:
        order_parts.dials_sentence(lesson, rotary, drawn)


def one_pair(rotary: Rotary) -> None:
    st.subheader("One pair of one query, turned", anchor=False)
    turned = order_parts.pair_choice(lesson, rotary)
    picture, words = st.columns([5, 4], gap="large")
    with picture:
        order_parts.pair_figure(lesson, turned)
    with words:
        order_parts.pair_sentence(turned)
    if box := anatomy.look_inside("the turning, with numbers", key="inside_turning"):
        with box:
            order_parts.pair_arithmetic(turned)


def one_score_moved(rotary: Rotary) -> None:
    st.subheader("Why turning tells distance", anchor=False)
    prose.say(
        "How much a <b class='q'>query</b> looks at a <b class='k'>key</b> starts from one number, their score. Turn "
        "both by the same angle and it stays; turn one alone and it changes. So the score feels how far apart two "
        "tokens are, not where in the text they stand.",
    )
    key = order_parts.key_choice(lesson)
    order_parts.moved_figure(lesson, rotary, key)
    prose.aside(
        "The two vectors are the model's own, turned for other positions by the formula above. In a longer "
        "text later layers would also carry other vectors."
    )


rows_alike()
rows_on_a_map()
order()
parts.presets(lesson)
order_parts.check(lesson)
anatomy.limit(
    "The row is where a token begins, not what it means here. Every layer adds to it: after all {layers} layers the "
    "vector at position {here} has a cosine similarity of {kept:.2f} with what {label} entered as. A word with several "
    "meanings has one row; which meaning it has here is worked out in the layers.",
    layers=shape.layers,
    here=lesson.selected,
    kept=likeness_kept(lesson.trace, lesson.selected),
    label=lesson.labels[lesson.selected],
)
anatomy.code(
    """import model
from model import embeddings, rotary
from viz.embeddings import row_strip

lm = model.open_model()
run = model.trace(lm, "The capital of France is")
row = embeddings.looked_up(run, position=3).row
near = embeddings.nearest(lm.parts.embedding.weight, [run.tokens.ids[3]], 12)[0]
turn = rotary.rotary_of(model.trace(lm, rotary.probe_tokens(lm)), layer=0)
before = rotary.unrotate(run.query(layer=0, head=3)[3], 3, turn)
row_strip(row.numpy())  # shows the figure in a notebook"""
)
frame.next_page(lesson)
