"""Calls with a deadline: threads are used again, a late call is left behind, calls may be made within calls."""

from __future__ import annotations

import gc
import os
import threading
import time

import pytest

from holdfast import Holdfast
from holdfast.plugin.deadline import Deadlines, steps


def test_call__one_after_the_other__are_run_by_the_same_thread():
    deadlines, seen = Deadlines(), []
    for _ in range(5):
        assert deadlines.call(lambda: seen.append(threading.get_ident()), 5)
    assert len(set(seen)) == 1
    assert threading.get_ident() not in seen


@pytest.mark.req("R166")
def test_call__takes_too_long__is_left_behind_and_the_next_is_not_held_up():
    deadlines, hold = Deadlines(), threading.Event()
    assert not deadlines.call(hold.wait, 0.02)
    began = time.monotonic()
    assert deadlines.call(lambda: None, 5)
    assert time.monotonic() - began < 1
    hold.set()


def test_call__within_a_call__has_a_thread_of_its_own():
    deadlines, seen = Deadlines(), []

    def outer() -> None:
        assert deadlines.call(lambda: seen.append("inner"), 5)
        seen.append("outer")

    assert deadlines.call(outer, 5)
    assert seen == ["inner", "outer"]


def test_call__by_many_threads_at_once__each_is_answered():
    deadlines, seen = Deadlines(), []

    def caller(number: int) -> None:
        for _ in range(20):
            assert deadlines.call(lambda: seen.append(number), 5)

    callers = [threading.Thread(target=caller, args=(n,)) for n in range(8)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    assert sorted(seen) == sorted(list(range(8)) * 20)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # Python 3.12 warns of forks with threads
def test_call__after_a_fork__does_not_wait_for_threads_that_are_not_there():
    deadlines = Deadlines()
    assert deadlines.call(lambda: None, 5)
    child = os.fork()
    if child == 0:
        os._exit(0 if deadlines.call(lambda: None, 5) else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.req("R166")
def test_call_in_steps__a_step_takes_too_long__it_is_named_and_left_behind():
    deadlines, hold, seen = Deadlines(), threading.Event(), []

    def job() -> None:
        shared = steps()
        assert shared is not None
        shared.run("quick", lambda: seen.append(steps()), 5)
        shared.run("slow", lambda: hold.wait(10), 0.02)

    began = time.monotonic()
    assert deadlines.call_in_steps(job) == "slow"
    assert time.monotonic() - began < 5
    assert seen == [None]  # a call within a step has a thread of its own
    assert deadlines.call_in_steps(lambda: None) is None
    assert steps() is None
    hold.set()


def test_call_in_steps__each_step_within_its_own_limit__all_are_run_by_one_thread():
    deadlines, seen = Deadlines(), []

    def job() -> None:
        shared = steps()
        assert shared is not None
        for _ in range(4):
            shared.run("step", lambda: (time.sleep(0.15), seen.append(threading.get_ident())), 0.4)

    assert deadlines.call_in_steps(job) is None
    assert len(seen) == 4
    assert len(set(seen)) == 1


def test_deadlines__no_longer_used__their_threads_end():
    deadlines = Deadlines()
    seen: list[threading.Thread] = []
    assert deadlines.call(lambda: seen.append(threading.current_thread()), 5)
    del deadlines
    seen[0].join(10)
    assert not seen[0].is_alive()


def test_project__opened_and_closed_many_times__leaves_no_threads(project):
    before = threading.active_count()
    for _ in range(20):
        with Holdfast.open(project) as memory:
            memory.facts.create("Prefers tabs")
        del memory
    gc.collect()
    until = time.monotonic() + 10
    while threading.active_count() > before + 2 and time.monotonic() < until:
        time.sleep(0.05)
    assert threading.active_count() <= before + 2
