"""Opening a model: from a name the operator listed to a :class:`LanguageModel`."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
from transformers.utils import logging as transformers_logging

from model import stored, taps
from model.architecture import architecture_of
from model.errors import ExplainerError, ModelUnavailable, ModelUnsupported
from model.language_model import LanguageModel
from model.parts import parts_of
from model.pieces import Vocabulary
from model.preparation import prepared_folder, withdrawn
from model.registry import Listed, listed_model
from model.room import check_memory
from model.tracing import Trace, tokenize, trace

#: dtypes offered: what the numbers are computed in.
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

_log = logging.getLogger(__name__)

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
        ModelUnavailable: the files are not here, or there is no room for them; says what is missing
            and where it was looked for.
        ModelUnsupported: the files are here, but damaged, or the architecture cannot be explained.
    """
    if dtype not in DTYPES:
        raise ModelUnsupported(f"The dtype {dtype!r} is not offered. Use one of: {', '.join(DTYPES)}.")
    listed = spec if isinstance(spec, Listed) else listed_model(spec)
    device = pick_device(device)
    folder = prepared_folder(listed)
    try:
        return _opened(listed, folder, device, dtype)
    except ExplainerError as reason:
        if not withdrawn(listed, folder):  # whole, or not ours to make again
            raise
        _log.warning("The prepared copy in %s has been altered and is made again: %s", folder, reason)
    return _opened(listed, prepared_folder(listed), device, dtype)


def _opened(listed: Listed, folder: Path, device: str, dtype: str) -> LanguageModel:
    with _said_in_a_sentence(listed, folder):
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


@contextmanager
def _said_in_a_sentence(listed: Listed, folder: Path) -> Iterator[None]:
    """What the libraries say of a model that they cannot build or run, for those who asked for it."""
    try:
        yield
    except ExplainerError:
        raise
    except stored.Damaged as reason:
        raise ModelUnsupported(
            f"{listed.title} cannot be opened: {reason}. Copy the model's files again, or pick another model; the one "
            "that was open stays."
        ) from reason
    except Exception as reason:  # of many kinds, long and for programmers: the log has all of it
        _log.warning("%s could not be opened from %s", listed.title, folder, exc_info=reason)
        raise ModelUnsupported(
            f"{listed.title} could not be built from the files in {folder}; the log says where it failed. Copy the "
            "model's files again, or pick another model; the one that was open stays."
        ) from reason


def _assembled(listed: Listed, folder: Path, device: str, dtype: str) -> LanguageModel:
    kind = stored.configuration(folder).get("model_type", "")
    if kind not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
        raise ModelUnsupported(
            f"{listed.title}: its config.json names {kind!r} as its model_type, and transformers knows no language "
            "model of that name. Pick another model; the one that was open stays."
        )
    check_memory(listed.title, stored.value_count(folder) * DTYPES[dtype].itemsize, device)
    transformers_logging.disable_progress_bar()
    local = {"local_files_only": True, "trust_remote_code": False}
    tokenizer = AutoTokenizer.from_pretrained(folder, **local)
    module, loading = AutoModelForCausalLM.from_pretrained(
        folder,
        dtype=DTYPES[dtype],
        use_safetensors=True,
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # else an error that does not name them
        **local,
    )
    absent = sorted(loading["missing_keys"]) + sorted(f"{key[0]} (in that size)" for key in loading["mismatched_keys"])
    _check_nothing_made_up(listed, folder, absent)
    return from_parts(
        module.to(device),
        tokenizer,
        key=listed.key,
        title=listed.title,
        stored_as=listed.stored_as,
        licence=listed.licence,
    )


def _check_nothing_made_up(listed: Listed, folder: Path, absent: list[str]) -> None:
    """transformers fills in weights that a file lacks with random numbers; those are nobody's to explain."""
    if absent:
        more = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
        raise ModelUnsupported(
            f"{listed.title}: of the weights that its config.json tells of, {absent[0]}{more} are missing in {folder}. "
            "Copy the model's files again, or pick another model; the one that was open stays."
        )


def _checked(lm: LanguageModel, listed: Listed) -> LanguageModel:
    """Run a sentence through the model, and compare what is shown with what the model says."""
    size, rows = len(lm.tokenizer), lm.architecture.vocabulary_size
    if size > rows:
        raise ModelUnsupported(
            f"{lm.title}: the tokenizer knows {size:,} tokens but the model has {rows:,} rows; they are not a pair."
        )
    run = trace(lm, tokenize(lm, "The capital of France is").ids[: lm.architecture.positions])
    if not torch.isfinite(run.last_logits).all():
        raise ModelUnsupported(
            f"{lm.title} answers with numbers that are none (NaN or infinity): its weights are damaged, or too large "
            f"for {lm.dtype}. Copy the model's files again, or pick another model; the one that was open stays."
        )
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
            f"{probability:.4f}, so it is not shown. Install the libraries in the versions of requirements.txt, "
            "then run: python -m model.prepare --check"
        )


def _additions_add_up(run: Trace) -> bool:
    before, after = torch.stack(run.streams[:-1]), torch.stack(run.streams[1:])
    added = torch.stack(run.attention_added) + torch.stack(run.feed_forward_added)
    return torch.allclose(before + added, after, atol=_tolerance(run.model) * float(after.abs().max()), rtol=0)


def _tolerance(lm: LanguageModel) -> float:
    """Relative rounding to allow: a few hundred times the dtype's own step."""
    return 300 * torch.finfo(DTYPES.get(lm.dtype, torch.float32)).eps
