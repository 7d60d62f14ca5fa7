"""An opened model: everything an explanation needs, shared by all sessions, changed by none."""

from dataclasses import dataclass, field

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from model.architecture import Architecture
from model.errors import TextRefused
from model.parts import Parts, unembed
from model.pieces import Vocabulary
from model.queue import LINE, Turns


@dataclass(frozen=True, eq=False)
class LanguageModel:
    """A causal language model, opened.

    Attributes:
        key: short name, unique among the models offered.
        title: name for people.
        module: the transformers model, in inference mode, its attention observed.
        tokenizer: the transformers tokenizer that belongs to it.
        vocabulary: what the tokenizer's pieces stand for.
        architecture: its sizes.
        parts: where its parts are.
        device: where it computes, e.g. ``cpu``.
        dtype: what it computes in, e.g. ``float32``.
        stored_as: how the weights were stored, a phrase.
        licence: the weights' licence, a phrase, or an empty string.
        additions_add_up: whether stream + attention + feed-forward gave the next stream when the
            model was opened, so that the two additions may be shown.
        turns: the queue in front of the model; all models of this process use the same cores, so it is one.
    """

    key: str
    title: str
    module: PreTrainedModel = field(repr=False)
    tokenizer: PreTrainedTokenizerBase = field(repr=False)
    vocabulary: Vocabulary = field(repr=False)
    architecture: Architecture
    parts: Parts = field(repr=False)
    device: str
    dtype: str
    stored_as: str = ""
    licence: str = ""
    additions_add_up: bool = True
    turns: Turns = field(default=LINE, repr=False)

    @torch.inference_mode()
    def unembed(self, stream: torch.Tensor) -> torch.Tensor:
        """Logits for vectors of the residual stream; see :func:`model.parts.unembed`."""
        return unembed(self.module, self.parts, stream)

    @property
    def bytes_per_value(self) -> int:
        """Bytes of one number as the model computes: of a weight, and of a cached value."""
        return getattr(torch, self.dtype).itemsize

    @property
    def end_ids(self) -> frozenset[int]:
        """The control tokens with which the model ends an answer."""
        named = {self.tokenizer.eos_token_id}
        configured = getattr(self.module.generation_config, "eos_token_id", None)
        named |= set(configured) if isinstance(configured, list) else {configured}
        return frozenset(id for id in named if id is not None)

    def check_length(self, count: int, limit: int | None = None) -> None:
        """Raise :class:`TextRefused` unless ``count`` tokens can be run.

        Args:
            limit: a limit lower than the model's own, as the machine can bear.
        """
        if count == 0:
            raise TextRefused("There is no text to read. Type a few words, for example: The capital of France is")
        positions = self.architecture.positions
        if count > positions:
            raise TextRefused(
                f"The text has {count:,} tokens; {self.title} was made for at most {positions:,}. Shorten it."
            )
        if limit is not None and count > limit:
            raise TextRefused(f"The text has {count:,} tokens; this machine runs at most {limit:,}. Shorten it.")
