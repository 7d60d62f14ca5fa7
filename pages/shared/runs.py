"""Long work that several visitors may watch: done once, ended when nobody watches.

A class that opens the teacher's link would start the same measurement thirty times, and each
would slow the others. So the work runs in a thread of its own, the first visitor starts it, all
look at the same snapshots, and it ends when the last one has gone.
"""

import atexit
import threading
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any
from weakref import WeakSet

from model.queue import LINE, background

#: Seconds after which a visitor who has not looked again has gone.
GRACE = 5.0


#: Threads at work, and whether the process is about to end.
_threads: WeakSet[threading.Thread] = WeakSet()
_ending = threading.Event()


@atexit.register
def _end() -> None:
    """Let all work end at its next snapshot: torch aborts a process that ends under a live thread."""
    _ending.set()
    for thread in list(_threads):
        thread.join(timeout=30)


@dataclass(frozen=True)
class Sight:
    """What somebody sees who looks at work that is going on.

    Attributes:
        latest: the newest snapshot; None before the first.
        ended: whether nothing will come after it.
        problem: what the work ended with, or None.
        before: how many are served by the model before it; None if it does not wait.
    """

    latest: Any
    ended: bool
    problem: BaseException | None
    before: int | None = None


class Run:
    """One piece of work: an iterator of snapshots, in a thread of its own.

    Args:
        work: makes the iterator; called in the thread.
        on_end: called with the last snapshot when the work has come to its end, not if it was left.
        on_over: called when it is over for whatever reason.
    """

    def __init__(
        self, work: Callable[[], Iterator], on_end: Callable[[Any], None], on_over: Callable[[], None] = lambda: None
    ):
        self._work, self._on_end, self._on_over = work, on_end, on_over
        self._lock = threading.Lock()
        self._seen_by: dict[Hashable, float] = {}
        self._thread: threading.Thread | None = None
        self._sight = Sight(None, False, None)
        self._left = False

    @property
    def is_over(self) -> bool:
        """Whether it has ended and nobody waits to be told so, or ends because nobody watched."""
        with self._lock:
            return self._left or self._sight.ended and not self._is_watched()

    def awaits(self, visitor: Hashable) -> bool:
        """Whether it goes on, or has ended and ``visitor``, who looked before, has not been told so."""
        with self._lock:
            return not self._sight.ended or visitor in self._seen_by

    def look(self, visitor: Hashable) -> Sight:
        """What there is to see now; the first look begins the work."""
        with self._lock:
            self._seen_by[visitor] = monotonic()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, daemon=True)
                _threads.add(self._thread)
                self._thread.start()
            sight = self._sight
            if sight.ended:
                del self._seen_by[visitor]
        return replace(sight, before=LINE.before(self._thread.ident))

    def leave(self, visitor: Hashable) -> None:
        """A visitor who does not want to see the end."""
        with self._lock:
            self._seen_by.pop(visitor, None)

    def _run(self) -> None:
        problem = None
        try:
            with background():
                self._work_on()
        except Exception as reason:  # shown to those who look
            problem = reason
        self._sight = Sight(self._sight.latest, True, problem)
        self._on_over()

    def _work_on(self) -> None:
        """Work until it is done, or nobody watches."""
        latest = None
        for latest in self._work():
            with self._lock:
                self._sight = Sight(latest, False, None)
                self._left = not self._is_watched()
            if self._left:
                return
        self._on_end(latest)

    def _is_watched(self) -> bool:
        return not _ending.is_set() and any(monotonic() - when < GRACE for when in self._seen_by.values())


class Runs:
    """The work that is going on, by key."""

    def __init__(self):
        self._lock = threading.Lock()
        self._runs: dict[Hashable, Run] = {}

    def look(
        self, key: Hashable, visitor: Hashable, work: Callable[[], Iterator], on_end: Callable[[Any], None]
    ) -> Sight:
        """Look at the work ``key``: it is begun if nobody has.

        Everybody who watched is told of the end once. Who looks after that begins anew, and so does
        who comes back to work that was left.
        """
        self._forget_the_ended()
        with self._lock:
            run = self._runs.get(key)
            if run is None or not run.awaits(visitor):
                run = self._runs[key] = Run(work, on_end, self._forget_later)
            sight = run.look(visitor)
        if sight.ended:
            self._forget_the_ended()
        return sight

    def _forget_the_ended(self) -> None:
        """Let go of what is over, and with it of all that it found."""
        with self._lock:
            self._runs = {key: run for key, run in self._runs.items() if not run.is_over}

    def _forget_later(self) -> None:
        """Let go of work whose visitors have gone without a word."""
        timer = threading.Timer(2 * GRACE, self._forget_the_ended)
        timer.daemon = True
        timer.start()

    def leave(self, key: Hashable, visitor: Hashable) -> None:
        """A visitor who does not want to see the end of the work ``key``."""
        with self._lock:
            if key in self._runs:
                self._runs[key].leave(visitor)
        self._forget_the_ended()
