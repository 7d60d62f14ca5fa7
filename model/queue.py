"""One bounded queue in front of a model.

A forward pass uses every core, so passes run one at a time. A room of thirty waits its turn, knows
how many come before, can leave; and beyond a bound a visitor is told so at once instead of waiting
for ever.
"""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import monotonic

from model.errors import ModelBusy

#: Seconds by which long work stands further back than it came. Somebody who waits for a page is
#: served first, and long work, which asks for its next turn again and again, is never forgotten.
#: With 3 s, a dozen measurements at once outranked the pages of a class; it must be less than the
#: patience below.
BACKGROUND_LAG = 20.0
#: Turns whose waiting times are remembered.
REMEMBERED = 10_000

_in_background: ContextVar[bool] = ContextVar("in_background", default=False)


@contextmanager
def background() -> Iterator[None]:
    """Mark what this thread does in the block as long work, which lets others go first."""
    token = _in_background.set(True)
    try:
        yield
    finally:
        _in_background.reset(token)


@dataclass(eq=False)
class _Waiting:
    """One thread in the line.

    Attributes:
        rank: seconds on the clock; the lowest is served next.
        left: whether it was told to go.
    """

    thread: int
    rank: float
    left: bool = False


class Turns:
    """Hands out turns, one at a time, to at most ``waiting`` who wait.

    Args:
        waiting: how many may wait behind the one that runs.
        patience: seconds that one waits before giving up.

    Attributes:
        waits: seconds that the latest turns had been waited for.
    """

    def __init__(self, waiting: int = 60, patience: float = 60.0):
        self._most, self._patience = waiting, patience
        self._moved = threading.Condition()
        self._line: list[_Waiting] = []
        self._running: int | None = None
        self.waits: deque[float] = deque(maxlen=REMEMBERED)

    @contextmanager
    def take(self) -> Iterator[None]:
        """Run the block when it is this thread's turn.

        Raises:
            ModelBusy: if the queue is full, the turn did not come in time, or the thread was told
                to leave.
        """
        begin = monotonic()
        with self._moved:
            self._wait(begin)
            self._running = threading.get_ident()
            self.waits.append(monotonic() - begin)
        try:
            yield
        finally:
            with self._moved:
                self._running = None
                self._moved.notify_all()

    def before(self, thread: int | None) -> int | None:
        """How many are served before ``thread``, the one that runs included; None if it does not wait, as no thread."""
        with self._moved:
            for place, each in enumerate(self._line):
                if each.thread == thread:
                    return place + (self._running is not None)
        return None

    def leave(self, thread: int | None) -> None:
        """Let ``thread`` wait no longer: its :meth:`take` raises. One that runs is not disturbed."""
        with self._moved:
            for each in self._line:
                each.left = each.left or each.thread == thread
            self._moved.notify_all()

    def _wait(self, begin: float) -> None:
        """Stand in the line until this thread is the first and nobody runs."""
        if len(self._line) >= self._most and (self._line or self._running is not None):
            raise ModelBusy("Too many people are waiting for the model right now. Try again in a few seconds.")
        me = _Waiting(threading.get_ident(), begin + (BACKGROUND_LAG if _in_background.get() else 0.0))
        self._line.append(me)
        self._line.sort(key=lambda each: each.rank)
        try:
            self._moved.wait_for(lambda: me.left or self._is_next(me), self._patience)
            if me.left:
                raise ModelBusy("You have left the queue. Run it again when you like.")
            if not self._is_next(me):
                raise ModelBusy("The model has been busy for a minute. Try again, or use a shorter text.")
        finally:
            self._line.remove(me)
            self._moved.notify_all()

    def _is_next(self, me: _Waiting) -> bool:
        return self._running is None and self._line[0] is me


#: The queue of this process.
LINE = Turns()
