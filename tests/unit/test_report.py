"""The report: hostile texts stay text in both forms, and nothing in the file runs or asks for anything."""

import html.parser
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from model.report import LONGEST_ANSWER, Answered, Report, as_html, as_markdown, one_line

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "</bdi></td><h1>x</h1>",
    "[link](http://evil.example) ![picture](http://evil.example/x.png)",
    "http://evil.example www.evil.example a@evil.example <http://evil.example>",
    "| a | b |\n|---|---|",
    "# heading\n\n- list\n\n> quote\n\n    code",
    "`code` **bold** _it_ ~~gone~~ $x$ $$y$$ :smile: \\",
    "&lt;b&gt; &#60;script&#62; &amp;",
    '" onmouseover="alert(1)',
    "---\n===\n***",
    "1. one\n2. two",
    "[ref]: http://evil.example",
    "\u202egnihton\u202c \x00 \x1b[31m \ud83d \u2028 \u200b",
    "مرحبا بالعالم 👨‍👩‍👧‍👦 e\u0301\u0301",
    "javascript:alert(1) data:text/html,<b>",
    "{%s} {{x}} %(y)s",
]


def report(text: str) -> Report:
    return Report(
        title=f"Will it hold? {text}",
        verdict=text,
        inputs=[("Model", text), (text, "16 bits")],
        results=[("Time", f"1 / {text}", "13–18 ms")],
        answers=[Answered("Needed?", "1.34 GB", "yes", text), Answered("Measured?", "x", "", "  ")],
        assumptions=["a", text],
    )


class Tags(html.parser.HTMLParser):
    """All tags and attributes of a document."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attributes]

    def handle_data(self, data):
        self.text.append(data)


def tags_of(document: str) -> Tags:
    found = Tags()
    found.feed(document)
    return found


PLAIN = tags_of(as_html(report("plain")))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_adds_no_tag_to_the_html(text):
    found = tags_of(as_html(report(text)))
    assert found.tags == PLAIN.tags and found.attributes == PLAIN.attributes
    assert one_line(text) in "".join(found.text)


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from(string.printable), max_size=60))
def test_any_text_adds_no_tag_to_the_html(text):
    found = tags_of(as_html(report(text or "x")))
    if one_line(text):
        assert found.tags == PLAIN.tags


def test_the_html_runs_nothing_and_loads_nothing():
    document = as_html(report("plain"))
    assert "default-src 'none'" in document
    assert not {"script", "link", "img", "iframe", "object", "a", "form", "base"} & set(PLAIN.tags)
    assert not [each for each in PLAIN.attributes if each[1] in ("href", "src", "style") or each[1].startswith("on")]
    assert "url(" not in document and "@import" not in document and "http" not in document.replace("http-equiv", "")


#: Every rule that Markdown readers commonly have, links without brackets and raw HTML included.
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def kinds(markdown: str) -> list[str]:
    """What a reader makes of it, text and line breaks left out."""
    found = []
    for token in MARKDOWN.parse(markdown):
        found.append(token.type)
        found += [child.type for child in token.children or () if child.type not in ("text", "text_special")]
    return found


PLAIN_KINDS = kinds(as_markdown(report("plain")))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_adds_nothing_to_the_markdown(text):
    document = as_markdown(report(text))
    assert kinds(document) == PLAIN_KINDS
    shown = "".join(
        child.content for token in MARKDOWN.parse(document) for child in token.children or () if child.content
    )
    assert one_line(text) in shown, "and it reads as it was written"


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from(string.printable), max_size=60).filter(one_line))
def test_any_text_adds_nothing_to_the_markdown(text):
    assert kinds(as_markdown(report(text))) == PLAIN_KINDS


def test_no_bare_address_is_left_for_a_reader_that_makes_links_of_them():
    document = as_markdown(report("http://evil.example www.evil.example a@evil.example"))
    assert "http://" not in document and "www." not in document and "@evil" not in document.replace("\\@", "")


def test_everything_is_in_both():
    for made in (as_markdown, as_html):
        document = made(report("plain"))
        for part in ("Will it hold", "plain", "16 bits", "Time", "13–18 ms", "Needed", "yes", "not answered"):
            assert part in document.replace("\\", "")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (" a\n\tb \r\n c ", "a b c"),
        ("a\x00b\x1bc\u202ed\u200be\ud83df", "abcdef"),
        ("👨‍👩‍👧‍👦", "👨‍👩‍👧‍👦"),
        ("\ue000\ufdd0", ""),
    ],
)
def test_text_goes_on_one_line_without_control_characters(text, line):
    assert one_line(text) == line


def test_text_is_cut_with_a_sign():
    cut = one_line("x" * 500, LONGEST_ANSWER)
    assert len(cut) == LONGEST_ANSWER and cut.endswith("…")
    assert one_line("x" * 200, 200) == "x" * 200
    assert one_line("漢" * 100, 200) == "漢" * 100 and one_line("漢" * 101, 200) == "漢" * 99 + "…"
