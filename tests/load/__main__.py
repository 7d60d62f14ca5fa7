"""``make load``: a class of thirty on one server, for five minutes, and what they waited."""

import argparse
import asyncio
import json
import os
import sys
import urllib.request
from dataclasses import dataclass
from statistics import median

from pages.shared.frame import PAGES
from tests.bench.app import served
from tests.load.lesson import Done, Pupil
from tests.load.visitor import Visitor

#: Seconds: p95 for the teacher's text and for own ones; and by how much memory may differ at the end.
GOALS, MEMORY_GOAL = {"shared": 2.0, "own": 4.0}, 0.10
#: Seconds after which the server keeps nothing that nobody looks at, and how long it may take to.
IDLE, PATIENCE = 60, 240


@dataclass
class Memory:
    """Bytes of the server's memory (resident) over the run."""

    start: int = 0
    warm: int = 0
    peak: int = 0
    end: int = 0

    @property
    def is_back(self) -> bool:
        """Whether the end is within a tenth of the level after warm-up, or below it."""
        return self.end <= (1 + MEMORY_GOAL) * self.warm


def main() -> int:
    """Exit code 1 if a goal is missed or a page failed."""
    wanted = arguments()
    with served(EXPLAINER_IDLE_SECONDS=str(IDLE)) as address:
        return asyncio.run(lesson(address, wanted))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    parser.add_argument("--visitors", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=300.0, help="of the lesson, after warm-up")
    parser.add_argument("--warm-up", type=float, default=60.0, help="seconds before it, not counted")
    return parser.parse_args()


async def lesson(address: str, wanted: argparse.Namespace) -> int:
    """Warm-up, the lesson, and what is left when all have gone."""
    pupils = [Pupil(address, number, own=number % 2 == 1) for number in range(wanted.visitors)]
    done, memory, over = [], Memory(), asyncio.Event()
    await tour(address)  # the server has opened the model and drawn every page once
    memory.start = (await status(address))["memory_bytes"]
    counting = asyncio.Event()
    note = lambda each: done.append(each) if counting.is_set() or each.wrong else None  # noqa: E731
    async with asyncio.TaskGroup() as together:
        for pupil in pupils:
            together.create_task(pupil.attend(note, over))
        watching = together.create_task(watch(address, memory))
        await asyncio.sleep(wanted.warm_up)
        memory.warm = (await status(address))["memory_bytes"]
        counting.set()
        await asyncio.sleep(wanted.seconds)
        numbers = await status(address)
        over.set()
        watching.cancel()
    await until_back(address, memory)
    failed = await tour(address)
    report(done, numbers, memory, failed)
    return 0 if is_good(done, memory, failed) else 1


async def status(address: str) -> dict:
    """The server's own numbers."""

    def read() -> dict:
        with urllib.request.urlopen(f"{address}/status", timeout=60) as answer:
            return json.load(answer)

    return await asyncio.to_thread(read)


async def watch(address: str, memory: Memory) -> None:
    """Remember the highest level of memory."""
    while True:
        memory.peak = max(memory.peak, (await status(address))["memory_bytes"])
        await asyncio.sleep(1.0)


async def until_back(address: str, memory: Memory) -> None:
    """Wait until what nobody looks at has been freed, or has had time enough."""
    for _ in range(PATIENCE // 5):
        memory.end = (await status(address))["memory_bytes"]
        if memory.is_back:
            return
        await asyncio.sleep(5.0)


async def tour(address: str) -> list[str]:
    """Open every page once; those that did not come whole."""
    failed = []
    async with Visitor(address) as visitor:
        for slug in PAGES:
            await visitor.open(slug)
            if not visitor.shown.is_whole or visitor.shown.complaints:
                failed.append(slug)
    return failed


def is_good(done: list[Done], memory: Memory, failed: list[str]) -> bool:
    """Whether every goal was reached."""
    in_time = all(p95(done, kind) <= goal for kind, goal in GOALS.items())
    return in_time and memory.is_back and not failed and not any(each.wrong for each in done)


def p95(done: list[Done], kind: str) -> float:
    """The time that 95 of 100 actions did not exceed, seconds."""
    times = sorted(each.seconds for each in done if each.kind == kind)
    return times[int(0.95 * (len(times) - 1))] if times else 0.0


def report(done: list[Done], numbers: dict, memory: Memory, failed: list[str]) -> None:
    """Everything that was found, as text."""
    print(f"{os.cpu_count()} cores, shared by the server and the class; load {os.getloadavg()[0]:.1f}\n")
    print(f"{'':<10}{'actions':>8}{'median':>9}{'p95':>9}{'worst':>9}   goal (p95)")
    for kind, goal in GOALS.items():
        times = [each.seconds for each in done if each.kind == kind]
        if times:
            verdict = "met" if p95(done, kind) <= goal else "MISSED"
            print(f"{kind:<10}{len(times):>8}{median(times):>8.2f}s{p95(done, kind):>8.2f}s{max(times):>8.2f}s"
                  f"   {goal:.0f} s {verdict}")  # fmt: skip
    print("\nby page, both kinds:")
    for slug in PAGES:
        times = sorted(each.seconds for each in done if each.page == slug)
        if times:
            print(f"  {slug:<14}{len(times):>6}{median(times):>8.2f}s{times[int(0.95 * (len(times) - 1))]:>8.2f}s"
                  f"{times[-1]:>8.2f}s")  # fmt: skip
    print(
        f"\nwaiting for the model: {numbers['model_turns']:,} turns, median {numbers['model_wait_median_s']:.3f} s, "
        f"p95 {numbers['model_wait_p95_s']:.3f} s, worst {numbers['model_wait_worst_s']:.2f} s"
    )
    verdict = "back within 10 %" if memory.is_back else "NOT BACK within 10 %"
    print(
        f"memory: start {memory.start / 1e6:,.0f} MB, after warm-up {memory.warm / 1e6:,.0f} MB, peak "
        f"{memory.peak / 1e6:,.0f} MB, end {memory.end / 1e6:,.0f} MB: {verdict}"
    )
    wrong = [each for each in done if each.wrong]
    print(f"failed actions: {len(wrong)}; pages that do not answer afterwards: {', '.join(failed) or 'none'}")
    for each in wrong[:20]:
        print(f"  {each.kind} on {each.page}, {each.what}: {each.wrong}")


if __name__ == "__main__":
    sys.exit(main())
