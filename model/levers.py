"""What can be done about a plan, one thing changed at a time: what it buys, and what it costs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from model.cost import with_kv_heads
from model.deployment import PCI_EXPRESS
from model.plan import Outcome, Plan, outcome

#: The host's memory is reached through this slot.
SLOT = "PCIe 5.0 ×16"


@dataclass(frozen=True)
class Lever:
    """One change.

    Attributes:
        name: what is changed.
        outcome: what the plan comes to with it.
        price: what it costs elsewhere.
        unbounded: whether the machine's memory no longer limits the number of requests.
    """

    name: str
    outcome: Outcome
    price: str
    unbounded: bool = False


def levers(plan: Plan, same: float) -> list[Lever]:
    """The plan as it is, then with each lever.

    Args:
        same: share of every prompt that is common to all requests.
    """
    found = [Lever("as planned", outcome(plan), "–")]
    for changes in (_heads(plan), _bits(plan), _lengths(plan, same)):
        found += [Lever(name, outcome(changed), price) for name, changed, price in changes]
    away = replace(plan, link=PCI_EXPRESS[SLOT])
    price = f"each step brings every cache over {SLOT}, one slot a machine; the host's memory is the limit"
    return [*found, Lever("caches in the host's memory", outcome(away), price, unbounded=True)]


def _heads(plan: Plan) -> Iterator[tuple[str, Plan, str]]:
    """Other numbers of KV heads; latent attention has none to share."""
    shape = plan.shape
    if shape.latent_size:
        return
    for count in sorted({shape.query_heads, 8, 1}, reverse=True):
        if count == shape.kv_heads or shape.query_heads % count:
            continue
        name = f"{count} KV heads" if count > 1 else "1 KV head"
        price = "heads share keys and values: a little quality, and the model must be trained so"
        if count > shape.kv_heads:
            price = "for comparison: what it would take with less sharing"
        yield name, replace(plan, shape=with_kv_heads(shape, count)), price


def _bits(plan: Plan) -> Iterator[tuple[str, Plan, str]]:
    """Fewer bits than the plan has."""
    for bits in (8, 4):
        if bits < plan.cache_bits:
            price = "each cached value is rounded; scales and zeros come on top"
            yield f"cache in {bits} bits", replace(plan, cache_bits=bits), price
    for bits in (8, 4):
        if bits < plan.weight_bits:
            price = "each weight is rounded: quality to be measured; arithmetic is assumed as fast as before"
            yield f"weights in {bits} bits", replace(plan, weight_bits=bits), price


def _lengths(plan: Plan, same: float) -> Iterator[tuple[str, Plan, str]]:
    """Less to read: shorter prompts, or a beginning that all share."""
    half = replace(plan, prompt=max(1, plan.prompt // 2), longest_prompt=max(1, plan.longest_prompt // 2))
    yield "prompts half as long", half, "what is left out cannot be used: retrieve, or summarise"
    if same:
        price = "only what is the same from the first token on; every step still reads it for each request"
        yield f"{same:.0%} of the prompt reused", replace(plan, prefix=same), price
