"""What does the model read? Not letters and not words: the numbers of tokens."""

from html import escape

import pandas as pd
import streamlit as st

from model import ExplainerError, Kind, LanguageModel, Tokens, tokenize
from model.merge_lesson import (
    BYTES,
    LONGEST_PARAGRAPH,
    Learned,
    PlacedWord,
    byte_path,
    control_example,
    control_names,
    labels_of,
    learn,
    merges_agree,
    placed_words,
    space_in_front,
    word_of,
)
from model.other_tokenizers import Piece, counts, other_readers, own_reader
from pages.shared import anatomy, frame, prose
from pages.shared.frame import Lesson
from viz.merges import LONGEST_WORD, Join, WordPicture, merge_player, merge_table, shrinking_figure
from viz.tokens import Mark, Row, marked_text, price_figure, right_to_left, token_rows

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

KIND_NAMES = {
    Kind.STARTS: "starts",
    Kind.CONTINUES: "continues",
    Kind.MARK: "mark",
    Kind.CONTROL: "control",
    Kind.BYTES: "bytes",
}

SPECIALS = {"text": "As plain text", "control": "As control tokens"}


# ---- from tokens to what is drawn --------------------------------------------------------------


def marks(tokens: Tokens, prompt_length: int | None = None) -> list[Mark]:
    """Tokens of the open model as marks; those after the prompt were written by the model."""
    last = len(tokens) if prompt_length is None else prompt_length
    return [
        Mark(
            token.position,
            token.id,
            token.label,
            token.hex,
            token.start,
            token.end,
            token.group,
            KIND_NAMES[token.kind] if token.position < last else "written",
        )
        for token in tokens
    ]


def piece_marks(pieces: tuple[Piece, ...]) -> list[Mark]:
    """Tokens of another tokenizer as marks."""
    return [
        Mark(
            position,
            piece.id,
            piece.label,
            piece.data.hex(" ").upper(),
            piece.start,
            piece.end,
            piece.group,
            KIND_NAMES[piece.kind],
        )
        for position, piece in enumerate(pieces)
    ]


def token_table(tokens: Tokens) -> pd.DataFrame:
    """Every token with all that is known of it, texts as texts and numbers as numbers."""
    rows = [
        (
            token.position,
            token.label,
            token.id,
            token.piece,
            token.hex,
            "none" if token.start is None else f"{token.start}–{token.end}",
            str(token.kind),
            token.group,
        )
        for token in tokens
    ]
    columns = ["position", "token", "token ID", "vocabulary spelling", "bytes", "characters", "what it is", "group"]
    return pd.DataFrame(rows, columns=columns)


# ---- the text, marked --------------------------------------------------------------------------


def main_figure(lesson: Lesson) -> None:
    tokens = lesson.tokens
    prose.say(
        "A model never sees letters. A <b>tokenizer</b> first cuts the text into <b>tokens</b>, stretches that it "
        "knows by number, and only the numbers go in. Click a token to follow it down the page."
    )
    prose.figure_title("Your text, cut into {count:,} tokens", prose.FROM_THE_MODEL, count=len(tokens))

    def take(position) -> None:
        if isinstance(position, int) and 0 <= position < len(tokens):
            lesson.view.position, lesson.view.key = position, -1

    row = Row("Your text", tokens.text, marks(tokens, lesson.prompt_length), tokens.lost)
    marked_text(row, lesson.selected, key="tokens_marked", on_select=take)
    what_the_edges_say(tokens)
    token = tokens[lesson.selected]
    prose.read_aloud(
        "Your text has {characters:,} characters, stored as {bytes:,} bytes. The model reads {tokens:,} tokens, "
        "{each:.1f} characters each on average. The selected one, {label}, at position {position}, is "
        "number {id:,} in a vocabulary of {vocabulary:,}.",
        characters=len(tokens.text),
        bytes=len(tokens.text.encode("utf-8")),
        tokens=len(tokens),
        each=len(tokens.text) / len(tokens),
        label=token.label,
        position=token.position,
        id=token.id,
        vocabulary=lesson.lm.vocabulary.backend.get_vocab_size(),
    )
    hints(lesson)


