"""All topics in the order of the page, what is said of each, and why a goal is missed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.bench import (
    cached,
    decoding,
    head_change,
    long_texts,
    overview,
    rerunning,
    sampling_move,
    start,
    sweeping,
    tracing,
    wire,
    writing,
)
from tests.bench.bench import Bench
from tests.bench.report import HEADINGS, Row


@dataclass(frozen=True)
class Topic:
    """Something to measure.

    Attributes:
        title: its heading.
        says: what is compared, and how.
        rows: measures it.
        headings: of the table's columns, in the order of a row's fields.
    """

    title: str
    says: str
    rows: Callable[[Bench], Iterator[Row]]
    headings: tuple[str, ...] = HEADINGS


def _headed(*first: str) -> tuple[str, ...]:
    """Other names for the first columns."""
    return (*first, *HEADINGS[len(first) :])


TOPICS = {
    "trace": Topic(
        "A trace, against the prompt's length",
        "Our trace, which keeps what every layer computed, beside transformers' own forward pass on the same tokens, "
        "which keeps nothing; both work out the last position's logits only. The memory is all that the trace keeps.",
        tracing.rows,
        _headed("What", "Trace", "Plain pass"),
    ),
    "generate": Topic(
        "Writing",
        "A token written by us, every step recorded for the page, beside transformers' `generate`, which records "
        "nothing: same weights, same prompt, both with a KV cache and sampling from the whole vocabulary. They take "
        "turns at every token; the reading of the prompt is part of both.",
        writing.rows,
        _headed("What", "With records", "generate"),
    ),
    "cache": Topic(
        "What the KV cache saves",
        "The step that adds one token to a text: all positions computed again, beside one that reads the cache.",
        cached.rows,
        _headed("What", "Without", "With"),
    ),
    "decode": Topic(
        "A decode step, against what memory allows",
        "A step must read all weights and the whole cache once. Beside its time stands the time that reading so many "
        "bytes takes at this machine's bandwidth, which is measured between the steps by multiplying a matrix larger "
        "than the processor's caches with a vector. A ratio of one is the physical limit.",
        decoding.rows,
        _headed("What", "Step", "Limit"),
    ),
    "sweep": Topic(
        "Which head matters",
        "Every head switched off alone, beside as many plain forward passes of the same prompt by transformers.",
        sweeping.rows,
        _headed("What", "Sweep", "Plain passes"),
    ),
    "overview": Topic(
        "All heads at a glance, beside bertviz",
        "From the attention of one finished run, same model and same prompt: our overview of all heads beside the "
        "page that bertviz's `model_view` makes of them. The size is what goes to the browser.",
        overview.rows,
        _headed("What", "Ours", "bertviz"),
    ),
    "script": Topic(
        "Another head, on the server",
        "The attention page's whole script, run again for another head by Streamlit's AppTest: more than a visitor "
        "waits for, since in the app only the part with the figures runs again.",
        head_change.rows_of_script,
    ),
    "rerun": Topic(
        "Every page's script, run again",
        "What the server computes when a page runs again with nothing changed, by Streamlit's AppTest and without a "
        "browser: the model has run, and its results are kept.",
        rerunning.rows,
        _headed("Page", "Time", "Processor time"),
    ),
    "long": Topic(
        "Every page with a long text",
        "A text of two thousand tokens, where an ordinary server allows a quarter of that: the page's first run, in "
        "which the model reads it, sometimes more than once, and one more run with nothing changed. The memory is what "
        "is kept of it for everybody; what the page says instead, if it refuses a part, stands last.",
        long_texts.rows,
        ("Page", "First run", "Again", "Kept", "Said", ""),
    ),
}
IN_BROWSER = {
    "start": Topic(
        "Start",
        "From launching the server's process until a browser that runs already, with nothing cached, has drawn the "
        "first page's picture.",
        start.rows,
    ),
    "wire": Topic(
        "What goes over the wire",
        "All bytes between the browser and the server, both ways, HTTP and websocket together with their headers and "
        "as compressed as they travel, until the page is at rest: a first visit with an empty cache, a second one "
        "with what the browser has kept by then, and single clicks. Somebody has seen each page before, so that the "
        "server has its results. The temperature is counted apart while the hand still moves.",
        wire.rows,
        _headed("Page", "First visit, or click", "Second visit"),
    ),
    "temperature": Topic(
        "A move of the temperature",
        "On the sampling page in a browser, a move in every frame: from the event until that frame is painted.",
        sampling_move.rows,
    ),
    "head": Topic(
        "Another head, in the browser",
        "On the attention page: from the key until the frame in which the map and its title show the new head. The "
        "server's part is read from the wire, from the message that asks to the last one that answers.",
        head_change.rows,
    ),
}

#: Why a goal is missed, by the row's name; told only where it was. What has no reason here is not understood.
REASONS = {
    tracing.name(count): (
        "All that is kept is fresh memory, which the operating system hands out page by page and clears first; the "
        "plain pass uses the same memory again and again. The computing itself takes as long in both."
    )
    for count in tracing.LENGTHS
    if count >= tracing.LONG
}
REASONS[wire.DRAGGED] = (
    "The page reports the temperature when no move has come for a while. On a machine so busy that frames are late, "
    "the hand seems to rest between two of them."
)
