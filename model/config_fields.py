"""The fields of a pasted configuration, found by any of their names and checked one by one."""

import json
from collections.abc import Mapping
from typing import Any

from model.config_families import defaults_of, family_of
from model.errors import SettingRefused

#: Characters of a configuration; real ones have some thousand.
LONGEST_CONFIG = 100_000
LONGEST_NAME = 60

#: A size, the names it has in one family or another, and the most that anybody can mean.
NAMES = {
    "layers": (("num_hidden_layers", "n_layer", "n_layers", "num_layers"), 10_000),
    "heads": (("num_attention_heads", "n_head", "n_heads", "num_heads"), 10_000),
    "kv_heads": (("num_key_value_heads", "num_kv_heads", "n_head_kv"), 10_000),
    "head_size": (("head_dim",), 65_536),
    "hidden": (("hidden_size", "n_embd", "d_model"), 1_000_000),
    "inner": (("intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"), 10_000_000),
    "vocabulary": (("vocab_size",), 100_000_000),
    "positions": (("max_position_embeddings", "n_positions", "max_seq_len", "n_ctx", "seq_length"), 100_000_000),
    "window": (("sliding_window",), 1_000_000_000),
    "pattern": (("sliding_window_pattern",), 10_000),
    "latent": (("kv_lora_rank",), 1_000_000),
    "turned": (("qk_rope_head_dim",), 65_536),
    "value_size": (("v_head_dim",), 65_536),
    "experts": (
        ("num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts"),
        1_000_000,
    ),
    "experts_used": (("num_experts_per_tok", "experts_per_token", "moe_top_k"), 1_000_000),
}


def read_object(text: str) -> Mapping[str, Any]:
    """The JSON object; one for text inside one for several kinds of input is brought up."""
    if len(text) > LONGEST_CONFIG:
        raise SettingRefused(f"A configuration of {len(text):,} characters is too long; at most {LONGEST_CONFIG:,}.")
    try:
        found = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as problem:
        where = f" in line {problem.lineno}" if isinstance(problem, json.JSONDecodeError) else ""
        raise SettingRefused(f"This is not JSON as a config.json has it: it cannot be read{where}.") from problem
    if not isinstance(found, dict):
        raise SettingRefused("This is JSON, but no object with fields in braces, as a config.json is.")
    inside = found.get("text_config")
    return {**found, **inside} if isinstance(inside, dict) else found


def _no_constant(name: str) -> None:
    raise ValueError(name)


class Fields:
    """Fields of a configuration, by what they mean."""

    def __init__(self, found: Mapping[str, Any]):
        self.found = found
        self.notes: list[str] = []
        kind = found.get("model_type")
        self.kind = kind if isinstance(kind, str) else ""
        self.family = family_of(self.kind)
        self.defaults = defaults_of(self.kind)

    @property
    def title(self) -> str:
        name = self.found.get("_name_or_path") or self.kind
        return name[:LONGEST_NAME] if isinstance(name, str) and name.strip() else "pasted configuration"

    def value(self, name: str) -> Any:
        """A field as it stands; what its family leaves out because it is usual is filled in and said."""
        if self.found.get(name) is None and name in self.defaults:
            note = f"'{name}' is missing; {self.defaults[name]!r} is usual in this family and was taken."
            self.notes += [note] if note not in self.notes else []
            return self.defaults[name]
        return self.found.get(name)

    def name_of(self, what: str) -> str:
        """The name under which a size is given, or would be."""
        names = NAMES[what][0]
        return next((name for name in names if self.value(name) is not None), names[0])

    def size(self, what: str, optional: bool = False) -> int | None:
        """A whole number from 1 on, by any of its names."""
        names, most = NAMES[what]
        given = {name: self.value(name) for name in names if self.value(name) is not None}
        for name, value in given.items():
            least = 0 if optional else 1
            if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
                raise SettingRefused(
                    f"The field '{name}' must be a whole number from {least} to {most:,}, not {shown(value)}."
                )
        if len(set(given.values())) > 1:
            both = " and ".join(f"'{name}' {value}" for name, value in given.items())
            raise SettingRefused(f"The configuration contradicts itself: {both} are names of one size.")
        if not given and not optional:
            others = f" (or {', '.join(names[1:])})" if names[1:] else ""
            raise SettingRefused(f"The field '{names[0]}'{others} is missing. Add it and paste again.")
        return next(iter(given.values()), None)

    def flag(self, name: str, usual: bool) -> bool:
        """Yes or no."""
        value = self.value(name)
        if value is None:
            return usual
        if not isinstance(value, bool):
            raise SettingRefused(f"The field '{name}' must be true or false, not {shown(value)}.")
        return value

    def positions_table(self, positions: int) -> int:
        """Rows of a learned table of positions, where the family has one."""
        return positions + self.family.extra_positions if self.family.learned_positions else 0


def shown(value: Any) -> str:
    """A value in a sentence, cut short; a number with thousands of digits is not written out."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**20:
        return "a number of more than 20 digits"
    text = (
        json.dumps(value, ensure_ascii=False) if isinstance(value, bool | str | int | float) else type(value).__name__
    )
    return text[:40]