def what_the_edges_say(tokens: Tokens) -> None:
    """The legend: only what occurs in this text, and nothing where all tokens are alike."""
    kinds = {token.kind for token in tokens}
    said = {
        Kind.STARTS: "solid line: a token that starts a word",
        Kind.CONTINUES: "dotted line: a token that goes on with a word",
        Kind.MARK: "grey line: only spaces, punctuation or symbols",
        Kind.BYTES: "dashed frame: one written sign that takes several tokens, with their bytes in hexadecimal",
        Kind.CONTROL: "a name in a full frame: a control token",
    }
    present = [words for kind, words in said.items() if kind in kinds]
    legend = f"␣ is a space; {'; '.join(present)}." if len(present) > 1 or Kind.BYTES in kinds else "␣ is a space."
    prose.aside("{legend}", legend=prose.Html(legend))


def hints(lesson: Lesson) -> None:
    """What a reader of exactly this text should know."""
    last = lesson.tokens[lesson.prompt_length - 1]
    if last.label.strip("␣") == "" and last.kind == Kind.MARK:
        prose.aside(
            "Your text ends in a space, and nothing was cut off: the space is the token {label}, ID {id}. "
            "Words usually carry their space in front, so after a space of its own the model often goes on worse.",
            label=last.label,
            id=last.id,
        )
    if right_to_left(lesson.tokens.text):
        prose.aside(
            "This text runs from right to left: position 0 stands at the right, and the IDs follow its reading."
        )
    if lesson.tokens.lost:
        prose.aside("The red frame marks what no token stands for. Whatever the model answers, it answers without it.")


def table_of_tokens(lesson: Lesson) -> None:
    st.subheader("Every token, in order", anchor=False)
    st.dataframe(token_table(lesson.tokens), hide_index=True, width="stretch")
    prose.aside(
        "Vocabulary spelling is how the tokenizer's file writes the token: in a byte-level vocabulary every byte is "
        "one printable character, so a space is Ġ and a line end Ċ. Tokens with the same group share a character."
    )


def bytes_inside(lesson: Lesson) -> None:
    token = lesson.tokens[lesson.selected]
    if not (box := anatomy.look_inside("from characters to bytes to one number, and back", "tokens_bytes")):
        return
    path = byte_path(lesson.lm, lesson.tokens, lesson.selected)
    verdict = "the ID and the bytes are the tokenizer's own" if path.is_same else "the tokenizer gives something else"
    with box:
        prose.say("The selected token, {label}, at position {position}.", label=token.label, position=token.position)
        prose.equation(
            "characters   {characters}\n"
            "in UTF-8     {text_bytes}   ({many} bytes)\n"
            "its bytes    {bytes}\n"
            "spelling     {spelling}   (how the vocabulary's file writes these bytes)\n"
            "token ID     {id}   (the spelling looked up: a row of the embedding table)\n"
            "back again   {id} → {spelling} → {bytes} → {label}",
            characters=prose.Html("  ".join(prose.filled("{c} {p}", c=c, p=p) for c, p in path.characters) or "none"),
            text_bytes=path.text_bytes.hex(" ").upper() or "none",
            many=len(path.text_bytes),
            bytes=path.bytes.hex(" ").upper(),
            spelling=path.spelling,
            id=path.id if path.id is not None else "none",
            label=token.label,
        )
        prose.aside("Looked up again just now: {verdict}.", verdict=prose.Html(verdict))


# ---- merges ------------------------------------------------------------------------------------


@st.cache_resource(max_entries=64, show_spinner=False)
def words_of(_lm: LanguageModel, key: str, ids: tuple[int, ...], text: str, _tokens: Tokens) -> list[PlacedWord]:
    """The words of a prompt with their merges; ``key``, ``ids`` and ``text`` name them in the cache."""
    return placed_words(_lm, _tokens)


