"""Ended sessions are packed, and everything that reads a journal finds them there."""

import itertools
import os
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.core.conftest import WHOLE
from tests.support import processes
from tests.support.dying import dies

from holdfast.api import Holdfast, Outcome
from holdfast_app.checkup import adoption, mending
from holdfast_app.checkup import examine as doctor
from holdfast_app.checkup.verify import verify_all
from holdfast_app.journal import past
from holdfast_app.journal.journal import Journal
from holdfast_app.records import packs
from holdfast_app.sessions.status import status

CLOSED = {**WHOLE, "handoff": None, "work_open": False}


def end(memory: Holdfast, *names: str) -> None:
    for name in names:
        session = memory.session(name)
        session.add("user", f"the word of {name} is parsnip{name}", message_id=f"m-{name}")
        session.end(CLOSED)


@pytest.fixture(autouse=True)
def few(monkeypatch) -> None:
    monkeypatch.setattr(packs, "KEPT", 2)
    monkeypatch.setattr(packs, "_MORE", 1)
    late = itertools.count()  # on a busy machine a second passes between any two steps
    monkeypatch.setattr(packs, "time", SimpleNamespace(monotonic=lambda: next(late), thread_time=time.thread_time))


@pytest.fixture
def memory(project) -> Iterator[Holdfast]:
    """Sessions a, b and c are packed; d and e are not."""
    with Holdfast.open(project) as opened:
        end(opened, "a", "b", "c", "d", "e")
        yield opened


def packed(state: Path) -> set[str]:
    return {one.stem for one in past.every(str(state))}


def test_end__many_sessions_ended__older_ones_leave_no_file_and_are_found(memory, state):
    left = {name.split(".")[0] for name in os.listdir(state / "sessions")}
    assert (left, packed(state)) == ({"d", "e"}, {"a", "b", "c"})
    assert memory.sessions() == ["a", "b", "c", "d", "e"]
    assert [hit.name for hit in memory.search("parsnipb", kinds=["turn"])] == ["b"]
    found = status(memory.services)
    assert (len(found.sessions), found.packed, found.ok) == (2, 3, True)
    assert "parsnipa" in memory.session("a").journal.data().decode()


def test_end__session_dirty_unsafe_or_not_ended__stays(project, state):
    with Holdfast.open(project) as memory:
        memory.session("dirty").add("user", "not flushed")
        flushed = memory.session("flushed")
        flushed.add("user", "flushed, not ended")
        flushed.flush(CLOSED)
        end(memory, "a", "b", "c")
        assert packed(state) == {"a"}


def test_add__packed_session__goes_on_where_it_ended(memory, state):
    with Holdfast.open(state.parent.parent) as other:
        session = other.session("b")
        assert (session.ended, session.state) == (True, "safe")
        session.add("user", "one more thing")
        assert [m.text for m in session.unflushed] == ["one more thing"]
        session.end(CLOSED)
    kept = [entry.record for entry in memory.session("b").journal.entries()]
    said = [record["text"] for record in kept if record["kind"] == "message"]
    assert said == ["the word of b is parsnipb", "one more thing"]


def test_add__opened_before_it_was_packed__nothing_is_lost(project, state):
    with Holdfast.open(project) as first, Holdfast.open(project) as second:
        end(first, "a")
        old = second.session("a")
        end(first, "b", "c", "d")
        assert "a" in packed(state)
        old.add("user", "late", message_id="late")
        old.end(CLOSED)
        assert [e.record["id"] for e in first.session("a").journal.of_kinds("message")] == ["m-a", "late"]


@pytest.mark.parametrize("spoilt", ["removed", "cut"])
def test_read__index_lost__packs_are_scanned(memory, state, spoilt):
    index = state / "past" / "index"
    data = index.read_bytes()
    index.unlink()
    if spoilt == "cut":
        index.write_bytes(data[:20])
    assert packed(state) == {"a", "b", "c"}
    end(memory, "f")
    assert packed(state) == {"a", "b", "c", "d"}


