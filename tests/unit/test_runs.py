"""Long work that several may watch, and the results that are kept: with events to wait on, and no clock.

The clock that tells whether a visitor has gone stands still, and moves where a test says so.
"""

import threading
from dataclasses import dataclass

import pytest

from model import SettingRefused
from pages.shared import runs, store
from pages.shared.runs import Run, Runs, Sight
from pages.shared.store import Points, SharedResults, gathered

#: Seconds after which a test that waits for what never comes gives up.
PATIENCE = 20


class Work:
    """Snapshots 1, 2, 3, …, each after the test has allowed it."""

    def __init__(self, last: int = 3, problem: Exception | None = None):
        self.last, self.problem = last, problem
        self.begun, self.given, self.threads = 0, 0, []
        self.closed = threading.Event()
        self._allowed = threading.Semaphore(0)
        self._came = threading.Condition()
        self.results = []

    def allow(self, snapshots: int = 1) -> None:
        """Let so many more snapshots be made."""
        for _ in range(snapshots):
            self._allowed.release()

    def allow_end(self) -> None:
        self.allow(self.last + 1)

    def __call__(self):
        self.begun += 1
        self.threads.append(threading.current_thread())
        try:
            for snapshot in range(1, self.last + 1):
                assert self._allowed.acquire(timeout=PATIENCE)
                yield snapshot
                with self._came:  # the one before has been looked through by whoever runs this
                    self.given = snapshot
                    self._came.notify_all()
            assert self._allowed.acquire(timeout=PATIENCE)
            if self.problem:
                raise self.problem
        finally:
            self.closed.set()

    def wait_for(self, snapshot: int) -> None:
        """Until the snapshot can be seen, and it has been asked whether anybody watches."""
        with self._came:
            assert self._came.wait_for(lambda: self.given >= snapshot, timeout=PATIENCE)

    def wait_for_thread(self) -> None:
        self.threads[-1].join(timeout=PATIENCE)
        assert not self.threads[-1].is_alive()

    def on_end(self, last) -> None:
        self.results.append(last)


class Clock:
    def __init__(self):
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch) -> Clock:
    standing = Clock()
    monkeypatch.setattr(runs, "monotonic", standing)
    return standing


def begun(shared: Runs, work: Work, visitor: str = "Ada") -> None:
    assert shared.look("key", visitor, work, work.on_end) == Sight(None, False, None)
    work.allow()
    work.wait_for(1)


def test_two_visitors_see_the_same_work_done_once():
    shared, work = Runs(), Work(last=3)
    begun(shared, work)
    assert shared.look("key", "Bob", work, work.on_end) == Sight(1, False, None)
    work.allow()
    work.wait_for(2)
    for visitor in ("Ada", "Bob", "Ada"):
        assert shared.look("key", visitor, work, work.on_end) == Sight(2, False, None)
    work.allow_end()
    work.wait_for_thread()
    for visitor in ("Ada", "Bob"):
        assert shared.look("key", visitor, work, work.on_end) == Sight(3, True, None)
    assert work.begun == 1 and work.results == [3] and work.threads[0] is not threading.current_thread()


def test_different_keys_are_different_work():
    shared, one, other = Runs(), Work(), Work()
    shared.look("one", "Ada", one, one.on_end)
    shared.look("other", "Ada", other, other.on_end)
    for work in (one, other):
        work.allow_end()
        work.wait_for_thread()
    assert (one.begun, other.begun) == (1, 1)


def test_work_ends_when_nobody_has_looked_for_a_while(clock):
    """After the grace, at the next snapshot; the iterator is closed, and nothing counts as a result."""
    shared, work = Runs(), Work()
    begun(shared, work)
    clock.now += runs.GRACE
    work.allow()
    work.wait_for_thread()
    assert work.closed.is_set() and work.given == 1 and work.results == []


def test_one_who_looks_again_in_time_keeps_it_going(clock):
    shared, work = Runs(), Work()
    begun(shared, work, "Ada")
    clock.now += runs.GRACE - 1
    assert shared.look("key", "Bob", work, work.on_end).latest == 1
    clock.now += 2  # Ada has gone by now, Bob has not
    work.allow_end()
    work.wait_for_thread()
    assert work.results == [3]


