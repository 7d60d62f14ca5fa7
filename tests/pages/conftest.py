"""Page tests begin measurements in threads of their own; none may be at work when Python ends."""

import threading

import pytest

from pages.shared.runs import Run


@pytest.fixture(scope="session", autouse=True)
def measurements_end():
    """Wait for measurements that nobody watches any more: torch aborts the process under a live one."""
    yield
    for thread in threading.enumerate():
        work = getattr(thread, "_target", None)
        if getattr(work, "__func__", None) is Run._run:
            thread.join(timeout=120)
