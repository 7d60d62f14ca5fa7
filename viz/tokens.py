"""A text with its tokens marked in place, and what the same text costs in other vocabularies.

The text is written once, as it reads: a token is a stretch of it with an edge and a tint. A
character that several tokens share is written once too, with their bytes grouped under it. The
picture is a component (``components/rows.js``); everything in it is inserted as text.
"""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd
import plotly.graph_objects as go

from viz.components import component
from viz.style import Theme, escaped, legend_above, row_axis, styled


@dataclass(frozen=True)
class Mark:
    """One token, to be marked in a text.

    Attributes:
        position: its place in the sequence.
        id: token ID.
        label: the token as a visible string.
        hex: its bytes in hexadecimal, e.g. ``F0 9F``.
        start, end: the characters it covers, wholly or in part; None where it covers none.
        group: the same number for tokens that share a character.
        kind: ``starts``, ``continues``, ``mark``, ``control``, ``bytes`` or ``written``.
    """

    position: int
    id: int
    label: str
    hex: str
    start: int | None
    end: int | None
    group: int
    kind: str = "starts"


@dataclass(frozen=True)
class Row:
    """One reading of a text.

    Attributes:
        title: who reads.
        text: what is read.
        marks: the tokens in order.
        lost: (start, end) of characters that no token stands for.
        note: a few words beside the count.
    """

    title: str
    text: str
    marks: Sequence[Mark]
    lost: Sequence[tuple[int, int]] = ()
    note: str = ""


def marked_text(row: Row, selected: int, key: str, on_select: Callable[[], None]):
    """The text at reading size with its tokens marked, and the token IDs that the model gets.

    The component's state ``selected`` is the position clicked or stepped to.

    Args:
        selected: position of the selected token.
        on_select: called when another one is.
    """
    data = {"rows": [row_payload(row)], "selected": selected, "large": True, **captions(row)}
    return component("rows")(key=key, data=data, on_selected_change=on_select)


def captions(row: Row) -> dict:
    """The counts, as the lines under the text and over the token IDs."""
    characters, tokens = len(row.text), len(row.marks)
    each = f", {characters / tokens:.1f} characters a token" if tokens else ""
    return {
        "of_text": f"{counted(characters, 'character')}, {counted(len(row.text.encode('utf-8')), 'byte')}",
        "of_ids": f"What the model gets: {counted(tokens, 'token')}, each one number{each}",
    }


def right_to_left(text: str) -> bool:
    """Whether the first letter that has a direction runs from right to left, as browsers decide it."""
    strong = (unicodedata.bidirectional(character) for character in text)
    return next((direction for direction in strong if direction in ("L", "R", "AL")), "L") != "L"


def token_rows(rows: Sequence[Row], key: str, compared: bool = True):
    """Several readings, one under the other, each with its count.

    Args:
        compared: whether bars compare the counts, which only makes sense for the same text.
    """
    most = max((len(row.marks) for row in rows), default=0) if compared else 0
    data = {"rows": [row_payload(row) | {"most": most} for row in rows], "selected": -1, "large": False}
    return component("rows")(key=key, data=data)


def row_payload(row: Row) -> dict:
    """What is sent to the browser for one reading."""
    return {
        "title": row.title,
        "note": row.note,
        "count": len(row.marks),
        "ids": [mark.id for mark in row.marks],
        "stretches": [stretch_payload(stretch) for stretch in stretches(row)],
        "alt": f"{row.title}: {counted(len(row.marks), 'token')}",
    }


