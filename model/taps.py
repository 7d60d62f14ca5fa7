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
from model.edits import Edit, heads_off, hide_keys
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

    With ``keep=False`` only the edits act and nothing is kept, as in generation.
    """

    edits: tuple[Edit, ...] = ()
    keep: bool = True
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
    edits = recorder.edits if recorder else ()
    if edits:
        attention_mask = _edited_mask(attention_mask, query.shape[2], key, edits)
    if softcap is None:
        output, _ = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout=dropout, scaling=scale, **kwargs
        )
    else:
        output = _capped_attention(query, key, value, attention_mask, scale, softcap)
    if recorder is None:
        return output, None
    off = heads_off(module.layer_idx, edits)
    if off:
        output[:, :, off] = 0.0
    if recorder.keep:
        recorder.attention[module.layer_idx] = AttentionRecord(
            query[0], key[0], value[0], scale, kwargs.get("sliding_window"), softcap
        )
    return output, None


def _edited_mask(mask: torch.Tensor | None, queries: int, key: torch.Tensor, edits: tuple[Edit, ...]) -> torch.Tensor:
    keys = key.shape[2]
    visible = visible_keys(queries, keys, device=key.device) if mask is None else mask[0, 0]
    return hide_keys(visible, edits)[None, None]


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
    parts.blocks[0].register_forward_pre_hook(_keep_input, with_kwargs=True)
    for layer, block in enumerate(parts.blocks):
        block.register_forward_hook(_keeper("streams", layer + 1))
        parts.attention_writer(block).register_forward_hook(_keeper("attention_added", layer))
        parts.feed_forward_writer(block).register_forward_hook(_keeper("feed_forward_added", layer))


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
