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
from tests.bench.measure import Spread, alternated, repeated, spread_of
from tests.bench.report import Row
from viz import heads

TOKENS = 128
SECONDS, BYTES = 0.5, 1e6
RUNS, RUNS_BESIDE = 10, 3


def rows(bench: Bench) -> Iterator[Row]:
    """From a finished trace: seconds, and bytes that go to the browser.

    Ours works out the weights of all heads and their small maps. bertviz is given the weights,
    and its time is that of making its page.
    """
    run = model.trace(bench.lm, bench.ids(TOKENS))
    shape = run.model.architecture
    what = f"all {shape.layers * shape.query_heads} heads of {TOKENS} tokens"
    weight = report.single("  sent to the browser", Spread((bytes_sent(attention_overview(run)),)), BYTES, report.size)
    if find_spec("bertviz") is None:
        yield from report.repeated(what, repeated(lambda: attention_overview(run), bench.turns(RUNS)), SECONDS)
        yield replace(weight, beside="bertviz is not installed")
        return
    view = _bertviz(run)
    pairs = alternated(lambda: attention_overview(run), view, bench.turns(RUNS_BESIDE))
    ours, theirs = spread_of(pairs.ours), spread_of(pairs.theirs)
    yield replace(
        report.single(f"{what} / bertviz's page of them", ours, SECONDS),
        beside=report.spread(theirs),
        ratio=report.spread(pairs.ratio(), report.factor),
    )
    yield replace(weight, beside=report.size(len(view().data.encode())))


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
