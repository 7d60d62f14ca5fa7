"""Bytes and operations by formula, the published shapes and machines, and whether they fit together.

Bytes are compared exactly; operations are compared exactly with what torch counts.
"""

import csv
import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode
from transformers import DynamicCache

from model import SettingRefused, published
from model.architecture import architecture_of
from model.cost import LARGEST, beyond, kv_bytes, kv_values, stored_bits, weight_bytes, with_kv_heads, work
from model.deployment import PCI_EXPRESS, fit, offload_seconds
from model.published import architectures, gpus, notes, read_architecture, read_gpu
from tests import tiny

with (Path(__file__).parents[1] / "data" / "kv_reference.csv").open(encoding="utf-8", newline="") as file:
    REFERENCE = list(csv.DictReader(file))
#: Families of the tiny models with no window in any layer, and with one in some or all.
GLOBAL = [name for name in tiny.FAMILIES if "gemma" not in name and "window" not in name]
WINDOWED = [name for name in tiny.FAMILIES if name not in GLOBAL]


def table(name: str) -> list[dict[str, str]]:
    with (published.DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# The cache


@pytest.mark.parametrize("row", REFERENCE, ids=lambda row: f"{row['architecture']}, {row['tokens']} tokens")
def test_d20_published_cache_sizes_are_reproduced_to_the_byte(row):
    """D20: bytes per token, and whole caches as papers and logs state them."""
    shape = architectures()[row["architecture"]]
    tokens, value, requests = int(row["tokens"]), int(row["bytes_per_value"]), int(row["requests"])
    assert kv_bytes(shape, tokens, value, requests) == int(row["cache_bytes"])


@pytest.mark.parametrize("row", table("architectures.csv"), ids=lambda row: row["name"])
def test_d20_bytes_a_token_of_every_published_shape(row):
    """D20: counted by KV heads; windows do not matter to a single token."""
    assert kv_bytes(architectures()[row["name"]], 1) == int(row["kv_bytes_per_token_16bit"])


@pytest.mark.parametrize(
    ("name", "fp32", "by_query_heads"),
    [("SmolLM2-135M", 46_080, 138_240), ("GPT-2 small", 73_728, 73_728), ("TinyLlama-1.1B", 45_056, 360_448)],
)
def test_d20_kv_heads_are_counted_and_not_query_heads(name, fp32, by_query_heads):
    """D20: counting query heads would give three and eight times too much."""
    shape = architectures()[name]
    assert kv_bytes(shape, 1, 4) == fp32 and kv_bytes(shape, 1, 2) == fp32 // 2
    assert kv_bytes(with_kv_heads(shape, shape.query_heads), 1, 4) == by_query_heads


def test_d22_fewer_bits_before_scales():
    """D22: 11,520 and 5,760 bytes a token of SmolLM2 at 8 and 4 bits; the weights are another matter."""
    shape = architectures()["SmolLM2-135M"]
    assert [kv_bytes(shape, 1, bits / 8) for bits in (8, 4, 2)] == [11_520, 5_760, 2_880]
    assert weight_bytes(shape, 4) == shape.parameters / 2


@pytest.mark.parametrize(
    ("bits", "group", "scale", "zero", "expected"),
    [(8, 64, 32, 32, 9.0), (4, 64, 32, 32, 5.0), (2, 64, 32, 32, 3.0), (4, 32, 16, 16, 5.0), (4, 8, 32, 32, 12.0)],
)
def test_a_stored_value_pays_its_part_of_scale_and_zero(bits, group, scale, zero, expected):
    assert stored_bits(bits, group, scale, zero) == expected


@pytest.mark.parametrize("group", [0, -64, 1.5])
def test_a_group_has_at_least_one_value(group):
    with pytest.raises(SettingRefused, match="values in a group"):
        stored_bits(4, group)


@pytest.mark.parametrize("shape", architectures().values(), ids=lambda shape: shape.name)
def test_d08_windows_flatten(shape):
    """D08: beyond the window only layers without one grow; without a window growth never ends."""
    a_token = kv_values(shape, 1)
    for tokens in (1, 100, 50_000, 1_000_000):
        held = [kv_values(shape, count) for count in (tokens, tokens + 1)]
        flat = shape.windowed_layers if shape.sliding_window and tokens >= shape.sliding_window else 0
        assert held[1] - held[0] == a_token // shape.layers * (shape.layers - flat)
    assert kv_values(shape, 0) == 0


def test_latent_attention_keeps_one_vector_a_layer():
    shape = architectures()["DeepSeek-V3"]
    assert kv_values(shape, 1) == 61 * (512 + 64)
    assert kv_values(shape, 1) == kv_values(replace(shape, kv_heads=1), 1)  # heads are no part of it
    without = replace(shape, latent_size=None)
    assert kv_values(without, 1) == 61 * 2 * 128 * 128


@settings(deadline=None)
@given(tokens=st.integers(0, 10_000), requests=st.integers(1, 1_000), bits=st.sampled_from([2, 4, 8, 16, 32]))
def test_caches_are_proportional_to_requests_and_bits(tokens, requests, bits):
    shape = architectures()["Gemma-2-9B"]
    assert kv_bytes(shape, tokens, bits / 8, requests) * 8 == kv_values(shape, tokens) * bits * requests


def test_sharing_kv_heads():
    shape = architectures()["Llama-3.1-8B"]
    assert [kv_bytes(with_kv_heads(shape, heads), 1) for heads in (32, 8, 1)] == [524_288, 131_072, 16_384]
    assert with_kv_heads(shape, 8) == shape
    with pytest.raises(SettingRefused, match="32 query heads cannot share 5 KV heads evenly"):
        with_kv_heads(shape, 5)
    with pytest.raises(SettingRefused, match="cannot share 64"):
        with_kv_heads(shape, 64)


NO_SIZES = [0, -1, 10**13, LARGEST + 1, 1.0, 2.5, True, math.nan, "5", None]


@pytest.mark.parametrize("wrong", NO_SIZES, ids=repr)
def test_what_is_no_size_is_refused(wrong):
    shape = architectures()["SmolLM2-135M"]
    if wrong != 0:  # an empty cache is a cache
        with pytest.raises(SettingRefused, match="number of tokens"):
            kv_bytes(shape, wrong)
        with pytest.raises(SettingRefused, match="number of cached positions"):
            work(shape, 1, wrong)
    with pytest.raises(SettingRefused, match="number of requests"):
        kv_bytes(shape, 5, requests=wrong)
    with pytest.raises(SettingRefused, match="number of positions"):
        work(shape, wrong)
    with pytest.raises(SettingRefused, match="number of requests"):
        work(shape, 1, requests=wrong)
    with pytest.raises(SettingRefused, match="number of KV heads"):
        with_kv_heads(shape, wrong)


@pytest.mark.parametrize("wrong", [0, -1, 9, math.nan, math.inf, "x", None, True], ids=repr)
def test_bytes_of_a_value_are_above_0_and_at_most_8(wrong):
    with pytest.raises(SettingRefused, match="at most 8 bytes"):
        kv_bytes(architectures()["SmolLM2-135M"], 5, wrong)


def test_the_largest_size_is_accepted():
    shape = architectures()["Llama-3.1-405B"]
    assert kv_bytes(shape, LARGEST, 2, LARGEST) == 516_096 * LARGEST**2


# Weights


def test_a_tied_table_is_counted_once():
    """GPT-2's last matrix is its first; transformers counts the same parameters."""
    module, lm = tiny.plain("gpt2"), tiny.explained("gpt2")
    assert lm.architecture.tied_embeddings
    assert weight_bytes(lm.architecture, 32) == 4 * module.num_parameters()
    untied = tiny.plain("llama, grouped KV heads")
    shape = architecture_of(untied)
    assert not shape.tied_embeddings and weight_bytes(shape, 16) == 2 * untied.num_parameters()


# Operations


@settings(deadline=None)
@given(computed=st.integers(1, 40), read=st.integers(0, 40), window=st.integers(1, 50))
def test_pairs_by_brute_force(computed, read, window):
    """Each computed position sees itself and those before, as far back as the window reaches."""
    shape = replace(architectures()["Gemma-2-9B"], layers=5, windowed_layers=3, sliding_window=window)
    everything = windowed = 0
    for query in range(read, read + computed):
        everything += len(range(query + 1))
        windowed += sum(query - key < window for key in range(query + 1))
    a_pair = 2 * 2 * shape.query_heads * shape.head_size  # query · key, and weight × value
    assert work(shape, computed, read).attention == a_pair * (2 * everything + 3 * windowed)


@settings(deadline=None)
@given(prompt=st.integers(1, 300), written=st.integers(0, 60), name=st.sampled_from(sorted(architectures())))
def test_with_the_cache_each_pair_is_worked_out_once(prompt, written, name):
    """Prefill and decodes together have the pairs, and the rows, of one pass over everything."""
    shape = architectures()[name]
    passes = [work(shape, prompt)] + [work(shape, 1, prompt + step) for step in range(written)]
    at_once = work(shape, prompt + written)
    assert sum(each.attention for each in passes) == at_once.attention
    assert sum(each.computed for each in passes) == at_once.computed
    last_matrix = 2 * shape.vocabulary_size * shape.hidden_size
    assert sum(each.matrices for each in passes) == at_once.matrices + written * last_matrix


@settings(deadline=None)
@given(prompt=st.integers(1, 300), written=st.integers(0, 60))
def test_without_the_cache_rows_are_a_staircase(prompt, written):
    """Pass k computes prompt + k rows again: the sum over the staircase, in closed form."""
    shape = architectures()["SmolLM2-135M"]
    passes = [work(shape, prompt + step, cached=False) for step in range(written + 1)]
    rows = (written + 1) * prompt + written * (written + 1) // 2
    assert sum(each.computed for each in passes) == rows
    inside = shape.parameters - shape.vocabulary_size * shape.hidden_size
    last_matrix = shape.vocabulary_size * shape.hidden_size
    assert sum(each.matrices for each in passes) == 2 * (inside * rows + last_matrix * (written + 1))
    assert all(each.written_bytes == each.read_bytes == 0 for each in passes)


@pytest.mark.parametrize("name", ["SmolLM2-135M", "Gemma-3-27B (text)"])
def test_what_a_longer_request_takes_beyond_a_shorter_one(name):
    """Where layers have windows, the cache of the tokens between is smaller than of as many by themselves."""
    shape = architectures()[name]
    operations, cache = beyond(shape, 3_000, 2_000, 4)
    assert operations == work(shape, 3_000).operations - work(shape, 2_000).operations
    assert cache == kv_bytes(shape, 3_000, 4) - kv_bytes(shape, 2_000, 4)
    assert (cache < kv_bytes(shape, 1_000, 4)) == bool(shape.windowed_layers)
    assert beyond(shape, 2_000, 3_000, 4) == (-operations, -cache)
    assert beyond(shape, 7, 7) == (0, 0)


def test_bytes_moved_by_a_pass():
    shape = architectures()["SmolLM2-135M"]
    prefill, decode = work(shape, 5), work(shape, 1, 5)
    assert (prefill.read_bytes, prefill.written_bytes) == (0, 5 * 46_080)
    assert (decode.read_bytes, decode.written_bytes) == (5 * 46_080, 46_080)
    assert prefill.weight_bytes == decode.weight_bytes == 4 * shape.parameters  # tied: the table is the last matrix
    assert prefill.bytes == prefill.weight_bytes + 5 * 46_080
    assert prefill.intensity == prefill.operations / prefill.bytes > decode.intensity


def test_requests_side_by_side_share_the_weights():
    shape = architectures()["Llama-3.1-8B"]
    one, many = work(shape, 1, 1_000), work(shape, 1, 1_000, requests=16)
    assert many.operations == 16 * one.operations and many.read_bytes == 16 * one.read_bytes
    assert many.weight_bytes == one.weight_bytes and many.intensity > one.intensity


def counted(module, ids: list[int], cache: DynamicCache | None = None) -> dict[str, int]:
    """What torch counts in a forward pass of which one row of logits is asked for, by kind of product."""
    with torch.inference_mode(), FlopCounterMode(display=False) as counter:
        module(torch.tensor([ids]), cache=cache, use_cache=cache is not None, logits_to_keep=1)
    flops = {str(kind): count for kind, count in counter.get_flop_counts()["Global"].items()}
    learned = sum(flops.pop(kind, 0) for kind in ("aten.mm", "aten.addmm"))
    between = sum(flops.pop(kind, 0) for kind in ("aten.bmm", "aten.baddbmm"))
    assert not flops
    return {"learned": learned, "between": between}


@pytest.mark.parametrize("family", tiny.FAMILIES)
def test_operations_equal_what_torch_counts(family):
    """Exactly, in transformers' own eager form, of one pass over n tokens with one row of logits.

    The products with learned matrices (mm, addmm) are ``work().matrices``. Those between positions
    (bmm) are a full square of n² pairs in each layer: eager attention works out what the mask then
    hides. The formula counts what is visible: n (n + 1) / 2
    pairs in a layer without a window, less in one with.
    """
    module, n = tiny.plain(family), 17
    shape = architecture_of(module)
    torchs, ours = counted(module, list(range(3, 3 + n))), work(shape, n)
    assert torchs["learned"] == ours.matrices
    square = 4 * shape.query_heads * shape.head_size * shape.layers * n * n
    assert torchs["between"] == square
    if family in GLOBAL:
        assert ours.attention * 2 * n == square * (n + 1)
    else:
        assert ours.attention * 2 * n < square * (n + 1)


@pytest.mark.parametrize("family", tiny.FAMILIES)
@pytest.mark.parametrize("prompt", [3, 17])
def test_operations_of_a_decode_equal_what_torch_counts(family, prompt):
    """Exactly: one query sees all keys that a layer has kept, so here nothing is hidden. Window 6."""
    module = tiny.plain(family)
    shape, cache = architecture_of(module), DynamicCache(config=module.config)
    counted(module, list(range(3, 3 + prompt)), cache)
    torchs, ours = counted(module, [5], cache), work(shape, 1, prompt)
    assert torchs["learned"] == ours.matrices
    assert torchs["between"] == ours.attention


# The tables


GOOD = next(row for row in table("architectures.csv") if row["name"] == "Mistral-7B-v0.1")
NUMBERS = [name for name in GOOD if name not in ("name", "tied_embeddings", "note", "source")]
OPTIONAL = {"intermediate", "sliding_window", "latent"}


def test_every_row_of_both_tables_is_usable_and_stands_once():
    shapes, machines = table("architectures.csv"), table("gpus.csv")
    assert list(architectures()) == list(notes()) == [row["name"] for row in shapes] and len(shapes) == 41
    assert list(gpus()) == [row["name"] for row in machines]
    assert all(machine.source for machine in gpus().values())


@pytest.mark.parametrize("field", [name for name in NUMBERS if name not in OPTIONAL])
def test_a_missing_number_is_refused_by_name(field):
    with pytest.raises(SettingRefused, match=f"'Mistral-7B-v0.1'.*'{field}'"):
        read_architecture({name: text for name, text in GOOD.items() if name != field})
    with pytest.raises(SettingRefused, match=f"'{field}'.*''"):
        read_architecture(GOOD | {field: ""})


@pytest.mark.parametrize("field", NUMBERS)
@pytest.mark.parametrize("text", ["abc", "-3", "1.5", "nan", "1e3"])
def test_what_is_no_whole_number_is_refused_by_name(field, text):
    with pytest.raises(SettingRefused, match=f"'{field}'.*'{text}' is not a whole number"):
        read_architecture(GOOD | {field: text})


@pytest.mark.parametrize("field", [name for name in NUMBERS if name != "local_layers"])
def test_zero_is_refused_by_name(field):
    with pytest.raises(SettingRefused, match=f"'{field}'.*'0'"):
        read_architecture(GOOD | {field: "0"})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"local_layers": "33"}, "33 layers with a window of 32 layers"),
        ({"local_layers": "0"}, "layers with a window need its length"),
        ({"sliding_window": ""}, "layers with a window need its length"),
        ({"kv_heads": "5"}, "32 query heads cannot share 5 KV heads"),
        ({"kv_heads": "16"}, "131072 bytes a token are stated, its sizes give 262144"),
        ({"latent": "576"}, "131072 bytes a token are stated, its sizes give 36864"),
        ({"params": "1000"}, "1000 parameters, its tables alone have 262144000"),
        ({"name": ""}, "no 'name'"),
        ({"tied_embeddings": ""}, "'tied_embeddings'"),
        ({"tied_embeddings": "yes"}, "'tied_embeddings'.*'yes'"),
    ],
    ids=str,
)
def test_a_row_that_contradicts_itself_is_refused(changes, sentence):
    with pytest.raises(SettingRefused, match=sentence):
        read_architecture(GOOD | changes)


