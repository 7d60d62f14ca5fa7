"""What families of models leave unsaid in their configurations, and the parameters of their blocks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Family:
    """How a family builds its blocks.

    Attributes:
        gated: the feed-forward network has three matrices, else two.
        norms: norms in a block; ``norm_size`` numbers each for every number of the hidden vector.
        norm_size: 1 for a scale, 2 for a scale and a shift.
        biased: all matrices of a block have a bias.
        query_key_value_bias: only those of query, key and value have one.
        query_key_norm: queries and keys are normed, each by one scale of the head size.
        learned_positions: a table of positions is learned, with ``extra_positions`` rows more.
        tied: the first and last matrix are one where nothing is said.
        four_times: the feed-forward size is four hidden sizes where nothing is said.
        window_switch: a stated window counts only with ``use_sliding_window``.
        every_other: every other layer has the window where nothing is said.
    """

    gated: bool = True
    norms: int = 2
    norm_size: int = 1
    biased: bool = False
    query_key_value_bias: bool = False
    query_key_norm: bool = False
    learned_positions: bool = False
    extra_positions: int = 0
    tied: bool = False
    four_times: bool = False
    window_switch: bool = False
    every_other: bool = False


_PLAIN = Family(gated=False, norm_size=2, biased=True, tied=True, four_times=True)
_GPT2 = Family(gated=False, norm_size=2, biased=True, tied=True, four_times=True, learned_positions=True)
_QWEN2 = Family(query_key_value_bias=True, window_switch=True)
_GEMMA2 = Family(norms=4, tied=True, every_other=True)
_GEMMA3 = Family(norms=4, tied=True, query_key_norm=True)

FAMILIES = {
    "gpt2": _GPT2,
    "gpt_bigcode": _GPT2,
    "gpt_neo": _GPT2,
    "opt": Family(gated=False, norm_size=2, biased=True, tied=True, learned_positions=True, extra_positions=2),
    "bloom": _PLAIN,
    "gpt_neox": Family(gated=False, norm_size=2, biased=True),
    "gptj": Family(gated=False, norms=1, norm_size=2, four_times=True),
    "phi": Family(gated=False, norms=1, norm_size=2, biased=True),
    "starcoder2": Family(gated=False, norm_size=2, biased=True, tied=True),
    "falcon": Family(gated=False, norms=1, norm_size=2, tied=True, four_times=True),
    "mpt": Family(gated=False, norm_size=1, tied=True, four_times=True),
    "qwen2": _QWEN2,
    "qwen3": Family(query_key_norm=True, window_switch=True),
    "gemma": Family(tied=True),
    "gemma2": _GEMMA2,
    "gemma3_text": _GEMMA3,
    "gemma3": _GEMMA3,
    "cohere": Family(norms=1, tied=True),
    "cohere2": Family(norms=1, tied=True),
}

#: Fields that configurations of a family leave out where they have the family's usual value.
_GEMMA3_TEXT = {
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "vocab_size": 262_208,
    "max_position_embeddings": 131_072,
    "sliding_window": 4_096,
    "sliding_window_pattern": 6,
}
DEFAULTS: dict[str, Mapping[str, Any]] = {
    "gemma3_text": _GEMMA3_TEXT,
    "gemma3": _GEMMA3_TEXT,
    "falcon": {"max_position_embeddings": 2_048},
    "bloom": {"max_position_embeddings": 2_048},
}


def family_of(kind: str) -> Family:
    """The family by its ``model_type``; a name that is not listed is taken for one like Llama."""
    return FAMILIES.get(kind, Family())


def defaults_of(kind: str) -> Mapping[str, Any]:
    """What the family leaves out."""
    return DEFAULTS.get(kind, {})


def parameters_of(
    family: Family, layers: int, heads: int, kv_heads: int, head_size: int, hidden: int, inner: int
) -> int:
    """Learned numbers of all blocks and the last norm, without tables: matrices, biases, norms."""
    queries, keys = heads * head_size, kv_heads * head_size
    attention = hidden * (2 * queries + 2 * keys)
    network = (3 if family.gated else 2) * hidden * inner
    biases = 0
    if family.biased:
        biases = queries + 2 * keys + hidden + inner + hidden
    elif family.query_key_value_bias:
        biases = queries + 2 * keys
    norms = family.norms * family.norm_size * hidden + (2 * head_size if family.query_key_norm else 0)
    return layers * (attention + network + biases + norms) + family.norm_size * hidden
