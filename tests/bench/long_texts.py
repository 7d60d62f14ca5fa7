"""Every page with a text of about two thousand tokens, in this process: whether it comes, and what it takes."""

from collections.abc import Iterator

from pages.shared.frame import PAGES
from pages.shared.store import results
from tests.bench import report
from tests.bench.bench import Bench
from tests.bench.measure import Taken, taken
from tests.bench.report import Row
from tests.bench.rerunning import opened

#: Tokens of the text; pages may write a few more after it, within the model's 2,048 a text here.
TOKENS = 2_000


def rows(bench: Bench) -> Iterator[Row]:
    """Every page: its first run, which has the model read the text, and one more."""
    text = bench.text(TOKENS)
    for page in PAGES.values():
        results().clear()  # what another page has had read
        script = None

        def first(page=page):
            nonlocal script
            script = opened(page, text)

        reading: Taken = taken(first)
        again = taken(script.run)
        if script.exception:
            raise RuntimeError(f"{page.name} shows an error: {script.exception[0].message}")
        said = "".join(warning.value for warning in script.warning)
        kept = results().nbytes
        yield Row(page.name, report.seconds(reading.wall), report.seconds(again.wall), report.size(kept), said)