@pytest.mark.parametrize(
    ("name", "reader", "read"),
    [("architectures.csv", read_architecture, architectures), ("gpus.csv", read_gpu, gpus)],
)
def test_a_name_that_stands_twice_is_refused(monkeypatch, name, reader, read):
    rows = table(name)
    monkeypatch.setattr(published, "_rows", lambda _: [*rows, rows[3]])
    with pytest.raises(SettingRefused, match=f"{rows[3]['name']}' more than once"):
        read.__wrapped__()


def test_machines_as_their_data_sheets_state_them():
    machine = gpus()["NVIDIA H100 SXM"]
    assert machine.operations == 989e12 and machine.bandwidth == 3350e9 and machine.memory == 80_000_000_000
    assert gpus()["Apple M1"].bandwidth == 68.25e9


@pytest.mark.parametrize("field", ["bf16_dense_tflops", "bandwidth_gb_s", "memory_gb"])
@pytest.mark.parametrize("text", ["", "fast", "0", "-1", "nan", "inf", None])
def test_a_machine_without_a_usable_number_is_refused_by_name(field, text):
    with pytest.raises(SettingRefused, match=f"'NVIDIA T4'.*'{field}'"):
        read_gpu(table("gpus.csv")[0] | {field: text})


def test_a_machine_without_a_source_is_refused():
    with pytest.raises(SettingRefused, match="no 'source'"):
        read_gpu(table("gpus.csv")[0] | {"source": ""})