@pytest.mark.parametrize("spoilt", ["cut", "removed"])
def test_status__pack_is_damaged__says_so_until_repaired(memory, state, spoilt):
    [pack] = (state / "past").glob("*.jsonl")
    data = pack.read_bytes()
    pack.unlink()
    if spoilt == "cut":
        pack.write_bytes(data[:-5])
    [loss] = status(memory.services).lost
    assert "00001.jsonl is missing or was cut" in loss.message
    list(mending.mend(memory.services, [loss]))
    assert status(memory.services).ok
    assert packed(state) == ({"a", "b"} if spoilt == "cut" else set())


def test_doctor__byte_of_a_pack_changed__names_the_session_and_keeps_the_others(memory, state):
    [pack] = (state / "past").glob("*.jsonl")
    pack.write_bytes(pack.read_bytes().replace(b"parsnipb", b"parsnipX", 1))
    root = str(state.parent.parent)
    [failed] = [check for check in doctor.examine(root) if check.outcome is Outcome.FAIL]
    assert "b.jsonl is damaged" in failed.message
    doctor.examine(root, repair=True)
    assert [check for check in doctor.examine(root) if check.outcome is Outcome.FAIL] == []


def test_purge__subject_in_a_packed_session_and_then_the_session__no_byte_is_left_and_others_stay(memory, state):
    assert memory.search("parsnipb")
    assert memory.purge(subject="parsnipb").clean
    files = [path for path in state.parent.rglob("*") if path.is_file()]
    assert [path.name for path in files if b"parsnipb" in path.read_bytes()] == []
    assert memory.sessions() == ["a", "b", "c", "d", "e"]
    assert memory.purge(session="b").clean
    assert memory.sessions() == ["a", "c", "d", "e"]
    assert not verify_all(memory.services).findings
    assert all(f"parsnip{name}" in memory.session(name).journal.data().decode() for name in "ac")


def test_retention__packed_sessions_past_the_limit__are_removed(project, state, clock):
    with Holdfast.open(project, clock=clock) as memory:
        end(memory, "a", "b", "c", "d")
        assert packed(state) == {"a", "b"}
        clock.tick(days=40)
        assert memory.retention().removed
        assert memory.sessions() == []
        assert not list((state / "past").glob("*.jsonl"))


def test_export__packed_sessions__are_in_it(memory, project, tmp_path):
    archive = tmp_path / "all.zip"
    processes.run("--root", str(project), "export", str(archive))
    other = tmp_path / "other"
    other.mkdir()
    processes.run("--root", str(other), "import", str(archive), "--yes")
    with Holdfast.open(other) as copy:
        assert copy.sessions() == ["a", "b", "c", "d", "e"]


def test_adopt__session_is_packed_here__keeps_its_journal_and_the_other_has_a_new_name(memory, state):
    memory.close()
    (state / "owner").unlink()
    with Holdfast.open(state.parent.parent) as again:
        end(again, "e", "x", "y", "z")
        assert "e" in packed(state)
        own = Journal(str(state), "e").data()
        [aside] = state.parent.glob("state.foreign-*")
        adoption.adopt(str(state), str(aside))
        assert Journal(str(state), "e").data() == own
        assert "e-adopted-1" in again.sessions()


@pytest.mark.req("R070")
def test_kill__before_calls_of_packing__every_session_is_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(packs, "KEPT", 1)
    monkeypatch.setattr(packs, "_LIMIT_S", 60)
    for n in range(1, 500, 11):
        root = tmp_path / str(n)
        state = root / ".holdfast" / "state"
        root.mkdir()
        with Holdfast.open(root) as memory:
            end(memory, "a", "b")
            monkeypatch.setattr(packs, "_MORE", 9)
            end(memory, "c")
        monkeypatch.setattr(packs, "_MORE", 1)
        is_killed = dies(n, partial(packs.tidy, str(state)))
        with Holdfast.open(root) as memory:
            assert memory.sessions() == ["a", "b", "c"]
            for name in "abc":
                assert f"m-{name}" in {e.record["id"] for e in memory.session(name).journal.of_kinds("message")}
            end(memory, "d", "e", "f")
            assert memory.sessions() == ["a", "b", "c", "d", "e", "f"]
            assert "parsnipb" in memory.session("b").journal.data().decode()
        if not is_killed:
            break
    assert packed(state) >= {"a", "b"}
    assert n > 11
