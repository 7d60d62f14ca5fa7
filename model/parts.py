"""Where each part of a model is, across families that name them differently."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import nn
from transformers import PreTrainedModel

from model.errors import ModelUnsupported

_BLOCKS = ("layers", "h", "blocks")
_FINAL_NORM = ("norm", "ln_f", "final_layer_norm", "final_layernorm", "norm_f")
_ATTENTION = ("self_attn", "attn", "attention", "self_attention")
_ATTENTION_NORM = ("input_layernorm", "ln_1", "self_attn_layer_norm", "ln_attn")
_FEED_FORWARD = ("mlp", "feed_forward", "ffn")
_OUTPUT_PROJECTION = ("o_proj", "c_proj", "dense", "out_proj")
_LEARNED_POSITIONS = ("wpe", "embed_positions", "position_embeddings")


@dataclass(frozen=True)
class Parts:
    """The modules an explanation points at.

    Attributes:
        embedding: the table that turns a token ID into a vector.
        learned_positions: the table that turns a position into a vector, or None.
        rotary: the module that works out RoPE's angles, the same in all layers, or None.
        turners: every module that works out angles; Gemma 3 has one with two sets of angles, which
            is no ``rotary``.
        blocks: the layers in order.
        final_norm: the normalisation after the last layer.
        unembedding: the matrix that turns a vector into logits.
    """

    embedding: nn.Embedding
    learned_positions: nn.Embedding | None
    rotary: nn.Module | None
    turners: tuple[nn.Module, ...]
    blocks: nn.ModuleList
    final_norm: nn.Module
    unembedding: nn.Linear

    def attention_writer(self, block: nn.Module) -> nn.Module:
        """The module whose output is what attention adds to the residual stream.

        Gemma 2 and 3, and OLMo 2, normalise that output before they add it.
        """
        sandwiched = hasattr(block, "post_feedforward_layernorm")
        return block.post_attention_layernorm if sandwiched else first_part(block, _ATTENTION, "attention")

    def project_heads(self, block: nn.Module, heads: torch.Tensor) -> torch.Tensor:
        """What attention adds to the stream, from its heads' outputs.

        Args:
            heads: (positions, query heads × head size).

        Returns:
            (positions, hidden size).
        """
        attention = first_part(block, _ATTENTION, "attention")
        added = first_part(attention, _OUTPUT_PROJECTION, "output projection")(heads)
        writer = self.attention_writer(block)
        return added if writer is attention else writer(added)

    def attention_norm(self, block: nn.Module) -> nn.Module | None:
        """The normalisation in front of attention, or None: OLMo 2 has none there."""
        return first_part(block, _ATTENTION_NORM)

    def feed_forward(self, block: nn.Module) -> nn.Module:
        """The feed-forward network."""
        return first_part(block, _FEED_FORWARD, "feed-forward network")

    def feed_forward_writer(self, block: nn.Module) -> nn.Module:
        """The module whose output is what the feed-forward network adds to the stream."""
        after = getattr(block, "post_feedforward_layernorm", None)
        return after if after is not None else self.feed_forward(block)


def _has_angles(part: nn.Module) -> bool:
    return any(name.endswith("inv_freq") for name, _ in part.named_buffers(recurse=False))


def parts_of(module: PreTrainedModel) -> Parts:
    """Find the parts of an opened transformers model.

    Raises:
        ModelUnsupported: naming the part that was not found.
    """
    decoder = module.base_model
    parts = Parts(
        embedding=module.get_input_embeddings(),
        learned_positions=first_part(decoder, _LEARNED_POSITIONS),
        rotary=next((part for part in decoder.modules() if hasattr(part, "inv_freq")), None),
        turners=tuple(part for part in decoder.modules() if _has_angles(part)),
        blocks=first_part(decoder, _BLOCKS, "list of layers"),
        final_norm=first_part(decoder, _FINAL_NORM, "final normalisation"),
        unembedding=module.get_output_embeddings(),
    )
    for block in parts.blocks:
        parts.attention_writer(block), parts.feed_forward_writer(block)
    return parts


def first_part(owner: nn.Module, names: Iterable[str], meaning: str | None = None) -> nn.Module | None:
    """The first of ``names`` that ``owner`` has; None, or a refusal that says what it is for, without one."""
    for name in names:
        found = getattr(owner, name, None)
        if isinstance(found, nn.Module):
            return found
    if meaning is None:
        return None
    raise ModelUnsupported(
        f"This model's {meaning} was not found: {type(owner).__name__} has none of {', '.join(names)}. "
        "Pick another model; the one that was open stays."
    )


def unembed(module: PreTrainedModel, parts: Parts, stream: torch.Tensor) -> torch.Tensor:
    """Logits that the model would give for vectors of the residual stream, in float32.

    The final normalisation is applied here, once.

    Args:
        stream: (..., hidden size), as it leaves a layer.

    Returns:
        (..., vocabulary size).
    """
    logits = parts.unembedding(parts.final_norm(stream)).float()
    softcap = getattr(module.config.get_text_config(), "final_logit_softcapping", None)
    return logits if softcap is None else softcap * torch.tanh(logits / softcap)
