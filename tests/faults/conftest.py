"""Tiny models to be broken, and a preparation that needs no half minute."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from model import preparation
from tests import tiny

FAMILY = "llama, grouped KV heads"


@pytest.fixture
def folder(tmp_path) -> Path:
    """A tiny model in a folder, as an operator would name it."""
    return saved(tmp_path / "sound")


def saved(folder: Path, **options) -> Path:
    tiny.plain(FAMILY).save_pretrained(folder, **options)
    tiny.tokenizer().save_pretrained(folder)
    return folder


def config(**changed) -> Callable[[Path], None]:
    """A fault: fields of config.json that are changed."""

    def broken(folder: Path) -> None:
        file = folder / "config.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | changed))

    return broken


def written(name: str, text: str) -> Callable[[Path], None]:
    """A fault: a file with another content."""
    return lambda folder: (folder / name).write_text(text)


def cut(name: str) -> Callable[[Path], None]:
    """A fault: a file of which the second half is missing."""

    def broken(folder: Path) -> None:
        whole = (folder / name).read_bytes()
        (folder / name).write_bytes(whole[: len(whole) // 2])

    return broken


@pytest.fixture
def gguf(tmp_path, monkeypatch) -> Path:
    """A file to prepare from, into a cache of its own; to unpack it is to save the tiny model."""
    monkeypatch.setenv("EXPLAINER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(preparation, "_unpack", lambda listed, file, folder, progress: saved(folder))
    file = tmp_path / "tiny.gguf"
    file.write_bytes(b"GGUF")
    return file
