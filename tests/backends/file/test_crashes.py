"""SIGKILL at every call that touches the store, faults at every such call, and power cuts at every one.

The oracle is the state after each acknowledged step: whatever happens, a new process sees the last acknowledged state
or the one that the step that was hit would have made, as a whole; and the workload can go on from there.
"""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from crash_kit import STEPS, FailingOs, State, finish, states
from tests.simulation.world import ROOT, Process, World

from holdfast.errors import Unavailable
from holdfast_file import facts
from holdfast_file.backend import FileBackend

pytestmark = pytest.mark.usefixtures("shared_key")  # folders are copied and built anew


@pytest.fixture
def wanted(scratch: Path) -> list[State]:
    """The states of a run in which nothing goes wrong."""
    root = scratch / "calm"
    root.mkdir()
    return states(root)


@pytest.mark.req("R142", "R143", "R167")
def test_process__killed_at_each_call__acknowledged_is_there_and_work_goes_on(
    scratch: Path, wanted: list[State]
) -> None:
    """C1, C7"""
    folder = scratch / "killed"
    folder.mkdir()
    killer = [sys.executable, str(Path(__file__).with_name("killer.py")), str(folder)]
    paths = os.pathsep.join(p for p in sys.path if p)
    ran = subprocess.run(killer, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": paths})
    runs = [tuple(map(int, line.split())) for line in ran.stdout.splitlines()]
    assert len(runs) > 100
    assert runs[-1][1] == len(STEPS)
    for k, acknowledged in runs:
        finish(folder / str(k), acknowledged, wanted)


@pytest.mark.req("R142", "R143", "R167")
@pytest.mark.parametrize(
    ("code", "short", "always"),
    [(errno.EIO, False, False), (errno.ENOSPC, True, True)],
    ids=["EIO once", "ENOSPC after half of a write, and from then on"],
)
def test_call__fails__unavailable_and_work_goes_on(
    scratch: Path, wanted: list[State], monkeypatch: pytest.MonkeyPatch, code: int, short: bool, always: bool
) -> None:
    """C8, E2, E3"""
    k, faults = 0, 0
    while k == faults:
        k += 1
        root = scratch / str(k)
        root.mkdir()
        failing = FailingOs(k, code, always=always, short=short)
        store = FileBackend(root)
        done = 0
        with monkeypatch.context() as patch:
            for what in failing.installed_in():
                patch.setattr(*what)
            caught = None
            try:
                for step in STEPS:
                    step(store)
                    done += 1
            except Unavailable as error:
                caught = error
            if caught:
                assert caught.next_step
                assert str(scratch) not in str(caught)
            faults += bool(failing.hit)
            failing.mend()
            # The same opening goes on here, which knows that a flush failed; a new one in the next test.
            finish(root, done, wanted, store)


@pytest.mark.req("R142", "R143")
def test_call__fails_in_one_process__the_next_goes_on(
    scratch: Path, wanted: list[State], monkeypatch: pytest.MonkeyPatch
) -> None:
    """C8"""
    k, failing = 0, None
    while failing is None or failing.hit:
        k += 1
        root = scratch / str(k)
        root.mkdir()
        failing = FailingOs(k, errno.EIO, always=True, short=True)
        done = 0
        with monkeypatch.context() as patch:
            for what in failing.installed_in():
                patch.setattr(*what)
            store = FileBackend(root)
            try:
                for step in STEPS:
                    step(store)
                    done += 1
            except Unavailable:
                pass
        finish(root, done, wanted)


@pytest.mark.req("R142", "R143")
@pytest.mark.parametrize("seed", range(2))
def test_power__cut_at_each_change__acknowledged_is_there_and_work_goes_on(
    wanted: list[State], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """C1, C7: unsynced data lost, cut, zeroed or holed, unsynced names lost or kept."""
    monkeypatch.setattr(facts, "SPARE_DEAD_LINES", 0)
    at, done = 0, 0

    def work() -> None:
        nonlocal done
        store = FileBackend(ROOT)
        for step in STEPS:
            step(store)
            done += 1

    while done < len(STEPS):
        at, done = at + 1, 0
        world = World(Random(f"{seed} {at}"))
        world.break_at(at, "cut")
        with world.installed():
            world.run([(Process(1, timedelta()), work)], 0.0)
            world.mend()
            world.cut_power()
            world.running = Process(2, timedelta())
            finish(Path(ROOT), done, wanted)
    assert at > 100
