"""Words on the page. What a visitor typed, or a model wrote, goes in here and nowhere else.

Streamlit's markdown would read ``$x$`` as mathematics and ``:smile:`` as a picture. So prose that
holds values is written as a constant template and the values are put in escaped, each isolated
from the direction of writing around it.
"""

import re
from collections.abc import Sequence
from html import escape
from string import Formatter

import streamlit as st

#: Where a number comes from; every figure carries one.
FROM_THE_MODEL = "from the model"
TIMED_HERE = "timed here"
BY_FORMULA = "by formula"
SKETCH = "sketch"
#: Numbers of both kinds in one picture, each told apart in it.
TIMED_AND_FORMULA = f"{TIMED_HERE}, {BY_FORMULA}"


class Html(str):
    """A constant piece of markup, written in this program: put in as it is."""


def literal(text: str) -> Html:
    """Text put in as plain words, escaped: a sentence of the program's own, or a name."""
    return Html(escape(text))


def filled(template: str, **values: object) -> str:
    """A constant template with values put in: strings as tokens, numbers as text, all escaped."""
    parts = []
    for literal, name, form, _ in Formatter().parse(template):
        parts.append(literal)
        if name is not None:
            parts.append(_put_in(values[name], form))
    return "".join(parts)


def _put_in(value: object, form: str) -> str:
    if isinstance(value, Html):
        return value
    if isinstance(value, str):
        return f"<bdi>{escape(value)}</bdi>"
    return f'<span class="number">{escape(format(value, form))}</span>'


def say(template: str, *, kind: str = "lesson", **values: object) -> None:
    """A paragraph of the lesson.

    Args:
        kind: style class: ``lesson``, ``lesson reading``, ``aside``, ``lesson limit``.
    """
    st.html(f'<p class="{kind}">{filled(template, **values)}</p>')


def read_aloud(template: str, **values: object) -> None:
    """The sentence that reads the figure aloud, with this prompt's numbers."""
    say(template, kind="lesson reading", **values)


def aside(template: str, **values: object) -> None:
    """A smaller note under a figure or control."""
    say(template, kind="aside", **values)


def chips(labels: Sequence[str], marked: int | None = None) -> Html:
    """Tokens one after the other, escaped; the one at ``marked`` is framed and says so."""
    parts = []
    for place, label in enumerate(labels):
        frame = ' class="departs"' if place == marked else ""
        parts.append(f"<bdi{frame}>{escape(label)}</bdi>")
    return Html(" ".join(parts))


def sent(chips: Sequence[tuple[str, str]]) -> None:
    """Tokens as they are sent, each with the class that says whose it is."""
    inside = "".join(f'<bdi class="{name}">{escape(label)}</bdi>' for label, name in chips)
    st.html(f'<div class="sent" tabindex="0">{inside}</div>')


def equation(template: str, **values: object) -> None:
    """Arithmetic with its numbers put in, line by line, as it stands."""
    st.html(f'<div class="equation" tabindex="0" role="math">{filled(template, **values)}</div>')


def figure_title(template: str, mark: str, **values: object) -> None:
    """What a figure shows, and where its numbers come from."""
    st.html(f'<p class="lesson figure-title">{filled(template, **values)}<span class="mark">{mark}</span></p>')


#: What Streamlit replaces after markdown has been read, when an escape is gone already: addresses become
#: links, names of icons pictures, and some signs other signs.
_REPLACED_LATER = re.compile(
    r"(https?(?=://)|www(?=\.)|@|:(?=material|streamlit)|(?<![^\s\ufeff])[<>~-](?=[-=>]{1,2}(?![^\s\ufeff])))",
    re.IGNORECASE,
)
#: Invisible and without width. Between two characters it keeps them from being read as one thing.
_JOINER = "\u2060"


def plain(text: str) -> str:
    """Text for the few places that read markdown and take no markup, as options and labels."""
    text = _REPLACED_LATER.sub(rf"\1{_JOINER}", re.sub(r"\r\n|\r|\n", "⏎", text))
    return "".join(f"\\{c}" if c in r"\`*_{}[]()<>#+-.!|$:~^&@=" else c for c in text)
