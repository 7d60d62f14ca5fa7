"""A wire between the browser and the server that notes when something passes, and how many bytes.

The browser itself sees an answer only when it has time for it, and while it draws it has none. On
the wire the server's part of an interaction stands alone; and there every byte is counted, headers
and the websocket's framing included, compressed as it travels.
"""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Relay:
    """Passes on what comes to a port of its own to another port of this machine, and back.

    Attributes:
        address: for the browser, in place of the server's.
    """

    def __init__(self, server: int):
        self._server = server
        self._passed: list[tuple[float, str, int]] = []
        self._door = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._door.getsockname()[1]}"

    @classmethod
    @contextmanager
    def to(cls, address: str) -> Iterator["Relay"]:
        """A relay to the server at ``address``, until the block ends."""
        relay = cls(int(address.rsplit(":", 1)[1]))
        threading.Thread(target=relay._open_door, daemon=True).start()
        yield relay
        relay._door.close()

    def forget(self) -> None:
        """Begin a new interaction."""
        self._passed.clear()

    def seconds_to_last_answer(self) -> float:
        """From the first message of the browser since ``forget`` to the last one of the server."""
        passed = list(self._passed)
        asked = next(when for when, way, _ in passed if way == "asked")
        return max(when for when, way, _ in passed if way == "answered") - asked

    def bytes_passed(self) -> int:
        """Bytes that passed since ``forget``, both ways together."""
        return sum(size for *_, size in list(self._passed))

    def seconds_of_silence(self) -> float:
        """Since something passed last; 0 if nothing has since ``forget``."""
        passed = list(self._passed)
        return time.perf_counter() - passed[-1][0] if passed else 0.0

    def _open_door(self) -> None:
        with suppress(OSError):  # it was closed
            while True:
                browser, _ = self._door.accept()
                server = socket.create_connection(("127.0.0.1", self._server))
                for source, target, way in ((browser, server, "asked"), (server, browser, "answered")):
                    target.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)  # pass it on at once
                    threading.Thread(target=self._pass_on, args=(source, target, way), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, way: str) -> None:
        with suppress(OSError):  # one side has gone
            while data := source.recv(1 << 16):
                self._passed.append((time.perf_counter(), way, len(data)))
                target.sendall(data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)
