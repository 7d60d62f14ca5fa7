"""All heads of a text at a glance, beside bertviz's view of the same attention."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from unittest.mock import patch

import model
from model.overview import Overview, attention_overview
from tests.bench import report
from tests.bench.bench import Bench
from tests.bench.measure import Spread, alternated, repeated
from tests.bench.report import Row
from viz import heads

TOKENS = 128
SECONDS, BYTES = 0.5, 1e6


def rows(bench: Bench) -> Iterator[Row]:
    """From a finished trace: seconds, and bytes that go to the browser.

    Ours works out the weights of all heads and their small maps. bertviz is given the weights,
    and its time is that of making its page.
    """
    run = model.trace(bench.lm, bench.ids(TOKENS))
    what = f"all {run.model.architecture.layers * run.model.architecture.query_heads} heads of {TOKENS} tokens"
    weight = Spread((bytes_sent(attention_overview(run)),))
    if find_spec("bertviz") is None:
        times = repeated(lambda: attention_overview(run), bench.turns(10))
        yield report.single(what, times, SECONDS, beside="bertviz is not installed")
        yield report.single("  sent to the browser", weight, BYTES, report.size)
        return
    view = _bertviz(run)
    pairs = alternated(lambda: attention_overview(run), view, bench.turns(3))
    row = report.compared(f"{what} / bertviz's view", pairs)
    yield replace(row, goal=f"≤ {report.seconds(SECONDS)}", met=pairs.ours.median <= SECONDS)
    theirs = len(view().data.encode())
    yield report.single("  sent to the browser", weight, BYTES, report.size, beside=report.size(theirs))


def _bertviz(run: model.Trace) -> Callable[[], object]:
    """A function that makes bertviz's page of all heads of ``run``."""
    from bertviz import model_view

    attention = [run.layer_attention(layer)[None] for layer in range(run.model.architecture.layers)]
    return lambda: model_view(attention, run.tokens.labels, html_action="return")


def bytes_sent(overview: Overview) -> int:
    """Bytes of the JSON that the head grid of an overview is drawn from."""
    mounted = {}

    def mount(**given):
        mounted.update(given)

    with patch.object(heads, "component", lambda name: mount):
        heads.head_grid(
            overview.maps.numpy(),
            overview.on_first.numpy(),
            overview.distance.numpy(),
            most=1.0,
            kv_heads=1,
            layer=0,
            head=0,
            alt="",
            key="",
            on_choose=None,
        )
    return len(json.dumps(mounted["data"]).encode())
