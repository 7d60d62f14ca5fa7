"""Any text is tokenised without loss or with a note, and is shown as the characters it is."""

import html
from dataclasses import asdict

import pytest
from hypothesis import given, settings

import model
from model.pieces import Vocabulary
from model.tokens import Tokens, extended, tokenize_with, visible
from pages.shared import prose
from tests import gpt2, sentencepiece, tiny
from tests.hostile import ANY_TEXT, MARKUP, NAUGHTY, PIECES, Tags, read_as_markdown
from viz.strip import Chip
from viz.style import escaped, shortened, token_axis

TOKENIZERS = {
    "byte-level, tiny": tiny.tokenizer,
    "byte-level, GPT-2's": gpt2.tokenizer,
    "SentencePiece": sentencepiece.tokenizer,
    "composing first": sentencepiece.composing_tokenizer,
}


def whole(text: str, tokens: Tokens) -> None:
    """Every character is in a token, or a note says that it is lost; every label can be seen and stored."""
    text = "".join("\ufffd" if 0xD800 <= ord(each) <= 0xDFFF else each for each in text)
    assert tokens.text == text
    joined = b"".join(token.data for token in tokens if token.start is not None)
    if not tokens.notes:
        assert joined in (text.encode(), b" " + text.encode()), "a token is not what the text says"
    missing = "".join(text[start:end] for start, end in tokens.lost)
    assert all(any(f"U+{ord(each):04X}" in note or "and more" in note for note in tokens.notes) for each in missing)
    for token in tokens:
        assert token.label.strip() and token.label.isprintable() and "\ufffd" not in token.label
        token.label.encode()
        assert token.start is None or 0 <= token.start < token.end <= len(text)
    assert [token.position for token in tokens] == list(range(len(tokens)))


@pytest.mark.parametrize("name", TOKENIZERS)
@settings(max_examples=60, deadline=None)
@given(text=ANY_TEXT)
def test_any_text_is_tokenised_whole(name, text):
    tokenizer = TOKENIZERS[name]()
    vocabulary = Vocabulary(tokenizer)
    tokens = tokenize_with(tokenizer, vocabulary, text)
    whole(text, tokens)
    controls = [token.id for token in tokens if token.start is not None and vocabulary.is_control(token.id)]
    assert not controls or name == "SentencePiece", "text opened a control token"
    assert len(extended(tokens, vocabulary, [*tokens.ids][:5])) == len(tokens) + min(5, len(tokens))


@pytest.mark.parametrize("name", TOKENIZERS)
def test_every_naughty_string_is_tokenised_whole(name):
    tokenizer = TOKENIZERS[name]()
    vocabulary = Vocabulary(tokenizer)
    assert len(NAUGHTY) > 490 and len(MARKUP) > 200
    for text in NAUGHTY:
        whole(text, tokenize_with(tokenizer, vocabulary, text))


@pytest.mark.default_model
@settings(max_examples=60, deadline=None)
@given(text=ANY_TEXT)
def test_any_text_is_tokenised_whole_for_the_default_model(default_model, text):
    whole(text, model.tokenize(default_model, text))


@pytest.mark.default_model
def test_every_naughty_string_is_tokenised_whole_for_the_default_model(default_model):
    for text in NAUGHTY:
        whole(text, model.tokenize(default_model, text))
    everything = "\n".join(NAUGHTY)
    whole(everything, model.tokenize(default_model, everything))


# How it is shown


@pytest.mark.parametrize("text", [*PIECES, *NAUGHTY])
def test_plain_text_is_read_as_itself(text):
    means_the_same(text)


@settings(max_examples=300, deadline=None)
@given(text=ANY_TEXT)
def test_any_plain_text_is_read_as_itself(text):
    means_the_same(text)


def means_the_same(text: str) -> None:
    for source, meant in ((prose.plain(f"“{text}”"), f"“{text}”"), (f"x {prose.plain(text)} x", f"x {text} x")):
        shown, kinds = read_as_markdown(source)
        assert not kinds, (kinds, source)
        one_line = meant.replace("\r\n", "⏎").replace("\r", "⏎").replace("\n", "⏎")
        assert shown.replace("\u2060", "") == one_line.replace("\u2060", "").replace("\x00", "\ufffd")


@pytest.mark.parametrize(
    "text",
    ["www.evil.example", "HTTPS://evil.example", "a@evil.example", ":material/home:", ":streamlit:", "a -> b", "$x$"],
)
def test_the_reader_of_these_tests_finds_what_streamlit_would(text):
    assert read_as_markdown(text)[1]


@settings(max_examples=300, deadline=None)
@given(text=ANY_TEXT)
def test_text_in_prose_adds_no_tag_and_comes_back(text):
    for value, wanted in ((text, ["p", "bdi"]), (prose.literal(text), ["p"]), (prose.chips([text]), ["p", "bdi"])):
        found = Tags(f"<p>{prose.filled('{a}', a=value)}</p>")
        assert found.tags == wanted and not found.attributes
        assert found.text == text


@settings(max_examples=300, deadline=None)
@given(text=ANY_TEXT)
def test_a_label_for_plotly_holds_no_tag_and_no_formula(text):
    drawn = escaped(text)
    assert drawn and not set("<>$") & set(drawn)
    assert html.unescape(drawn) == html.unescape(html.escape(text)) or "∅" in drawn or "\x00" in text
    assert token_axis([text, "x"], "key")["ticktext"] == [escaped(shortened(text)), "x"]


@settings(max_examples=300, deadline=None)
@given(text=ANY_TEXT)
def test_bytes_of_any_text_are_visible_and_can_be_stored(text):
    for data in (
        text.encode("utf-8", "replace"),
        text.encode("utf-8", "surrogatepass"),
        text.encode("utf-16-le", "replace"),
    ):
        label = visible(data)
        assert label.strip() and label.isprintable() and not set("\u200b\u202e\u2066\u3164\ufffd") & set(label)
        label.encode()
        assert asdict(Chip(0, 0, label, "bytes", 0, ""))["label"] == label
