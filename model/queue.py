"""One bounded queue in front of a model.

A forward pass uses every core, so passes run one at a time; a room of thirty waits its turn, and
beyond a bound a visitor is told so at once instead of waiting for ever.
"""

import threading
from contextlib import contextmanager

from model.errors import ModelBusy


class Turns:
    """Hands out turns, one at a time, to at most ``waiting`` who wait.

    Args:
        waiting: how many may wait behind the one that runs.
        patience: seconds that one waits before giving up.
    """

    def __init__(self, waiting: int = 60, patience: float = 60.0):
        self._places = threading.BoundedSemaphore(waiting + 1)
        self._turn = threading.Lock()
        self._patience = patience

    @contextmanager
    def take(self):
        """Run the block when it is this thread's turn.

        Raises:
            ModelBusy: if the queue is full, or the turn did not come in time.
        """
        if not self._places.acquire(blocking=False):
            raise ModelBusy("Too many people are waiting for the model right now. Try again in a few seconds.")
        try:
            if not self._turn.acquire(timeout=self._patience):
                raise ModelBusy("The model has been busy for a minute. Try again, or use a shorter text.")
            try:
                yield
            finally:
                self._turn.release()
        finally:
            self._places.release()