# Does it fit?


@settings(deadline=None)
@given(
    name=st.sampled_from(sorted(architectures())),
    memory=st.integers(1, 2 * 10**12),
    tokens=st.integers(1, 200_000),
    weight_bits=st.sampled_from([4, 4.5, 8, 16, 32]),
    cache_bits=st.sampled_from([2, 4, 8, 16, 32]),
    overhead=st.integers(0, 10**10),
)
def test_parts_sum_to_the_memory_and_no_more_requests_would_fit(
    name, memory, tokens, weight_bits, cache_bits, overhead
):
    shape = architectures()[name]
    found = fit(shape, memory, tokens, weight_bits=weight_bits, cache_bits=cache_bits, overhead=overhead)
    assert found.weights + found.overhead + found.requests * found.a_request + found.left == found.memory == memory
    assert found.a_request == kv_bytes(shape, tokens, cache_bits / 8) and found.requests >= 0
    if found.weights + overhead <= memory:
        assert 0 <= found.left < found.a_request
    else:
        assert found.room < 0 and found.requests == 0 and found.left == found.room


def test_a_known_case():
    """Llama 3.1 8B in 16 bit on 80 GB: 61.9 GB are left, 57 requests of 8,192 tokens of 1 GiB."""
    memory = gpus()["NVIDIA H100 SXM"].memory
    found = fit(architectures()["Llama-3.1-8B"], memory, 8_192, weight_bits=16, cache_bits=16, overhead=2 * 10**9)
    assert found.weights == 16_060_522_496 and found.a_request == 2**30
    assert found.requests == (80_000_000_000 - 2_000_000_000 - 16_060_522_496) // 2**30 == 57


