"""One forward pass, kept: what every figure of a prompt is drawn from."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import torch

from model import edits as edits_module
from model.attention import PairArithmetic, attention_scores, attention_weights, visible_keys
from model.edits import Edit
from model.forward import forward
from model.language_model import LanguageModel
from model.taps import AttentionRecord
from model.tokens import Tokens, extended, tokenize_with


@dataclass(frozen=True, eq=False)
class Trace:
    """What one forward pass of one sequence computed. Nothing in it is ever written to.

    Memory grows with the number of tokens, not its square: attention weights and logits are
    worked out from what is kept, for the head and the position that somebody looks at.

    Attributes:
        tokens: the sequence.
        edits: what was broken in this run.
        streams: the residual stream as it enters layer 0 and as it leaves each layer, before any
            final normalisation; layers + 1 tensors (positions, hidden size).
        attention_added: what each layer's attention added to the stream, (positions, hidden size).
        feed_forward_added: what each feed-forward network added, (positions, hidden size).
        records: what each layer's attention was given.
        last_logits: the model's own logits at the last position, float32 (vocabulary size,).
    """

    model: LanguageModel = field(repr=False)
    tokens: Tokens
    edits: tuple[Edit, ...]
    streams: tuple[torch.Tensor, ...] = field(repr=False)
    attention_added: tuple[torch.Tensor, ...] = field(repr=False)
    feed_forward_added: tuple[torch.Tensor, ...] = field(repr=False)
    records: tuple[AttentionRecord, ...] = field(repr=False)
    last_logits: torch.Tensor = field(repr=False)

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def nbytes(self) -> int:
        """Bytes of all tensors kept, storage that several share counted once."""
        tensors = [*self.streams, *self.attention_added, *self.feed_forward_added, self.last_logits]
        for record in self.records:
            tensors += [record.query, record.key, record.value]
        storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
        return sum(storages.values())

    def query(self, layer: int, head: int) -> torch.Tensor:
        """Queries of one head, after position encoding, (positions, head size)."""
        return self.records[layer].query[head]

    def key(self, layer: int, head: int) -> torch.Tensor:
        """Keys that query head ``head`` reads, after position encoding, (positions, head size)."""
        return self.records[layer].key[self.model.architecture.kv_head_of(head)]

    def value(self, layer: int, head: int) -> torch.Tensor:
        """Values that query head ``head`` mixes, (positions, head size)."""
        return self.records[layer].value[self.model.architecture.kv_head_of(head)]

    def visible(self, layer: int) -> torch.Tensor:
        """Which key each query could see, (queries, keys), True where it could."""
        n = len(self)
        seen = visible_keys(n, n, self.records[layer].window, self.last_logits.device)
        return edits_module.edited_mask(seen, self.edits)

    @torch.inference_mode()
    def scores(self, layer: int, head: int) -> torch.Tensor:
        """Scaled scores of all pairs, before the mask, (queries, keys)."""
        record = self.records[layer]
        return attention_scores(self.query(layer, head), self.key(layer, head), record.scale, record.softcap)

    @torch.inference_mode()
    def attention(self, layer: int, head: int) -> torch.Tensor:
        """Attention weights, (queries, keys): rows sum to 1, exactly 0 where masked."""
        return attention_weights(self.scores(layer, head), self.visible(layer))

    @torch.inference_mode()
    def layer_attention(self, layer: int) -> torch.Tensor:
        """Attention weights of all heads of one layer, (query heads, queries, keys)."""
        record = self.records[layer]
        groups = record.query.shape[0] // record.key.shape[0]
        key = record.key.repeat_interleave(groups, dim=0)
        return attention_weights(attention_scores(record.query, key, record.scale, record.softcap), self.visible(layer))

    @torch.inference_mode()
    def head_output(self, layer: int, head: int) -> torch.Tensor:
        """What one head passes on: the values mixed by its weights, (positions, head size)."""
        if head in edits_module.heads_off(layer, self.edits):
            return torch.zeros_like(self.value(layer, head))
        value = self.value(layer, head)
        return self.attention(layer, head).to(value.dtype) @ value

    @torch.inference_mode()
    def attention_check(self, layer: int) -> tuple[float, float]:
        """Attention as it is shown here against what the model added to the stream.

        The heads' outputs are worked out from the weights shown, joined, put through the output
        projection, and compared with what the model itself added to the stream.

        Returns:
            The largest difference, and the largest value added, for scale.
        """
        heads = [self.head_output(layer, head) for head in range(self.model.architecture.query_heads)]
        ours = self.model.parts.project_heads(self.model.parts.blocks[layer], torch.cat(heads, dim=-1))
        added = self.attention_added[layer]
        return float((ours - added).abs().max()), float(added.abs().max())

    @torch.inference_mode()
    def pair(self, layer: int, head: int, query: int, key: int) -> PairArithmetic:
        """The arithmetic of one query position and one key position that it can see."""
        record, visible = self.records[layer], self.visible(layer)[query]
        if not visible[key]:
            raise ValueError(f"Position {query} cannot see position {key}: it is masked, so there is no weight.")
        q, k = self.query(layer, head)[query].float(), self.key(layer, head)[key].float()
        scores = self.scores(layer, head)[query].float()
        largest = scores[visible].max()
        exponentials = (scores - largest).exp()
        total = exponentials[visible].sum()
        return PairArithmetic(
            query=query,
            key=key,
            query_vector=q,
            key_vector=k,
            products=q * k,
            dot=float((q * k).sum()),
            scale=record.scale,
            score=float(scores[key]),
            largest=float(largest),
            exponential=float(exponentials[key]),
            total=float(total),
            weight=float(exponentials[key] / total),
            value_vector=self.value(layer, head)[key].float(),
            output=self.head_output(layer, head)[query].float(),
        )

    def logits(self, position: int) -> torch.Tensor:
        """The model's logits for the token after ``position``, float32 (vocabulary size,)."""
        if position in (-1, len(self) - 1):
            return self.last_logits
        return self.model.unembed(self.streams[-1][position])

    def lens(self, layer: int, position: int) -> torch.Tensor:
        """The logits if ``layer`` were the last one (−1: no layer at all), (vocabulary size,).

        The final normalisation is applied once, to the stream as it leaves the layer, so that
        the last layer gives the model's own answer (nostalgebraist 2020, "the logit lens").
        """
        if layer == self.model.architecture.layers - 1:
            return self.logits(position)
        return self.model.unembed(self.streams[layer + 1][position])

    @torch.inference_mode()
    def all_logits(self, block: int = 64) -> Iterable[torch.Tensor]:
        """Logits of all positions in order, ``block`` at a time, (≤ block, vocabulary size)."""
        for stream in self.streams[-1].split(block):
            yield self.model.unembed(stream)


