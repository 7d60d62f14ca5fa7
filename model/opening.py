"""Opening a model: from a name the operator listed to a :class:`LanguageModel`."""

import threading
from dataclasses import replace
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

from model import taps
from model.architecture import architecture_of
from model.errors import ExplainerError, ModelUnavailable, ModelUnsupported
from model.language_model import LanguageModel
from model.parts import parts_of
from model.pieces import Vocabulary
from model.preparation import prepared_folder
from model.registry import Listed, listed_model
from model.tracing import Trace, trace

#: dtypes offered: what the numbers are computed in.
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

#: transformers builds a model under process-wide settings, so one at a time is built.
_opening = threading.Lock()


def open_model(spec: str | Listed | None = None, device: str = "auto", dtype: str = "float32") -> LanguageModel:
    """Open a model for explanation.

    Args:
        spec: the key of a listed model, or a path to a folder with safetensors or to a GGUF
            file; None opens the default.
        device: ``auto`` takes CUDA, then MPS, then the CPU; or torch's name of a device.
        dtype: what to compute in: float32, bfloat16 or float16.

    Raises:
        ModelUnavailable: the files are not here; says what is missing and where it was looked for.
        ModelUnsupported: the files are here, but the architecture cannot be explained.
    """
    if dtype not in DTYPES:
        raise ModelUnsupported(f"The dtype {dtype!r} is not offered. Use one of: {', '.join(DTYPES)}.")
    listed = spec if isinstance(spec, Listed) else listed_model(spec)
    folder = prepared_folder(listed)
    device = pick_device(device)
    with _opening:
        lm = _assembled(listed, folder, device, dtype)
    return _checked(lm, listed)


def pick_device(device: str = "auto") -> str:
    """``auto`` as the fastest device this machine has."""
    if device != "auto":
        return device
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def from_parts(module, tokenizer, key: str = "given", title: str = "a given model", **about) -> LanguageModel:
    """A :class:`LanguageModel` around a transformers model and its tokenizer, already opened."""
    module.eval().requires_grad_(False)
    module.set_attn_implementation(taps.ATTENTION_NAME)
    parts = parts_of(module)
    taps.put_on(parts)
    architecture = architecture_of(module)
    return LanguageModel(
        key=key,
        title=title,
        module=module,
        tokenizer=tokenizer,
        vocabulary=Vocabulary(tokenizer, rows=architecture.vocabulary_size),
        architecture=architecture,
        parts=parts,
        device=str(module.device),
        dtype=str(module.dtype).removeprefix("torch."),
        **about,
    )


def _assembled(listed: Listed, folder: Path, device: str, dtype: str) -> LanguageModel:
    transformers_logging.disable_progress_bar()
    local = {"local_files_only": True, "trust_remote_code": False}
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, **local)
        module = AutoModelForCausalLM.from_pretrained(folder, dtype=DTYPES[dtype], use_safetensors=True, **local)
        return from_parts(
            module.to(device),
            tokenizer,
            key=listed.key,
            title=listed.title,
            stored_as=listed.stored_as,
            licence=listed.licence,
        )
    except ExplainerError:
        raise
    except (ValueError, KeyError, OSError, RuntimeError, AttributeError, TypeError) as reason:
        # What transformers says of a model it cannot build is long and for programmers.
        raise ModelUnsupported(
            f"{listed.title} could not be opened from {folder}: {type(reason).__name__}, {_first_line(reason)} "
            "Pick another model; the one that was open stays."
        ) from reason


def _first_line(reason: Exception) -> str:
    text = str(reason).strip().splitlines()
    line = text[0][:200] if text else "no reason given"
    return line if line.endswith(".") else line + "."


def _checked(lm: LanguageModel, listed: Listed) -> LanguageModel:
    """Run a sentence through the model, and compare what is shown with what the model says."""
    size, rows = len(lm.tokenizer), lm.architecture.vocabulary_size
    if size > rows:
        raise ModelUnsupported(
            f"{lm.title}: the tokenizer knows {size:,} tokens but the model has {rows:,} rows; they are not a pair."
        )
    run = trace(lm, "The capital of France is")
    _check_unembedding(lm, run)
    if listed.expected is not None:
        _check_expected(lm, run, *listed.expected)
    return replace(lm, additions_add_up=_additions_add_up(run))


def _check_unembedding(lm: LanguageModel, run: Trace) -> None:
    ours, own = lm.unembed(run.streams[-1][-1]), run.last_logits
    if not torch.allclose(ours, own, atol=_tolerance(lm) * float(own.abs().max()), rtol=0):
        raise ModelUnsupported(
            f"{lm.title} ({lm.architecture.name}) turns its last vector into logits in a way this program does "
            "not know, so its inner guesses would be wrong. Pick another model; the one that was open stays."
        )


def _check_expected(lm: LanguageModel, run: Trace, label: str, probability: float, tolerance: float) -> None:
    probabilities = run.last_logits.softmax(-1)
    found = float(probabilities.max())
    best = lm.vocabulary.bytes_of(int(probabilities.argmax())).decode("utf-8", errors="replace")
    tolerance = tolerance if lm.dtype == "float32" else 20 * tolerance
    if best != label or abs(found - probability) > tolerance:
        raise ModelUnavailable(
            f"{lm.title} answers 'The capital of France is' with {best!r} at {found:.4f}, not {label!r} at "
            f"{probability:.4f}: its files are damaged. Remove the prepared copy and start again."
        )


def _additions_add_up(run: Trace) -> bool:
    before, after = torch.stack(run.streams[:-1]), torch.stack(run.streams[1:])
    added = torch.stack(run.attention_added) + torch.stack(run.feed_forward_added)
    return torch.allclose(before + added, after, atol=_tolerance(run.model) * float(after.abs().max()), rtol=0)


def _tolerance(lm: LanguageModel) -> float:
    """Relative rounding to allow: a few hundred times the dtype's own step."""
    return 300 * torch.finfo(DTYPES.get(lm.dtype, torch.float32)).eps