@st.fragment
def merges_of_a_word(lesson: Lesson) -> None:
    st.header("How do letters become tokens?", anchor=False)
    prose.say(
        "By merging. A word starts as single bytes. Then the two neighbours whose merge was <b>learned earliest</b> "
        "are joined, again and again, until no neighbours are a known pair. What is left are the tokens."
    )
    prompt = tokenize(lesson.lm, lesson.view.prompt, lesson.view.specials)
    try:
        words = words_of(lesson.lm, lesson.lm.key, prompt.ids, prompt.text, prompt)
    except ExplainerError as problem:
        st.info(prose.plain(str(problem)), icon=":material/info:")
        return
    if not words:
        prose.aside("This text holds control tokens only, and no merge makes those.")
        return
    word = chosen_word(lesson, words)
    one_word(lesson, word)
    prose.aside(
        "Checked: played out for all {count:,} words of your text, the merges end in {verdict}.",
        count=len(words),
        verdict=prose.Html(
            "exactly the IDs that the tokenizer gives"
            if merges_agree(words, prompt)
            else "other IDs than the tokenizer gives, so this tokenizer does something more"
        ),
    )


def chosen_word(lesson: Lesson, words: list[PlacedWord]) -> PlacedWord:
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
    return words[place]


def one_word(lesson: Lesson, word: PlacedWord) -> None:
    merges = word.merges
    labels = lambda pieces: labels_of(lesson.lm, pieces)  # noqa: E731
    picture = WordPicture(
        merges.word,
        labels(merges.start),
        [Join(step.at, labels([step.pieces[step.at]])[0], step.rank) for step in merges.steps],
        merges.ids,
        len(lesson.lm.vocabulary.merge_ranks),
    )
    prose.figure_title("The merges of {word}, one a row", prose.FROM_THE_MODEL, word=shown(merges.word))
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
        no_merges(merges)
    anatomy.table_twin("tokens_merges", lambda: merge_table(picture))


def no_merges(merges) -> None:
    if merges.whole:
        prose.aside("The vocabulary holds this word whole, and this tokenizer then takes it without any merge.")
    elif len(merges.start) == 1:
        prose.aside("A single piece from the start: there is nothing to merge.")
    else:
        prose.aside("No two neighbours here are a pair that the tokenizer learned, so each piece stays a token.")


def shown(text: str, longest: int = 40) -> str:
    """A text cut for a title, the cut shown."""
    return text if len(text) <= longest else text[: longest - 1] + "…"


# ---- learning ----------------------------------------------------------------------------------


@st.cache_data(max_entries=64, show_spinner=False)
def learned_from(text: str) -> Learned:
    return learn(text)


@st.fragment
def learning(lesson: Lesson) -> None:
    st.header("Where do the merges come from?", anchor=False)
    prose.say(
        "From counting, <b>before any model is trained</b>. Take a pile of text, find the pair that stands side by "
        "side most often, make it one piece, and count again. Here is the same done to one paragraph. Change it: the "
        "vocabulary is learned anew."
    )
    label = f"Paragraph to learn from (at most {LONGEST_PARAGRAPH:,} characters)"
    text = st.text_area(label, PARAGRAPH, key="tokens_paragraph", height=130)
    try:
        learned = learned_from(text)
    except ExplainerError as problem:
        st.warning(prose.plain(str(problem)), icon=":material/edit:")
        return
    merges = vocabulary_size(learned) - BYTES
    reader = learned.reader(merges)
    prompt = lesson.tokens.text
    prose.figure_title("{bytes} single bytes and {count} merges", prose.BY_FORMULA, bytes=BYTES, count=merges)
    token_rows(
        [
            Row("The paragraph", learned.text, piece_marks(reader.read(learned.text))),
            Row("Your text, cut by this small vocabulary", prompt, piece_marks(reader.read(prompt))),
        ],
        key="tokens_learned_rows",
        compared=False,
    )
    shrinking(lesson, learned, merges)
    what_was_learned(learned, merges)


def vocabulary_size(learned: Learned) -> int:
    """The slider: how much of what was learned is used."""
    most = BYTES + len(learned.merges)
    if st.session_state.get("tokens_size", 0) > most:
        st.session_state.tokens_size = most
    return st.slider(
        f"Vocabulary size: {BYTES} is single bytes only, each one more is a merge",
        BYTES,
        most,
        min(BYTES + MERGES_AT_FIRST, most),
        key="tokens_size",
    )


