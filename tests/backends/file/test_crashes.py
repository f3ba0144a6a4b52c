"""SIGKILL at every call that touches the store, faults at every such call, and power cuts after every one.

The oracle is the state after each acknowledged step: whatever happens, a new process sees the last acknowledged state
or the one that the step that was hit would have made, as a whole; and the workload can go on from there.
"""

import contextlib
import errno
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from crash_kit import DAY, HEADER, STEPS, DiskOs, FailingOs, Killed, State, build, finish, observe, states

from holdfast.errors import Conflict, NotFound, Unavailable
from holdfast.testing.base import make_block, make_fact
from holdfast_file.backend import FileBackend

pytestmark = pytest.mark.usefixtures("shared_key")  # folders are copied and built anew


@pytest.fixture
def wanted(scratch) -> list[State]:
    """The states of a run in which nothing goes wrong."""
    root = scratch / "calm"
    root.mkdir()
    return states(root)


@pytest.mark.req("R142", "R143", "R167")
def test_process__killed_at_each_call__acknowledged_is_there_and_work_goes_on(scratch, wanted):
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
    ("code", "short", "always", "same"),
    [(errno.EIO, False, False, True), (errno.ENOSPC, True, True, True), (errno.EIO, True, True, False)],
    ids=["EIO once", "ENOSPC after half of a write, and from then on", "EIO from then on, and another process"],
)
def test_call__fails__unavailable_and_work_goes_on(scratch, wanted, monkeypatch, code, short, always, same):
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
            # The same opening knows that a flush failed, and another one does not.
            finish(root, done, wanted, store if same else None)


def _killed_processes(scratch: Path, monkeypatch: pytest.MonkeyPatch, first: int) -> Iterator[tuple[int, DiskOs]]:
    """Disks as a process leaves them that is killed before its k-th call, for every second k."""
    for k in itertools.count(first, 2):
        root = scratch / f"p{k}"
        root.mkdir()
        disk = DiskOs(root, kill_at=k)
        disk.watching = False
        with monkeypatch.context() as patch:
            for what in disk.installed_in():
                patch.setattr(*what)
            try:
                store = FileBackend(root)
                for step in STEPS:
                    step(store)
                    disk.acknowledged += 1
                return
            except Killed:
                disk.kill_at = -1
        yield k, disk


def _check(scratch: Path, disk: DiskOs, wanted: list[State], *, go_on: bool) -> int:
    for number, (done, files) in enumerate(sorted(disk.left, key=lambda item: (item[0], len(item[1])))):
        root = scratch / f"cut-{number}"
        root.mkdir()
        build(root, disk.root, files)
        found = observe(root)
        assert found in wanted[done : done + 2], f"power cut after step {done}: {found}\n{sorted(files)}"
        if not go_on:
            continue
        store = FileBackend(root)
        store.append(DAY, make_block("later"), HEADER, "later")
        store.add_fact(make_fact(99), 100)
        after = observe(root)
        before = dict(found.documents)
        assert dict(after.documents) == {**before, DAY: before.get(DAY, HEADER) + make_block("later")}
        assert after.facts == (*found.facts, make_fact(99))
    return len(disk.left)


@pytest.mark.req("R142", "R143")
def test_power__cut_after_each_call__acknowledged_is_there_and_whole(scratch, wanted, monkeypatch):
    """C1, C7: unsynced data lost, halved or zeroed, unsynced names lost or kept."""
    root = scratch / "powered"
    root.mkdir()
    disk = DiskOs(root)
    with monkeypatch.context() as patch:
        for what in disk.installed_in():
            patch.setattr(*what)
        store = FileBackend(root)
        for step in STEPS:
            step(store)
            disk.acknowledged += 1
            disk.cut_power()
    assert _check(scratch, disk, wanted, go_on=True) > 200


@pytest.mark.req("R142", "R143")
def test_power__cut_after_a_killed_process__what_the_next_acknowledged_is_there(scratch, wanted, monkeypatch):
    """C1: a process dies before its flush; the next one must not say yes to what only the page cache has."""
    for k, disk in _killed_processes(scratch, monkeypatch, 1):
        with monkeypatch.context() as patch:
            for what in disk.installed_in():
                patch.setattr(*what)
            store = FileBackend(disk.root)
            for step in STEPS[disk.acknowledged : disk.acknowledged + 2]:
                with contextlib.suppress(Conflict, NotFound):  # it was done before the kill, and no yes was said
                    step(store)
                disk.acknowledged += 1
                if step is not STEPS[0]:
                    disk.watching = True
                    disk.cut_power()
                    disk.watching = False
        (scratch / f"c{k}").mkdir()
        _check(scratch / f"c{k}", disk, wanted, go_on=False)


@pytest.mark.req("R142", "R143")
def test_power__cut_after_a_killed_process__other_work_of_the_next_is_there(scratch, wanted, monkeypatch):
    """C1: the next process builds on a file whose name only the page cache has."""
    block, fact = make_block("other"), make_fact(50)
    for k, disk in _killed_processes(scratch, monkeypatch, 2):
        with monkeypatch.context() as patch:
            for what in disk.installed_in():
                patch.setattr(*what)
            store = FileBackend(disk.root)
            store.append(DAY, block, HEADER, "other")
            store.add_fact(fact, 100)
            disk.watching = True
            disk.cut_power()
        for number, (done, files) in enumerate(disk.left):
            root = scratch / f"o{k}-{number}"
            root.mkdir()
            build(root, disk.root, files)
            found = observe(root)
            assert found.facts[-1] == fact
            assert dict(found.documents)[DAY].endswith(block)
            was = [(name, text.removesuffix(block)) for name, text in found.documents]
            was = [(name, text) for name, text in was if text != HEADER]
            assert State(tuple(was), found.facts[:-1]) in wanted[done : done + 2]
