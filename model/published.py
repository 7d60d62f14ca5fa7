"""Published facts: the shapes of known models, and what known machines can do.

Tables of facts, each row with its source. A row is checked when it is read, so that a wrong
number is a sentence and not a wrong picture.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from model.architecture import Architecture
from model.errors import SettingRefused

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True)
class Gpu:
    """A machine as its data sheet states it.

    Attributes:
        name: the maker's name.
        operations: multiplications and additions a second, in 16 bit on dense matrices where the
            machine has such units, else in 32 bit.
        bandwidth: bytes a second that it reads from its memory.
        memory: bytes of that memory, as the maker counts them (GB).
        source: where the figures are from.
    """

    name: str
    operations: float
    bandwidth: float
    memory: int
    source: str


@cache
def architectures() -> dict[str, Architecture]:
    """The published shapes by name, in the order of the table."""
    return _by_name([read_architecture(row) for row in _rows("architectures.csv")])


@cache
def notes() -> dict[str, str]:
    """What is particular about a published shape, by name; empty where nothing is."""
    return {row["name"]: row["note"] for row in _rows("architectures.csv")}


@cache
def gpus() -> dict[str, Gpu]:
    """The published machines by name, in the order of the table."""
    return _by_name([read_gpu(row) for row in _rows("gpus.csv")])


@cache
def active_parameters() -> dict[str, int]:
    """Parameters that one token uses, as the makers state them, of shapes with a mixture of experts."""
    return {row["name"]: int(row["active"]) for row in _rows("experts.csv")}


def _rows(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _by_name(facts: list) -> dict:
    by_name = {fact.name: fact for fact in facts}
    if len(by_name) < len(facts):
        names = [fact.name for fact in facts]
        twice = next(name for name in names if names.count(name) > 1)
        raise SettingRefused(f"The table has {twice!r} more than once; each 'name' may stand there once.")
    return by_name


def read_gpu(row: Mapping[str, str]) -> Gpu:
    """One row of the table of machines, strings by the table's column names.

    Raises:
        SettingRefused: naming the field that is missing or no positive number.
    """
    return Gpu(
        name=_text(row, "name"),
        operations=_number(row, "bf16_dense_tflops") * 1e12,
        bandwidth=_number(row, "bandwidth_gb_s") * 1e9,
        memory=round(_number(row, "memory_gb") * 1e9),
        source=_text(row, "source"),
    )


def read_architecture(row: Mapping[str, str]) -> Architecture:
    """One row of the table of shapes.

    Args:
        row: strings by the table's column names; ``intermediate``, ``sliding_window`` and
            ``latent`` may be empty.

    Raises:
        SettingRefused: naming the field that is missing, is no positive whole number, or
            contradicts another.
    """
    layers, windowed = _whole(row, "layers"), _whole(row, "local_layers", least=0)
    window = _whole(row, "sliding_window", optional=True)
    heads, kv_heads = _whole(row, "heads"), _whole(row, "kv_heads")
    latent = _whole(row, "latent", optional=True)
    _agree(row, windowed <= layers, f"{windowed} layers with a window of {layers} layers")
    _agree(row, bool(windowed) == bool(window), "layers with a window need its length, and only they have one")
    _agree(row, heads % kv_heads == 0, f"{heads} query heads cannot share {kv_heads} KV heads evenly")
    shape = Architecture(
        name=_text(row, "name"),
        layers=layers,
        query_heads=heads,
        kv_heads=kv_heads,
        head_size=_whole(row, "head_dim"),
        hidden_size=_whole(row, "hidden"),
        feed_forward_size=_whole(row, "intermediate", optional=True) or 0,
        vocabulary_size=_whole(row, "vocab"),
        positions=_whole(row, "max_positions"),
        parameters=_whole(row, "params"),
        position_encoding="",
        tied_embeddings=_choice(row, "tied_embeddings", {"True": True, "False": False}),
        sliding_window=window,
        windowed_layers=windowed,
        latent_size=latent,
    )
    stated = _whole(row, "kv_bytes_per_token_16bit")
    from_sizes = 2 * layers * (latent or 2 * kv_heads * shape.head_size)
    _agree(row, stated == from_sizes, f"{stated} bytes a token are stated, its sizes give {from_sizes}")
    tables = (1 if shape.tied_embeddings else 2) * shape.vocabulary_size * shape.hidden_size
    _agree(row, shape.parameters > tables, f"{shape.parameters} parameters, its tables alone have {tables}")
    return shape


def _text(row: Mapping[str, str], field: str) -> str:
    text = (row.get(field) or "").strip()
    if not text:
        raise SettingRefused(f"The row {row.get('name', '?')!r} has no {field!r}.")
    return text


def _choice(row: Mapping[str, str], field: str, choices: Mapping[str, bool]) -> bool:
    text = (row.get(field) or "").strip()
    if text not in choices:
        raise SettingRefused(
            f"The shape {row.get('name', '?')!r} has no usable {field!r}: {text!r} is none of {', '.join(choices)}."
        )
    return choices[text]


def _number(row: Mapping[str, str], field: str) -> float:
    text = (row.get(field) or "").strip()
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise SettingRefused(
            f"The machine {row.get('name', '?')!r} has no usable {field!r}: {text!r} is not a number above 0."
        )
    return value


def _whole(row: Mapping[str, str], field: str, *, least: int = 1, optional: bool = False) -> int | None:
    text = (row.get(field) or "").strip()
    if not text and optional:
        return None
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise SettingRefused(
            f"The shape {row.get('name', '?')!r} has no usable {field!r}: {text!r} is not a whole number from {least}."
        )
    return value


def _agree(row: Mapping[str, str], holds: bool, what: str) -> None:
    if not holds:
        raise SettingRefused(f"The shape {row.get('name', '?')!r} contradicts itself: {what}.")
