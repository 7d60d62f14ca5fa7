"""What a model's folder holds, read before anything is built of it: no weight is loaded."""

import json
import math
from pathlib import Path
from typing import Any

from model.config_fields import NAMES

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"


class Damaged(Exception):
    """A file that is not as it must be; the text is a phrase that names it."""


def configuration(folder: Path) -> dict[str, Any]:
    """The fields of config.json.

    Raises:
        Damaged: if it is no JSON object, or a size in it is not above zero.
    """
    file = folder / "config.json"
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as reason:
        raise Damaged(f"{file} is not JSON") from reason
    if not isinstance(found, dict):
        raise Damaged(f"{file} is JSON, but no object with fields in braces")
    for size in ("layers", "heads", "kv_heads", "hidden", "vocabulary", "positions"):
        for name in NAMES[size][0]:
            if isinstance(found.get(name), int) and found[name] < 1:
                raise Damaged(f"{file} has {found[name]} as {name}, which must be above zero")
    return found


def incomplete(folder: Path) -> str | None:
    """What is missing among the weights, a sentence; or None."""
    if (folder / WEIGHTS).is_file():
        return None
    if not any(folder.glob("*.safetensors")):
        return f"there are no safetensors in {folder}. Other weight files are not opened."
    if not (folder / INDEX).is_file():
        return f"there is neither {WEIGHTS} nor {INDEX} in {folder}."
    try:
        absent = [name for name in _shards(folder) if not (folder / name).is_file()]
    except Damaged as reason:
        return f"{reason}. Copy the model's files again."
    if absent:
        return f"{INDEX} names {absent[0]}, which is missing in {folder}. Copy the model's files again."
    return None


def value_count(folder: Path) -> int:
    """Numbers stored in the weight files.

    Raises:
        Damaged: if one is no safetensors file, or shorter or longer than its head says.
    """
    files = [WEIGHTS] if (folder / WEIGHTS).is_file() else _shards(folder)
    return sum(_values_in(folder / name) for name in files)


def _shards(folder: Path) -> list[str]:
    try:
        return sorted(set(json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"].values()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as reason:
        raise Damaged(f"{INDEX} in {folder} cannot be read") from reason


def _values_in(file: Path) -> int:
    """Eight bytes with the head's length, the head as JSON, then the numbers, end to end."""
    size = file.stat().st_size
    try:
        with file.open("rb") as opened:
            length = int.from_bytes(opened.read(8), "little")
            if length > size:
                raise ValueError("the head is longer than the file")
            head = json.loads(opened.read(length))
        tensors = [about for name, about in head.items() if name != "__metadata__"]
        end = 8 + length + max((about["data_offsets"][1] for about in tensors), default=0)
        count = sum(math.prod(about["shape"]) for about in tensors)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as reason:
        raise Damaged(f"{file} is not a whole safetensors file") from reason
    if end != size:
        raise Damaged(f"{file} has {size:,} bytes where its head tells of {end:,}")
    return count
