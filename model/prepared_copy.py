"""A prepared copy of a model, and how it is known to be whole.

Beside its files lies a manifest, written last, with each one's size, time and hash. Sizes and times
are compared whenever the copy is used, which costs next to nothing; a file whose time differs is
read whole and its hash compared, once a process, about a second for the default model.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

MANIFEST = "prepared.json"
#: What is noted of each file.
_FIELDS = ("bytes", "modified_ns", "sha256")

#: Folders whose files were read whole and found right in this process, and the state they were in.
_found_right: dict[Path, dict[str, tuple[int, int]]] = {}


def seal(folder: Path, about: dict[str, Any]) -> None:
    """Write the manifest of what is in ``folder``: the copy is finished with it."""
    files = {
        path.name: dict(zip(_FIELDS, (*_state(path), sha256(path)), strict=True)) for path in sorted(folder.iterdir())
    }
    (folder / MANIFEST).write_text(json.dumps({**about, "files": files}, indent=1), encoding="utf-8")


def is_finished(folder: Path) -> bool:
    """Whether ``folder`` was sealed."""
    return (folder / MANIFEST).is_file()


def is_unchanged(folder: Path) -> bool:
    """Whether the copy is finished, and its files have the sizes and times that they were written with."""
    noted = _noted(folder)
    if not noted:
        return False
    now = _states(folder, noted)
    written = {name: (file["bytes"], file["modified_ns"]) for name, file in noted.items()}
    return now is not None and now in (written, _found_right.get(folder))


def is_whole(folder: Path) -> bool:
    """Whether the copy is finished, and its files read byte by byte are what was written."""
    noted = _noted(folder)
    now = _states(folder, noted) if noted else None
    if now is None or any(now[name][0] != file["bytes"] for name, file in noted.items()):
        return False
    try:
        right = all(sha256(folder / name) == file["sha256"] for name, file in noted.items())
    except OSError:
        right = False
    if right:
        _found_right[folder] = now
    return right


def sha256(path: Path) -> str:
    """The hash of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _noted(folder: Path) -> dict[str, dict[str, Any]]:
    """The manifest's files by name; empty where there is no manifest that can be read."""
    try:
        files = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
        return {name: {field: file[field] for field in _FIELDS} for name, file in files.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _states(folder: Path, names: dict[str, Any]) -> dict[str, tuple[int, int]] | None:
    """Size and time of each file; None if one is not there."""
    try:
        return {name: _state(folder / name) for name in names}
    except OSError:
        return None


def _state(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns
