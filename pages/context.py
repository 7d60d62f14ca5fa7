"""Can one token mean two things? One word in two sentences, one word edited, the same words otherwise arranged."""

import streamlit as st

from model.context import largest_share
from pages.shared import anatomy, crack_parts, frame, prose, word_order_parts
from pages.shared import context_parts as parts
from pages.shared.state import write_address

lesson = frame.open_page("context")
view, shape = lesson.view, lesson.lm.architecture
prompt = crack_parts.prompt_tokens(lesson)

prose.say(
    "A token has one row in the embedding table, whatever it means. What it means <i>here</i> is worked out in the "
    "{layers} layers, from the tokens before it: in each of them the token <b class='a'>looks back</b>, and its vector "
    "changes.",
    layers=shape.layers,
)


@st.fragment
def looking() -> None:
    """All that follows the layer, the head and the selected token. Only other words run the model."""
    lesson.redraw_if_moved()
    st.header("The same word in two sentences", anchor=False)
    parts.sentence_controls(lesson)
    if found := parts.read_sentences(lesson):
        two_sentences(found)
    st.header("One word edited: the crack", anchor=False)
    prose.say(
        "Your text, run twice, one word of it edited in between. Each column is a position, each row a layer, and the "
        "colour says how far the two runs' vectors differ there, their length being 1."
    )
    word = crack_parts.edit_controls(lesson, prompt)
    if word and (crack := crack_parts.read_edit(lesson, prompt, word)):
        one_word_edited(crack)
    write_address(view)


def two_sentences(found: parts.Found) -> None:
    meeting = found.meeting
    parts.occurrence_controls(lesson, found)
    parts.same_row_sentence(lesson, meeting)
    beside = parts.scale(lesson, meeting)
    parts.cosine_figure(lesson, meeting, beside)
    parts.cosine_sentence(lesson, meeting, beside)
    if box := anatomy.look_inside("one cosine, with numbers", "cosine_inside"):
        with box:
            parts.cosine_by_hand(lesson, meeting)
    st.subheader("Where it looks in either sentence", anchor=False)
    parts.side_steppers(lesson, meeting)
    parts.attention_pair(lesson, meeting)
    st.subheader("What the lens reads there", anchor=False)
    parts.lens_figure(lesson, meeting)


def one_word_edited(crack: crack_parts.Crack) -> None:
    crack_parts.notes(lesson, crack)
    crack_parts.ruler(lesson)
    crack_parts.crack_figure(lesson, crack)
    crack_parts.crack_sentence(lesson, crack)
    row, answers = st.columns(2, gap="large")
    with row:
        crack_parts.ruler_figure(lesson, crack)
    with answers:
        crack_parts.answers_figure(lesson, crack)
    crack_parts.attention_rows(lesson, crack)


@st.fragment
def order() -> None:
    """The same words in another order, and more words after them."""
    st.header("The same words in another order", anchor=False)
    word_order_parts.order_control(lesson)
    word_order_parts.other_order(lesson, prompt)
    st.header("Can a later word change an earlier one?", anchor=False)
    word_order_parts.more_control(lesson)
    word_order_parts.longer(lesson, prompt)
    write_address(view)


looking()
order()
anatomy.try_presets(
    lesson,
    [
        (
            "France, then Italy",
            "A longer sentence: untouched on the left, a faint smear, then a jump late in the layers.",
            {"prompt": "The capital of France is a city on the river", "swap": "Italy", "layer": 23},
        ),
        (
            "Two kinds of mouse",
            "Another word with two meanings, with its own scale.",
            {
                "one": "The cat chased the little mouse",
                "two": "I clicked the button with the mouse",
                "word": "mouse",
            },
        ),
        (
            "Too late to tell",
            "What tells the two apart comes after the word: compare the curve with the one before.",
            {"one": "The bank of the river was green", "two": "The bank of the town was closed", "word": "bank"},
        ),
    ],
)
parts.check(lesson)
anatomy.limit(
    "A cosine says how far two directions differ, not in what. And a few large numbers can rule it: at {token}, after "
    "the last layer, a single one of {size} numbers makes up {share:.0%} of the vector's squared length. The crack "
    "shows where two runs differ and by how much. It does not show why, nor whether the answer depends on it: a large "
    "difference may never be read by anyone. To know what a part was for, switch it off and see what changes.",
    token=lesson.labels[lesson.selected],
    size=shape.hidden_size,
    share=largest_share(lesson.trace, lesson.selected),
)
anatomy.code(
    f"""import model
from model.context import Meeting, places
from model.crack import Crack
from viz.crack import crack_map

lm = model.open_model({view.model!r})
one, two = model.trace(lm, {view.one!r}), model.trace(lm, {view.two!r})
word = {view.word!r}
print(Meeting(one, places(one.tokens, word)[0], two, places(two.tokens, word)[0]).likeness)
crack = Crack(model.trace(lm, "The capital of France is"), model.trace(lm, "The capital of Italy is"))
crack_map(crack.drawn, crack.differences, crack.first.tokens.labels, first=0, untouched=3, edited=[3], layer=23,
          position=4).show()"""
)
frame.next_page(lesson)
