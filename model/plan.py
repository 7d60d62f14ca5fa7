"""Will it hold? Memory, speed and price of serving a model, worked out from sizes alone.

Nothing here has been timed. A machine is three numbers: its memory, the operations it does in a
second and the bytes it reads in a second; of the last two it reaches a share, which is an
assumption and therefore a range. Reading a prompt and writing a token are each bound by the one of
the two that takes longer.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from model.architecture import Architecture
from model.cost import kv_bytes, weight_bytes, work
from model.deployment import Fit, fit
from model.errors import SettingRefused
from model.published import Gpu

#: Shares of a data sheet's rates that are assumed to be reached, from and to. An assumption in line
#: with what public guides and papers report: about half of the matrix rate in a long prefill, and
#: between half and four fifths of the bandwidth in decodes.
RATE_SHARE, BANDWIDTH_SHARE = (0.4, 0.5), (0.6, 0.8)
COMPUTE, BANDWIDTH, CAPACITY, EITHER = "compute", "bandwidth", "capacity", "compute or bandwidth"
SECONDS_AN_HOUR = 3_600


def prefill_seconds(operations: float, weights: float, rate: float, bandwidth: float) -> float:
    """Reading a prompt: its arithmetic, or reading the weights once where that takes longer."""
    return max(operations / rate, weights / bandwidth)


def step_seconds(
    requests: int, cache: float, weights: float, parameters: float, rate: float, bandwidth: float
) -> float:
    """Writing one token for each of some requests.

    Args:
        cache: bytes of one request's cache, which must be read.
        weights: bytes of the weights that are read, once for all requests.
        parameters: that a token uses, two operations each.
    """
    return requests * cache / bandwidth + max(2 * requests * parameters / rate, weights / bandwidth)


@dataclass(frozen=True)
class Between:
    """A result as a range: from the best to the worst share assumed, lower end first."""

    low: float
    high: float

    @classmethod
    def of(cls, function: Callable[["Shares"], float], plan: "Plan") -> "Between":
        """The range of ``function`` over both ends of the plan's shares."""
        return cls(*sorted((function(plan.best), function(plan.worst))))


@dataclass(frozen=True)
class Shares:
    """What is reached of a data sheet: shares of the matrix rate and of the bandwidth."""

    rate: float
    bandwidth: float


