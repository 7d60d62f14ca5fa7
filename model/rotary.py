"""Rotary position embedding (RoPE): order told by turning queries and keys.

After Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding", section
3.2. A query or key is taken two numbers at a time; each *pair* is a point in a plane and is
turned about the origin:

    angle(position, pair) = position × frequency(pair)
    x' = x·cos(angle) − y·sin(angle)
    y' = x·sin(angle) + y·cos(angle)

The product of a query turned for position i with a key turned for position j then depends on
i − j alone. Which two numbers make a pair differs between families, and some turn only a part of
the vector, so nothing is taken for granted: :func:`rotary_of` tries each known layout on a run of
the model itself.
"""

import math
from dataclasses import dataclass, replace

import torch

from model.attention import attention_scores
from model.language_model import LanguageModel
from model.tokens import Tokens
from model.tracing import Trace, as_tokens, tokenize

#: How far apart positions are carried in :func:`shifted_scores`.
LONGEST_SHIFT = 64

_PROBE_LENGTH = 6
_ROUNDING = {"float32": 1e-3, "float16": 2e-2, "bfloat16": 5e-2}


@dataclass(frozen=True)
class Rotary:
    """How one layer turns its queries and keys.

    Attributes:
        layout: ``half-split`` (number i with number i + pairs) or ``interleaved`` (2i with 2i + 1).
        frequencies: radians a position for each pair, float32 (pairs,).
        first, second: places of each pair's two numbers in a head's vector, (pairs,).
        scaling: factor on what was turned, 1 in most models (YaRN: Peng et al. 2023).
        head_size: numbers in a query or key; what is in no pair is left as it is.
        disagreement: largest relative difference when this was tried on the model.
    """

    layout: str
    frequencies: torch.Tensor
    first: torch.Tensor
    second: torch.Tensor
    scaling: float
    head_size: int
    disagreement: float = 0.0

    @property
    def pairs(self) -> int:
        return len(self.frequencies)

    @property
    def turned(self) -> int:
        """How many numbers of a vector are in a pair."""
        return 2 * self.pairs

    @property
    def partial(self) -> bool:
        """Whether a part of each vector is not turned."""
        return self.turned < self.head_size

    @property
    def slowest(self) -> int:
        """The slowest pair that turns at all; some models leave pairs unturned, with frequency 0."""
        return int(self.frequencies.masked_fill(self.frequencies <= 0, torch.inf).argmin())

    def degrees(self, pair: int) -> float:
        """How far ``pair`` turns from one position to the next, in degrees."""
        return math.degrees(float(self.frequencies[pair]))

    def whole_turn(self, pair: int) -> float:
        """How many positions ``pair`` needs for one whole turn."""
        return 360 / self.degrees(pair)


def half_split(frequencies: torch.Tensor, head_size: int, scaling: float = 1.0) -> Rotary:
    """The layout of Llama, Qwen, Mistral and Gemma: number i is paired with number i + pairs."""
    first = torch.arange(len(frequencies))
    return Rotary("half-split", frequencies, first, first + len(frequencies), scaling, head_size)


def interleaved(frequencies: torch.Tensor, head_size: int, scaling: float = 1.0) -> Rotary:
    """The layout of the paper, and of Cohere and GLM: number 2i is paired with number 2i + 1."""
    first = torch.arange(0, 2 * len(frequencies), 2)
    return Rotary("interleaved", frequencies, first, first + 1, scaling, head_size)


def angles(positions: int | list[int] | torch.Tensor, rotary: Rotary) -> torch.Tensor:
    """Angles in radians: positions × frequencies, (..., pairs) for positions (...)."""
    return torch.as_tensor(positions, dtype=torch.float32)[..., None] * rotary.frequencies


def spread(pairs: int, most: int) -> list[int]:
    """At most ``most`` of the pairs, evenly spread, the first and the last among them."""
    shown = min(pairs, most)
    return [round(i * (pairs - 1) / max(1, shown - 1)) for i in range(shown)]


@dataclass(frozen=True)
class Dials:
    """Some positions and pairs, to be drawn together, and how far each pair is turned there.

    Attributes:
        positions: the positions, in order.
        pairs: the pairs, in order.
        angles: radians, (positions, pairs).
    """

    positions: list[int]
    pairs: list[int]
    angles: torch.Tensor


