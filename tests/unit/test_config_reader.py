"""Pasted configurations: real ones give the published sizes, anything else gives a sentence and never an error."""

import builtins
import contextlib
import json
import socket

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from model import SettingRefused
from model.config_fields import LONGEST_CONFIG, NAMES
from model.config_reader import read_config
from model.cost import kv_bytes
from model.published import active_parameters, architectures

LLAMA = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "max_position_embeddings": 131072,
    "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "vocab_size": 128256,
    "tie_word_embeddings": False, "rope_theta": 500000.0, "torch_dtype": "bfloat16",
}  # fmt: skip
GPT_OSS = {
    "model_type": "gpt_oss", "hidden_size": 2880, "intermediate_size": 2880, "head_dim": 64, "num_attention_heads": 64,
    "num_key_value_heads": 8, "num_hidden_layers": 24, "vocab_size": 201088, "max_position_embeddings": 131072,
    "sliding_window": 128, "layer_types": ["sliding_attention", "full_attention"] * 12, "num_local_experts": 32,
    "experts_per_token": 4, "num_experts_per_tok": 4, "tie_word_embeddings": False,
}  # fmt: skip
DEEPSEEK = {
    "model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048,
    "num_attention_heads": 128, "num_key_value_heads": 128, "num_hidden_layers": 61, "vocab_size": 129280,
    "max_position_embeddings": 163840, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128, "v_head_dim": 128, "n_routed_experts": 256, "num_experts_per_tok": 8,
    "tie_word_embeddings": False,
}  # fmt: skip

#: Published configurations by their fields, those that decide sizes; names as in the table of shapes.
REAL = {
    "GPT-2 small": {"model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12,
                    "n_positions": 1024, "n_inner": None, "vocab_size": 50257},
    "OPT-13B": {"model_type": "opt", "hidden_size": 5120, "num_attention_heads": 40, "num_hidden_layers": 40,
                "ffn_dim": 20480, "vocab_size": 50272, "max_position_embeddings": 2048},
    "Falcon-7B": {"model_type": "falcon", "hidden_size": 4544, "num_attention_heads": 71, "num_hidden_layers": 32,
                  "multi_query": True, "new_decoder_architecture": False, "vocab_size": 65024, "bias": False},
    "Llama-3.1-8B": LLAMA,
    "Mistral-7B-v0.1": LLAMA | {"model_type": "mistral", "max_position_embeddings": 32768, "sliding_window": 4096,
                                "vocab_size": 32000},
    "Mistral-7B-v0.3": LLAMA | {"model_type": "mistral", "max_position_embeddings": 32768, "sliding_window": None,
                                "vocab_size": 32768},
    "Qwen2.5-7B": {"model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944,
                   "max_position_embeddings": 131072, "max_window_layers": 28, "num_attention_heads": 28,
                   "num_hidden_layers": 28, "num_key_value_heads": 4, "sliding_window": 131072,
                   "use_sliding_window": False, "vocab_size": 152064, "tie_word_embeddings": False},
    "Qwen3-0.6B": {"model_type": "qwen3", "hidden_size": 1024, "intermediate_size": 3072, "head_dim": 128,
                   "max_position_embeddings": 40960, "num_attention_heads": 16, "num_hidden_layers": 28,
                   "num_key_value_heads": 8, "sliding_window": None, "vocab_size": 151936,
                   "tie_word_embeddings": True},
    "Gemma-2-9B": {"model_type": "gemma2", "head_dim": 256, "hidden_size": 3584, "intermediate_size": 14336,
                   "max_position_embeddings": 8192, "num_attention_heads": 16, "num_hidden_layers": 42,
                   "num_key_value_heads": 8, "sliding_window": 4096, "sliding_window_size": 4096,
                   "vocab_size": 256000},
    "Gemma-3-1B": {"model_type": "gemma3_text", "head_dim": 256, "hidden_size": 1152, "intermediate_size": 6912,
                   "max_position_embeddings": 32768, "num_attention_heads": 4, "num_hidden_layers": 26,
                   "num_key_value_heads": 1, "sliding_window": 512, "sliding_window_pattern": 6,
                   "vocab_size": 262144},
    "Gemma-3-27B (text)": {"model_type": "gemma3", "vision_config": {"hidden_size": 1152, "num_hidden_layers": 27},
                           "text_config": {"model_type": "gemma3_text", "head_dim": 128, "hidden_size": 5376,
                                           "intermediate_size": 21504, "num_attention_heads": 32,
                                           "num_hidden_layers": 62, "num_key_value_heads": 16,
                                           "sliding_window": 1024}},
    "Phi-3-mini-4k": {"model_type": "phi3", "hidden_size": 3072, "intermediate_size": 8192,
                      "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 32,
                      "sliding_window": 2047, "vocab_size": 32064, "max_position_embeddings": 4096,
                      "tie_word_embeddings": False},
}  # fmt: skip
EXPERTS = {"gpt-oss-20b": GPT_OSS, "DeepSeek-V3": DEEPSEEK}


