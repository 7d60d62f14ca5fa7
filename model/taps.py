"""The one place where a run is observed and edited, in every architecture.

transformers lets a program register an attention function by name. Ours calls the same fast
kernel as ``sdpa`` and hands the queries, keys and values (after position encoding) to the
recorder of the run that is going on in this thread, if there is one. A few forward hooks, put on
once when the model is opened, hand over the residual stream and what is added to it.

The recorder is found through a ContextVar, never through the model: many sessions share one
model, and hooks put on for one run would record another's.
"""

from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import repeat_kv, sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

from model.attention import attention_scores, attention_weights, visible_keys
from model.edits import AttentionOff, Edits, FeedForwardOff, PositionsRemoved, change_mask, edited_mask, heads_off
from model.parts import Parts

ATTENTION_NAME = "explainer"


@dataclass(frozen=True)
class AttentionRecord:
    """What one layer's attention was given, the batch dimension taken off.

    Attributes:
        query: (query heads, positions, head size), after position encoding.
        key, value: (KV heads, positions, head size); keys after position encoding.
        scale: factor on query · key.
        window: tokens the layer can look back over, or None for all.
        softcap: bound on the scores, or None.
    """

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    scale: float
    window: int | None
    softcap: float | None


@dataclass
class Recorder:
    """Collects one forward pass of one sequence, layer by layer.

    Attributes:
        edits: what is broken in this run, in every row of the batch.
        keep: False if only the edits act and nothing is kept, as in generation.
        rows: more edits for each row of the batch, so that many can be tried in one pass; empty
            if there are none.
    """

    edits: Edits = ()
    keep: bool = True
    rows: tuple[Edits, ...] = ()
    attention: dict[int, AttentionRecord] = field(default_factory=dict)
    streams: dict[int, torch.Tensor] = field(default_factory=dict)
    attention_added: dict[int, torch.Tensor] = field(default_factory=dict)
    feed_forward_added: dict[int, torch.Tensor] = field(default_factory=dict)


_recorder: ContextVar[Recorder | None] = ContextVar("recorder", default=None)


@contextmanager
def recording(recorder: Recorder):
    """Let ``recorder`` observe and edit what this thread runs until the block ends."""
    token = _recorder.set(recorder)
    try:
        yield recorder
    finally:
        _recorder.reset(token)


def observed_attention(module, query, key, value, attention_mask, scaling=None, dropout=0.0, **kwargs):
    """Attention as transformers calls it: the fast kernel, observed and edited.

    Args:
        query: (batch, query heads, queries, head size).
        key, value: (batch, KV heads, keys, head size), the cached ones included.
        attention_mask: (batch, 1, queries, keys), True where visible, or None for plain causal.

    Returns:
        The heads' outputs, (batch, queries, query heads, head size), and None for the weights,
        which are worked out when somebody looks at them.
    """
    recorder = _recorder.get()
    softcap = kwargs.pop("softcap", None)
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    if recorder is not None:
        attention_mask = _edited_mask(attention_mask, query.shape[2], key, recorder)
    if softcap is None:
        output, _ = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scale, **kwargs
        )
    else:
        output = _capped_attention(query, key, value, attention_mask, scale, softcap)
    if recorder is None:
        return output, None
    for row, edits in _by_rows(recorder):
        if off := heads_off(module.layer_idx, edits):
            output[row, :, off] = 0.0
    if recorder.keep:
        recorder.attention[module.layer_idx] = AttentionRecord(
            query[0], key[0], value[0], scale, kwargs.get("sliding_window"), softcap
        )
    return output, None


def _by_rows(recorder: Recorder) -> list[tuple[slice | int, Edits]]:
    """Which rows of the batch each set of edits is for."""
    return [(slice(None), recorder.edits), *enumerate(recorder.rows)]


def _edited_mask(mask: torch.Tensor | None, queries: int, key: torch.Tensor, recorder: Recorder) -> torch.Tensor | None:
    """The mask once the edits have acted; as it was where none is about who sees whom."""
    if not any(change_mask(edits) for _, edits in _by_rows(recorder)):
        return mask
    visible = visible_keys(queries, key.shape[2], device=key.device) if mask is None else mask[0, 0]
    if not recorder.rows:
        return edited_mask(visible, recorder.edits)[None, None]
    return torch.stack([edited_mask(visible, recorder.edits + edits) for edits in recorder.rows])[:, None]


def _capped_attention(query, key, value, mask, scale, softcap):
    # The fast kernel cannot cap scores, so this is the eager formula.
    groups = query.shape[1] // key.shape[1]
    visible = visible_keys(query.shape[2], key.shape[2], device=key.device) if mask is None else mask
    scores = attention_scores(query, repeat_kv(key, groups), scale, softcap)
    weights = attention_weights(scores, visible).to(value.dtype)
    return (weights @ repeat_kv(value, groups)).transpose(1, 2).contiguous()


AttentionInterface.register(ATTENTION_NAME, observed_attention)
AttentionMaskInterface.register(ATTENTION_NAME, sdpa_mask)


def put_on(parts: Parts) -> None:
    """Put the permanent hooks on a model that has just been opened, once."""
    for turner in parts.turners:
        turner.register_forward_hook(_remove_turns)
    if parts.learned_positions is not None:
        parts.learned_positions.register_forward_hook(_remove_positions)
    parts.blocks[0].register_forward_pre_hook(_keep_input, with_kwargs=True)
    for layer, block in enumerate(parts.blocks):
        block.register_forward_hook(_keeper("streams", layer + 1))
        for writer, name, off in (
            (parts.attention_writer(block), "attention_added", AttentionOff(layer)),
            (parts.feed_forward_writer(block), "feed_forward_added", FeedForwardOff(layer)),
        ):
            writer.register_forward_hook(_silencer(off))  # before what is added is kept
            writer.register_forward_hook(_keeper(name, layer))


def _remove_turns(module, args, output):
    """RoPE as at position 0, which turns nothing.

    Some models make cosine and sine longer than 1, to scale what they turn: that stays.
    """
    recorder = _recorder.get()
    if recorder and PositionsRemoved() in recorder.edits:
        cosine, sine = output
        return (cosine.square() + sine.square()).sqrt(), torch.zeros_like(sine)
    return None


def _remove_positions(module, args, output):
    recorder = _recorder.get()
    return torch.zeros_like(output) if recorder and PositionsRemoved() in recorder.edits else None


def _silencer(off: AttentionOff | FeedForwardOff):
    def silence(module, args, output):
        recorder = _recorder.get()
        rows = [row for row, edits in _by_rows(recorder) if off in edits] if recorder else []
        if not rows:
            return None
        added = (output[0] if isinstance(output, tuple) else output).clone()
        for row in rows:
            added[row] = 0.0
        return (added, *output[1:]) if isinstance(output, tuple) else added

    return silence


def _keep_input(module, args, kwargs):
    recorder = _recorder.get()
    if recorder and recorder.keep:
        recorder.streams[0] = (args[0] if args else kwargs["hidden_states"])[0]


def _keeper(what: str, index: int):
    def keep(module, args, output):
        recorder = _recorder.get()
        if recorder and recorder.keep:
            getattr(recorder, what)[index] = (output[0] if isinstance(output, tuple) else output)[0]

    return keep