def dials(rotary: Rotary, position: int, count: int, rows: int, columns: int) -> Dials:
    """At most ``rows`` neighbouring positions and ``columns`` pairs with their angles.

    Args:
        position: one that must be among them, in the middle where there is room.
        count: how many positions the text has.
    """
    first = max(0, min(position - rows // 2, count - rows))
    positions = list(range(first, min(first + rows, count)))
    pairs = spread(rotary.pairs, columns)
    return Dials(positions, pairs, angles(positions, rotary)[:, pairs])


def rotate(vectors: torch.Tensor, positions: int | torch.Tensor, rotary: Rotary) -> torch.Tensor:
    """Turn queries or keys for their positions (Su et al. 2021, equation 34).

    Args:
        vectors: (..., head size).
        positions: one for all vectors, or (...) to go with them.

    Returns:
        (..., head size), float32.
    """
    return _turned(vectors, angles(positions, rotary), rotary, rotary.scaling)


def unrotate(vectors: torch.Tensor, positions: int | torch.Tensor, rotary: Rotary) -> torch.Tensor:
    """Turn queries or keys back: what they were before :func:`rotate`, (..., head size)."""
    return _turned(vectors, -angles(positions, rotary), rotary, 1 / rotary.scaling)


@torch.inference_mode()
def _turned(vectors: torch.Tensor, by: torch.Tensor, rotary: Rotary, factor: float) -> torch.Tensor:
    vectors = vectors.float().cpu()
    shape = torch.broadcast_shapes(vectors.shape[:-1], by.shape[:-1])
    turned = vectors.expand(*shape, -1).clone()
    x, y = vectors[..., rotary.first], vectors[..., rotary.second]
    turned[..., rotary.first] = factor * (x * by.cos() - y * by.sin())
    turned[..., rotary.second] = factor * (x * by.sin() + y * by.cos())
    return turned


def probe_tokens(lm: LanguageModel) -> Tokens:
    """One token, several times over: the text on which :func:`rotary_of` tries the layouts.

    Whatever a layer mixes from equal vectors is that vector again, so with one token repeated all
    positions carry the same stream through all layers; their queries can differ by turning only.
    """
    return as_tokens(lm, [tokenize(lm, "a").ids[-1]] * _PROBE_LENGTH)


def rotary_of(probe: Trace, layer: int) -> Rotary | None:
    """How ``layer`` turns its queries and keys, tried on a run of the model.

    Args:
        probe: the trace of :func:`probe_tokens`.

    Returns:
        The layout with which the probe's queries and keys, turned back, agree at all positions;
        None if there is no such layout: another encoding, or a layer that does not turn.
    """
    module, head_size = probe.model.parts.rotary, probe.query(layer, 0).shape[-1]
    if module is None or 2 * len(module.inv_freq) > head_size:
        return None
    frequencies = module.inv_freq.detach().float().cpu()
    scaling = float(getattr(module, "attention_scaling", 1.0))
    for layout in (half_split, interleaved):
        rotary = layout(frequencies, head_size, scaling)
        off = _disagreement(probe, layer, rotary)
        if off <= _ROUNDING.get(probe.model.dtype, 1e-3):
            return replace(rotary, disagreement=off)
    return None


def _disagreement(probe: Trace, layer: int, rotary: Rotary) -> float:
    """Largest difference between positions after turning back, relative to the largest number."""
    record = probe.records[layer]
    vectors = torch.cat([record.query, record.key])
    back = unrotate(vectors, torch.arange(len(probe)), rotary)
    return float((back - back[:, :1]).abs().max() / back.abs().max())


@dataclass(frozen=True)
class RotaryPair:
    """Two numbers of one query, turned.

    Attributes:
        position: the query's position.
        pair: which pair.
        places: where its two numbers stand in the query.
        frequency: radians a position.
        angle: position × frequency, in radians.
        scaling: factor on the result, 1 in most models.
        before: (x, y) before turning.
        after: (x, y) turned, worked out here.
        recorded: (x, y) that the model's attention was given.
        projected: whether ``before`` was worked out anew from the layer's weights; else it is
            ``recorded`` turned back, and the comparison says nothing.
    """

    position: int
    pair: int
    places: tuple[int, int]
    frequency: float
    angle: float
    scaling: float
    before: tuple[float, float]
    after: tuple[float, float]
    recorded: tuple[float, float]
    projected: bool

    @property
    def degrees(self) -> float:
        return math.degrees(self.angle)

    @property
    def cos(self) -> float:
        return math.cos(self.angle)

    @property
    def sin(self) -> float:
        return math.sin(self.angle)

    @property
    def length(self) -> float:
        """Length of the pair before turning; turning keeps it, up to ``scaling``."""
        return math.hypot(*self.before)

    @property
    def difference(self) -> float:
        """Largest difference between what was worked out and what the model used."""
        return max(abs(a - b) for a, b in zip(self.after, self.recorded, strict=True))


def rotary_pair(trace: Trace, rotary: Rotary, layer: int, head: int, position: int, pair: int) -> RotaryPair:
    """Pair ``pair`` of the query at ``position``, before and after turning."""
    recorded = trace.query(layer, head)[position].float().cpu()
    turned_back = unrotate(recorded, position, rotary)
    before = projected_query(trace, layer, head, position)
    # A block may do more between projection and turning than is known here (clip, scale).
    projected = before is not None and bool((before - turned_back).abs().max() <= 0.05 * turned_back.abs().max())
    if not projected:
        before = turned_back
    places = (int(rotary.first[pair]), int(rotary.second[pair]))

    def at_places(vector: torch.Tensor) -> tuple[float, float]:
        return float(vector[places[0]]), float(vector[places[1]])

    return RotaryPair(
        position=position,
        pair=pair,
        places=places,
        frequency=float(rotary.frequencies[pair]),
        angle=float(angles(position, rotary)[pair]),
        scaling=rotary.scaling,
        before=at_places(before),
        after=at_places(rotate(before, position, rotary)),
        recorded=at_places(recorded),
        projected=projected,
    )


@torch.inference_mode()
def projected_query(trace: Trace, layer: int, head: int, position: int) -> torch.Tensor | None:
    """The query before turning, from the stream and the layer's own weights, (head size,).

    For blocks built like Llama's: normalise, project, in Qwen 3 and Gemma 3 normalise each head.
    None for others.
    """
    block = trace.model.parts.blocks[layer]
    attention = getattr(block, "self_attn", None)
    if not (hasattr(attention, "q_proj") and hasattr(block, "input_layernorm")):
        return None
    size = trace.query(layer, head).shape[-1]
    query = attention.q_proj(block.input_layernorm(trace.streams[layer][position]))
    if query.shape[-1] != size * trace.model.architecture.query_heads:
        return None  # a gate stands beside the queries
    query = query.unflatten(-1, (-1, size))[head]
    if (norm := getattr(attention, "q_norm", None)) is not None:
        if norm.weight.numel() != size:
            return None
        query = norm(query)
    return query.float().cpu()


def most_telling_pair(trace: Trace, rotary: Rotary, layer: int, head: int, position: int) -> int:
    """The longest pair among those that this position turns by 30° to 180°; 0 if none is."""
    query = trace.query(layer, head)[position].float().cpu()
    length = torch.hypot(query[rotary.first], query[rotary.second])
    turned = angles(position, rotary)
    visible = (turned >= torch.pi / 6) & (turned <= torch.pi)
    return int(length.masked_fill(~visible, -1).argmax()) if visible.any() else 0


@dataclass(frozen=True)
class ShiftedScores:
    """What a score would be if the same query and key stood elsewhere.

    Attributes:
        query, key: where they stand in the text.
        recorded: the score in the model's own run.
        shifts: s = 0, 1, 2, …, (shifts,).
        together: scores with both moved by s: the distance stays, float32 (shifts,).
        apart: scores with the query alone moved by s: the distance grows, float32 (shifts,).
    """

    query: int
    key: int
    recorded: float
    shifts: torch.Tensor
    together: torch.Tensor
    apart: torch.Tensor

    @property
    def deviation(self) -> float:
        """Largest difference from the first score when both move: rounding, in theory 0."""
        return float((self.together - self.together[0]).abs().max())

    @property
    def longest(self) -> int:
        """The largest shift."""
        return int(self.shifts[-1])

    @property
    def lowest(self) -> float:
        """Lowest score when the query moves alone."""
        return float(self.apart.min())

    @property
    def highest(self) -> float:
        """Highest score when the query moves alone."""
        return float(self.apart.max())

    @property
    def spread(self) -> float:
        """Highest minus lowest score when the query moves alone."""
        return float(self.apart.max() - self.apart.min())


@torch.inference_mode()
def shifted_scores(
    trace: Trace, rotary: Rotary, layer: int, head: int, query: int, key: int, longest: int = LONGEST_SHIFT
) -> ShiftedScores:
    """Scores of one real query and key, turned back and turned anew for other positions.

    The vectors stay as they are and only the turning changes, so this is RoPE's part alone: in a
    text with more words in front, later layers would also carry other vectors.
    """
    record, shifts = trace.records[layer], torch.arange(longest + 1)
    q, k = trace.query(layer, head)[query].float().cpu(), trace.key(layer, head)[key].float().cpu()
    plain_q, plain_k = unrotate(q, query, rotary), unrotate(k, key, rotary)
    moved_q, moved_k = rotate(plain_q, query + shifts, rotary), rotate(plain_k, key + shifts, rotary)

    def score(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        return attention_scores(queries[:, None], keys[:, None], record.scale, record.softcap).flatten()

    return ShiftedScores(
        query=query,
        key=key,
        recorded=score_in_run(trace, layer, head, query, key),
        shifts=shifts,
        together=score(moved_q, moved_k),
        apart=score(moved_q, k.expand_as(moved_q)),
    )


def strongest_other(trace: Trace, layer: int, head: int, query: int) -> int:
    """The key that the query looks at most, itself left aside; itself if there is no other."""
    weights = trace.attention(layer, head)[query, :query]
    return int(weights.argmax()) if query else 0


@torch.inference_mode()
def score_in_run(trace: Trace, layer: int, head: int, query: int, key: int) -> float:
    """The score of one query position with one key position, before the mask, as in the run."""
    record = trace.records[layer]
    q, k = trace.query(layer, head)[query, None].float(), trace.key(layer, head)[key, None].float()
    return float(attention_scores(q, k, record.scale, record.softcap))
