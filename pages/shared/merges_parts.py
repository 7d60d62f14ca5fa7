"""The parts of the tokens lesson on merges: those of one word, and how merges are learned."""

import pandas as pd
import streamlit as st

from model import ExplainerError, LanguageModel, Tokens, tokenize
from model.merge_lesson import (
    BYTES,
    LONGEST_PARAGRAPH,
    Learned,
    PlacedWord,
    labels_of,
    learn,
    merges_agree,
    placed_words,
    word_of,
)
from model.merges import WordMerges
from pages.shared import anatomy, prose
from pages.shared.frame import Lesson
from pages.shared.tokens_parts import piece_marks
from viz.merges import LONGEST_WORD, Join, WordPicture, merge_player, merge_table, shrinking_figure
from viz.tokens import Row, token_rows

#: A paragraph to learn from, written for this page.
PARAGRAPH = (
    "The miller had three sons and the river had three bridges. The eldest son looked after the upper bridge, "
    "the second son looked after the lower bridge, and the youngest looked after the old bridge that nobody "
    "crossed any more. Every morning the youngest swept the stones, and every evening he lit the lantern. "
    "Why do you light the lantern, asked the others, when nobody crosses the bridge? Because the river can "
    "see it, he answered. When the great flood came, the upper bridge fell and the lower bridge fell, and in "
    "the darkness everybody walked towards the light of the lantern, and everybody crossed the old bridge."
)

#: Merges shown when the page opens: enough for whole words, few enough to read.
MERGES_AT_FIRST = 60


# ---- the merges of one word --------------------------------------------------------------------


def prompt_of(lesson: Lesson) -> Tokens:
    """The prompt alone, without what was written after it: merges made no token of that."""
    return tokenize(lesson.lm, lesson.view.prompt, lesson.view.specials)


def words_of(lesson: Lesson) -> list[PlacedWord]:
    """The words of the prompt with their merges; if there are none, a sentence why."""
    prompt = prompt_of(lesson)
    try:
        words = _words_of(lesson.lm, lesson.lm.key, prompt.ids, prompt.text, prompt)
    except ExplainerError as problem:
        st.info(prose.plain(str(problem)), icon=":material/info:")
        return []
    if not words:
        prose.aside("This text holds control tokens only, and no merge makes those.")
    return words


@st.cache_resource(max_entries=64, show_spinner=False)
def _words_of(_lm: LanguageModel, key: str, ids: tuple[int, ...], text: str, _tokens: Tokens) -> list[PlacedWord]:
    """The words of a prompt with their merges; ``key``, ``ids`` and ``text`` name them in the cache."""
    return placed_words(_lm, _tokens)


def word_choice(lesson: Lesson, words: list[PlacedWord]) -> WordMerges:
    """The word to play: the one with the selected token, until another is chosen."""
    follows = (lesson.view.prompt, lesson.view.specials, lesson.lm.key, lesson.selected)
    if st.session_state.get("tokens_word_follows") != follows:
        st.session_state.tokens_word_follows = follows
        st.session_state.tokens_word = word_of(words, lesson.selected)
    if lesson.selected >= lesson.prompt_length:
        prose.aside("The selected token was written by the model, which picked its number: no merges were played.")
    place = st.selectbox(
        "Word of your text",
        range(len(words)),
        key="tokens_word",
        format_func=lambda index: f"{words[index].merges.word}   (from position {words[index].first})",
        width=360,
    )
    return words[place].merges


def word_figure(lesson: Lesson, merges: WordMerges) -> None:
    """The merges of one word, played in the browser."""
    picture = _picture(lesson.lm, merges)
    prose.figure_title("The merges of {word}, one a row", prose.FROM_THE_MODEL, word=_shown(merges.word))
    if len(picture.start) > LONGEST_WORD:
        prose.aside(
            "This word starts as {pieces:,} pieces; words of up to {most} are drawn. Its {steps:,} merges are in the "
            "table.",
            pieces=len(picture.start),
            most=LONGEST_WORD,
            steps=len(picture.joins),
        )
    else:
        merge_player(picture, key="tokens_merges")
    if not picture.joins:
        _why_no_merges(merges)
    anatomy.table_twin("tokens_merges", lambda: merge_table(picture))


def _picture(lm: LanguageModel, merges: WordMerges) -> WordPicture:
    joins = [Join(step.at, labels_of(lm, [step.pieces[step.at]])[0], step.rank) for step in merges.steps]
    learned = len(lm.vocabulary.merge_ranks)
    return WordPicture(merges.word, labels_of(lm, merges.start), joins, merges.ids, learned)


