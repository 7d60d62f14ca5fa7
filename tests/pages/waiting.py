"""Waiting for work that a page has begun in a thread of its own."""

import threading

from pages.shared.runs import Run


def working() -> list[threading.Thread]:
    """The threads in which measurements are made."""
    return [
        each for each in threading.enumerate() if getattr(getattr(each, "_target", None), "__func__", 0) is Run._run
    ]


def for_work(seconds: float = 1.0) -> None:
    """Until a measurement has ended, ``seconds`` at most: then the page must look again, or it is left."""
    for thread in working()[:1]:
        thread.join(timeout=seconds)