def counted(number: int, noun: str) -> str:
    """``1 token``, ``2 tokens``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


# ---- stretches: the text cut where no token and no written sign is cut ------------------------


@dataclass(frozen=True)
class Stretch:
    """A piece of the text together with all the tokens that touch it.

    Attributes:
        text: the characters, as they stand in the text.
        marks: the tokens that cover them, in order; none where the characters have no token.
        lost: characters among them that no token stands for.
    """

    text: str
    marks: tuple[Mark, ...]
    lost: str = ""

    @property
    def split(self) -> bool:
        """Whether one token is not enough to say what is written here."""
        return len(self.marks) > 1


def stretches(row: Row) -> list[Stretch]:
    """The text of ``row`` cut into stretches: each token in one of them, each character too.

    Tokens that share a written sign, such as the parts of an emoji or a letter and the accent
    on it, come to lie in the same stretch, so that the sign is written once and whole.
    """
    cut: list[Stretch] = []
    at = 0
    for start, end, marks in _joined_spans(row):
        if start is None:
            cut.append(Stretch("", tuple(marks)))
            continue
        if start > at:
            cut.append(Stretch(row.text[at:start], (), _lost_within(row, at, start)))
        cut.append(Stretch(row.text[start:end], tuple(marks), _lost_within(row, start, end)))
        at = end
    if at < len(row.text):
        cut.append(Stretch(row.text[at:], (), _lost_within(row, at, len(row.text))))
    return cut


def _joined_spans(row: Row) -> list[tuple[int | None, int | None, list[Mark]]]:
    """(start, end, tokens) of the whole signs that the tokens touch, overlapping ones joined."""
    signs = clusters(row.text)
    spans: list[tuple[int | None, int | None, list[Mark]]] = []
    for mark in row.marks:
        if mark.start is None:
            spans.append((None, None, [mark]))
            continue
        start, end = signs[mark.start][0], signs[max(mark.start, mark.end - 1)][1]
        last_start, last_end, marks = spans[-1] if spans else (None, None, [])
        if last_start is not None and start < last_end:
            spans[-1] = (last_start, max(last_end, end), [*marks, mark])
        else:
            spans.append((start, end, [mark]))
    return spans


def _lost_within(row: Row, start: int, end: int) -> str:
    return "".join(row.text[place] for a, b in row.lost for place in range(max(a, start), min(b, end)))


_JOINER = "\u200d"


def clusters(text: str) -> list[tuple[int, int]]:
    """For each character, the (start, end) of the sign that is written with it.

    A shortened form of Unicode's grapheme clusters (UAX 29): marks join the letter before them,
    joiners, skin tones and flags make one picture, and jamo one syllable.
    """
    starts: list[int] = []
    for place, character in enumerate(text):
        joins = place > 0 and _joins(text, place, character, starts[-1])
        starts.append(starts[-1] if joins else place)
    ends, end = [0] * len(text), len(text)
    for place in range(len(text) - 1, -1, -1):
        ends[place] = end
        if starts[place] == place:
            end = place
    return list(zip(starts, ends, strict=True))


def _joins(text: str, place: int, character: str, start: int) -> bool:
    before = text[place - 1]
    if unicodedata.category(before) in ("Cc", "Zl", "Zp"):
        return False
    if unicodedata.category(character)[0] == "M" or character == _JOINER:
        return True
    if "\U0001f3fb" <= character <= "\U0001f3ff" or "\U000e0020" <= character <= "\U000e007f":
        return unicodedata.category(before)[0] in "SM"  # a skin tone, or the letters of a flag
    if before == _JOINER:
        return unicodedata.category(character) == "So" and unicodedata.category(text[start]) == "So"
    if _is_flag_letter(character):
        return _is_flag_letter(before) and (place - start) % 2 == 1
    return "\u1160" <= character <= "\u11ff" and "\u1100" <= before <= "\u11ff"


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def stretch_payload(stretch: Stretch) -> dict:
    """One stretch as the browser gets it: what to write, and the tokens, grouped by character."""
    groups: list[list[dict]] = []
    for place, mark in enumerate(stretch.marks):
        if place == 0 or mark.group != stretch.marks[place - 1].group:
            groups.append([])
        groups[-1].append(_mark_payload(mark))
    return {
        "parts": written(stretch.text),
        "groups": groups,
        "split": stretch.split,
        "joined": any(map(_joins_neighbours, stretch.text)),
        "lost": [code_point(character) for character in stretch.lost],
    }


def _joins_neighbours(character: str) -> bool:
    """Whether the letter may join the next one in writing: a gap between tokens would break it."""
    joins = unicodedata.bidirectional(character) in ("R", "AL") or "\u0900" <= character <= "\u1cff"
    return joins or unicodedata.category(character)[0] == "M"


def _mark_payload(mark: Mark) -> dict:
    return {
        "position": mark.position,
        "id": mark.id,
        "kind": mark.kind,
        "label": mark.label,
        "bytes": mark.hex if mark.label.startswith("‹") else mark.label,
        "title": f"position {mark.position}, token ID {mark.id}, bytes {mark.hex}",
    }


_SIGNS = {" ": "␣", "\n": "⏎", "\t": "⇥", "\r": "CR", "\u00a0": "⍽"}
_HARMLESS_FORMAT = {_JOINER, "\u200c"}


def written(text: str) -> list[list[str]]:
    """The text as (class, string) parts: ``""`` as it is, ``sign`` for a visible stand-in.

    ``newline`` is a sign after which the line breaks. Characters that show nothing, or that turn
    the direction of writing, become their code point; joiners inside a picture stay.
    """
    parts: list[list[str]] = []
    for place, character in enumerate(text):
        kind, shown = _written_character(character, inside=0 < place < len(text) - 1)
        if parts and kind == parts[-1][0] == "":
            parts[-1][1] += shown
        else:
            parts.append([kind, shown])
    return parts


def _written_character(character: str, inside: bool) -> tuple[str, str]:
    if character in _SIGNS:
        return ("newline" if character == "\n" else "sign"), _SIGNS[character]
    if character in _HARMLESS_FORMAT and inside or "\U000e0020" <= character <= "\U000e007f":
        return "", character
    if character == "\ufffd" or unicodedata.category(character) in ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"):
        return "sign", f"‹{code_point(character)}›"
    return "", character


def code_point(character: str) -> str:
    """``U+0004``."""
    return f"U+{ord(character):04X}"


# ---- the price of a sentence -------------------------------------------------------------------

#: The open model's own tokenizer is the accent; the others differ by form, so that no colour is needed.
_SYMBOLS = ("circle", "square-open", "diamond-open", "triangle-up")
#: Each tokenizer has a lane of its own in a line, so that equal counts do not hide each other.
_LANES = (-0.24, -0.08, 0.08, 0.24)


def price_figure(frame: pd.DataFrame, measure: str, theme: Theme) -> go.Figure:
    """How many tokens the same sentence costs, one line a script, one sign and lane a tokenizer.

    Args:
        frame: columns ``sample``, ``reader`` and the column ``measure``.
        measure: the column that is drawn, also the title of the axis.
    """
    figure = go.Figure()
    samples = list(dict.fromkeys(frame["sample"]))
    rows = {sample: place for place, sample in enumerate(samples)}
    for sample, values in frame.groupby("sample", sort=False)[measure]:
        figure.add_scatter(
            x=[0, values.max()],
            y=[rows[sample]] * 2,
            mode="lines",
            line={"color": theme.colour("surface"), "width": 34 * theme.scale},
            hoverinfo="skip",
            showlegend=False,
        )
    for place, (reader, values) in enumerate(frame.groupby("reader", sort=False)):
        figure.add_scatter(
            x=values[measure].tolist(),
            y=[rows[sample] + _LANES[place % len(_LANES)] for sample in values["sample"]],
            mode="markers",
            name=escaped(reader),
            cliponaxis=False,
            hovertemplate=f"{escaped(reader)}: %{{x}} {measure}<extra></extra>",
            marker=_marker(place, theme),
        )
    x = {"title": measure, "range": [0, frame[measure].max() * 1.04], "side": "bottom", "zeroline": True}
    return styled(figure, theme, 48 * len(samples) + 110, x, row_axis(samples, 0.5), **legend_above())


def _marker(place: int, theme: Theme) -> dict:
    role = "accent" if place == 0 else "ink"
    line = {"width": 2 * theme.scale, "color": theme.colour(role)}
    return {
        "symbol": _SYMBOLS[place % len(_SYMBOLS)],
        "size": (13 if place == 0 else 11) * theme.scale,
        "color": theme.colour(role),
        "line": line,
    }
