"""The loop: one run of the model as one continuous picture, from the prompt to the token drawn.

Everything drawn is a value of that run. The picture is a component (``components/loop.js``), so
that following another token's path needs no trip to the server.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from viz.components import component, packed, reported

#: Arrays of a picture that are drawn as strips, each with a colour scale of its own. The residual
#: stream is drawn as a line, and stands with its values in the table.
STRIPS = (
    "embedding",
    "query",
    "key",
    "value",
    "mix",
    "attention_added",
    "feed_forward_added",
)

#: Fields of a picture that are sent as they are.
PLAIN = (
    "first_position",
    "positions_total",
    "selected",
    "layer",
    "layers",
    "head",
    "heads",
    "kv_head",
    "hidden_size",
    "head_size",
    "rest_count",
    "rest_probability",
    "greedy",
    "grew",
)

#: Share of a strip's values that are drawn below full colour.
SATURATION_PERCENTILE = 98


class Guess(NamedTuple):
    """What the model would answer if it stopped after ``layer``: the lens at one depth."""

    layer: int
    label: str
    probability: float


class Candidate(NamedTuple):
    """A token that may come next, with its probability over the whole vocabulary."""

    label: str
    id: int
    probability: float


class Drawn(NamedTuple):
    """The token that follows, and the random number in [0, 1) and its seed, if they chose it."""

    label: str
    id: int
    probability: float
    uniform: float | None
    seed: int | None


@dataclass(frozen=True)
class LoopPicture:
    """The values of one run that the picture shows, for a window of n positions.

    Attributes:
        labels: text of each token as it is to be shown, a space already written as "·"; [n].
        ids: token IDs; [n].
        first_position: position of the first row; the rows are consecutive positions.
        positions_total: number of positions of the run, shown or not.
        selected: the position whose path is followed, inside the window.
        embedding: first E values of each token's embedding; [n, E].
        layer: the layer that is opened up, 0-based.
        layers: number of layers of the model.
        head: the query head that is shown, 0-based.
        heads: number of query heads of a layer.
        kv_head: the KV head whose keys and values that query head reads, 0-based.
        query: queries of the head, after the position rotation if the model has one; [n, d].
        key: keys of the KV head, likewise; [n, d].
        value: values of the KV head; [n, d].
        attention: attention weights, rows looking, columns looked at, NaN where masked; [n, n].
        mix: the head's output, the values weighted by attention and added up; [n, d].
        attention_added: first E values of what attention, all heads, adds to the stream; [n, E].
        feed_forward_added: first E values of what the feed-forward network adds; [n, E].
        stream_in: first E values of the residual stream before the layer; [n, E].
        stream_out: first E values of the residual stream after the layer; [n, E].
        hidden_size: length of an embedding, of which E values are here.
        head_size: length of a query, key or value.
        lens: guesses at some depths for the selected position, shallow to deep.
        candidates: the likeliest next tokens after the selected position, likeliest first; at
            least one.
        rest_count: number of tokens of the vocabulary that are not among the candidates.
        rest_probability: their probability together, from 0 to 1.
        drawn: the token drawn after the selected position, or None if none was.
        greedy: whether the likeliest token was taken and no random number used.
        grew: whether the last position was appended by the run just before this one.
        origin: where the values come from, such as the model's name; shown as they stand.
    """

    labels: list[str]
    ids: list[int]
    first_position: int
    positions_total: int
    selected: int
    embedding: np.ndarray
    layer: int
    layers: int
    head: int
    heads: int
    kv_head: int
    query: np.ndarray
    key: np.ndarray
    value: np.ndarray
    attention: np.ndarray
    mix: np.ndarray
    attention_added: np.ndarray
    feed_forward_added: np.ndarray
    stream_in: np.ndarray
    stream_out: np.ndarray
    hidden_size: int
    head_size: int
    lens: list[Guess]
    candidates: list[Candidate]
    rest_count: int
    rest_probability: float
    drawn: Drawn | None
    greedy: bool = False
    grew: bool = False
    origin: tuple[str, ...] = ()


def draw_loop(
    picture: LoopPicture,
    key: str,
    on_select: Callable[[int], None],
    on_layer: Callable[[int], None],
    on_head: Callable[[int], None],
    on_open: Callable[[str], None],
):
    """Mount the picture and return the component's result.

    Whatever the reader does is an event, told once to one of the listeners; the picture then
    waits to be drawn anew from a ``LoopPicture`` that answers it.

    Args:
        picture: what to show.
        key: Streamlit key of the component, unique on the page.
        on_select: called with the position that was selected.
        on_layer: called with the layer that was asked for.
        on_head: called with the query head that was asked for.
        on_open: called with the name of the page whose station was opened: ``"tokens"``,
            ``"embeddings"``, ``"attention"`` or ``"sampling"``.
    """

    def tell(listener: Callable, name: str) -> Callable[[], None]:
        # Streamlit's callbacks take no arguments: the value waits in the session state.
        return lambda: listener(reported(key, name))

    return component("loop")(
        key=key,
        data=loop_payload(picture),
        on_selected_change=tell(on_select, "selected"),
        on_layer_change=tell(on_layer, "layer"),
        on_head_change=tell(on_head, "head"),
        on_open_change=tell(on_open, "open"),
    )


def loop_payload(picture: LoopPicture) -> dict:
    """What is sent to the browser: arrays packed, scales worked out, everything else as it is."""
    plain = {name: getattr(picture, name) for name in PLAIN}
    arrays = {name: packed(getattr(picture, name)) for name in (*STRIPS, "attention")}
    return {
        **_sendable(plain),
        **arrays,
        "labels": list(picture.labels),
        "ids": [int(token_id) for token_id in picture.ids],
        "scales": {name: saturation(getattr(picture, name)) for name in STRIPS},
        "lens": [_named(Guess, guess) for guess in picture.lens],
        "candidates": [_named(Candidate, one) for one in picture.candidates],
        "drawn": _named(Drawn, picture.drawn) if picture.drawn else None,
        "window": window(picture),
        "origin": list(picture.origin),
        "alt": loop_alt(picture),
    }


def _named(kind: type, values: tuple) -> dict:
    """A tuple as a dictionary of the fields of ``kind``."""
    return _sendable(dict(zip(kind._fields, values, strict=True)))


def _sendable(values: dict) -> dict:
    """The same values with numpy's scalars as Python's own, which JSON knows."""
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in values.items()}


def saturation(values: np.ndarray) -> float:
    """The size at which a strip's colour is full; only the few largest values lie beyond it."""
    finite = np.abs(values[np.isfinite(values)])
    return float(np.percentile(finite, SATURATION_PERCENTILE)) if finite.size else 0.0