def read(config: object, **given):
    return read_config(json.dumps(config), **given)


@pytest.mark.parametrize("name", REAL)
def test_real_configurations_give_the_published_sizes(name):
    """Parameters to the last one, by formula; the cache to the byte, at lengths within and beyond any window."""
    found, table = read(REAL[name]).shape, architectures()[name]
    assert found.parameters == table.parameters
    assert [kv_bytes(found, tokens) for tokens in (1, 1_000, 100_000)] == [
        kv_bytes(table, tokens) for tokens in (1, 1_000, 100_000)
    ]
    assert (found.layers, found.query_heads, found.kv_heads, found.head_size, found.windowed_layers) == (
        table.layers, table.query_heads, table.kv_heads, table.head_size, table.windowed_layers,
    )  # fmt: skip
    assert found.positions == table.positions and found.tied_embeddings == table.tied_embeddings


@pytest.mark.parametrize("name", EXPERTS)
def test_a_mixture_of_experts_is_asked_for_its_parameters(name):
    table, active = architectures()[name], active_parameters()[name]
    with pytest.raises(SettingRefused, match="mixture of .* experts"):
        read(EXPERTS[name])
    with pytest.raises(SettingRefused, match="how many parameters a token uses"):
        read(EXPERTS[name], parameters=table.parameters)
    with pytest.raises(SettingRefused, match="cannot use"):
        read(EXPERTS[name], parameters=table.parameters, active=2 * table.parameters)
    found = read(EXPERTS[name], parameters=table.parameters, active=active)
    assert found.active == active and found.shape.parameters == table.parameters
    assert [kv_bytes(found.shape, tokens) for tokens in (1, 100_000)] == [
        kv_bytes(table, tokens) for tokens in (1, 100_000)
    ]
    assert found.shape.latent_size == table.latent_size and found.shape.head_size == table.head_size


def test_what_was_filled_in_is_said():
    notes = read(REAL["Gemma-3-27B (text)"]).notes
    assert any("'vocab_size' is missing" in note for note in notes)
    assert any("52 of 62 layers" in note for note in notes)
    assert any("no layer uses it" in note for note in read(REAL["Qwen2.5-7B"]).notes)


NEEDED = ["num_hidden_layers", "num_attention_heads", "hidden_size", "intermediate_size", "vocab_size",
          "max_position_embeddings"]  # fmt: skip


@pytest.mark.parametrize("field", NEEDED)
def test_a_missing_field_is_named(field):
    with pytest.raises(SettingRefused, match=f"'{field}'.*missing"):
        read({name: value for name, value in LLAMA.items() if name != field})
    with pytest.raises(SettingRefused, match=f"'{field}'.*missing"):
        read(LLAMA | {field: None})


@pytest.mark.parametrize("field", [*NEEDED, "num_key_value_heads", "head_dim", "sliding_window", "kv_lora_rank"])
@pytest.mark.parametrize("value", [-1, 1.5, "32", True, [32], {}, 10**13, 10**400, 1e400, "<b>$x$</b>", 1e3])
def test_what_is_no_size_is_named(field, value):
    with pytest.raises(SettingRefused, match=f"'{field}' must be a whole number") as refused:
        read_config(json.dumps(LLAMA | {field: value}).replace("Infinity", "1e400"))
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"num_key_value_heads": 5}, "'num_attention_heads' 32 cannot share 'num_key_value_heads' 5"),
        ({"n_layer": 12}, "'num_hidden_layers' 32 and 'n_layer' 12 are names of one size"),
        ({"num_attention_heads": 30, "num_key_value_heads": 30}, "'hidden_size' 4096 is no multiple"),
        ({"multi_query": True}, "'multi_query' means one KV head"),
        ({"multi_query": "yes"}, "'multi_query' must be true or false"),
        ({"tie_word_embeddings": 1}, "'tie_word_embeddings' must be true or false"),
        ({"layer_types": ["full_attention"]}, "'layer_types' names 1 layers, there are 32"),
        ({"layer_types": ["sliding_attention"] * 32}, "'sliding_window' is missing"),
        ({"layer_types": ["linear_attention"] * 32}, "'layer_types' has \"linear_attention\""),
        ({"layer_types": "full"}, "'layer_types' must be a list"),
        ({"kv_lora_rank": 512}, "'qk_rope_head_dim' is missing"),
        ({"kv_lora_rank": 512, "qk_rope_head_dim": 64}, "'kv_lora_rank'.*cannot be worked out"),
        ({"num_local_experts": 4, "num_experts_per_tok": 8}, "'num_experts_per_tok' 8 of 'num_local_experts' 4"),
        ({"use_sliding_window": 3, "sliding_window": 5}, "'use_sliding_window' must be true or false"),
    ],
)  # fmt: skip
def test_contradictions_are_named(changes, sentence):
    with pytest.raises(SettingRefused, match=sentence):
        read(LLAMA | changes)


