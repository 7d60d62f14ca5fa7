"""A page's script run again, in this process: what the server does for every click that is no fragment's."""

from collections.abc import Iterator

from streamlit.testing.v1 import AppTest

from pages.shared.frame import PAGES, Page
from tests.bench import report
from tests.bench.app import ROOT
from tests.bench.bench import Bench
from tests.bench.measure import repeated, spread_of
from tests.bench.report import Row

RERUNS = 5
#: Seconds that the first run may take; it runs the model.
LIMIT = 120


def rows(bench: Bench) -> Iterator[Row]:
    """Every page: the first run and one more are not counted."""
    for page in PAGES.values():
        script = opened(page)
        times = repeated(script.run, RERUNS)
        if script.exception:
            raise RuntimeError(f"{page.name} shows an error: {script.exception[0].message}")
        by_clocks = (report.spread(spread_of(times, clock)) for clock in ("wall", "processor"))
        yield Row(page.name, *by_clocks)


def opened(page: Page, prompt: str | None = None) -> AppTest:
    """The page after its first run, with the default text or another."""
    script = AppTest.from_file(str(ROOT / "app.py"), default_timeout=LIMIT)
    if page.slug != "home":
        script.switch_page(page.file)
    if prompt is not None:
        script.query_params["prompt"] = prompt
    return script.run()
