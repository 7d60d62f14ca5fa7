"""A plan's results in words: each with its formula, the numbers put in. For the page and for the report."""

from dataclasses import dataclass

from model.plan import CAPACITY, COMPUTE, EITHER, Outcome, Plan
from viz.calculator import in_gb, rounded
from viz.plan import between, estimate, time_between


@dataclass(frozen=True)
class Line:
    """One result.

    Attributes:
        name: what it is.
        formula: how it is worked out, the numbers put in.
        result: a range, or a whole number.
    """

    name: str
    formula: str
    result: str


def powers(value: float) -> str:
    """A large number as ``70.6 × 10⁹``."""
    for size, name in ((1e15, "10¹⁵"), (1e12, "10¹²"), (1e9, "10⁹"), (1e6, "10⁶")):
        if value >= size:
            return f"{rounded(value / size)} × {name}"
    return f"{value:,.0f}"


def requests_word(count: int) -> str:
    return "1 request" if count == 1 else f"{count:,} requests"


def percent(low: float, high: float) -> str:
    """A share as a range."""
    return f"{100 * low:.0f} %" if low == high else f"{100 * low:.0f}–{100 * high:.0f} %"


def rate(plan: Plan) -> str:
    """The matrix rate of all machines, and the share of it that is assumed."""
    share = percent(plan.worst.rate, plan.best.rate)
    return f"({_times(plan)}{powers(plan.gpu.operations)} operations/s × {share})"


def bandwidth(plan: Plan) -> str:
    """The bandwidth of all machines, and the share of it that is assumed."""
    share = percent(plan.worst.bandwidth, plan.best.bandwidth)
    return f"({_times(plan)}{rounded(plan.gpu.bandwidth / 1e9)} GB/s × {share})"


def _times(plan: Plan) -> str:
    return f"{plan.gpus:,} × " if plan.gpus > 1 else ""


def money(low: float, high: float) -> str:
    return f"${between(low, high)}"


def memory_lines(plan: Plan, found: Outcome) -> list[Line]:
    """How many requests fit."""
    room = f"({_times(plan)}{in_gb(plan.gpu.memory)} − {in_gb(plan.weights)} weights − {_times(plan)}"
    room += f"{in_gb(plan.overhead)} set aside)"
    return [
        Line(
            f"{kind} requests that fit at once",
            f"{room} / {in_gb(shared.a_request)}, the cache of {tokens:,} tokens",
            f"{shared.requests:,}",
        )
        for kind, shared, tokens in (
            ("Longest", found.longest, plan.longest),
            ("Typical", found.typical, plan.typical),
        )
    ]


def reading_lines(plan: Plan, found: Outcome) -> list[Line]:
    """Until the first token."""
    lines = [
        Line("Time to first token, alone", _reading(plan, plan.prompt), time_between(*_ends(found.first_token))),
        Line(
            "The same for the longest prompt",
            _reading(plan, plan.longest_prompt),
            time_between(*_ends(found.longest_first_token)),
        ),
    ]
    if plan.requests > 1:
        lines.append(
            Line(
                f"The last of {plan.requests:,} that come at once",
                f"{plan.requests:,} × {time_between(*_ends(found.first_token))}",
                time_between(*_ends(found.last_first_token)),
            )
        )
    return lines


def _reading(plan: Plan, prompt: int) -> str:
    products = 2 * plan.used * prompt
    attention = plan.operations(prompt) - products
    computing = f"(2 × {powers(plan.used)} × {prompt:,} tokens + {powers(attention)} of attention) / {rate(plan)}"
    return f"max( {computing} , {in_gb(plan.weights_read(prompt))} of weights / {bandwidth(plan)} )"


def _ends(found) -> tuple[float, float]:
    return found.low, found.high