def test_parameters_that_the_tables_alone_exceed_are_refused():
    with pytest.raises(SettingRefused, match="alone take"):
        read(GPT_OSS, parameters=1_000_000, active=1_000)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "{", "[]", "3", '"x"', "null", "{'n_layer': 12}", "<html>", "{}", '{"a": NaN}', '{"a": Infinity}',
        "[" * 50_000, '{"a":' * 10_000, '{"n_layer": ' + "9" * 6_000 + "}", "\x00", "{" + "x" * 90_000,
        "__import__('os').system('true')", '{"text_config": 3}', "\ud83d",
    ],
    ids=lambda text: repr(text[:20]),
)  # fmt: skip
def test_what_is_no_configuration_gets_a_sentence(text):
    with pytest.raises(SettingRefused) as refused:
        read_config(text)
    assert len(str(refused.value)) < 300


def test_a_configuration_that_is_too_long_is_refused_unread(monkeypatch):
    monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("parsed"))
    for text in (json.dumps(LLAMA) + " " * LONGEST_CONFIG, "[" * 10_000_000):
        with pytest.raises(SettingRefused, match="too long"):
            read_config(text)


def test_a_field_that_is_given_twice_has_its_last_value():
    """As in every reader of JSON, transformers' too."""
    text = json.dumps(LLAMA).replace("{", '{"num_hidden_layers": "many", "num_hidden_layers": -1, ', 1)
    assert read_config(text).shape.layers == LLAMA["num_hidden_layers"]


@pytest.mark.parametrize("name", [*NAMES["layers"][0], "text_config", "layer_types", "model_type", "_name_or_path"])
@pytest.mark.parametrize("opening", ["[", '{"a":', '{"text_config":', '[{"layer_types":['])
def test_deep_nesting_anywhere_gives_a_sentence_or_a_shape(name, opening):
    closing = "".join({"[": "]", "{": "}"}[each] for each in reversed(opening) if each in "[{")
    for depth in (50, 900, 5_000):
        nested = opening * depth + "1" + closing * depth
        text = json.dumps({key: value for key, value in LLAMA.items() if key != name})[:-1] + f', "{name}": {nested}}}'
        with contextlib.suppress(SettingRefused):
            assert read_config(text).shape.layers == 32


def test_nothing_is_opened(monkeypatch):
    """Names of files, hubs and code in a configuration are just words."""

    def refuse(*_, **__):
        raise AssertionError("opened")

    monkeypatch.setattr(builtins, "open", refuse)
    monkeypatch.setattr(socket, "socket", refuse)
    hostile = LLAMA | {
        "_name_or_path": "../../etc/passwd", "auto_map": {"AutoConfig": "evil/code--configuration.Evil"},
        "trust_remote_code": True,
    }  # fmt: skip
    assert read(hostile).shape.name == "../../etc/passwd"


@pytest.mark.parametrize(("name", "shown"), [("x" * 500, "x" * 60), ("", "llama"), (3, "pasted configuration")])
def test_names_are_cut_and_are_only_text(name, shown):
    assert read(LLAMA | {"_name_or_path": name}).shape.name == shown


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
fields = st.sampled_from(
    sorted({name for names, _ in NAMES.values() for name in names})
    + ["model_type", "tie_word_embeddings", "layer_types", "use_sliding_window", "multi_query", "text_config",
       "max_window_layers", "_name_or_path"]
)  # fmt: skip


@settings(deadline=None, max_examples=300)
@given(st.dictionaries(fields, values | st.integers(1, 200), max_size=6), st.sampled_from([{}, *REAL.values()]))
def test_any_fields_give_a_shape_or_a_sentence(changes, base):
    try:
        found = read({**base, **changes}, parameters=10**12, active=10**9)
    except SettingRefused as refused:
        assert 10 < len(str(refused)) < 400
    else:
        assert found.shape.parameters > 0 and kv_bytes(found.shape, 1_000) > 0
        assert found.shape.query_heads % found.shape.kv_heads == 0


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=60) | values.map(lambda value: json.dumps(value)))
def test_any_text_gives_a_sentence(text):
    with pytest.raises(SettingRefused):
        read_config(text)