def shrinking(lesson: Lesson, learned: Learned, merges: int) -> None:
    counted = [learned.tokens_after(number) for number in range(len(learned.merges) + 1)]
    anatomy.figure(
        shrinking_figure(counted, merges, lesson.theme),
        key="tokens_shrinking",
        title="The more merges, the fewer tokens: the paragraph after each merge",
        mark=prose.BY_FORMULA,
        alt=f"The paragraph falls from {counted[0]:,} tokens with no merge to {counted[-1]:,} with "
        f"{len(learned.merges):,}; with the chosen {merges:,} merges it has {counted[merges]:,}.",
        table=lambda: pd.DataFrame({"merges": range(len(counted)), "tokens": counted}),
    )


def what_was_learned(learned: Learned, merges: int) -> None:
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


# ---- other tokenizers --------------------------------------------------------------------------


@st.cache_data(max_entries=4, show_spinner=False)
def prices(_readers, titles: tuple[str, ...]) -> pd.DataFrame:
    """Tokens of the samples under every reader; ``titles`` name them in the cache."""
    rows = [(c.sample, c.reader, c.tokens, c.characters, round(c.per_character, 2)) for c in counts(_readers)]
    return pd.DataFrame(rows, columns=["sample", "reader", "tokens", "characters", "tokens a character"])


@st.fragment
def other_models(lesson: Lesson) -> None:
    st.header("Would another model read the same?", anchor=False)
    prose.say(
        "No. Every family of models has a vocabulary of its own, learned from its own pile of text. The same "
        "text is cut in other places, into more or fewer tokens, and every number means something else."
    )
    others, absent = other_readers()
    own, prompt = own_reader(lesson.lm), tokenize(lesson.lm, lesson.view.prompt)
    rows = [Row(own.title, prompt.text, marks(prompt), prompt.lost, f"vocabulary {own.vocabulary_size:,}")]
    rows += [
        Row(r.title, prompt.text, piece_marks(r.read(prompt.text)), note=f"vocabulary {r.vocabulary_size:,}")
        for r in others
    ]
    prose.figure_title("Your text under {count} tokenizers", prose.FROM_THE_MODEL, count=len(rows))
    token_rows(rows, key="tokens_other_rows")
    for sentence in absent:
        prose.aside("{sentence}", sentence=prose.Html(escape(sentence)))
    anatomy.table_twin("tokens_others", lambda: table_of_rows(rows))
    price_of_a_script(lesson, [own, *others])


def table_of_rows(rows: list[Row]) -> pd.DataFrame:
    """Who reads, how many tokens, and which."""
    listed = [
        (row.title, len(row.marks), " ".join(str(m.id) for m in row.marks), " ".join(m.label for m in row.marks))
        for row in rows
    ]
    return pd.DataFrame(listed, columns=["tokenizer", "tokens", "token IDs", "tokens in order"])


def price_of_a_script(lesson: Lesson, readers: list) -> None:
    table = prices(readers, tuple(reader.title for reader in readers))
    measure = st.segmented_control(
        "Measure", ["tokens", "tokens a character"], default="tokens", key="tokens_measure", required=True
    )
    hindi = table[(table["sample"] == "Hindi") & (table["reader"] == readers[0].title)]["tokens"].item()
    english = table[(table["sample"] == "English") & (table["reader"] == readers[0].title)]["tokens"].item()
    anatomy.figure(
        price_figure(table, measure, lesson.theme),
        key="tokens_prices",
        title="What one sentence costs: the same words in eight languages, and two other texts",
        mark=prose.FROM_THE_MODEL,
        alt=f"Under {readers[0].title} the sentence costs {english} tokens in English and {hindi} in Hindi.",
        table=lambda: table,
    )
    prose.read_aloud(
        "For {own} the sentence is {english} tokens in English and {hindi} in Hindi: {times:.1f} times as many steps, "
        "and as much less room in the context, for the same thought.",
        own=prose.Html(escape(readers[0].title)),
        english=english,
        hindi=hindi,
        times=hindi / english,
    )


