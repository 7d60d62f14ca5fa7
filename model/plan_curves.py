"""How a plan's results move when more requests come at once, or when they become longer."""

from dataclasses import dataclass, replace

from model.plan import Outcome, Plan, outcome

POINTS = 33


@dataclass(frozen=True)
class Curve:
    """A plan with one thing moved.

    Attributes:
        places: what is moved, in rising order.
        outcomes: one a place.
        now: where the plan stands.
        full: the last place at which the requests fit into memory; 0 if none does.
    """

    places: list[int]
    outcomes: list[Outcome]
    now: int
    full: int


def by_requests(plan: Plan) -> Curve:
    """Over the number of typical requests at once."""
    fitting = outcome(plan).typical.requests
    places = _spread(1, max(16, 2 * plan.requests, min(2 * fitting, 4_096)), plan.requests)
    return Curve(places, [outcome(replace(plan, requests=count)) for count in places], plan.requests, fitting)


def by_context(plan: Plan) -> Curve:
    """Over the tokens of a typical request, its answer as long as before."""
    least = plan.answer + 1
    places = _spread(max(128, least), max(plan.shape.positions, plan.typical, 2 * least), plan.typical)
    outcomes = [outcome(replace(plan, prompt=tokens - plan.answer)) for tokens in places]
    return Curve(places, outcomes, plan.typical, longest_that_fits(plan))


def longest_that_fits(plan: Plan) -> int:
    """Tokens that each of the plan's requests may have; 0 if not even one token each fits."""

    def fits(tokens: int) -> bool:
        return plan.fit(tokens, 1).requests >= plan.requests

    low, high = 0, 2 * max(plan.shape.positions, plan.longest)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low + 1 if low else 0


def _spread(low: int, high: int, now: int) -> list[int]:
    """Whole numbers from ``low`` to ``high`` in equal proportions, ``now`` among them."""
    steps = {round(low * (high / low) ** (place / (POINTS - 1))) for place in range(POINTS)}
    return sorted(steps | {now})