@pytest.mark.parametrize(
    "changes",
    [
        {"tokens": 0},
        {"tokens": -1},
        {"tokens": 10**13},
        {"tokens": 1.5},
        {"memory": 0},
        {"memory": -1},
        {"memory": math.nan},
        {"overhead": -1},
        {"weight_bits": 0},
        {"weight_bits": math.nan},
        {"cache_bits": 0},
        {"cache_bits": 65},
        {"cache_bits": math.nan},
    ],
    ids=str,
)
def test_what_cannot_be_shared_out_is_refused(changes):
    sizes = {"memory": 80 * 10**9, "tokens": 100, "weight_bits": 16, "cache_bits": 16, "overhead": 0} | changes
    with pytest.raises(SettingRefused):
        fit(architectures()["SmolLM2-135M"], **sizes)


def test_pci_express():
    """The three published rates, within 0.1 GB/s."""
    stated = {"PCIe 3.0 ×16": 15.75, "PCIe 4.0 ×16": 31.5, "PCIe 5.0 ×16": 63.0}
    assert {name: rate / 1e9 for name, rate in PCI_EXPRESS.items()} == pytest.approx(stated, abs=0.1)


def test_bringing_a_cache_in():
    assert offload_seconds(63_000_000_000, 31.5e9) == 2


@pytest.mark.parametrize("bandwidth", [0, -1.0, math.nan])
def test_a_cache_comes_in_over_no_slot_without_a_bandwidth(bandwidth):
    with pytest.raises(SettingRefused, match="more than zero bytes a second"):
        offload_seconds(1, bandwidth)
