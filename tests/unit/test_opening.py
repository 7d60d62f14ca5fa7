"""Opening models: kind e, and what is refused."""

import os
import threading
from pathlib import Path

import pytest
import torch

import model
from model import preparation
from model.registry import Listed, listed_model, listed_models, missing
from tests import tiny


@pytest.fixture
def saved(tmp_path) -> Path:
    """A tiny model in a folder, as an operator would name it."""
    tiny.plain("llama, grouped KV heads").save_pretrained(tmp_path / "tiny llama")
    tiny.tokenizer().save_pretrained(tmp_path / "tiny llama")
    return tmp_path / "tiny llama"


@pytest.mark.default_model
def test_e05_smoke_check_and_shape(default_model):
    shape = default_model.architecture
    assert (shape.layers, shape.query_heads, shape.kv_heads, shape.head_size, shape.hidden_size) == (30, 9, 3, 64, 576)
    assert shape.parameters == 134_515_008 and shape.tied_embeddings and shape.positions == 8192
    assert default_model.dtype == "float32" and "4 bits" in default_model.stored_as
    best = model.trace(default_model, "The capital of France is").last_logits.softmax(-1).max()
    assert float(best) == pytest.approx(0.7725, abs=0.001)


@pytest.mark.default_model
def test_e07_the_prepared_copy_is_float32_and_says_how_it_was_stored(default_model):
    folder = preparation.prepared_folder(listed_model(None))
    assert (folder / "model.safetensors").stat().st_size == pytest.approx(538_090_408, rel=0.001)
    assert {"tokenizer.json", "config.json", "chat_template.jinja"} <= {file.name for file in folder.iterdir()}


@pytest.mark.default_model
def test_d16_end_token(default_model):
    assert default_model.end_ids == {2}


def test_e10_a_folder_opens(saved):
    lm = model.open_model(str(saved))
    assert lm.architecture.kv_heads == 2 and lm.additions_add_up
    assert lm.key == "folder-tiny-llama"


def test_e10_a_model_in_the_hubs_cache_opens_without_the_hub(tmp_path, monkeypatch):
    """The cache's own layout, with a tiny GPT-2 in the place of the real one."""
    home = tmp_path / "models--openai-community--gpt2"
    snapshot = home / "snapshots" / "0123456789abcdef"
    (home / "refs").mkdir(parents=True)
    (home / "refs" / "main").write_text("0123456789abcdef")
    tiny.plain("gpt2").save_pretrained(snapshot)
    tiny.tokenizer().save_pretrained(snapshot)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    for name in ("gpt2", "openai-community/gpt2"):
        lm = model.open_model(name)
        assert lm.key == "gpt2" and lm.architecture.position_encoding == "learned"
    (snapshot / "model.safetensors").unlink()
    with pytest.raises(model.ModelUnavailable, match="not on this machine"):
        model.open_model("gpt2")


def test_e10_a_model_that_is_not_on_the_machine_says_where_it_was_looked_for():
    with pytest.raises(model.ModelUnavailable, match="openai-community/gpt2 was looked for in .*hub"):
        model.open_model("openai-community/gpt2")


@pytest.mark.parametrize(
    ("remove", "says"),
    [("config.json", "config.json"), ("tokenizer.json", "tokenizer"), ("model.safetensors", "safetensors")],
)
def test_a_folder_with_a_part_missing_says_which(saved, remove, says):
    (saved / remove).unlink()
    with pytest.raises(model.ModelUnavailable, match=says):
        model.open_model(str(saved))


def test_only_safetensors_are_opened(saved):
    (saved / "model.safetensors").unlink()
    torch.save({}, saved / "pytorch_model.bin")
    with pytest.raises(model.ModelUnavailable, match="Other weight files are not opened"):
        model.open_model(str(saved))


def test_e13_a_wrong_path_gets_a_sentence():
    with pytest.raises(model.ModelUnavailable, match="no model '/nowhere/model.gguf'"):
        model.open_model("/nowhere/model.gguf")


def test_e04_a_gguf_that_cannot_be_read_gets_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("EXPLAINER_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "odd.gguf"
    file.write_bytes(b"GGUF" + b"\x00" * 64)
    with pytest.raises(model.ModelUnsupported, match="cannot be read"):
        model.open_model(str(file))
    assert not list((tmp_path / "cache").glob("*odd*v[0-9]"))


def test_e04_a_gguf_of_an_unknown_architecture_is_named(tmp_path, monkeypatch):
    import gguf

    monkeypatch.setenv("EXPLAINER_CACHE", str(tmp_path / "cache"))
    writer = gguf.GGUFWriter(tmp_path / "odd.gguf", "neverheardof")
    writer.add_block_count(1)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(model.ModelUnsupported, match="neverheardof"):
        model.open_model(str(tmp_path / "odd.gguf"))


def test_d11_a_tokenizer_that_knows_more_than_the_model_is_refused(saved):
    bigger = tiny.tokenizer().__class__.from_pretrained(saved)
    bigger.add_tokens([f"word{number}" for number in range(200)])
    bigger.save_pretrained(saved)
    with pytest.raises(model.ModelUnsupported, match="not a pair"):
        model.open_model(str(saved))


def test_f07_an_architecture_whose_parts_are_unknown_is_named():
    from transformers import OPTConfig, OPTForCausalLM

    module = OPTForCausalLM(
        OPTConfig(vocab_size=tiny.VOCABULARY, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, ffn_dim=96)
    )
    with pytest.raises(model.ModelUnsupported, match="was not found: OPT"):
        model.from_parts(module, tiny.tokenizer())


def test_a_damaged_default_is_not_shown(saved, monkeypatch):
    """The smoke check compares the answer, not the file."""
    listed = Listed("smollm2", "a model", "folder", str(saved), expected=(" Paris", 0.7725, 0.001))
    with pytest.raises(model.ModelUnavailable, match="not shown"):
        model.open_model(listed)


def test_a_file_with_another_hash_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("EXPLAINER_CACHE", str(tmp_path / "cache"))
    file = tmp_path / "changed.gguf"
    file.write_bytes(b"GGUF")
    with pytest.raises(model.ModelUnavailable, match="not the file expected"):
        preparation.prepared_folder(Listed("x", "X", "gguf", str(file), sha256="0" * 64))


def test_an_unknown_dtype_is_refused():
    with pytest.raises(model.ModelUnsupported, match="float32"):
        model.open_model(dtype="int3")


def test_models_that_the_operator_names_are_listed(saved, monkeypatch):
    monkeypatch.setenv("EXPLAINER_MODELS", os.pathsep.join([str(saved), "/nowhere/a.gguf"]))
    listed = listed_models()
    assert list(listed)[0] == model.DEFAULT_KEY
    assert missing(listed["folder-tiny-llama"]) is None
    assert "no file" in missing(listed["file-a"])


def test_g02_many_threads_open_models_at_once(saved):
    """Eight threads, several rounds: every one gets a whole model."""
    failures = []

    def work():
        for _ in range(3):
            try:
                run = model.trace(model.open_model(str(saved)), [5, 6, 7])
                assert torch.isfinite(run.last_logits).all()
            except Exception as reason:
                failures.append(reason)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
