"""How many numbers a GGUF file holds, read from its head: no weight is touched.

The gguf package reads the same, but turns every word of the vocabulary into arrays on the way:
seven seconds where this takes a tenth of one. The format is described in the ggml project,
docs/gguf.md.
"""

import math
import struct
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

#: Bytes of a metadata value by its type; 8 is a string and 9 an array.
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_STRING, _ARRAY = 8, 9
#: Dimensions that a tensor can have in the format.
_MOST_DIMENSIONS = 8


def value_count(gguf: Path) -> int | None:
    """Weights in the file, or None if its head is not one of versions 2 and 3, low byte first."""
    try:
        with gguf.open("rb") as file:
            return _value_count(file, gguf.stat().st_size)
    except (struct.error, ValueError, KeyError, OSError, OverflowError, RecursionError):
        return None


def _value_count(file: BinaryIO, size: int) -> int:
    def read(form: str) -> tuple:
        return struct.unpack("<" + form, file.read(struct.calcsize("<" + form)))

    def skip(count: int) -> None:
        if file.seek(count, 1) > size:
            raise ValueError("the head goes on after the file's end")

    magic, version, tensors, fields = read("4sIQQ")
    if magic != b"GGUF" or version not in (2, 3):
        raise ValueError("no GGUF file of a known version")
    for _ in range(fields):
        skip(*read("Q"))
        _skip_value(read, skip, *read("I"))
    count = 0
    for _ in range(tensors):
        skip(*read("Q"))
        (dimensions,) = read("I")
        if dimensions > _MOST_DIMENSIONS:
            raise ValueError("a tensor with too many dimensions")
        count += math.prod(read(f"{dimensions}Q"))
        read("IQ")
    return count


def _skip_value(read: Callable[[str], tuple], skip: Callable[[int], None], kind: int) -> None:
    if kind == _STRING:
        skip(*read("Q"))
    elif kind == _ARRAY:
        inner, count = read("IQ")
        if inner in _SIZES:
            skip(count * _SIZES[inner])
        else:
            for _ in range(count):
                _skip_value(read, skip, inner)
    else:
        skip(_SIZES[kind])