@dataclass(frozen=True)
class Plan:
    """A model, the machines it is to run on, and what is asked of it.

    Attributes:
        shape: the architecture.
        gpu: one of the machines.
        gpus: how many; memory, rate and bandwidth are taken that many times.
        weight_bits, cache_bits: of a weight and of a cached value, without scales.
        prompt, answer: tokens of a typical request.
        longest_prompt, longest_answer: tokens of the longest.
        requests: at once.
        price: of an hour of one machine.
        overhead: bytes set aside on each machine.
        best, worst: the shares of its rates that a machine reaches.
        active: parameters that a token uses, where that is not all of them.
        prefix: share of the prompt that is the same in all requests, and is kept and read once.
        link: bytes a second to the memory that holds the caches, if that is not the machine's own.
    """

    shape: Architecture
    gpu: Gpu
    gpus: int = 1
    weight_bits: float = 16
    cache_bits: float = 16
    prompt: int = 3_584
    answer: int = 512
    longest_prompt: int = 3_584
    longest_answer: int = 512
    requests: int = 1
    price: float = 2.5
    overhead: int = 0
    best: Shares = Shares(RATE_SHARE[1], BANDWIDTH_SHARE[1])
    worst: Shares = Shares(RATE_SHARE[0], BANDWIDTH_SHARE[0])
    active: int | None = None
    prefix: float = 0.0
    link: float | None = None

    def __post_init__(self):
        counts = ("gpus", "prompt", "answer", "longest_prompt", "longest_answer", "requests")
        if wrong := [name for name in counts if getattr(self, name) < 1]:
            raise SettingRefused(f"A plan needs at least one of its {wrong[0]!r}, not {getattr(self, wrong[0])!r}.")
        shares = (self.best.rate, self.best.bandwidth, self.worst.rate, self.worst.bandwidth)
        if not all(0 < share <= 1 for share in shares) or not 0 <= self.prefix <= 1:
            raise SettingRefused("A share that is reached is above 0 and at most 1.")
        if not self.price >= 0:
            raise SettingRefused(f"An hour costs 0 or more, not {self.price!r}.")

    # The machines together, by their data sheets

    @property
    def memory(self) -> int:
        return self.gpus * self.gpu.memory

    @property
    def rate(self) -> float:
        return self.gpus * self.gpu.operations

    @property
    def bandwidth(self) -> float:
        return self.gpus * self.gpu.bandwidth

    @property
    def ridge(self) -> float:
        """Operations a byte from which on arithmetic is the limit, by the data sheet."""
        return self.gpu.operations / self.gpu.bandwidth

    # The model

    @property
    def used(self) -> int:
        """Parameters that a token uses."""
        return min(self.active or self.shape.parameters, self.shape.parameters)

    @property
    def weights(self) -> int:
        """Bytes of all weights."""
        return weight_bytes(self.shape, self.weight_bits)

    def weights_read(self, tokens: int) -> int:
        """Bytes of weights that a pass over ``tokens`` tokens reads at most: all, or each token's own."""
        return min(self.weights, round(tokens * self.used * self.weight_bits / 8))

    # Requests

    @property
    def longest(self) -> int:
        """Tokens of the longest request."""
        return self.longest_prompt + self.longest_answer

    @property
    def typical(self) -> int:
        """Tokens of a typical request when its answer is complete."""
        return self.prompt + self.answer

    @property
    def half_way(self) -> int:
        """Tokens of a typical request half way through its answer: what an average step reads."""
        return self.prompt + self.answer // 2

    def cache(self, tokens: int) -> int:
        """Bytes that one request of ``tokens`` tokens keeps."""
        return kv_bytes(self.shape, tokens, self.cache_bits / 8)

    def shared(self, prompt: int) -> int:
        """Bytes of the common beginning of all prompts, kept once. Layers with a window share nothing."""
        everywhere = self.shape.layers - self.shape.windowed_layers
        if not everywhere or not self.prefix:
            return 0
        whole = replace(self.shape, layers=everywhere, windowed_layers=0, sliding_window=None)
        return kv_bytes(whole, int(prompt * self.prefix), self.cache_bits / 8)

    def fit(self, prompt: int, answer: int) -> Fit:
        """How the memory is shared out among requests of that length."""
        bits = {"weight_bits": self.weight_bits, "cache_bits": self.cache_bits}
        once = self.shared(prompt)
        shared = fit(self.shape, self.memory, prompt + answer, overhead=self.gpus * self.overhead + once, **bits)
        return replace(shared, a_request=max(1, shared.a_request - once))

    def operations(self, prompt: int) -> int:
        """Operations of reading a prompt: 2 for each parameter and token, and attention between positions."""
        computed = max(1, prompt - int(prompt * self.prefix))
        attention = work(self.shape, computed, prompt - computed).attention
        return 2 * self.used * computed + attention

    # Times, at one assumption of what is reached

    def reading(self, prompt: int, reached: Shares) -> float:
        """Seconds from the prompt to the first token, of one request alone."""
        return prefill_seconds(
            self.operations(prompt),
            self.weights_read(max(1, prompt - int(prompt * self.prefix))),
            self.rate * reached.rate,
            self.bandwidth * reached.bandwidth,
        )

    def step(self, tokens: int, reached: Shares) -> float:
        """Seconds between two tokens, of all requests together, when each has ``tokens`` tokens."""
        seconds = step_seconds(
            self.requests,
            0 if self.link else self.cache(tokens),
            self.weights_read(self.requests),
            self.used,
            self.rate * reached.rate,
            self.bandwidth * reached.bandwidth,
        )
        if self.link:
            seconds += self.requests * self.cache(tokens) / (self.gpus * self.link * reached.bandwidth)
        return seconds

    def step_binds(self, reached: Shares) -> str:
        """Which of the two is the longer part of an average step."""
        computing = 2 * self.requests * self.used / (self.rate * reached.rate)
        bandwidth = self.bandwidth * reached.bandwidth
        weights = self.weights_read(self.requests) / bandwidth
        return COMPUTE if computing > max(weights, self.step(self.half_way, reached) - computing) else BANDWIDTH

    def reading_binds(self, reached: Shares) -> str:
        """Which of the two is the longer part of reading a typical prompt."""
        alone = self.weights_read(self.prompt) / (self.bandwidth * reached.bandwidth)
        return COMPUTE if self.reading(self.prompt, reached) > alone else BANDWIDTH