# ---- control tokens ----------------------------------------------------------------------------


def control_tokens(lesson: Lesson) -> None:
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
    how_to_read(lesson)
    spells = any(name in lesson.view.prompt for name in names)
    text = lesson.view.prompt if spells else control_example(lesson.lm)
    title = "Your text, read both ways" if spells else "Your text spells none. A text that does, read both ways"
    prose.figure_title(title, prose.FROM_THE_MODEL)
    readings = {way: tokenize(lesson.lm, text, way) for way in SPECIALS}
    rows = [Row(SPECIALS[way], tokens.text, marks(tokens), tokens.lost) for way, tokens in readings.items()]
    token_rows(rows, key="tokens_control_rows")
    anatomy.table_twin("tokens_control", lambda: table_of_rows(rows))
    if not spells:
        st.button("Make it my text", key="tokens_take_example", on_click=lesson.view.new_text, args=(text, "text"))
    prose.say(
        "Why it matters: if what a stranger writes is read as control tokens, the stranger can end their own turn "
        "and speak as the system. That is the simplest prompt injection, and reading as plain text prevents it."
    )


def how_to_read(lesson: Lesson) -> None:
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


# ---- the end of the chapter --------------------------------------------------------------------


def try_it(lesson: Lesson) -> None:
    anatomy.try_presets(
        lesson,
        (
            ("A family of emoji", "One picture on screen, many tokens: its parts, joined by invisible characters.",
             {"prompt": "👨‍👩‍👧‍👦 hi", "specials": "text"}),
            ("A long number", "How many digits does one token hold? This is why sums are hard.",
             {"prompt": "1234567", "specials": "text"}),
            ("Banana, twice", "The same word at the start of a text and after a space.",
             {"prompt": "Banana is a word. Banana", "specials": "text"}),
            ("A space, a line end, an accent", "What usually hides is a token too.",
             {"prompt": " the\né", "specials": "text"}),
        ),
    )  # fmt: skip


def check(lesson: Lesson) -> None:
    change = space_in_front(lesson.lm, lesson.view.prompt, lesson.view.specials)

    def because() -> None:
        prose.say(
            "Without the space the text begins {before} and has {few:,} tokens; with it, {after} and {many:,}. "
            "A space in front belongs to the token, so the model reads another number.",
            before=prose.Html(" ".join(prose.filled("{t} {id}", t=t.label, id=t.id) for t in change.before)),
            after=prose.Html(" ".join(prose.filled("{t} {id}", t=t.label, id=t.id) for t in change.after)),
            few=change.count_before,
            many=change.count_after,
        )

    anatomy.check_yourself(
        "tokens_space",
        "Put one more space in front of your text. What does the model read then?",
        ["The same IDs: a space is nothing", "As many tokens, but not the same IDs", "More tokens", "Fewer tokens"],
        change.outcome,
        because,
    )


def page() -> None:
    lesson = frame.open_page("tokens")
    main_figure(lesson)
    table_of_tokens(lesson)
    bytes_inside(lesson)
    merges_of_a_word(lesson)
    learning(lesson)
    other_models(lesson)
    control_tokens(lesson)
    try_it(lesson)
    check(lesson)
    anatomy.limit(
        "Byte-pair merging is the commonest way, not the only one: some models cut by SentencePiece or WordPiece, "
        "which choose pieces by other rules, and a few read bytes. A token is no unit of meaning either: where a "
        "word is cut follows from counts in the tokenizer's training text, not from grammar."
    )
    anatomy.code(
        "import model\n\n"
        "lm = model.open_model()\n"
        f"tokens = model.tokenize(lm, {shortened_literal(lesson.tokens.text)})\n"
        "for token in tokens:\n"
        "    print(token.position, token.label, token.id, token.hex, token.kind)\n"
        "for word in model.merge_steps(lm, tokens.text):\n"
        "    print(word.start, '->', word.pieces, word.ids)"
    )
    frame.next_page(lesson)


def shortened_literal(text: str) -> str:
    """The text as a Python literal, if it is short enough to stand in a line of code."""
    return ascii(text) if len(text) <= 60 else ascii(text[:60])


page()
