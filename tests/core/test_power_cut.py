"""A flush survives a power cut at any moment, and each fsync in it is needed for that."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.core.conftest import WHOLE
from tests.support.power import Disk

from holdfast import Holdfast
from holdfast.journal.safety import State
from holdfast_app.data_loss import newest

FLUSHED = {**WHOLE, "objective": "Prove the power cut", "facts": ["The needle is 17 mm long"], "state_mutations": []}
BEFORE = {**FLUSHED, "objective": "Come before", "facts": ["Nothing is known yet"]}
LATER = {**FLUSHED, "objective": "Go on", "facts": ["The thread is red"]}
#: Flushes for a process killed before this one, whose files and names the store relies on, and for the torn bytes that
#: a cut leaves of an append. tests/backends/file/test_crashes.py fails without each.
OTHERS = {".holdfast/state", ".holdfast/state/append.intent", ".holdfast/memory", ".holdfast"}

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="there is no /proc here")


@pytest.fixture
def root(project: Path) -> Path:
    (project / "holdfast.toml").write_text('zone = "UTC"\n')
    with Holdfast.open(project) as memory:
        session = memory.session("before")
        session.add("user", "hello")
        session.end(BEFORE)
    return project


def work(root: Path, skipped: int = -1) -> Disk:
    """A message is answered (1), and a flush (2)."""
    disk = Disk(root, skipped=skipped)
    with disk.watch(), Holdfast.open(root) as memory:
        session = memory.session("s")
        session.add("user", "the needle is 17 mm long", message_id="m1")
        disk.answer()
        session.flush(FLUSHED)
        disk.answer()
    return disk


def lost(root: Path, answered: int) -> str:
    """What an answer promised and the next process does not find, also after it goes on; empty when all is well."""
    with Holdfast.open(root) as memory:
        session = memory.session("s")
        if answered and "m1" not in {entry.record["id"] for entry in session.journal.of_kinds("message")}:
            return "the message"
        if answered == 2 and (session.unflushed or kept(root, memory) != (1, True, True)):
            return f"the flush: {kept(root, memory)}"
        if not answered and not session.messages:
            return ""
        session.flush(FLUSHED)
        session.add("user", "the thread is red")
        session.flush(LATER)
        if (session.state, kept(root, memory), notes(root).count("Go on")) != (State.SAFE, (1, True, True), 1):
            return f"after the next flush: {session.state} {kept(root, memory)}"
        return "".join(loss.message for loss in newest(memory.services))


def notes(root: Path) -> str:
    return "".join(path.read_text() for path in (root / ".holdfast" / "memory").glob("*.md"))


def kept(root: Path, memory: Holdfast) -> tuple[int, bool, bool]:
    """The flush's blocks in notes, its entry in the handoff, and its fact."""
    entry = any(one.session == "s" for one in memory.work.list())
    return notes(root).count("Prove the power cut"), entry, any("needle" in one.content for one in memory.facts.list())


def broken(disk: Disk) -> str:
    for answered, tree in reversed(disk.states):
        disk.leave(tree)
        try:
            if found := lost(disk.root, answered):
                return found
        except Exception as error:
            return str(error)
    return ""


@pytest.mark.req("R070", "R142")
def test_power__cut_at_any_moment_of_a_flush__what_was_answered_is_there(root: Path) -> None:
    disk = work(root)
    assert len(disk.states) > 20
    assert broken(disk) == ""


@pytest.mark.req("R142")
def test_power__one_fsync_of_a_flush_left_out__something_is_lost(root: Path) -> None:
    disk = Disk(root)
    start = disk.copy(root)
    names = work(root).flushes
    assert len(names) <= 15
    first = names.index(".holdfast/facts.jsonl")  # the first one flushes what another process may have added
    for number, name in enumerate(names):
        if name in OTHERS or number == first:
            continue
        disk.leave(start)
        assert broken(work(root, number)), f"nothing needs fsync {number}, of {name}"
