"""Results shared by everybody: worked out once, kept within a number of bytes, freed when unused."""

import ctypes
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from time import monotonic
from typing import Any


@dataclass(frozen=True)
class Kept:
    """A result that does not know its own size, with the bytes that it is taken to have."""

    value: Any
    nbytes: int = 2_000


@dataclass
class _Entry:
    """A result, there or to come; its size is asked once, since adding up many tensors takes a while."""

    future: Future = field(default_factory=Future)
    used: float = field(default_factory=monotonic)

    @property
    def is_there(self) -> bool:
        return self.future.done() and not self.future.exception()

    @cached_property
    def nbytes(self) -> int:
        return self.future.result().nbytes


class SharedResults:
    """Results by key, worked out once however many ask at once, the oldest dropped by bytes.

    Args:
        limit: bytes of results kept; each result tells its own in ``.nbytes``. The newest is
            kept even if it alone is larger.
        idle: seconds after which a result that nobody has asked for is dropped; None keeps it.
    """

    def __init__(self, limit: int, idle: float | None = None):
        self._limit, self._idle = limit, idle
        self._lock = threading.Lock()
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._sweeper: threading.Timer | None = None

    def get(self, key: Hashable, work: Callable[[], Any]) -> Any:
        """The result of ``key``; ``work`` is called if nobody has asked for it before."""
        with self._lock:
            entry = self._entries.get(key)
            mine = entry is None
            if mine:
                entry = self._entries[key] = _Entry()
            self._touch(key)
        if mine:
            self._work(key, entry.future, work)
        return entry.future.result()

    def find(self, key: Hashable) -> Any | None:
        """The result of ``key`` if it is there and finished, else None."""
        with self._lock:
            entry = self._entries.get(key)
            if entry is None or not entry.is_there:
                return None
            self._touch(key)
            return entry.future.result()

    def put(self, key: Hashable, result: Any) -> None:
        """Keep a result that was worked out elsewhere, in place of an earlier one."""
        entry = _Entry()
        entry.future.set_result(result)
        with self._lock:
            self._entries[key] = entry
            self._touch(key)
            self._drop_oldest()

    def drop(self, key: Hashable) -> None:
        """Forget a result."""
        with self._lock:
            self._entries.pop(key, None)

    def clear(self) -> None:
        """Forget every finished result."""
        with self._lock:
            self._entries = OrderedDict((key, each) for key, each in self._entries.items() if not each.is_there)

    @property
    def nbytes(self) -> int:
        """Bytes of the results that are kept."""
        with self._lock:
            return sum(each.nbytes for each in self._entries.values() if each.is_there)

    def _touch(self, key: Hashable) -> None:
        self._entries.move_to_end(key)
        self._entries[key].used = monotonic()

    def _work(self, key: Hashable, future: Future, work: Callable[[], Any]) -> None:
        try:
            future.set_result(work())
        except BaseException as reason:
            with self._lock:
                self._entries.pop(key, None)
            future.set_exception(reason)
        with self._lock:
            self._drop_oldest()

    def _drop_oldest(self) -> None:
        done = [(key, each.nbytes) for key, each in self._entries.items() if each.is_there]
        total = sum(size for _, size in done)
        for key, size in done[:-1]:
            if total <= self._limit:
                break
            del self._entries[key]
            total -= size
        self._sweep_later()

    def _sweep_later(self) -> None:
        """Look again after a while, if there is anything that nobody may ask for again."""
        if self._idle is None or self._sweeper is not None or not self._entries:
            return
        self._sweeper = threading.Timer(self._idle / 2, self._sweep)
        self._sweeper.daemon = True
        self._sweeper.start()

    def _sweep(self) -> None:
        oldest = monotonic() - self._idle
        with self._lock:
            idle = [key for key, each in self._entries.items() if each.is_there and each.used < oldest]
            for key in idle:
                del self._entries[key]
            self._sweeper = None
            self._sweep_later()
        if idle:
            give_memory_back()


def give_memory_back() -> None:
    """Let the C library return freed memory to the system, where it is one that otherwise keeps it."""
    with suppress(AttributeError, OSError):  # only glibc has it
        ctypes.CDLL(None).malloc_trim(0)
