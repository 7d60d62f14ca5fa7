"""Figures that others have published, worked out again by the formulas of :mod:`model.plan`.

Each states what it assumes: the numbers as the source rounds them, which are not always those of
the shape to the last parameter.
"""

from dataclasses import dataclass, replace

from model.cost import kv_bytes
from model.plan import Plan, Shares, step_seconds
from model.published import architectures, gpus

ALL = Shares(1.0, 1.0)
GIB = 2**30
#: Milliseconds of a step by number of requests, as the table of the second source prints them.
STEPS = {1: "4.98", 8: "12.13", 16: "20.30", 32: "36.65", 64: "69.33", 240: "249.09"}
GUIDE, BOOK, LOG = "the guide", "the book", "the log"
SOURCES = {
    GUIDE: "Baseten, A guide to LLM inference and performance",
    BOOK: "Google DeepMind, How To Scale Your Model, on inference",
    LOG: "what vLLM prints when it starts",
}


@dataclass(frozen=True)
class Reproduced:
    """A published figure beside ours.

    Attributes:
        what: it is a figure of.
        assumed: the numbers put in.
        published, ours: as the source rounds it.
        source: one of :data:`SOURCES`.
    """

    what: str
    assumed: str
    published: str
    ours: str
    source: str


def reproduced() -> list[Reproduced]:
    """All of them."""
    return [*_seven_billion_on_a10(), *_thirteen_billion_on_eight_v5e(), _blocks_of_a_server()]


def _seven_billion_on_a10() -> list[Reproduced]:
    nominal = replace(architectures()["Llama-2-7B"], parameters=7 * 10**9)
    plan = Plan(nominal, gpus()["NVIDIA A10"], best=ALL, worst=ALL)
    machine = "an A10's data sheet"
    token = 1e3 * plan.weights_read(1) / plan.bandwidth
    tokens = (plan.memory - plan.weights) // plan.cache(1)
    return [
        Reproduced(
            "Llama-2-7B on one A10: weights read for one token",
            "7 × 10⁹ parameters in 16 bit, 14 GB; 600 GB/s, all of it reached",
            "23.3 ms",
            f"{token:.1f} ms",
            GUIDE,
        ),
        Reproduced("A10: operations for a byte at the ridge", machine, "208.3", f"{plan.ridge:.1f}", GUIDE),
        Reproduced(
            "Llama-2-7B on one A10: tokens that fit beside the weights",
            "24 GB less 14 GB, 524,288 bytes a token",
            "19,073",
            f"{tokens:,}",
            GUIDE,
        ),
    ]


def _thirteen_billion_on_eight_v5e() -> list[Reproduced]:
    machine, count = gpus()["Google TPU v5e"], 8
    parameters, cache = 13 * 10**9, 6.7e9
    rows = []
    for requests, published in STEPS.items():
        seconds = step_seconds(
            requests, cache, 2 * parameters, parameters, count * machine.operations, count * machine.bandwidth
        )
        rows.append(
            Reproduced(
                f"Llama-2-13B on 8 TPU v5e: a step of {requests} request" + ("s" if requests > 1 else ""),
                "13 × 10⁹ parameters in 16 bit, 6.7 GB of cache a request of 8,192 tokens",
                f"{published} ms",
                f"{1e3 * seconds:.2f} ms",
                BOOK,
            )
        )
    return rows


def _blocks_of_a_server() -> Reproduced:
    tokens = 652_144
    size = kv_bytes(architectures()["Qwen3-0.6B"], tokens)
    return Reproduced(
        "Qwen3-0.6B: memory of 652,144 cached tokens",
        f"{tokens // 16:,} blocks of 16 tokens, 16 bit",
        "69.66 GiB",
        f"{size / GIB:.2f} GiB",
        LOG,
    )
