"""From nothing to the first page."""

import time
from collections.abc import Iterator
from resource import RUSAGE_CHILDREN, getrusage

from tests.bench import report
from tests.bench.app import new_page, served
from tests.bench.bench import Bench
from tests.bench.measure import Spread
from tests.bench.report import Row

GOAL = 10.0
STARTS = 3


def rows(bench: Bench) -> Iterator[Row]:
    answers, drawn, processor = zip(*(_start(bench) for _ in range(STARTS)), strict=True)
    yield report.single("start of the server to the home page's picture", Spread(drawn), GOAL)
    yield report.single("  of that, until the server answers", Spread(answers))
    yield report.single("  the server's processor time", Spread(processor))


def _start(bench: Bench) -> tuple[float, float, float]:
    """Seconds from launching the server's process until it answers, until the loop is drawn, and of its work.

    The browser runs already, with nothing cached; it goes to the page as soon as the server
    answers. The server's processor time is known when it has ended.
    """
    page = new_page(bench.browser)
    before, start = getrusage(RUSAGE_CHILDREN), time.perf_counter()
    with served() as address:
        answers = time.perf_counter() - start
        page.goto(address)
        page.locator(".loop").first.wait_for()
        drawn = time.perf_counter() - start
        page.context.close()
    after = getrusage(RUSAGE_CHILDREN)
    return answers, drawn, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
