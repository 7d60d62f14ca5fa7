"""The queue in front of the model: who is next, who waits, who leaves."""

import threading
from contextlib import nullcontext

import pytest

from model import ModelBusy
from model.queue import Turns, background
from pages.shared.jobs import Jobs


class Holder:
    """A thread that has the turn until it is told to give it back."""

    def __init__(self, turns: Turns):
        self._turns, self._has_it, self._go = turns, threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._hold)

    def __enter__(self):
        self._thread.start()
        self._has_it.wait()
        return self

    def __exit__(self, *exception):
        self.let_go()

    def let_go(self) -> None:
        self._go.set()
        self._thread.join()

    def _hold(self) -> None:
        with self._turns.take():
            self._has_it.set()
            self._go.wait()


def waiting(turns: Turns, work) -> threading.Thread:
    """A thread that does ``work``, given back when it stands in the line."""
    thread = threading.Thread(target=work)
    thread.start()
    while turns.before(thread.ident) is None:
        assert thread.is_alive()
        thread.join(timeout=0.001)
    return thread


def test_a_full_queue_says_so_at_once():
    turns = Turns(waiting=0)
    with Holder(turns), pytest.raises(ModelBusy, match="Try again"), turns.take():
        pass
    with turns.take():
        pass


def test_a_turn_that_does_not_come_in_time_says_so():
    turns = Turns(waiting=1, patience=0.0)
    with turns.take():
        refused = []

        def wait():
            try:
                with turns.take():
                    pass
            except ModelBusy as reason:
                refused.append(str(reason))

        thread = threading.Thread(target=wait)
        thread.start()
        thread.join()
    assert "busy" in refused[0]


def in_order_of(turns: Turns, *works) -> list[str]:
    """The names of ``works``, begun one after the other behind one that holds the turn, as they were served."""
    served = []

    def take(name, how):
        with how(), turns.take():
            served.append(name)

    with Holder(turns) as holder:
        threads = [waiting(turns, lambda name=name, how=how: take(name, how)) for name, how in works]
        places = [turns.before(thread.ident) for thread in threads]
        assert sorted(places) == [place + 1 for place in range(len(threads))], "the one that runs is counted"
        holder.let_go()
        for thread in threads:
            thread.join()
    return served


def test_who_came_first_is_served_first():
    works = [(name, nullcontext) for name in "abc"]
    assert in_order_of(Turns(), *works) == ["a", "b", "c"]


def test_long_work_lets_a_page_go_first():
    works = [("long", background), ("page", nullcontext)]
    assert in_order_of(Turns(), *works) == ["page", "long"]


def test_who_leaves_is_told_and_the_others_move_up():
    turns, said = Turns(), []

    def take():
        try:
            with turns.take():
                pass
        except ModelBusy as reason:
            said.append(str(reason))

    with Holder(turns):
        first, second = waiting(turns, take), waiting(turns, take)
        assert (turns.before(first.ident), turns.before(second.ident)) == (1, 2)
        turns.leave(first.ident)
        first.join()
        assert turns.before(first.ident) is None and turns.before(second.ident) == 1
    second.join()
    assert said == ["You have left the queue. Run it again when you like."]


def test_a_turn_is_given_back_after_an_error():
    turns = Turns()
    with pytest.raises(ZeroDivisionError), turns.take():
        raise ZeroDivisionError
    with turns.take():
        pass


def test_many_who_wait_for_the_same_have_it_done_once():
    jobs, calls, start = Jobs(), [], threading.Event()

    def work():
        start.wait()
        return calls.append(1) or "done"

    joined = [jobs.join("x", Turns(), work) for _ in range(5)]
    start.set()
    assert {job.future.result() for job in joined} == {"done"} and calls == [1]
    for job in joined:
        jobs.leave(job)


def test_who_leaves_takes_nothing_from_the_others():
    jobs, turns = Jobs(), Turns()
    with Holder(turns):
        job = jobs.join("x", turns, lambda: _taken(turns))
        assert jobs.join("x", turns, lambda: _taken(turns)) is job
        jobs.leave(job)
    assert job.future.result() == "served"
    jobs.leave(job)


def test_what_nobody_waits_for_gives_up_its_place():
    jobs, turns = Jobs(), Turns()
    with Holder(turns):
        job = jobs.join("x", turns, lambda: _taken(turns))
        while job.before is None:
            assert not job.future.done()
        jobs.leave(job)
        with pytest.raises(ModelBusy):
            job.future.result()
        again = jobs.join("x", turns, lambda: _taken(turns))
    assert again is not job and again.future.result() == "served"
    jobs.leave(again)


def _taken(turns: Turns) -> str:
    with turns.take():
        return "served"