def test_with_no_grace_work_ends_at_once(monkeypatch):
    monkeypatch.setattr(runs, "GRACE", 0)
    shared, work = Runs(), Work()
    shared.look("key", "Ada", work, work.on_end)
    work.allow()
    work.wait_for_thread()
    assert work.given == 0 and work.results == []


def test_who_leaves_ends_work_that_nobody_else_watches():
    shared, work = Runs(), Work()
    begun(shared, work)
    shared.leave("key", "Ada")
    work.allow()
    work.wait_for_thread()
    assert work.results == [] and work.given == 1
    shared.leave("key", "Ada")
    shared.leave("another key", "Ada")  # nothing to leave: no complaint


def test_who_leaves_does_not_end_it_for_others():
    shared, work = Runs(), Work()
    begun(shared, work)
    shared.look("key", "Bob", work, work.on_end)
    shared.leave("key", "Ada")
    work.allow_end()
    work.wait_for_thread()
    assert shared.look("key", "Bob", work, work.on_end) == Sight(3, True, None) and work.results == [3]


def test_who_comes_back_before_the_next_snapshot_finds_it_going_on():
    shared, work = Runs(), Work()
    begun(shared, work)
    shared.leave("key", "Ada")
    assert shared.look("key", "Ada", work, work.on_end) == Sight(1, False, None)
    work.allow_end()
    work.wait_for_thread()
    assert work.begun == 1 and work.results == [3]


@pytest.mark.parametrize("visitor", ["Ada", "Bob"])
def test_work_that_was_left_begins_anew_for_who_looks_next(visitor):
    """Nobody is told that it has come to an end: it has not."""
    shared, work = Runs(), Work()
    begun(shared, work)
    shared.leave("key", "Ada")
    work.allow()
    work.wait_for_thread()
    assert shared.look("key", visitor, work, work.on_end) == Sight(None, False, None)
    work.allow_end()
    work.wait_for_thread()
    assert work.begun == 2 and work.results == [3]


def test_a_look_after_the_end_begins_anew():
    shared, work = Runs(), Work()
    begun(shared, work)
    work.allow_end()
    work.wait_for_thread()
    assert shared.look("key", "Ada", work, work.on_end) == Sight(3, True, None)
    assert shared.look("key", "Ada", work, work.on_end) == Sight(None, False, None)
    work.allow_end()
    work.wait_for_thread()
    assert work.begun == 2 and work.results == [3, 3]


def test_a_problem_reaches_everybody_who_watches_once():
    problem = SettingRefused("too large")
    shared, work = Runs(), Work(problem=problem)
    begun(shared, work)
    shared.look("key", "Bob", work, work.on_end)
    work.allow_end()
    work.wait_for_thread()
    for visitor in ("Ada", "Bob"):
        assert shared.look("key", visitor, work, work.on_end) == Sight(3, True, problem)
    assert work.begun == 1 and work.results == []
    assert shared.look("key", "Ada", work, work.on_end) == Sight(None, False, None)  # tries again
    work.allow_end()
    work.wait_for_thread()


def test_a_problem_before_the_first_snapshot():
    problem = SettingRefused("too large")

    def refused():
        raise problem
        yield

    run = Run(refused, lambda _: None)
    run.look("Ada")
    run._thread.join(timeout=PATIENCE)
    assert run.look("Ada") == Sight(None, True, problem)


def test_a_problem_with_the_result_is_a_problem():
    problem = RuntimeError("no room")

    def on_end(_):
        raise problem

    run = Run(lambda: iter([1]), on_end)
    run.look("Ada")
    run._thread.join(timeout=PATIENCE)
    assert run.look("Ada") == Sight(1, True, problem)


def test_ended_work_that_nobody_asks_for_is_forgotten(clock):
    """A snapshot may be large; it lives no longer than somebody may want it."""
    shared, work, other = Runs(), Work(), Work()
    begun(shared, work)
    work.allow_end()
    work.wait_for_thread()
    shared.look("other key", "Bob", other, other.on_end)
    assert "key" in shared._runs  # Ada may still look
    clock.now += runs.GRACE
    shared.look("other key", "Bob", other, other.on_end)
    assert set(shared._runs) == {"other key"}
    other.allow_end()
    other.wait_for_thread()


