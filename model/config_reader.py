"""A model's ``config.json``, pasted as text: its sizes, checked one by one. Nothing is fetched, opened or run.

The text is read as JSON and nothing else; what a field means in the common families is written
down here. Where sizes are enough, the parameters are worked out from them, matrix by matrix; a
mixture of experts is arranged in too many ways, so its parameters are asked for.
"""

from dataclasses import dataclass
from typing import Any

from model.architecture import Architecture
from model.config_families import parameters_of
from model.config_fields import Fields, read_object, shown
from model.errors import SettingRefused

MOST_PARAMETERS = 10**14

FULL, SLIDING = "full_attention", "sliding_attention"


@dataclass(frozen=True)
class ReadConfig:
    """What a configuration says.

    Attributes:
        shape: the architecture.
        active: parameters a token uses, where that is not all of them.
        notes: what was filled in, or left aside, and why; sentences.
    """

    shape: Architecture
    active: int | None
    notes: tuple[str, ...]


def read_config(text: str, parameters: int | None = None, active: int | None = None) -> ReadConfig:
    """Read a pasted configuration.

    Args:
        parameters, active: for a mixture of experts, whose parameters no formula here reaches: all
            of them, and those that one token uses.

    Raises:
        SettingRefused: a sentence naming the field that is missing, contradictory or no size.
    """
    fields = Fields(read_object(text))
    family = fields.family
    layers, heads, hidden = fields.size("layers"), fields.size("heads"), fields.size("hidden")
    kv_heads = _kv_heads(fields, heads)
    latent = _latent(fields)
    stated = fields.size("value_size" if latent else "head_size", optional=True)
    head_size = stated or _head_size(fields, hidden, heads)
    inner = fields.size("inner", optional=True) or _inner(fields, hidden)
    windowed, window = _windows(fields, layers)
    vocabulary, tied = fields.size("vocabulary"), fields.flag("tie_word_embeddings", family.tied)
    positions = fields.size("positions")
    experts = fields.size("experts", optional=True) or 0
    if experts > 1:
        parameters, active = _of_experts(fields, experts, parameters, active)
    elif latent:
        parameters, active = _given(fields.name_of("latent"), "latent attention", parameters, None)
    else:
        parameters, active = parameters_of(family, layers, heads, kv_heads, head_size, hidden, inner), None
        parameters += (1 if tied else 2) * vocabulary * hidden + fields.positions_table(positions) * hidden
        fields.notes.append(f"Parameters by formula from the sizes: {parameters:,}.")
    tables = (1 if tied else 2) * vocabulary * hidden
    if not tables < parameters <= MOST_PARAMETERS:
        raise SettingRefused(
            f"The configuration contradicts itself: {parameters:,} parameters, of which 'vocab_size' × 'hidden_size' "
            f"alone take {tables:,}; at most {MOST_PARAMETERS:,} are planned with."
        )
    shape = Architecture(
        name=fields.title,
        layers=layers,
        query_heads=heads,
        kv_heads=kv_heads,
        head_size=head_size,
        hidden_size=hidden,
        feed_forward_size=inner,
        vocabulary_size=vocabulary,
        positions=positions,
        parameters=parameters,
        position_encoding="",
        tied_embeddings=tied,
        sliding_window=window,
        windowed_layers=windowed,
        latent_size=latent,
    )
    return ReadConfig(shape, active, tuple(fields.notes))


def _kv_heads(fields: Fields, heads: int) -> int:
    """KV heads: stated, or one for all, or one for each query head."""
    stated = fields.size("kv_heads", optional=True)
    if fields.flag("multi_query", False) and not fields.flag("new_decoder_architecture", False):
        if stated not in (None, 0, 1, heads):
            raise SettingRefused(
                f"The configuration contradicts itself: 'multi_query' means one KV head, "
                f"'{fields.name_of('kv_heads')}' says {stated}."
            )
        return 1
    stated = stated or heads
    if heads % stated:
        raise SettingRefused(
            f"The configuration contradicts itself: '{fields.name_of('heads')}' {heads} cannot share "
            f"'{fields.name_of('kv_heads')}' {stated} evenly."
        )
    return stated


