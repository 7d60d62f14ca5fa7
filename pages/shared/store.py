"""What all sessions share: opened models and finished traces, both bounded."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

import streamlit as st

import model
from model import LanguageModel, Settings, Tokens, Trace
from model.choice import Choice, nucleus_sizes
from model.context import Meeting, telling_head
from model.edits import Edit
from model.feed_forward import Neurons, Promotion, promotions
from model.lens import LensColumn, LensGrid, lens_columns
from model.overview import Overview, attention_overview
from model.sampling import penalised
from model.what_if import Reading, reading
from pages.shared.in_line import waited_for
from pages.shared.jobs import Jobs
from pages.shared.limits import LIMITS
from pages.shared.results import Kept, SharedResults
from pages.shared.runs import Runs, Sight


@st.cache_resource(max_entries=2, show_spinner=False)
def opened_model(key: str) -> LanguageModel:
    """The listed model ``key``, opened once for everybody."""
    return model.open_model(key)


@st.cache_resource(show_spinner=False)
def results() -> SharedResults:
    """Finished runs of the model and what was worked out from them, for everybody."""
    return SharedResults(LIMITS.trace_mb * 10**6, LIMITS.idle)


@st.cache_resource(show_spinner=False)
def _jobs() -> Jobs:
    return Jobs()


def _key(lm: LanguageModel, tokens: Tokens, edits: tuple[Edit, ...]) -> Hashable:
    return ("trace", lm.key, lm.device, lm.dtype, tokens.ids, edits)


def shared_trace(lm: LanguageModel, tokens: Tokens, edits: tuple[Edit, ...] = ()) -> Trace:
    """The trace of a sequence, run once for everybody who looks at the same one.

    Who has to wait for the model sees how many come before, and can leave the queue; then the page
    stops with a sentence.
    """
    key = _key(lm, tokens, edits)
    found = results().find(key)
    if found is not None:
        return found
    job = _jobs().join(key, lm.turns, lambda: results().get(key, lambda: model.trace(lm, tokens, edits)))
    try:
        return waited_for(job)
    finally:
        _jobs().leave(job)


def _key_of(run: Trace) -> Hashable:
    return _key(run.model, run.tokens, run.edits)


@dataclass(frozen=True)
class Points:
    """What a sweep has measured so far.

    Attributes:
        items: the points, in order.
        planned: how many there will be.
    """

    items: tuple = ()
    planned: int = 0
    nbytes: int = 10_000


@st.cache_resource(show_spinner=False)
def measurements() -> SharedResults:
    """Finished measurements, logits and cache rows included, shared by all who look at the same text and model."""
    return SharedResults(LIMITS.measurement_mb * 10**6, LIMITS.idle)


@st.cache_resource(show_spinner=False)
def _runs() -> Runs:
    return Runs()


def look_at(key: Hashable, visitor: Hashable, work: Callable[[], Iterator]) -> Sight:
    """Look at a measurement, which is kept under ``key`` when it has come to its end."""
    found = measurements().find(key)
    if found is not None:  # somebody else's look has come first: there is nothing to do again
        leave(key, visitor)
        return Sight(found, True, None)
    return _runs().look(key, visitor, work, lambda last: measurements().put(key, last))


def leave(key: Hashable, visitor: Hashable) -> None:
    """Do not wait for the end of a measurement."""
    _runs().leave(key, visitor)


def gathered(work: Iterator, planned: int) -> Iterator[Points]:
    """Points one by one, as snapshots of all so far."""
    items = ()
    for item in work:
        items = (*items, item)
        yield Points(items, planned)


def shared_overview(run: Trace) -> Overview:
    """All heads of ``run`` at a glance, worked out once for everybody."""

    def work() -> Kept:
        overview = attention_overview(run)
        return Kept(overview, overview.maps.nbytes)

    return results().get(("overview", _key_of(run)), work).value


def shared_reading(run: Trace) -> Reading:
    """How well ``run`` foresaw its own text, worked out once for everybody.

    Every position's logits go into it, so that stepping through the heads must not do it again.
    """
    return results().get(("reading", _key_of(run)), lambda: Kept(reading(run), 32 * len(run))).value


#: Bytes that a :class:`Choice` holds for each token of the vocabulary: its logits, their order, four distributions.
_CHOICE_BYTES = 4 + 4 + 8 + 4 * 8


def shared_choice(run: Trace, position: int, penalty: float, settings: Settings, index: int) -> Choice:
    """What can follow a position, once for everybody: its stages sort the whole vocabulary.

    Args:
        penalty: the repetition penalty, which the logits bear already.
        index: which number of the seed's generator draws.
    """

    def work() -> Kept:
        logits = penalised(run.logits(position), run.tokens.ids[: position + 1], penalty)
        choice = Choice(logits, settings, run.model.vocabulary.labels, index)
        return Kept(choice, _CHOICE_BYTES * len(logits))

    return results().get(("choice", position, penalty, settings, index, _key_of(run)), work).value


def shared_nucleus(run: Trace, temperature: float) -> tuple:
    """:func:`model.choice.nucleus_sizes`, once for everybody: it sorts the vocabulary at every position."""
    key = ("nucleus", temperature, _key_of(run))
    return results().get(key, lambda: Kept(nucleus_sizes(run, temperature))).value


def shared_promotions(run: Trace, found: Neurons, neurons: Sequence[int], count: int) -> list[Promotion] | None:
    """:func:`model.feed_forward.promotions`, once for everybody: it reads the whole unembedding."""
    key = ("promotions", found.layer, found.position, tuple(neurons), count, _key_of(run))
    return results().get(key, lambda: Kept(promotions(run, found, neurons, count))).value


def shared_telling_head(meeting: Meeting) -> tuple[int, int, float]:
    """:func:`model.context.telling_head`, once for everybody: it works out all heads of two runs."""
    sides = tuple((_key_of(run), place.tokens) for run, place in meeting.sides)
    return results().get(("telling head", sides), lambda: Kept(telling_head(meeting))).value


def shared_lens(run: Trace, positions: range) -> LensGrid:
    """The lens at consecutive positions, each worked out once for everybody.

    A column is some hundred numbers, made from a whole vocabulary of logits for each layer.
    """
    columns = _lens_columns(run, positions)
    wanting = tuple(position for position, column in columns.items() if column is None)
    if wanting:
        made = results().get(("lens", wanting, _key_of(run)), lambda: Kept(lens_columns(run, wanting)))
        for position, column in zip(wanting, made.value, strict=True):
            results().put(("lens", position, _key_of(run)), Kept(column))
            columns[position] = column
    return LensGrid(positions.start, list(columns.values()))


def shared_lens_column(run: Trace, position: int) -> LensColumn:
    """The lens at one position."""
    return shared_lens(run, range(position, position + 1)).columns[0]


def lens_is_known(run: Trace, positions: range) -> bool:
    """Whether nothing is left to be worked out for :func:`shared_lens`."""
    return all(_lens_columns(run, positions).values())


def _lens_columns(run: Trace, positions: range) -> dict[int, LensColumn | None]:
    """What is known of the lens, by position."""
    found = {position: results().find(("lens", position, _key_of(run))) for position in positions}
    return {position: kept and kept.value for position, kept in found.items()}
