"""What this machine can do, and what the model makes of it: rates, sweeps, batches, a roofline.

The roofline (Williams, Waterman and Patterson 2009): a machine reaches at most the smaller of its
matrix rate and of its read bandwidth times the operations done for each byte read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from transformers import DynamicCache

from model.clock import Takes, seconds_of
from model.cost import Work, kv_bytes, work
from model.errors import SettingRefused
from model.forward import forward
from model.language_model import LanguageModel
from model.room import free_memory
from model.tokens import Tokens
from model.tracing import as_tokens

#: Rows of the square matrices multiplied to find the matrix rate, and of the one read to find the
#: bandwidth: 268 MB in float32, more than any cache of a processor holds.
MULTIPLIED, READ = 1_536, 8_192
#: Decode steps timed after each prefill.
DECODES = 4
#: Decode steps timed with each number of requests side by side.
BATCH_STEPS = 6
#: Share of the free memory that a measurement may take.
MEMORY_SHARE = 0.5


@dataclass(frozen=True)
class Machine:
    """What the machine reached.

    Attributes:
        matrix_rate: operations a second, multiplying two square matrices: one take each.
        bandwidth: bytes a second, multiplying a large matrix with a vector: one take each.
        threads: threads that torch used.
    """

    matrix_rate: Takes
    bandwidth: Takes
    threads: int

    def limit(self, intensity: float) -> float:
        """Operations a second that the roofline allows at ``intensity`` operations a byte."""
        return min(self.matrix_rate.median, self.bandwidth.median * intensity)

    @property
    def ridge(self) -> float:
        """Operations a byte from which on the matrix rate is the limit."""
        return self.matrix_rate.median / self.bandwidth.median


@torch.inference_mode()
def measure_machine(lm: LanguageModel, takes: int = 5) -> Iterator[Machine]:
    """The machine's rates in the model's precision on the model's device; a snapshot after each take."""
    dtype = getattr(torch, lm.dtype)
    square = torch.randn(MULTIPLIED, MULTIPLIED, device=lm.device, dtype=dtype)
    large = torch.ones(READ, READ, device=lm.device, dtype=dtype)
    vector = torch.ones(READ, device=lm.device, dtype=dtype)
    rates, bandwidths = [], []
    for take in range(takes + 1):
        with lm.turns.take():
            _, multiplying = seconds_of(lm.device, lambda: square @ square)
            _, reading = seconds_of(lm.device, lambda: large @ vector)
        if take == 0:  # the first pays for what later ones find ready
            continue
        rates.append(2 * MULTIPLIED**3 / multiplying)
        bandwidths.append(large.nbytes / reading)
        yield Machine(Takes(tuple(rates)), Takes(tuple(bandwidths)), torch.get_num_threads())


@dataclass(frozen=True)
class TimedWork:
    """Work by formula, and how long it took.

    Attributes:
        work: of one forward pass.
        times: of the forward pass, one number a take.
    """

    work: Work
    times: Takes

    @property
    def rate(self) -> float:
        """Operations a second that were reached."""
        return self.work.operations / self.times.median


@dataclass(frozen=True)
class GrowthPoint:
    """One length of the sweep.

    Attributes:
        length: tokens of the prompt.
        prefill: reading them all.
        decode: one step after them. Several are timed, each with one position more to read than the
            one before; the work is that of the middle one.
    """

    length: int
    prefill: TimedWork
    decode: TimedWork


def lengths_up_to(most: int) -> list[int]:
    """The lengths of a sweep: 16, doubled until ``most``."""
    lengths = [16 * 2**place for place in range(20) if 16 * 2**place <= most]
    return lengths or [most]


def growth(
    lm: LanguageModel, text: str | Tokens | Sequence[int], lengths: Sequence[int], takes: int = 2
) -> Iterator[GrowthPoint]:
    """Prefill time against the prompt's length, and decode time against the context's.

    The text is repeated to each length: what the tokens are does not change how long they take.

    Raises:
        TextRefused: for a length beyond the model's positions, before anything is run.
        SettingRefused: for a length whose cache would not fit into memory.
    """
    ids = as_tokens(lm, text).ids
    lm.check_length(len(ids))
    for length in lengths:
        lm.check_length(length + DECODES)
        check_memory(lm, length + DECODES, 1)
    if not lengths:
        return
    _timed_passes(lm, _repeated(ids, min(lengths)), 1, 1)  # to warm up
    for length in lengths:
        yield _growth_point(lm, _repeated(ids, length), takes)


