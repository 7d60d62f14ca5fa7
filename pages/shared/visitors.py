"""How many visitors are here, and whether there is room for one more."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pages.shared.limits import LIMITS


class Visitors:
    """The visitors of this server, counted by their open connections.

    Args:
        most: how many at once; 0 is no bound.
    """

    def __init__(self, most: int):
        self.most = most
        self._lock = threading.Lock()
        self._present = 0

    @contextmanager
    def visit(self) -> Iterator[None]:
        """Be here until the block ends."""
        with self._lock:
            self._present += 1
        try:
            yield
        finally:
            with self._lock:
                self._present -= 1

    @property
    def present(self) -> int:
        """How many are here."""
        return self._present

    @property
    def is_over_full(self) -> bool:
        """Whether more are here than there is room for: who came last must wait."""
        return bool(self.most) and self._present > self.most


VISITORS = Visitors(LIMITS.sessions)
