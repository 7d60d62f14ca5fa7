"""From token IDs to vectors: the embedding table, and what stands near what in it.

The table has one row of *hidden size* numbers for each token ID. Reading it is a look-up, not a
computation: the same ID gives the same row wherever it stands. Everything here is about the
table and about what enters layer 0; no layer has run yet.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from model.tokens import Tokens
from model.tracing import Trace, as_tokens

#: Rows of the table that are compared at once, so that a large table needs little extra memory.
_BLOCK = 16_384

#: A row shorter than this counts as zeros, which point nowhere.
_SHORTEST = 1e-12

#: Largest |a − b| / largest |a| that counts as rounding, in float32.
_ROUNDING = 1e-5


@dataclass(frozen=True)
class LookedUp:
    """One position's row of the embedding table, and what enters layer 0 there.

    Attributes:
        position: the position.
        id: its token ID, the number of the row.
        row: the row, float32 (hidden size,).
        entering: the residual stream as it enters layer 0, float32 (hidden size,).
        factor: c if what enters is c × row, 1.0 if it is the row itself; None if something else
            is added, as a vector for the position.
    """

    position: int
    id: int
    row: torch.Tensor
    entering: torch.Tensor
    factor: float | None

    @property
    def lowest(self) -> float:
        """The smallest number of the row."""
        return float(self.row.min())

    @property
    def highest(self) -> float:
        """The largest number of the row."""
        return float(self.row.max())


def looked_up(trace: Trace, position: int) -> LookedUp:
    """The row that the token at ``position`` was turned into, beside what the run did with it."""
    id = trace.tokens[position].id
    row = _plain(trace.model.parts.embedding.weight[id])
    entering = _plain(trace.streams[0][position])
    return LookedUp(position, id, row, entering, _factor(row, entering))


def _factor(row: torch.Tensor, entering: torch.Tensor) -> float | None:
    """c with entering = c × row up to rounding, or None; Gemma multiplies by √(hidden size)."""
    if row.shape != entering.shape or not row.any():
        return None
    if torch.equal(row, entering):
        return 1.0
    factor = float(row @ entering / (row @ row))
    off = (entering - factor * row).abs().max() / entering.abs().max()
    return factor if off <= _ROUNDING else None


def repeats(tokens: Tokens, position: int) -> list[int]:
    """The other positions that hold the same token ID, in order."""
    return [token.position for token in tokens if token.id == tokens[position].id and token.position != position]


def distance(first: torch.Tensor, second: torch.Tensor) -> float:
    """Euclidean distance between two vectors."""
    return float(torch.dist(_plain(first), _plain(second)))


def entering_apart(first: Trace, here: int, second: Trace, there: int) -> float:
    """Distance between what enters layer 0 at ``here`` in one run and at ``there`` in another."""
    return distance(first.streams[0][here], second.streams[0][there])


@dataclass(frozen=True)
class Twin:
    """The nearest other position that holds the same token.

    Attributes:
        position: where it stands.
        count: how many positions hold the token, all together.
        apart: distance between what enters layer 0 at the two.
    """

    position: int
    count: int
    apart: float


def nearest_twin(trace: Trace, position: int) -> Twin | None:
    """The nearest other position with the token at ``position``; None if there is no other."""
    others = repeats(trace.tokens, position)
    if not others:
        return None
    nearest = min(others, key=lambda other: abs(other - position))
    return Twin(nearest, len(others) + 1, entering_apart(trace, position, trace, nearest))


def likeness_kept(trace: Trace, position: int) -> float:
    """Cosine of what enters layer 0 at ``position`` with what leaves the last layer there."""
    first, last = _plain(trace.streams[0][position]), _plain(trace.streams[-1][position])
    return float(torch.nn.functional.cosine_similarity(first, last, dim=0))


def moved_back(trace: Trace, count: int) -> Tokens:
    """The same tokens with ``count`` copies of the first in front, so that each stands later."""
    ids = trace.tokens.ids
    return as_tokens(trace.model, [ids[0]] * count + list(ids))


@dataclass(frozen=True)
class Neighbour:
    """A row of the table near another one.

    Attributes:
        id: its token ID.
        similarity: cosine of the angle between the two rows, from −1 to 1.
    """

    id: int
    similarity: float


@torch.inference_mode()
def nearest(table: torch.Tensor, ids: Sequence[int], count: int) -> list[list[Neighbour]]:
    """For each ID the rows that point most nearly the same way, nearest first, itself left out.

    Args:
        table: (rows, hidden size).
        ids: rows to start from.
        count: neighbours for each; fewer if the table has fewer rows.
    """
    similarities = cosines(table, ids)
    similarities[torch.arange(len(ids)), torch.tensor(ids)] = -torch.inf
    values, found = similarities.topk(min(count, len(table) - 1))
    return [
        [Neighbour(id, value) for id, value in zip(*pair, strict=True)]
        for pair in zip(found.tolist(), values.tolist(), strict=True)
    ]


@torch.inference_mode()
def cosines(table: torch.Tensor, ids: Sequence[int]) -> torch.Tensor:
    """Cosine of each row in ``ids`` with every row, float32 (ids, rows); 0 for a row of zeros."""
    chosen = torch.nn.functional.normalize(table[list(ids)].float(), dim=1)
    blocks = (block.float() for block in table.split(_BLOCK))
    found = [block @ chosen.T / block.norm(dim=1, keepdim=True).clamp_min(_SHORTEST) for block in blocks]
    return torch.cat(found).T.cpu()


@dataclass(frozen=True)
class Map:
    """Vectors laid flat.

    Attributes:
        points: coordinates along the two directions that differ most, (vectors, 2).
        explained: share of the vectors' total variance along each, from 0 to 1.
    """

    points: torch.Tensor
    explained: tuple[float, float]

    @property
    def held(self) -> float:
        """Share of the total variance that the two directions hold together."""
        return sum(self.explained)

    @property
    def flattened(self) -> float:
        """Share of the total variance that the map does not show."""
        return 1 - self.held


@torch.inference_mode()
def principal_map(vectors: torch.Tensor) -> Map:
    """Principal component analysis by singular value decomposition (Pearson 1901).

    The vectors' mean is taken off; with X = U·S·Vᵀ the coordinates are X·V and the variance
    along a direction is its singular value squared. The sign of a direction is arbitrary: it is
    chosen so that the vector farthest out lies on the positive side.

    Args:
        vectors: (vectors, hidden size), at least one.
    """
    centred = _plain(vectors) - _plain(vectors).mean(0)
    _, strengths, directions = torch.linalg.svd(centred, full_matrices=False)
    points = torch.zeros(len(vectors), 2)
    kept = min(2, len(strengths))
    points[:, :kept] = centred @ directions[:kept].T
    farthest = points.gather(0, points.abs().argmax(0, keepdim=True))
    points = points * torch.where(farthest < 0, -1.0, 1.0)
    variance = torch.nn.functional.pad(strengths.square(), (0, 2))
    shares = variance[:2] / variance.sum().clamp_min(torch.finfo(torch.float32).tiny)
    return Map(points, (float(shares[0]), float(shares[1])))


@dataclass(frozen=True)
class Neighbourhood:
    """Rows of the table to be drawn together.

    Attributes:
        ids: the rows, each once: first those of the text, then their neighbours.
        own: how many of them are the text's.
        links: (place of a text's row, place of its neighbour) in ``ids``.
        map: the rows laid flat, in the order of ``ids``.
    """

    ids: tuple[int, ...]
    own: int
    links: tuple[tuple[int, int], ...]
    map: Map


def neighbourhood(table: torch.Tensor, found: dict[int, Sequence[Neighbour]]) -> Neighbourhood:
    """Rows and their neighbours as one map.

    Args:
        table: (rows, hidden size).
        found: the neighbours of each row to start from.
    """
    ids = list(dict.fromkeys([*found, *(near.id for row in found.values() for near in row)]))
    place = {id: i for i, id in enumerate(ids)}
    links = tuple((place[id], place[near.id]) for id, row in found.items() for near in row)
    return Neighbourhood(tuple(ids), len(found), links, principal_map(table[ids]))


def around(tokens: Tokens, position: int, most: int) -> list[int]:
    """At most ``most`` different token IDs of the text: the selected one, then the nearest to it."""
    by_distance = sorted(tokens, key=lambda token: (abs(token.position - position), -token.position))
    return list(dict.fromkeys(token.id for token in by_distance))[:most]


@dataclass(frozen=True)
class PositionAdded:
    """How a model with learned positions tells order: by one more row, added.

    Attributes:
        token_row: row of the embedding table, float32 (hidden size,).
        position_row: row of the table of positions, float32 (hidden size,).
        entering: what entered layer 0 in the run, float32 (hidden size,).
        difference: largest |token row + position row − entering|.
    """

    token_row: torch.Tensor
    position_row: torch.Tensor
    entering: torch.Tensor
    difference: float

    @property
    def size(self) -> int:
        """How many numbers a row has, the hidden size."""
        return len(self.entering)

    @property
    def stacked(self) -> torch.Tensor:
        """Token row, position row and what entered, (3, hidden size)."""
        return torch.stack([self.token_row, self.position_row, self.entering])

    @property
    def relative_length(self) -> float:
        """Length of the position's row, the token's row being 1."""
        return float(self.position_row.norm() / self.token_row.norm())


@torch.inference_mode()
def position_added(trace: Trace, position: int) -> PositionAdded | None:
    """The two rows of ``position`` and their sum, checked; None where the sizes do not fit."""
    table = trace.model.parts.learned_positions
    # OPT keeps two rows free at the start of its table, and says so in ``offset``.
    position_row = _plain(table.weight[position + getattr(table, "offset", 0)])
    found = looked_up(trace, position)
    if not found.row.shape == position_row.shape == found.entering.shape:
        return None
    difference = float((found.row + position_row - found.entering).abs().max())
    return PositionAdded(found.row, position_row, found.entering, difference)


def _plain(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().float().cpu()
