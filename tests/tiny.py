"""Tiny random models of several families, and a small tokenizer for them: no download, no disk."""

from functools import cache

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    Gemma2Config,
    Gemma2ForCausalLM,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

import model

VOCABULARY = 320
#: What the configurations of most families share.
SHAPE = {
    "vocab_size": VOCABULARY,
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "max_position_embeddings": 64,
}


def _llama(kv_heads: int) -> LlamaForCausalLM:
    return LlamaForCausalLM(LlamaConfig(**SHAPE, num_key_value_heads=kv_heads))


def _gpt2() -> GPT2LMHeadModel:
    return GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, n_embd=48, n_layer=3, n_head=6, n_positions=64))


def _gemma3() -> Gemma3ForCausalLM:
    # Queries and keys are normalised, and windowed layers turn by other angles than global ones.
    return Gemma3ForCausalLM(Gemma3TextConfig(**SHAPE, num_key_value_heads=2, head_dim=16, sliding_window=6))


def _gemma2() -> Gemma2ForCausalLM:
    # Soft-capped scores and logits, a window in every other layer, norms around both halves.
    return Gemma2ForCausalLM(Gemma2Config(**SHAPE, num_key_value_heads=2, head_dim=16, sliding_window=6))


FAMILIES = {
    "gpt2": _gpt2,
    "llama, all KV heads": lambda: _llama(6),
    "llama, grouped KV heads": lambda: _llama(2),
    "llama, a single KV head": lambda: _llama(1),
    "qwen2": lambda: Qwen2ForCausalLM(Qwen2Config(**SHAPE, num_key_value_heads=2)),
    "qwen3": lambda: Qwen3ForCausalLM(Qwen3Config(**SHAPE, num_key_value_heads=2, head_dim=16)),
    "gemma2": _gemma2,
    "gemma3": _gemma3,
    "mistral, window 6": lambda: MistralForCausalLM(MistralConfig(**SHAPE, num_key_value_heads=2, sliding_window=6)),
    "gpt-neox, parallel blocks": lambda: GPTNeoXForCausalLM(GPTNeoXConfig(**SHAPE, use_parallel_residual=True)),
}


@cache
def tokenizer() -> PreTrainedTokenizerFast:
    """Byte-level BPE of ``VOCABULARY`` pieces with a few merges, trained on a sentence."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    text = "the cat sat on the mat and the capital of France is the city on the river where the rivers meet " * 3
    backend.train_from_iterator([text], trainer)
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|end|>")


def plain(family: str) -> torch.nn.Module:
    """The family's model as transformers runs it, eager, the same weights at every call."""
    torch.manual_seed(0)
    module = FAMILIES[family]().eval().float()
    # Random weights as they come make attention almost even; larger ones make it look somewhere.
    with torch.no_grad():
        for parameter in module.parameters():
            if parameter.dim() > 1:
                parameter.mul_(4)
    module.set_attn_implementation("eager")
    return module


@cache
def explained(family: str) -> model.LanguageModel:
    """The same model, opened for explanation."""
    return model.from_parts(plain(family), tokenizer(), key=family, title=family)
