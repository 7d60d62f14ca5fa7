"""The shape of a model, in the words used everywhere in this project."""

from dataclasses import dataclass

import torch
from transformers import DynamicCache, PretrainedConfig, PreTrainedModel


@dataclass(frozen=True)
class Architecture:
    """The sizes that decide what a model computes and what it costs.

    Attributes:
        name: the architecture's name in its configuration, e.g. ``llama``.
        layers: number of blocks, each one attention and one feed-forward network.
        query_heads: heads that ask, in each layer.
        kv_heads: heads that are asked; ``query_heads`` is a multiple of it.
        head_size: numbers in one query, key or value vector.
        hidden_size: numbers in one vector of the residual stream.
        feed_forward_size: numbers inside a feed-forward network.
        vocabulary_size: rows of the embedding table, one a token ID.
        positions: the longest context the model was made for, in tokens.
        parameters: learned numbers, a tied embedding table counted once.
        position_encoding: ``"RoPE"``, ``"learned"`` or ``"other"``.
        tied_embeddings: whether the first and the last matrix are the same one.
        sliding_window: tokens a windowed layer can look back over, or None.
        windowed_layers: how many of the layers have that window; the others see everything.
        latent_size: numbers a token leaves in a layer's cache where keys and values are kept as one
            compressed vector (latent attention), else None.
        matrix_parameters: learned numbers in the matrices of the blocks, each used once a token;
            None where only published sizes are known.
    """

    name: str
    layers: int
    query_heads: int
    kv_heads: int
    head_size: int
    hidden_size: int
    feed_forward_size: int
    vocabulary_size: int
    positions: int
    parameters: int
    position_encoding: str
    tied_embeddings: bool
    sliding_window: int | None = None
    windowed_layers: int = 0
    latent_size: int | None = None
    matrix_parameters: int | None = None

    def kv_head_of(self, head: int) -> int:
        """The KV head that query head ``head`` reads: consecutive query heads share one."""
        return head // (self.query_heads // self.kv_heads)

    def query_heads_of(self, kv_head: int) -> range:
        """The query heads that share ``kv_head``."""
        group = self.query_heads // self.kv_heads
        return range(kv_head * group, (kv_head + 1) * group)


def architecture_of(module: PreTrainedModel) -> Architecture:
    """Read the architecture of an opened transformers model from its configuration."""
    config = module.config.get_text_config()
    heads = config.num_attention_heads
    table = module.get_input_embeddings().weight
    windowed = sum(layer.is_sliding for layer in DynamicCache(config=module.config).layers)
    return Architecture(
        name=config.model_type,
        layers=config.num_hidden_layers,
        query_heads=heads,
        kv_heads=getattr(config, "num_key_value_heads", None) or heads,
        head_size=getattr(config, "head_dim", None) or config.hidden_size // heads,
        hidden_size=config.hidden_size,
        feed_forward_size=_feed_forward_size(config),
        vocabulary_size=table.shape[0],
        positions=config.max_position_embeddings,
        parameters=sum(p.numel() for p in _unique(module)),
        position_encoding=_position_encoding(module),
        tied_embeddings=module.get_output_embeddings().weight.data_ptr() == table.data_ptr(),
        sliding_window=getattr(config, "sliding_window", None) if windowed else None,
        windowed_layers=windowed,
        matrix_parameters=_matrix_parameters(module),
    )


def _matrix_parameters(module: PreTrainedModel) -> int:
    """Numbers in the matrices of the blocks: all that is neither norm, bias, nor embedding table."""
    tables = {id(part.weight) for part in module.modules() if isinstance(part, torch.nn.Embedding)}
    tables.add(id(module.get_output_embeddings().weight))
    return sum(p.numel() for p in _unique(module) if p.dim() == 2 and id(p) not in tables)


def _unique(module: PreTrainedModel) -> list[torch.nn.Parameter]:
    return list(dict.fromkeys(module.parameters()))


def _feed_forward_size(config: PretrainedConfig) -> int:
    for name in ("intermediate_size", "n_inner", "ffn_dim"):
        if getattr(config, name, None):
            return getattr(config, name)
    return 4 * config.hidden_size  # GPT-2's convention when nothing is stated


def _position_encoding(module: PreTrainedModel) -> str:
    if any(name.endswith("inv_freq") for name, _ in module.named_buffers()):
        return "RoPE"
    names = {name.rsplit(".", 1)[-1] for name, _ in module.named_modules()}
    return "learned" if names & {"wpe", "embed_positions", "position_embeddings"} else "other"