def _head_size(fields: Fields, hidden: int, heads: int) -> int:
    if hidden % heads:
        raise SettingRefused(
            f"The configuration contradicts itself: '{fields.name_of('hidden')}' {hidden} is no multiple of "
            f"'{fields.name_of('heads')}' {heads}, and 'head_dim' is missing."
        )
    return hidden // heads


def _inner(fields: Fields, hidden: int) -> int:
    if fields.family.four_times:
        return 4 * hidden
    raise SettingRefused("The field 'intermediate_size' is missing. Add it and paste again.")


def _latent(fields: Fields) -> int | None:
    """Numbers of the compressed vector of latent attention: its rank, and the part that is turned."""
    rank = fields.size("latent", optional=True)
    if not rank:
        return None
    return rank + fields.size("turned")


def _windows(fields: Fields, layers: int) -> tuple[int, int | None]:
    """How many layers have a window, and its length."""
    window = fields.size("window", optional=True)
    kinds = fields.value("layer_types")
    if kinds is not None:
        windowed = _kinds(kinds, layers)
    elif not window or not fields.flag("use_sliding_window", not fields.family.window_switch):
        windowed = 0
    elif (pattern := fields.size("pattern", optional=True)) or fields.family.every_other:
        windowed = layers - layers // (pattern or 2)
    elif (first := fields.value("max_window_layers")) is not None and fields.family.window_switch:
        windowed = layers - first if isinstance(first, int) and 0 <= first <= layers else 0
    else:
        windowed = layers
    if windowed and not window:
        raise SettingRefused("The field 'sliding_window' is missing, but 'layer_types' has layers with a window.")
    if window and not windowed:
        fields.notes.append(f"'sliding_window' {window} is stated, but no layer uses it.")
    elif windowed:
        fields.notes.append(f"{windowed} of {layers} layers keep at most {window:,} tokens ('sliding_window').")
    return (windowed, window) if windowed else (0, None)


def _kinds(kinds: Any, layers: int) -> int:
    """Layers with a window, counted in the list that names each layer's kind."""
    if not isinstance(kinds, list) or not all(isinstance(kind, str) for kind in kinds):
        raise SettingRefused("The field 'layer_types' must be a list of names, one a layer.")
    if len(kinds) != layers:
        raise SettingRefused(
            f"The configuration contradicts itself: 'layer_types' names {len(kinds)} layers, there are {layers}."
        )
    if unknown := sorted(set(kinds) - {FULL, SLIDING}):
        raise SettingRefused(
            f"The field 'layer_types' has {shown(unknown[0])}: only {FULL} and {SLIDING} are planned with."
        )
    return kinds.count(SLIDING)


def _of_experts(fields: Fields, experts: int, parameters: int | None, active: int | None) -> tuple[int, int]:
    """All parameters and those a token uses, of a mixture of experts."""
    used = fields.size("experts_used", optional=True)
    if used and used > experts:
        raise SettingRefused(
            f"The configuration contradicts itself: '{fields.name_of('experts_used')}' {used} of "
            f"'{fields.name_of('experts')}' {experts}."
        )
    name = f"a mixture of {experts} experts" + (f", of which a token uses {used}" if used else "")
    all_of_them, active = _given(fields.name_of("experts"), name, parameters, active)
    if not active:
        raise SettingRefused(f"This is {name}: say also how many parameters a token uses.")
    if active > all_of_them:
        raise SettingRefused(f"A token cannot use {active:,} of {all_of_them:,} parameters.")
    return all_of_them, active


def _given(field: str, what: str, parameters: int | None, active: int | None) -> tuple[int, int | None]:
    if not parameters:
        raise SettingRefused(
            f"This is {what} ('{field}'): its parameters cannot be worked out here from its sizes. Give them below."
        )
    return parameters, active
