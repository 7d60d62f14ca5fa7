"""Folders that are no model, or not a whole one: through the program, and on the page."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from streamlit.testing.v1 import AppTest

import model
from tests import tiny
from tests.faults.conftest import config, cut, saved, written

WEIGHTS = "model.safetensors"


def emptied(folder: Path) -> None:
    for file in folder.iterdir():
        file.unlink()


def pickled(folder: Path) -> None:
    (folder / WEIGHTS).unlink()
    torch.save(tiny.plain("gpt2").state_dict(), folder / "pytorch_model.bin")


def in_shards(folder: Path) -> None:
    shutil.rmtree(folder)
    saved(folder, max_shard_size="100KB")


def without_a_shard(folder: Path) -> None:
    in_shards(folder)
    next(folder.glob("model-00002-*")).unlink()


def index_cut(folder: Path) -> None:
    in_shards(folder)
    cut("model.safetensors.index.json")(folder)


def with_tensors(change: Callable[[dict[str, torch.Tensor]], None]) -> Callable[[Path], None]:
    def broken(folder: Path) -> None:
        tensors = load_file(folder / WEIGHTS)
        change(tensors)
        save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})

    return broken


def more_words(folder: Path) -> None:
    bigger = tiny.tokenizer().__class__.from_pretrained(folder)
    bigger.add_tokens([f"word{number}" for number in range(200)])
    bigger.save_pretrained(folder)


MATRIX = "model.layers.0.mlp.down_proj.weight"

#: What is broken → how, and words of the sentence.
FAULTS = {
    "an empty folder": (emptied, "config.json, the configuration, is missing"),
    "pickled weights only": (pickled, "Other weight files are not opened"),
    "a shard is missing": (without_a_shard, "names model-00002-of-00004.safetensors, which is missing"),
    "the index is cut": (index_cut, "model.safetensors.index.json in .* cannot be read"),
    "weights under another name": (lambda folder: (folder / WEIGHTS).rename(folder / "a.safetensors"), "neither"),
    "weights cut": (cut(WEIGHTS), "bytes where its head tells of"),
    "weights empty": (written(WEIGHTS, ""), "not a whole safetensors file"),
    "weights are a text": (written(WEIGHTS, "version https://git-lfs " * 9), "not a whole safetensors file"),
    "a matrix is missing": (with_tensors(lambda tensors: tensors.pop(MATRIX)), f"{MATRIX} are missing"),
    "not a number": (with_tensors(lambda tensors: tensors[MATRIX].fill_(float("nan"))), "NaN"),
    "config.json is empty": (written("config.json", ""), "config.json is not JSON"),
    "config.json is no JSON": (written("config.json", "{'layers': 3}"), "config.json is not JSON"),
    "config.json is deep": (written("config.json", "[" * 200_000), "config.json is not JSON"),
    "config.json is a list": (written("config.json", "[1]"), "no object"),
    "config.json names nothing": (written("config.json", "{}"), "names '' as its model_type"),
    "an unknown architecture": (config(model_type="neverheard"), "names 'neverheard' as its model_type"),
    "no language model": (config(model_type="clip"), "names 'clip' as its model_type"),
    "a negative size": (config(hidden_size=-48), "has -48 as hidden_size, which must be above zero"),
    "no layers": (config(num_hidden_layers=0), "has 0 as num_hidden_layers"),
    "no positions": (config(max_position_embeddings=-3), "has -3 as max_position_embeddings"),
    "a size in words": (config(hidden_size="wide"), "could not be built"),
    "another size": (config(hidden_size=96), "lm_head.weight .in that size. and .* more are missing"),
    "more layers than weights": (config(num_hidden_layers=5), "model.layers.3.* more are missing"),
    "tokenizer.json cut": (cut("tokenizer.json"), "could not be built"),
    "tokenizer.json is a list": (written("tokenizer.json", "[]"), "could not be built"),
    "another model's tokenizer": (more_words, "they are not a pair"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_folder_is_refused_with_a_sentence(folder, fault, caplog):
    breaks, says = FAULTS[fault]
    breaks(folder)
    with pytest.raises(model.ExplainerError, match=says) as told:
        model.open_model(str(folder))
    sentence = str(told.value)
    assert "\n" not in sentence and "Error" not in sentence and "Traceback" not in sentence
    if "the log says" in sentence:
        assert any(record.exc_info for record in caplog.records)


def test_a_model_in_shards_opens(folder):
    in_shards(folder)
    assert len(list(folder.glob("*.safetensors"))) == 4
    assert model.open_model(str(folder)).additions_add_up


def test_a_model_of_few_positions_opens(folder):
    config(max_position_embeddings=4)(folder)
    assert model.open_model(str(folder)).architecture.positions == 4


def test_a_half_fetched_model_of_the_hub_is_not_there(tmp_path, monkeypatch):
    """So that the command to fetch it goes on where it was broken off."""
    home = tmp_path / "models--openai-community--gpt2"
    snapshot = saved(home / "snapshots" / "0123456789abcdef", max_shard_size="100KB")
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text("0123456789abcdef")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert model.missing(model.listed_models()["gpt2"]) is None
    next(snapshot.glob("model-00003-*")).unlink()
    with pytest.raises(model.ModelUnavailable, match="python -m model.prepare gpt2"):
        model.open_model("gpt2")


@pytest.fixture
def page(tmp_path, monkeypatch) -> AppTest:
    """The tokens page on a sound model, with one broken in every way beside it."""
    folders = [saved(tmp_path / "sound")]
    for number, (breaks, _) in enumerate(FAULTS.values()):
        folders.append(Path(shutil.copytree(folders[0], tmp_path / f"fault-{number}")))
        breaks(folders[-1])
    monkeypatch.setenv("EXPLAINER_MODELS", os.pathsep.join(map(str, folders)))
    opened = AppTest.from_file("../../app.py", default_timeout=120).switch_page("pages/tokens.py")
    opened.query_params["model"] = "folder-sound"
    return opened.run()


def test_on_the_page_the_sentence_is_shown_and_the_model_that_was_open_stays(page):
    choice = page.selectbox(key="widget_model")
    assert not page.exception and not page.warning and choice.value == "folder-sound"
    for number, (name, (_, says)) in enumerate(FAULTS.items()):
        page.selectbox(key="widget_model").set_value(f"folder-fault-{number}").run()
        assert not page.exception and not page.error, name
        (warning,) = page.warning
        told = warning.value.replace("\\", "")
        assert told.startswith(f"fault-{number}") and re.search(says, told), told
        assert page.selectbox(key="widget_model").value == "folder-sound", name
        assert page.session_state.view.model == "folder-sound"
        assert page.title[0].value == "What does the model read?"
