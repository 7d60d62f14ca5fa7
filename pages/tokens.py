"""What does the model read? Not letters and not words: the numbers of tokens."""

import streamlit as st

from model.merge_lesson import control_names
from pages.shared import anatomy, frame, merges_parts, prose, vocabularies_parts
from pages.shared import tokens_parts as parts

lesson = frame.open_page("tokens")

prose.say(
    "A model never sees letters. A <b>tokenizer</b> first cuts the text into <b>tokens</b>, stretches that it "
    "knows by number, and only the numbers go in. Click a token to follow it down the page."
)
parts.text_figure(lesson)
parts.text_sentence(lesson)
parts.hints(lesson)


def every_token() -> None:
    st.subheader("Every token, in order", anchor=False)
    parts.token_table(lesson.tokens)
    prose.aside(
        "Vocabulary spelling is how the tokenizer's file writes the token: in a byte-level vocabulary every byte is "
        "one printable character, so a space is Ġ and a line end Ċ. Tokens with the same group share a character."
    )
    if box := anatomy.look_inside("from characters to bytes to one number, and back", "tokens_bytes"):
        with box:
            parts.characters_to_id(lesson)


@st.fragment
def merges_of_a_word() -> None:
    st.header("How do letters become tokens?", anchor=False)
    prose.say(
        "By merging. A word starts as single bytes. Then the two neighbours whose merge was <b>learned earliest</b> "
        "are joined, again and again, until no neighbours are a known pair. What is left are the tokens."
    )
    if words := merges_parts.words_of(lesson):
        merges_parts.word_figure(lesson, merges_parts.word_choice(lesson, words))
        merges_parts.merges_checked(lesson, words)


@st.fragment
def learning() -> None:
    st.header("Where do the merges come from?", anchor=False)
    prose.say(
        "From counting, <b>before any model is trained</b>. Take a pile of text, find the pair that stands side by "
        "side most often, make it one piece, and count again. Here is the same done to one paragraph. Change it: the "
        "vocabulary is learned anew."
    )
    if learned := merges_parts.learned_vocabulary():
        merges = merges_parts.merges_in_use(learned)
        merges_parts.learned_rows(lesson, learned, merges)
        merges_parts.shrinking_curve(lesson, learned, merges)
        merges_parts.learned_table(learned, merges)


@st.fragment
def other_models() -> None:
    st.header("Would another model read the same?", anchor=False)
    prose.say(
        "No. Every family of models has a vocabulary of its own, learned from its own pile of text. The same "
        "text is cut in other places, into more or fewer tokens, and every number means something else."
    )
    readers, absent = vocabularies_parts.readers_here(lesson)
    vocabularies_parts.readings_figure(lesson, readers, absent)
    counted = vocabularies_parts.prices(readers)
    measure = vocabularies_parts.measure_choice()
    vocabularies_parts.prices_figure(lesson, counted, measure)
    vocabularies_parts.prices_sentence(lesson, counted)


def control_tokens() -> None:
    names = control_names(lesson.lm)
    if not names:
        return
    st.header("What if the text spells a control token?", anchor=False)
    prose.say(
        "Some IDs are no text at all: {name} and its kin tell the model where a turn begins and who speaks. "
        "Anybody can type the same characters. Whether they become <b>one control token</b> or <b>the characters "
        "they are</b> is decided by the program around the model.",
        name=names[0],
    )
    vocabularies_parts.specials_choice(lesson)
    vocabularies_parts.read_both_ways(lesson, names)
    prose.say(
        "Why it matters: if what a stranger writes is read as control tokens, the stranger can end their own turn "
        "and speak as the system. That is the simplest prompt injection, and reading as plain text prevents it."
    )


every_token()
merges_of_a_word()
learning()
other_models()
control_tokens()
parts.presets(lesson)
parts.check(lesson)
anatomy.limit(
    "Byte-pair merging is the commonest way, not the only one: some models cut by SentencePiece or WordPiece, "
    "which choose pieces by other rules, and a few read bytes. A token is no unit of meaning either: where a "
    "word is cut follows from counts in the tokenizer's training text, not from grammar."
)
anatomy.code(
    f"""import model

lm = model.open_model()
tokens = model.tokenize(lm, {parts.shortened_literal(lesson.tokens.text)})
for token in tokens:
    print(token.position, token.label, token.id, token.hex, token.kind)
for word in model.merge_steps(lm, tokens.text):
    print(word.start, '->', word.pieces, word.ids)"""
)
frame.next_page(lesson)