def test_many_at_once_begin_it_once():
    shared, work = Runs(), Work(last=1)
    gate = threading.Barrier(8, timeout=PATIENCE)

    def look(visitor: int) -> None:
        gate.wait()
        shared.look("key", visitor, work, work.on_end)

    visitors = [threading.Thread(target=look, args=(visitor,)) for visitor in range(8)]
    for each in visitors:
        each.start()
    for each in visitors:
        each.join(timeout=PATIENCE)
    work.allow_end()
    work.wait_for_thread()
    assert work.begun == 1 and work.results == [1]


# Results that are kept


@dataclass(frozen=True)
class Result:
    name: str
    nbytes: int = 10


def test_what_is_put_is_found_until_it_is_dropped():
    results = SharedResults(100)
    assert results.find("key") is None
    results.put("key", Result("first"))
    assert results.find("key") == Result("first") and results.nbytes == 10
    results.put("key", Result("second"))
    assert results.find("key") == Result("second") and results.nbytes == 10
    assert results.get("key", lambda: pytest.fail("is there already")) == Result("second")
    results.drop("key")
    results.drop("key")  # nothing to drop: no complaint
    assert results.find("key") is None and results.nbytes == 0


def test_what_is_put_drops_the_oldest_and_what_is_found_is_young_again():
    results = SharedResults(30)
    for name in "abc":
        results.put(name, Result(name))
    results.find("a")
    results.put("d", Result("d"))
    assert [name for name in "abcd" if results.find(name)] == ["a", "c", "d"]
    results.put("large", Result("large", 1_000))
    assert results.find("large") and results.nbytes == 1_000  # the newest is kept whatever its size


def test_what_is_being_worked_out_is_not_found_and_what_failed_is_not_kept():
    results, begun, go_on = SharedResults(100), threading.Event(), threading.Event()

    def slow() -> Result:
        begun.set()
        assert go_on.wait(timeout=PATIENCE)
        return Result("slow")

    working = threading.Thread(target=results.get, args=("key", slow))
    working.start()
    assert begun.wait(timeout=PATIENCE)
    assert results.find("key") is None and results.nbytes == 0
    go_on.set()
    working.join(timeout=PATIENCE)
    assert results.find("key") == Result("slow")

    with pytest.raises(ZeroDivisionError):
        results.get("other", lambda: 1 / 0)
    assert results.find("other") is None


def test_a_sweep_is_shown_as_all_points_so_far():
    points = list(gathered(iter("abc"), planned=3))
    assert points == [Points(("a",), 3), Points(("a", "b"), 3), Points(("a", "b", "c"), 3)]
    assert points[0].nbytes > 0


@pytest.fixture
def measured(monkeypatch) -> SharedResults:
    """An application of this test's own."""
    results, shared = SharedResults(1_000), Runs()
    monkeypatch.setattr(store, "measurements", lambda: results)
    monkeypatch.setattr(store, "_runs", lambda: shared)
    return results


class Snapshots(Work):
    """Snapshots that tell their bytes, as measurements do."""

    def __call__(self):
        for number in super().__call__():
            yield Result(str(number))


def test_a_measurement_is_kept_at_its_end_and_shown_to_all(measured):
    work = Snapshots(last=1)
    assert store.look_at("key", "Ada", work) == Sight(None, False, None)
    work.allow_end()
    work.wait_for_thread()
    assert measured.find("key") == Result("1")
    for visitor in ("Ada", "Bob", "Ada"):
        assert store.look_at("key", visitor, work) == Sight(Result("1"), True, None)
    assert work.begun == 1


def test_measuring_again_after_the_end_begins_anew(measured):
    work = Snapshots(last=1)
    for time in (1, 2):
        assert store.look_at("key", "Ada", work) == Sight(None, False, None)
        work.allow_end()
        work.wait_for_thread()
        assert store.look_at("key", "Ada", work).ended and work.begun == time
        measured.drop("key")


def test_a_stopped_measurement_is_not_kept(measured):
    work = Snapshots(last=3)
    store.look_at("key", "Ada", work)
    work.allow()
    work.wait_for(1)
    store.leave("key", "Ada")
    work.allow()
    work.wait_for_thread()
    assert measured.find("key") is None
