"""The parts of the tokens lesson on vocabularies: other models', and control tokens."""

import pandas as pd
import streamlit as st

from model import tokenize
from model.merge_lesson import control_example
from model.other_tokenizers import Count, Reader, counts, other_readers, own_reader, tokens_of
from pages.shared import anatomy, prose
from pages.shared.frame import Lesson
from pages.shared.tokens_parts import marks, piece_marks
from viz.tokens import Row, price_figure, token_rows

#: How names of control tokens in a text are read, and the words for it.
SPECIALS = {"text": "As plain text", "control": "As control tokens"}


# ---- other tokenizers --------------------------------------------------------------------------


def readers_here(lesson: Lesson) -> tuple[list[Reader], list[str]]:
    """The open model's tokenizer and the others that are installed, and a sentence on each that is not."""
    others, absent = other_readers()
    return [own_reader(lesson.lm), *others], absent


def readings_figure(lesson: Lesson, readers: list[Reader], absent: list[str]) -> None:
    """The prompt under every tokenizer, the open model's own first."""
    own, *others = readers
    prompt = tokenize(lesson.lm, lesson.view.prompt)
    rows = [Row(own.title, prompt.text, marks(prompt), prompt.lost, f"vocabulary {own.vocabulary_size:,}")]
    rows += [
        Row(r.title, prompt.text, piece_marks(r.read(prompt.text)), note=f"vocabulary {r.vocabulary_size:,}")
        for r in others
    ]
    prose.figure_title("Your text under {count} tokenizers", prose.FROM_THE_MODEL, count=len(rows))
    token_rows(rows, key="tokens_other_rows")
    for sentence in absent:
        prose.aside("{sentence}", sentence=prose.literal(sentence))
    anatomy.table_twin("tokens_others", lambda: _table_of(rows))


def _table_of(rows: list[Row]) -> pd.DataFrame:
    """Who reads, how many tokens, and which."""
    listed = [
        (row.title, len(row.marks), " ".join(str(m.id) for m in row.marks), " ".join(m.label for m in row.marks))
        for row in rows
    ]
    return pd.DataFrame(listed, columns=["tokenizer", "tokens", "token IDs", "tokens in order"])


def prices(readers: list[Reader]) -> list[Count]:
    """Tokens of the samples under every reader."""
    return _prices(readers, tuple(reader.title for reader in readers))


@st.cache_data(max_entries=4, show_spinner=False)
def _prices(_readers: list[Reader], titles: tuple[str, ...]) -> list[Count]:
    """The counts; ``titles`` name them in the cache."""
    return counts(_readers)


def measure_choice() -> str:
    """What is drawn of the prices: a column of their table."""
    return st.segmented_control(
        "Measure", ["tokens", "tokens a character"], default="tokens", key="tokens_measure", required=True
    )


def prices_figure(lesson: Lesson, counted: list[Count], measure: str) -> None:
    """What the same sentence costs, script by script."""
    own = lesson.lm.title
    rows = [(c.sample, c.reader, c.tokens, c.characters, round(c.per_character, 2)) for c in counted]
    table = pd.DataFrame(rows, columns=["sample", "reader", "tokens", "characters", "tokens a character"])
    anatomy.figure(
        price_figure(table, measure, lesson.theme),
        key="tokens_prices",
        title="What one sentence costs: the same words in eight languages, and two other texts",
        mark=prose.FROM_THE_MODEL,
        alt=f"Under {own} the sentence costs {tokens_of(counted, 'English', own)} tokens in English and "
        f"{tokens_of(counted, 'Hindi', own)} in Hindi.",
        table=lambda: table,
    )


def prices_sentence(lesson: Lesson, counted: list[Count]) -> None:
    """The price of a script, for the open model."""
    own = lesson.lm.title
    english, hindi = tokens_of(counted, "English", own), tokens_of(counted, "Hindi", own)
    prose.read_aloud(
        "For {own} the sentence is {english} tokens in English and {hindi} in Hindi: {times:.1f} times as many steps, "
        "and as much less room in the context, for the same thought.",
        own=prose.literal(own),
        english=english,
        hindi=hindi,
        times=hindi / english,
    )


# ---- control tokens ----------------------------------------------------------------------------


def specials_choice(lesson: Lesson) -> None:
    """How names of control tokens are read, on every page; another way starts the text anew."""
    st.session_state.tokens_specials = lesson.view.specials

    def take() -> None:
        way = st.session_state.tokens_specials or lesson.view.specials
        lesson.view.new_text(lesson.view.prompt, way)

    st.segmented_control(
        "How names of control tokens in your text are read, on every page",
        list(SPECIALS),
        format_func=SPECIALS.get,
        key="tokens_specials",
        on_change=take,
        required=True,
    )


def read_both_ways(lesson: Lesson, names: list[str]) -> None:
    """A text that spells a control token, read as plain text and as control tokens."""
    spells = any(name in lesson.view.prompt for name in names)
    text = lesson.view.prompt if spells else control_example(lesson.lm)
    title = "Your text, read both ways" if spells else "Your text spells none. A text that does, read both ways"
    prose.figure_title(title, prose.FROM_THE_MODEL)
    both = {way: tokenize(lesson.lm, text, way) for way in SPECIALS}
    rows = [Row(SPECIALS[way], tokens.text, marks(tokens), tokens.lost) for way, tokens in both.items()]
    token_rows(rows, key="tokens_control_rows")
    anatomy.table_twin("tokens_control", lambda: _table_of(rows))
    if not spells:
        st.button("Make it my text", key="tokens_take_example", on_click=lesson.view.new_text, args=(text, "text"))
