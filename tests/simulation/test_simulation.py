"""Simulated crashes: seeds find no broken promise, and find each fault that is planted."""

from __future__ import annotations

import sys

import pytest
from tests.simulation.history import Broken, History, Op, payload

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the disk in memory is a POSIX one")

#: Seeds that found a fault of holdfast: a decision stated twice after a flush that failed behind its block (110), and
#: after a power cut that brought back a finished flush's marker (141, 1410).
KEPT = (110, 141, 1410)


@pytest.mark.req("R070", "R142", "R143")
@pytest.mark.parametrize("seeds", [KEPT, range(1, 301)], ids=["kept", "first"])
def test_histories__of_seeds__keep_every_promise(seeds: tuple[int, ...]) -> None:
    for seed in seeds:
        History(seed).play()


def test_history__of_one_seed__is_always_the_same() -> None:
    first, second = History(7), History(7)
    first.play()
    second.play()
    assert first.log == second.log
    assert first.world.changes == second.world.changes > 50


def work() -> list[Op]:
    return [Op("add", token="m1q"), Op("state", token="d2q", fact="f3q", payload=payload("d2q", "f3q")), Op("end")]


@pytest.mark.req("R070", "R142", "R143")
@pytest.mark.parametrize("way", ["cut", "kill", "fault"])
def test_flush__broken_at_each_change__what_was_answered_is_there_and_it_goes_on(way: str) -> None:
    for at in range(1, 1000):
        history = History(at, work(), way=way, at=at)
        history.play()
        if not history.world.hit:
            break
    assert 100 < at < 250


@pytest.mark.req("R142")
def test_flush__one_fsync_left_out__something_is_lost() -> None:
    whole = History(1, work(), way="cut", at=999)
    whole.play()
    needless = [n for n in range(1, whole.world.syncs + 1) if not any(is_broken(seed, n) for seed in range(1, 120))]
    assert needless == []


def is_broken(seed: int, skipped: int) -> bool:
    history = History(seed, work(), way="cut", at=1 + seed)
    history.world.skipped = skipped
    try:
        history.play()
    except Broken:
        return True
    return False
