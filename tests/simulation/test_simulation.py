"""Simulated crashes: histories keep every promise, and find each planted fault."""

from __future__ import annotations

import sys
from contextlib import suppress

import pytest
from tests.simulation.faults import FAULTS, planted
from tests.simulation.history import Broken, History, Op, lived_in_disk, payload

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the disk in memory is a POSIX one")

#: Seeds that found a fault of holdfast: decisions stated twice after a flush that failed behind its block, or after a
#: power cut that brought back a finished flush's marker; a repeated message that a killed process had not flushed.
KEPT = (110, 141, 427, 571, 895, 1410, 1010167, 1020195)
#: The numbers of histories that find a planted fault, where it takes more than a few.
FOUND: dict[str, int] = {
    "a lock excludes nobody": 14,
    "zeros in a torn line are damage": 51,
    "a killed process's key is taken for durable": 138,
    "a journal's torn line stays": 185,
    "a message may come twice": 194,
    "a killed process's message is taken for durable": 694,
    "a flush covers what was said meanwhile": 34,
    "the plan is not synced": 44,
    "a refused payload is forgotten": 3242,
    "a finished flush's marker counts after a power cut": 3109,
    "a torn block stays": 112,
    "an append has no intent": 112,
    "a fact's torn line stays": 165,
    "an old block is taken for durable": 350,
}
#: Syncs of a message, a flush and the session's end, and a history that loses something when one does nothing: its
#: seed, and the change at which the power is cut. Not needed here are the syncs of what was there before.
NEEDED = {
    1: (10, 10), 2: (9, 9), 3: (3, 3), 4: (30, 30), 8: (29, 29), 9: (1, 999), 10: (1, 999), 11: (1, 999), 12: (2, 999),
    13: (4, 4), 14: (6, 6), 15: (5, 5), 16: (2, 999), 17: (7, 7), 18: (53, 53),
}  # fmt: skip


def work() -> list[Op]:
    return [Op("add", token="m1q"), Op("state", token="d2q", fact="f3q", payload=payload("d2q", "f3q")), Op("end")]


@pytest.mark.req("R070", "R142", "R143")
@pytest.mark.parametrize("seeds", [KEPT, range(1, 201)], ids=["kept", "first"])
def test_histories__of_seeds__keep_every_promise(seeds: tuple[int, ...]) -> None:
    for seed in seeds:
        History(seed).play()


def test_history__of_one_seed__is_always_the_same() -> None:
    first, second = History(7), History(7)
    first.play()
    second.play()
    assert first.log == second.log
    assert first.world.changes == second.world.changes > 50


@pytest.mark.req("R070", "R142", "R143")
@pytest.mark.parametrize(("way", "again"), [("cut", False), ("kill", True), ("fault", False)])
def test_flush__broken_at_each_change__what_was_answered_is_there_and_it_goes_on(way: str, again: bool) -> None:
    for at in range(1, 1000):
        history = History(at, work(), way=way, at=at, again=again)
        history.play()
        if not history.world.hit:
            break
    assert 100 < at < 250


@pytest.mark.req("R142")
@pytest.mark.parametrize("number", NEEDED)
def test_flush__one_sync_left_out__something_is_lost(number: int) -> None:
    for seed, at in (NEEDED[number], *((n, n) for n in range(1, 150)), *((n, 999) for n in range(1, 10))):
        broken = History(seed, work(), way="cut", at=at, lived_in=True)
        broken.world.skipped = number
        with suppress(Broken):
            broken.play()
            continue
        return
    pytest.fail("nothing needs it")


def history(number: int) -> History:
    """Of a seed, or one that is killed, or loses power, at one change."""
    if number <= 60 or number > 3000:
        return History(number)
    at, way, lived_in = 1 + number // 4 % 125, ("kill", "cut")[number % 2], number % 4 < 2
    return History(number, work(), way=way, at=at, again=True, lived_in=lived_in)


@pytest.mark.parametrize("name", FAULTS)
def test_fault__planted__is_found(name: str) -> None:
    lived_in_disk()  # made without the fault
    with planted(name):
        for number in (FOUND.get(name, 1), *range(1, 4000)):
            with suppress(Broken):
                history(number).play()
                continue
            return
    pytest.fail("no history finds it")
