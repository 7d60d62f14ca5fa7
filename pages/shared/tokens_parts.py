"""The parts of the tokens lesson: the text with its tokens marked, and the way of one token."""

import pandas as pd
import streamlit as st

from model import Kind, Tokens
from model.merge_lesson import byte_path, space_in_front
from model.other_tokenizers import Piece
from pages.shared import anatomy, frame, prose
from pages.shared.frame import KIND_NAMES, Lesson
from viz.tokens import Mark, Row, marked_text, right_to_left


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


def text_figure(lesson: Lesson) -> None:
    """The text with its tokens marked; clicking one selects it."""
    tokens = lesson.tokens
    prose.figure_title("Your text, cut into {count:,} tokens", prose.FROM_THE_MODEL, count=len(tokens))
    marked_text(
        Row("Your text", tokens.text, marks(tokens, lesson.prompt_length), tokens.lost),
        lesson.selected,
        key="tokens_marked",
        on_select=lambda: frame.take_position("tokens_marked", lesson.view, len(tokens)),
    )
    legend(tokens)


def legend(tokens: Tokens) -> None:
    """What the edges say: only what occurs in this text, and nothing where all tokens are alike."""
    kinds = {token.kind for token in tokens}
    said = {
        Kind.STARTS: "solid line: a token that starts a word",
        Kind.CONTINUES: "dotted line: a token that goes on with a word",
        Kind.MARK: "grey line: only spaces, punctuation or symbols",
        Kind.BYTES: "dashed frame: one written sign that takes several tokens, with their bytes in hexadecimal",
        Kind.CONTROL: "a name in a full frame: a control token",
    }
    present = [words for kind, words in said.items() if kind in kinds]
    words = f"␣ is a space; {'; '.join(present)}." if len(present) > 1 or Kind.BYTES in kinds else "␣ is a space."
    prose.aside("{legend}", legend=prose.Html(words))


def text_sentence(lesson: Lesson) -> None:
    """The text and its selected token, in numbers."""
    tokens, token = lesson.tokens, lesson.tokens[lesson.selected]
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


def token_table(tokens: Tokens) -> None:
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
    st.dataframe(pd.DataFrame(rows, columns=columns), hide_index=True, width="stretch")


def characters_to_id(lesson: Lesson) -> None:
    """The selected token from characters to bytes to spelling to ID, and back."""
    token = lesson.tokens[lesson.selected]
    path = byte_path(lesson.lm, lesson.tokens, lesson.selected)
    verdict = "the ID and the bytes are the tokenizer's own" if path.is_same else "the tokenizer gives something else"
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


def presets(lesson: Lesson) -> None:
    """Texts that show what usually hides."""
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
    """A prediction that the tokenizer decides."""
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


def shortened_literal(text: str) -> str:
    """The text as a Python literal, if it is short enough to stand in a line of code."""
    return ascii(text) if len(text) <= 60 else ascii(text[:60])