def _shown(text: str, longest: int = 40) -> str:
    """A text cut for a title, the cut shown."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _why_no_merges(merges: WordMerges) -> None:
    if merges.whole:
        prose.aside("The vocabulary holds this word whole, and this tokenizer then takes it without any merge.")
    elif len(merges.start) == 1:
        prose.aside("A single piece from the start: there is nothing to merge.")
    else:
        prose.aside("No two neighbours here are a pair that the tokenizer learned, so each piece stays a token.")


def merges_checked(lesson: Lesson, words: list[PlacedWord]) -> None:
    """Whether the merges, played out, give the tokenizer's own IDs."""
    prose.aside(
        "Checked: played out for all {count:,} words of your text, the merges end in {verdict}.",
        count=len(words),
        verdict=prose.Html(
            "exactly the IDs that the tokenizer gives"
            if merges_agree(words, prompt_of(lesson))
            else "other IDs than the tokenizer gives, so this tokenizer does something more"
        ),
    )


# ---- learning ----------------------------------------------------------------------------------


def learned_vocabulary() -> Learned | None:
    """What is learned from the paragraph that stands in the box; a sentence if nothing can be."""
    label = f"Paragraph to learn from (at most {LONGEST_PARAGRAPH:,} characters)"
    st.session_state.tokens_paragraph = st.session_state.get("kept_paragraph", PARAGRAPH)
    text = st.text_area(label, key="tokens_paragraph", height=130, on_change=_keep, args=("paragraph",))
    try:
        return _learned_from(text)
    except ExplainerError as problem:
        st.warning(prose.plain(str(problem)), icon=":material/edit:")
        return None


def _keep(name: str) -> None:
    """Streamlit forgets a widget's value when its page is left; what is kept here it does not."""
    st.session_state[f"kept_{name}"] = st.session_state[f"tokens_{name}"]


@st.cache_data(max_entries=64, show_spinner=False)
def _learned_from(text: str) -> Learned:
    return learn(text)


def merges_in_use(learned: Learned) -> int:
    """The slider: how much of what was learned is used."""
    most = BYTES + len(learned.merges)
    st.session_state.tokens_size = min(st.session_state.get("kept_size", BYTES + MERGES_AT_FIRST), most)
    size = st.slider(
        f"Vocabulary size: {BYTES} is single bytes only, each one more is a merge",
        BYTES,
        most,
        key="tokens_size",
        on_change=_keep,
        args=("size",),
    )
    return size - BYTES


def learned_rows(lesson: Lesson, learned: Learned, merges: int) -> None:
    """The paragraph and the visitor's text, cut by the small vocabulary."""
    reader, text = learned.reader(merges), lesson.tokens.text
    prose.figure_title("{bytes} single bytes and {count} merges", prose.BY_FORMULA, bytes=BYTES, count=merges)
    token_rows(
        [
            Row("The paragraph", learned.text, piece_marks(reader.read(learned.text))),
            Row("Your text, cut by this small vocabulary", text, piece_marks(reader.read(text))),
        ],
        key="tokens_learned_rows",
        compared=False,
    )


def shrinking_curve(lesson: Lesson, learned: Learned, merges: int) -> None:
    """How the paragraph gets shorter with every merge."""
    counted = learned.shrinking
    anatomy.figure(
        shrinking_figure(counted, merges, lesson.theme),
        key="tokens_shrinking",
        title="The more merges, the fewer tokens: the paragraph after each merge",
        mark=prose.BY_FORMULA,
        alt=f"The paragraph falls from {counted[0]:,} tokens with no merge to {counted[-1]:,} with "
        f"{len(learned.merges):,}; with the chosen {merges:,} merges it has {counted[merges]:,}.",
        table=lambda: pd.DataFrame({"merges": range(len(counted)), "tokens": counted}),
    )


def learned_table(learned: Learned, merges: int) -> None:
    """What was learned, merge by merge, and that the library learns the same."""
    rows = [
        (number, *merge.labels, merge.count, merge.tokens)
        for number, merge in enumerate(learned.merges[:merges], start=1)
    ]
    columns = ["merge", "left", "right", "new piece", "times side by side", "tokens after it"]
    if rows:
        prose.figure_title("What was learned, in order", prose.BY_FORMULA)
        st.dataframe(pd.DataFrame(rows, columns=columns), hide_index=True, width="stretch")
    prose.aside(
        "Learned twice just now: by a plain program that counts all pairs after every merge, and by the trainer of "
        "the tokenizers library. {verdict} Learning stops when no pair occurs twice.",
        verdict=prose.Html("Both found the same merges in the same order." if learned.is_same else "They differ here."),
    )
