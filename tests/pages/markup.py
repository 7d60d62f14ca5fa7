"""Everything that a page shows, read as the browser will read it: what is in it besides words?"""

import json
import re
from collections.abc import Iterator

from google.protobuf.message import Message
from streamlit.testing.v1 import AppTest

from tests.hostile import Tags, read_as_markdown

#: Tags that the program writes itself; of attributes only these.
OWN_TAGS = {"p", "span", "bdi", "b", "i", "sub", "sup", "br", "div", "table", "tr", "td", "th", "style"}
OWN_ATTRIBUTES = {"class", "tabindex", "role", "title", "style", "aria-label", "scope", "colspan"}
#: Fields of elements that the front end reads as markdown, and what the program itself writes there.
AS_MARKDOWN = {"label", "help", "body", "content", "caption", "text"}
OWN_MARKDOWN = {"strong_open", "strong_close", "em_open", "em_close", "code_inline", "softbreak"}
#: Tags that plotly reads in the texts of a figure.
PLOTLY_TAGS = re.compile(r"</?(?:b|i|br|em|sub|sup|extra|span)\s*/?>|<span style='color:#[0-9A-F]{6}'>")


def strings(page: AppTest) -> Iterator[tuple[str, str, str]]:
    """Every string of every element: the element's type, the field, the string."""
    waiting = [page.main, page.sidebar]
    while waiting:
        block = waiting.pop()
        for child in block.children.values():
            if getattr(child, "proto", None) is not None:
                yield from ((child.type, *each) for each in _fields(child.proto))
            if hasattr(child, "children"):
                waiting.append(child)


def _fields(proto: Message) -> Iterator[tuple[str, str]]:
    for field, value in proto.ListFields():
        for each in value if field.is_repeated else [value]:
            if isinstance(each, Message):
                yield from _fields(each)
            elif isinstance(each, str):
                yield field.name, each


def more_than_words(page: AppTest) -> list[str]:
    """What a page holds that is neither words nor the program's own markup; nothing, if all is well."""
    found = [f"{each.value}" for each in page.exception]
    for element, field, text in strings(page):
        if element == "html":
            read = Tags(re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL))
            wrong = {*read.tags} - OWN_TAGS | {name for _, name, _ in read.attributes} - OWN_ATTRIBUTES
        elif element == "plotly_chart" and field == "spec":
            wrong = {each for each in _texts(json.loads(text)) if re.search(r"<[a-zA-Z/!]", PLOTLY_TAGS.sub("", each))}
        elif field in AS_MARKDOWN or (element == "radio" and field == "options"):
            wrong = read_as_markdown(text)[1] - OWN_MARKDOWN if element != "divider" else set()
        else:
            continue
        found += [f"{element}.{field} has {sorted(wrong)} in {text[:300]!r}"] if wrong else []
    return found


def _texts(value: object) -> Iterator[str]:
    """All strings of a figure."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