def _repeated(ids: Sequence[int], length: int) -> list[int]:
    return (list(ids) * -(-length // len(ids)))[:length]


def _growth_point(lm: LanguageModel, ids: list[int], takes: int) -> GrowthPoint:
    prefills, decodes = [], []
    for _ in range(takes):
        first, *rest = _timed_passes(lm, ids, 1, DECODES)
        prefills.append(first)
        decodes += rest
    size = lm.bytes_per_value
    shape, length = lm.architecture, len(ids)
    return GrowthPoint(
        length,
        TimedWork(work(shape, length, bytes_per_value=size), Takes(tuple(prefills))),
        TimedWork(work(shape, 1, _middle(length, DECODES), bytes_per_value=size), Takes(tuple(decodes))),
    )


def _middle(length: int, decodes: int) -> int:
    """Positions that the middle one of so many decodes reads after a prompt of ``length`` tokens."""
    return length + (decodes - 1) // 2


def _timed_passes(lm: LanguageModel, ids: list[int], requests: int, decodes: int) -> list[float]:
    """Seconds of the prefill and of each decode, of ``requests`` equal requests side by side."""
    cache = DynamicCache(config=lm.module.config)
    rows, seconds = [ids] * requests, []
    for _ in range(1 + decodes):
        passed = forward(lm, rows, cache)
        seconds.append(passed.seconds)
        rows = passed.logits.argmax(-1).tolist()
    return seconds


@dataclass(frozen=True)
class BatchPoint:
    """Decode steps of several requests side by side.

    Attributes:
        requests: how many.
        decode: one step of all of them; the work is that of the middle one of those timed.
    """

    requests: int
    decode: TimedWork

    @property
    def tokens_a_second(self) -> float:
        """Tokens written a second, all requests together."""
        return self.requests / self.decode.times.median


def batches(
    lm: LanguageModel, text: str | Tokens | Sequence[int], sizes: Sequence[int] = (1, 2, 4, 8), steps: int = BATCH_STEPS
) -> Iterator[BatchPoint]:
    """Time decode steps of 1, 2, 4, … real requests at once.

    Raises:
        TextRefused, SettingRefused: as :func:`growth` does.
    """
    ids = list(as_tokens(lm, text).ids)
    _check_batches(lm, len(ids), sizes, steps)
    size = lm.bytes_per_value
    _timed_passes(lm, ids, 1, 2)
    for requests in sizes:
        _, *decodes = _timed_passes(lm, ids, requests, steps)
        done = work(lm.architecture, 1, _middle(len(ids), steps), requests=requests, bytes_per_value=size)
        yield BatchPoint(requests, TimedWork(done, Takes(tuple(decodes))))


def _check_batches(lm: LanguageModel, length: int, sizes: Sequence[int], steps: int) -> None:
    lm.check_length(length)
    lm.check_length(length + steps)
    for requests in sizes:
        check_memory(lm, length + steps, requests)


@dataclass(frozen=True)
class Roofline:
    """The machine's limits and what the model reached below them, as far as measured.

    Attributes:
        machine: None before its first take.
        prefills: one a length of the prompt.
        batches: decode steps, one a number of requests.
        done, planned: measurements.
        doing: what was measured last, a phrase.
    """

    machine: Machine | None
    prefills: tuple[TimedWork, ...]
    batches: tuple[BatchPoint, ...]
    done: int
    planned: int
    doing: str

    nbytes = 10_000


#: Lengths of the prefills on the roofline, and numbers of requests side by side.
ROOFLINE_LENGTHS, ROOFLINE_REQUESTS = (8, 32, 128, 512), (1, 2, 4, 8)
MACHINE_TAKES = 5


def roofline(lm: LanguageModel, text: str | Tokens | Sequence[int]) -> Iterator[Roofline]:
    """Measure the machine, then prefills by length and decodes by number of requests.

    Lengths beyond the model's positions are left out, if need be all of them.

    Raises:
        TextRefused, SettingRefused: as :func:`growth` and :func:`batches` do, before anything is run.
    """
    ids = as_tokens(lm, text).ids
    _check_batches(lm, len(ids), ROOFLINE_REQUESTS, BATCH_STEPS)
    lengths = [length for length in ROOFLINE_LENGTHS if length + DECODES <= lm.architecture.positions]
    planned = MACHINE_TAKES + len(lengths) + len(ROOFLINE_REQUESTS)
    state = Roofline(None, (), (), 0, planned, "")
    for machine in measure_machine(lm, MACHINE_TAKES):
        state = replace(state, machine=machine, done=state.done + 1, doing="the machine itself")
        yield state
    for point in growth(lm, ids, lengths):
        done, doing = state.done + 1, f"a prompt of {point.length} tokens"
        state = replace(state, prefills=(*state.prefills, point.prefill), done=done, doing=doing)
        yield state
    for point in batches(lm, ids, ROOFLINE_REQUESTS):
        done, doing = state.done + 1, f"{point.requests} requests at once"
        state = replace(state, batches=(*state.batches, point), done=done, doing=doing)
        yield state


def memory_needed(lm: LanguageModel, tokens: int, requests: int) -> int:
    """Bytes that a run takes beside the weights, estimated.

    The cache by its formula, once more while it grows, and for each position of the pass a few
    vectors of the stream and the widest one of a feed-forward network.
    """
    shape, size = lm.architecture, lm.bytes_per_value
    a_position = (8 * shape.hidden_size + 3 * shape.feed_forward_size) * size
    logits = requests * shape.vocabulary_size * size
    return 2 * kv_bytes(shape, tokens, size, requests) + requests * tokens * a_position + logits


def check_memory(lm: LanguageModel, tokens: int, requests: int) -> None:
    """Refuse what would not fit.

    Raises:
        SettingRefused: with the estimate.
    """
    needed, free = memory_needed(lm, tokens, requests), free_memory(lm.device)
    if needed > MEMORY_SHARE * free:
        raise SettingRefused(
            f"{requests:,} requests of {tokens:,} tokens would take about {needed / 1e9:.1f} GB; "
            f"{free / 1e9:.1f} GB are free, of which half may be used. Take fewer or shorter ones."
        )