def writing_lines(plan: Plan, found: Outcome) -> list[Line]:
    """From token to token."""
    in_words = time_between(*_ends(found.between))
    return [
        Line("Time between tokens", _step(plan, plan.half_way), in_words),
        Line("The same if all are the longest", _step(plan, plan.longest), time_between(*_ends(found.longest_between))),
        Line("Tokens a second for one user", f"1 / {in_words}", between(*_ends(found.one_user))),
        Line("Tokens a second in all", f"{plan.requests:,} / {in_words}", between(*_ends(found.in_all))),
        Line(
            "A whole typical answer",
            f"{time_between(*_ends(found.first_token))} + {plan.answer:,} tokens × {in_words}",
            time_between(*_ends(found.answer)),
        ),
    ]


def _step(plan: Plan, tokens: int) -> str:
    reading = f"{plan.requests:,} × {in_gb(plan.cache(tokens))} ({tokens:,} tokens) / {bandwidth(plan)}"
    computing = f"2 × {plan.requests:,} × {powers(plan.used)} / {rate(plan)}"
    return f"{reading} + max( {computing} , {in_gb(plan.weights_read(plan.requests))} / {bandwidth(plan)} )"


def price_lines(plan: Plan, found: Outcome) -> list[Line]:
    """What it costs while the machines are busy."""
    a_second = f"{_times(plan)}${plan.price:,.2f} / 3,600 s"
    reading, step = time_between(*_ends(found.first_token)), time_between(*_ends(found.between))
    return [
        Line(
            "A million tokens in",
            f"10⁶ × {a_second} × {reading} / {plan.prompt:,} tokens",
            money(*_ends(found.cost_in)),
        ),
        Line(
            "A million tokens out",
            f"10⁶ × {a_second} × {step} / {requests_word(plan.requests)}",
            money(*_ends(found.cost_out)),
        ),
        Line(
            "One typical request",
            f"{a_second} × ({reading} + {plan.answer:,} × {step} / {plan.requests:,})",
            money(*_ends(found.cost_request)),
        ),
    ]


def all_lines(plan: Plan, found: Outcome) -> list[Line]:
    """Everything, in the order of the page."""
    groups = (memory_lines, reading_lines, writing_lines, price_lines)
    return [line for group in groups for line in group(plan, found)]


def verdict(plan: Plan, found: Outcome) -> str:
    """Will it hold? In a sentence or two."""
    if found.longest.room < 0:
        return (
            f"It does not hold: the weights and what is set aside take {in_gb(-found.longest.room)} more than the "
            "memory there is, before a single token is kept. Fewer bits a weight, or more machines."
        )
    longest, typical = found.longest.requests, found.typical.requests
    if not typical:
        return "It does not hold: the weights fit, but not the cache of one typical request."
    fits = f"{typical:,} typical requests fit at once, and {longest:,} of the longest."
    if plan.requests > typical:
        return f"It does not hold: {plan.requests:,} are asked for. {fits} The rest would wait: {CAPACITY} binds."
    if plan.requests > longest:
        return f"It holds while requests are typical: {plan.requests:,} are asked for. {fits}"
    return f"It holds: {requests_word(plan.requests)} asked for. {fits}"


def binding(plan: Plan, found: Outcome) -> str:
    """What limits reading, writing, and the number of requests."""
    why = {
        COMPUTE: "compute: the arithmetic takes longer than reading the bytes",
        EITHER: "compute or bandwidth, within what is assumed",
    }
    usual = "bandwidth: bytes arrive more slowly than they are used up"
    reading, writing = (why.get(kind, usual) for kind in (found.reading_binds, found.writing_binds))
    fitting = found.typical.requests
    of_asked = f"{estimate(fitting / plan.requests)} times what is asked for"
    if fitting < plan.requests:
        of_asked = f"fewer than the {plan.requests:,} asked for"
    capacity = f"capacity: {fitting:,} typical requests fit, {of_asked}"
    return f"Reading is bound by {reading}. Writing by {writing}. The number of requests by {capacity}."
