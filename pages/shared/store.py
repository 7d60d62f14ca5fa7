"""What all sessions share: opened models and finished traces, both bounded."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import streamlit as st

import model
from model import LanguageModel, Tokens, Trace
from model.edits import Edit
from model.lens import LensColumn, LensGrid, lens_columns
from model.overview import Overview, attention_overview
from model.what_if import Reading, reading
from pages.shared.runs import Runs, Sight

#: Bytes of traces kept for everybody: about 3,000 tokens of the default model.
TRACE_BYTES = 1_000_000_000


class SharedResults:
    """Results by key, worked out once however many ask at once, the oldest dropped by bytes.

    Args:
        limit: bytes of results kept; each result tells its own in ``.nbytes``. The newest is
            kept even if it alone is larger.
    """

    def __init__(self, limit: int):
        self._limit = limit
        self._lock = threading.Lock()
        self._results: OrderedDict[Hashable, Future] = OrderedDict()

    def get(self, key: Hashable, work: Callable[[], Trace]) -> Trace:
        """The result of ``key``; ``work`` is called if nobody has asked for it before."""
        with self._lock:
            future = self._results.get(key)
            mine = future is None
            if mine:
                future = self._results[key] = Future()
            self._results.move_to_end(key)
        if mine:
            self._work(key, future, work)
        return future.result()

    def find(self, key: Hashable):
        """The result of ``key`` if it is there and finished, else None."""
        with self._lock:
            future = self._results.get(key)
            if future is None or not future.done() or future.exception():
                return None
            self._results.move_to_end(key)
            return future.result()

    def put(self, key: Hashable, result) -> None:
        """Keep a result that was worked out elsewhere, in place of an earlier one."""
        future = Future()
        future.set_result(result)
        with self._lock:
            self._results[key] = future
            self._results.move_to_end(key)
            self._drop_oldest()

    def drop(self, key: Hashable) -> None:
        """Forget a result."""
        with self._lock:
            self._results.pop(key, None)

    def _work(self, key: Hashable, future: Future, work: Callable[[], Trace]) -> None:
        try:
            future.set_result(work())
        except BaseException as reason:
            with self._lock:
                self._results.pop(key, None)
            future.set_exception(reason)
        with self._lock:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        done = [(key, f.result().nbytes) for key, f in self._results.items() if f.done() and not f.exception()]
        total = sum(size for _, size in done)
        for key, size in done[:-1]:
            if total <= self._limit:
                return
            del self._results[key]
            total -= size

    @property
    def nbytes(self) -> int:
        """Bytes of the results that are kept."""
        with self._lock:
            return sum(f.result().nbytes for f in self._results.values() if f.done() and not f.exception())


@st.cache_resource(max_entries=2, show_spinner=False)
def opened_model(key: str) -> LanguageModel:
    """The listed model ``key``, opened once for everybody."""
    return model.open_model(key)


@st.cache_resource(show_spinner=False)
def _traces() -> SharedResults:
    return SharedResults(TRACE_BYTES)


def shared_trace(lm: LanguageModel, tokens: Tokens, edits: tuple[Edit, ...] = ()) -> Trace:
    """The trace of a sequence, run once for everybody who looks at the same one."""
    key = (lm.key, lm.device, lm.dtype, tokens.ids, edits)
    return _traces().get(key, lambda: model.trace(lm, tokens, edits))


#: Bytes of measurements kept for everybody, logits and cache rows included.
MEASUREMENT_BYTES = 300_000_000


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


@dataclass(frozen=True)
class Kept:
    """A small result that is no measurement, kept with them."""

    value: Any
    nbytes: int = 2_000


@st.cache_resource(show_spinner=False)
def measurements() -> SharedResults:
    """Finished measurements, shared by all who look at the same text on the same model."""
    return SharedResults(MEASUREMENT_BYTES)


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


#: Overviews live as long as the trace they are of.
_overviews: WeakKeyDictionary[Trace, Overview] = WeakKeyDictionary()


def shared_overview(run: Trace) -> Overview:
    """All heads of ``run`` at a glance, worked out once for everybody."""
    found = _overviews.get(run)
    if found is None:
        found = _overviews[run] = attention_overview(run)
    return found


#: Every position's logits go into one, so that stepping through the heads must not work it out again.
_readings: WeakKeyDictionary[Trace, Reading] = WeakKeyDictionary()


def shared_reading(run: Trace) -> Reading:
    """How well ``run`` foresaw its own text, worked out once for everybody."""
    found = _readings.get(run)
    if found is None:
        found = _readings[run] = reading(run)
    return found


#: Columns of the lens, by position: some hundred numbers each, made from 49,152 logits a layer.
_lenses: WeakKeyDictionary[Trace, dict[int, LensColumn]] = WeakKeyDictionary()


def shared_lens(run: Trace, positions: range) -> LensGrid:
    """The lens at consecutive positions, each worked out once for everybody."""
    columns = _lenses.setdefault(run, {})
    wanting = [position for position in positions if position not in columns]
    columns.update(zip(wanting, lens_columns(run, wanting), strict=True))
    return LensGrid(positions.start, [columns[position] for position in positions])


def lens_is_known(run: Trace, positions: range) -> bool:
    """Whether nothing is left to be worked out for :func:`shared_lens`."""
    return all(position in _lenses.get(run, {}) for position in positions)
