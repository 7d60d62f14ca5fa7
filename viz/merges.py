"""Byte-pair merges: one word's, played in the browser, and how a text shrinks as they are learned."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import pandas as pd
import plotly.graph_objects as go

from viz.components import component
from viz.style import Theme, styled

#: Columns of the picture. A longer word is left to its table.
LONGEST_WORD = 48


@dataclass(frozen=True)
class Join:
    """One merge of a word.

    Attributes:
        at: index of the left piece among the pieces before the merge.
        label: the joined piece as a visible string.
        rank: how early the merge was learned, 0 first.
    """

    at: int
    label: str
    rank: int


@dataclass(frozen=True)
class WordPicture:
    """The merges of one word, as they are played.

    Attributes:
        word: the word as a visible string.
        start: labels of the smallest pieces.
        joins: the merges in order.
        ids: token IDs of the pieces at the end.
        learned: number of merges that the tokenizer knows.
    """

    word: str
    start: Sequence[str]
    joins: Sequence[Join]
    ids: Sequence[int]
    learned: int


def merge_player(picture: WordPicture, key: str):
    """Mount the player; it needs no trip to the server.

    Raises:
        ValueError: if the word has more than ``LONGEST_WORD`` pieces at the start.
    """
    return component("merges")(key=key, data=merge_payload(picture))


def merge_payload(picture: WordPicture) -> dict:
    """What is sent to the browser."""
    if len(picture.start) > LONGEST_WORD:
        raise ValueError(f"The picture holds {LONGEST_WORD} pieces, not {len(picture.start)}.")
    return {
        "word": picture.word,
        "start": [_bare(label) for label in picture.start],
        "joins": [
            asdict(join) | {"label": _bare(join.label), "when": learned_when(join.rank, picture.learned)}
            for join in picture.joins
        ],
        "ids": list(picture.ids),
        "alt": merge_alt(picture),
    }


def _bare(label: str) -> str:
    """Bytes without their brackets: the picture frames each piece anyway."""
    return label.strip("‹›") if label.startswith("‹") else label


def learned_when(rank: int, learned: int) -> str:
    """Where a merge stands among all that were learned, e.g. ``merge 1,204 of 48,900: learned early``."""
    share = rank / max(learned, 1)
    when = "early" if share < 0.1 else "late" if share >= 0.5 else "midway"
    return f"merge {rank + 1:,} of {learned:,}: learned {when}"


def merge_alt(picture: WordPicture) -> str:
    """The picture in words, for those who do not see it."""
    pieces = len(picture.start)
    if not picture.joins:
        return f"{picture.word}: {pieces} pieces at the start, no merge fits, {len(picture.ids)} tokens."
    last = picture.joins[-1]
    return (
        f"{picture.word}: {pieces} pieces at the start, {len(picture.joins)} merges, {len(picture.ids)} tokens. "
        f"The last merge makes “{last.label}”, {learned_when(last.rank, picture.learned)}."
    )


def merge_table(picture: WordPicture) -> pd.DataFrame:
    """The same merges, one row each, the start first."""
    labels = list(picture.start)
    rows = [(0, "", "", "", "  ".join(labels))]
    for step, join in enumerate(picture.joins, start=1):
        left, right = labels[join.at : join.at + 2]
        labels[join.at : join.at + 2] = [join.label]
        rows.append((step, left, right, f"{join.rank + 1:,}", "  ".join(labels)))
    return pd.DataFrame(rows, columns=["step", "left", "right", "merge number", "pieces after it"])


# ---- learning ------------------------------------------------------------------------------------


def shrinking_figure(tokens: Sequence[int], chosen: int, theme: Theme) -> go.Figure:
    """How many tokens the paragraph has after each merge, with the chosen number of merges marked.

    Args:
        tokens: number of tokens after 0, 1, 2, … merges.
        chosen: the number of merges in use.
    """
    accent, ink = theme.colour("accent"), theme.colour("ink")
    figure = go.Figure()
    figure.add_scatter(
        x=list(range(len(tokens))),
        y=list(tokens),
        mode="lines",
        line={"color": accent, "width": 3 * theme.scale},
        hovertemplate="%{x} merges: %{y} tokens<extra></extra>",
    )
    figure.add_scatter(
        x=[chosen, chosen],
        y=[0, tokens[chosen]],
        mode="lines+markers",
        line={"color": ink, "width": 2 * theme.scale, "dash": "dot"},
        marker={"size": [0.1, 14 * theme.scale], "color": ink},
        hoverinfo="skip",
    )
    late = chosen > len(tokens) / 2  # the curve falls, so there is room above it on the right, below on the left
    words = {
        "x": chosen,
        "y": tokens[chosen],
        "text": f"{chosen:,} merges: {tokens[chosen]:,} tokens",
        "showarrow": False,
        "xanchor": "right" if late else "left",
        "yanchor": "top" if late else "bottom",
        "yshift": (-8 if late else 8) * theme.scale,
        "xshift": (-8 if late else 8) * theme.scale,
        "font": {"size": 16 * theme.scale, "color": ink},
    }
    x = {"title": "merges learned", "rangemode": "tozero", "showgrid": False}
    y = {"title": "tokens of the paragraph", "range": [0, max(tokens) * 1.12]}
    return styled(figure, theme, 300, x, y, annotations=[words])