def tokenize(lm: LanguageModel, text: str, specials: str = "text") -> Tokens:
    """The tokens of ``text`` as ``lm`` reads it; see :func:`model.tokens.tokenize_with`."""
    return tokenize_with(lm.tokenizer, lm.vocabulary, text, specials)


def as_tokens(lm: LanguageModel, text_or_ids: str | Tokens | Sequence[int]) -> Tokens:
    """Text, tokens or token IDs, as tokens."""
    if isinstance(text_or_ids, Tokens):
        return text_or_ids
    if isinstance(text_or_ids, str):
        return tokenize(lm, text_or_ids)
    return extended(Tokens("", ()), lm.vocabulary, [int(id) for id in text_or_ids])


@torch.inference_mode()
def trace(lm: LanguageModel, text_or_ids: str | Tokens | Sequence[int], edits: Iterable[Edit] = ()) -> Trace:
    """Run the model once and keep what it computed.

    Args:
        text_or_ids: a text, its tokens, or token IDs.
        edits: what to break in this run, and in no other.

    Raises:
        TextRefused: if there is nothing to run, or more than the model was made for.
        ModelBusy: if too many are waiting.
        ValueError: if an edit names what is not there.
    """
    tokens, edits = as_tokens(lm, text_or_ids), tuple(edits)
    lm.check_length(len(tokens))
    shape = lm.architecture
    edits_module.check(edits, shape, len(tokens))
    passed = forward(lm, [tokens.ids], edits=edits, record=True)
    recorder = passed.recorder
    layers = range(shape.layers)
    return Trace(
        model=lm,
        tokens=tokens,
        edits=edits,
        streams=tuple(recorder.streams[i] for i in range(shape.layers + 1)),
        attention_added=tuple(recorder.attention_added[i] for i in layers),
        feed_forward_added=tuple(recorder.feed_forward_added[i] for i in layers),
        records=tuple(recorder.attention[i] for i in layers),
        last_logits=passed.last,
    )