def window(picture: LoopPicture) -> str:
    """Which positions the rows are, in words."""
    last = picture.first_position + len(picture.labels) - 1
    if picture.positions_total == 1:
        return "the only position"
    if len(picture.labels) == picture.positions_total:
        return f"all {picture.positions_total} positions"
    return f"positions {picture.first_position}–{last} of {picture.positions_total}"


def loop_alt(picture: LoopPicture) -> str:
    """The picture in words, for those who do not see it."""
    row = picture.selected - picture.first_position
    weights = picture.attention[row]
    looked_at = int(np.nanargmax(weights))
    label, _, probability = picture.candidates[0]
    text = (
        f"One run of the model, {window(picture)}. Followed: position {picture.selected}, "
        f"“{picture.labels[row]}”. In layer {picture.layer}, head {picture.head}, it looks most at "
        f"“{picture.labels[looked_at]}”, position {picture.first_position + looked_at}, "
        f"with weight {weights[looked_at]:.0%}. "
        f"Likeliest next token: “{label}”, {probability:.1%}."
    )
    if not picture.drawn:
        return text
    return f"{text} {'Taken' if picture.greedy else 'Drawn'}: “{picture.drawn[0]}”."


def loop_table(picture: LoopPicture) -> dict[str, pd.DataFrame]:
    """The picture as plain tables, by title."""
    layer = f"layer {picture.layer}"
    head = f"{layer}, head {picture.head}"
    kv_head = f"{layer}, KV head {picture.kv_head}"
    shown = f"first {picture.embedding.shape[1]} of {picture.hidden_size} values"
    pieces = {
        "Tokens": _token_table(picture),
        f"Embeddings, {shown}": _strip_table(picture, "embedding"),
        f"Query, {head}": _strip_table(picture, "query"),
        f"Key, {kv_head}": _strip_table(picture, "key"),
        f"Value, {kv_head}": _strip_table(picture, "value"),
        f"Attention weights, {head} (row looks at column)": _attention_table(picture),
        f"Mix, {head}": _strip_table(picture, "mix"),
        f"Residual stream before {layer}, {shown}": _strip_table(picture, "stream_in"),
        f"Added by attention, {layer}, {shown}": _strip_table(picture, "attention_added"),
        f"Added by feed-forward, {layer}, {shown}": _strip_table(picture, "feed_forward_added"),
        f"Residual stream after {layer}, {shown}": _strip_table(picture, "stream_out"),
        f"Guess at some depths, position {picture.selected}": _lens_table(picture),
        f"Next token after position {picture.selected}": _candidate_table(picture),
    }
    if picture.drawn:
        pieces["The draw"] = _draw_table(picture)
    return pieces


def _rows(picture: LoopPicture) -> pd.Index:
    """Positions, by which every table of rows is indexed."""
    return pd.RangeIndex(len(picture.labels), name="position") + picture.first_position


def _token_table(picture: LoopPicture) -> pd.DataFrame:
    columns = {"token": picture.labels, "token ID": picture.ids}
    return pd.DataFrame(columns, index=_rows(picture))


def _strip_table(picture: LoopPicture, name: str) -> pd.DataFrame:
    table = pd.DataFrame(getattr(picture, name), index=_rows(picture))
    # Column names are strings, so that a table with the token beside its values has one kind.
    table.columns = [str(column) for column in table.columns]
    table.insert(0, "token", picture.labels)
    return table


def _attention_table(picture: LoopPicture) -> pd.DataFrame:
    positions = _rows(picture)
    # With its position, so that a token that occurs twice has two columns.
    columns = [f"{position} {label}" for position, label in zip(positions, picture.labels, strict=True)]
    table = pd.DataFrame(picture.attention, index=positions, columns=columns)
    table.insert(0, "token", picture.labels)
    return table


def _lens_table(picture: LoopPicture) -> pd.DataFrame:
    table = pd.DataFrame(picture.lens, columns=["layer", "token", "probability"])
    return table.set_index("layer")


def _candidate_table(picture: LoopPicture) -> pd.DataFrame:
    table = pd.DataFrame(picture.candidates, columns=["token", "token ID", "probability"])
    table["token ID"] = table["token ID"].astype("Int64")
    rest = f"{picture.rest_count:,} more tokens"
    table.loc[len(table)] = [rest, pd.NA, picture.rest_probability]
    return table


def _draw_table(picture: LoopPicture) -> pd.DataFrame:
    columns = ["token", "token ID", "probability", "random number", "seed"]
    table = pd.DataFrame([picture.drawn], columns=columns)
    # Taking the likeliest uses no random number, so none is shown.
    return table.drop(columns=["random number", "seed"]) if picture.greedy else table