@dataclass(frozen=True)
class Outcome:
    """What a plan comes to. Times in seconds; all but the two fits are ranges.

    Attributes:
        longest, typical: how the memory is shared out among the longest and among typical requests.
        first_token: from a typical prompt to its first token, alone.
        last_first_token: the same for the last one, if all requests come at once.
        longest_first_token: from the longest prompt to its first token, alone.
        between: between two tokens of a typical request, half way through its answer.
        longest_between: between two tokens when every request is as long as the longest.
        one_user, in_all: tokens a second written for one request, and for all together.
        answer: from a typical prompt to the end of its answer.
        cost_in, cost_out: of a million tokens read, and written.
        cost_request: of one typical request.
        reading_binds, writing_binds: ``compute``, ``bandwidth``, or either.
    """

    longest: Fit
    typical: Fit
    first_token: Between
    last_first_token: Between
    longest_first_token: Between
    between: Between
    longest_between: Between
    one_user: Between
    in_all: Between
    answer: Between
    cost_in: Between
    cost_out: Between
    cost_request: Between
    reading_binds: str
    writing_binds: str

    @property
    def holds(self) -> bool:
        """Whether the weights fit, and at least one of the longest requests."""
        return self.longest.requests > 0


def outcome(plan: Plan) -> Outcome:
    """Work a plan out, at both ends of what is assumed to be reached."""
    a_second = plan.gpus * plan.price / SECONDS_AN_HOUR
    many, prompt, half_way = plan.requests, plan.prompt, plan.half_way

    def range_of(function: Callable[[Shares], float]) -> Between:
        return Between.of(function, plan)

    def request_seconds(reached: Shares) -> float:
        """Of the machine's time that one request takes."""
        return plan.reading(prompt, reached) + plan.answer * plan.step(half_way, reached) / many

    return Outcome(
        longest=plan.fit(plan.longest_prompt, plan.longest_answer),
        typical=plan.fit(prompt, plan.answer),
        first_token=range_of(lambda reached: plan.reading(prompt, reached)),
        last_first_token=range_of(lambda reached: many * plan.reading(prompt, reached)),
        longest_first_token=range_of(lambda reached: plan.reading(plan.longest_prompt, reached)),
        between=range_of(lambda reached: plan.step(half_way, reached)),
        longest_between=range_of(lambda reached: plan.step(plan.longest, reached)),
        one_user=range_of(lambda reached: 1 / plan.step(half_way, reached)),
        in_all=range_of(lambda reached: many / plan.step(half_way, reached)),
        answer=range_of(lambda reached: plan.reading(prompt, reached) + plan.answer * plan.step(half_way, reached)),
        cost_in=range_of(lambda reached: 1e6 * a_second * plan.reading(prompt, reached) / prompt),
        cost_out=range_of(lambda reached: 1e6 * a_second * plan.step(half_way, reached) / many),
        cost_request=range_of(lambda reached: a_second * request_seconds(reached)),
        reading_binds=_together({plan.reading_binds(plan.best), plan.reading_binds(plan.worst)}),
        writing_binds=_together({plan.step_binds(plan.best), plan.step_binds(plan.worst)}),
    )


def _together(found: set[str]) -> str:
    return found.pop() if len(found) == 1 else EITHER
