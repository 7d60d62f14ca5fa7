"""Work that visitors wait for, in threads of its own: they see how many come before, and may leave.

Many who ask for the same wait for one. Who leaves, or closes the tab, takes nothing from the
others; what nobody waits for any more gives up its place in the queue.
"""

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from typing import Any

from model.queue import Turns


class Job:
    """One piece of work that is waited for.

    Args:
        key: what it works out.
        turns: the queue in which it will wait for the model.

    Attributes:
        number: unlike that of any other.
        future: the result, when it is there.
    """

    _numbers = count()

    def __init__(self, key: Hashable, turns: Turns):
        self.key, self.number, self._turns = key, next(self._numbers), turns
        self.future: Future = Future()
        self.watching = 0
        self._thread: int | None = None

    @property
    def before(self) -> int | None:
        """How many are served before this; None if it does not wait for the model."""
        return self._turns.before(self._thread)

    def give_up(self) -> None:
        """Leave the queue, if it still waits there."""
        self._turns.leave(self._thread)

    def run(self, work: Callable[[], Any]) -> None:
        """Do the work, in the thread that calls this."""
        self._thread = threading.get_ident()
        try:
            self.future.set_result(work())
        except BaseException as reason:
            self.future.set_exception(reason)
        finally:
            self._thread = None


class Jobs:
    """The work that is waited for, by key.

    Args:
        most: pieces of work at once. Each waits in the queue by itself, in the order of its coming.
    """

    def __init__(self, most: int = 64):
        self._pool = ThreadPoolExecutor(most, thread_name_prefix="waited-for")
        self._lock = threading.Lock()
        self._jobs: dict[Hashable, Job] = {}

    def join(self, key: Hashable, turns: Turns, work: Callable[[], Any]) -> Job:
        """Wait for the work ``key``, which is begun if nobody else waits for it. To be followed by :meth:`leave`."""
        with self._lock:
            job = self._jobs.get(key)
            if job is None:
                job = self._jobs[key] = Job(key, turns)
                self._pool.submit(job.run, work)
            job.watching += 1
        return job

    def leave(self, job: Job) -> None:
        """Wait no longer, for whatever reason."""
        with self._lock:
            job.watching -= 1
            if job.watching:
                return
            del self._jobs[job.key]
        job.give_up()
