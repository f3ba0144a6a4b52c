"""UNSAFE markers that cannot be written, are damaged or removed: the session stays UNSAFE for every process."""

import os
import shutil

import pytest

from holdfast.errors import FlushRefused, NothingToFlush
from holdfast.journal import emergency_log, safety
from holdfast.journal.safety import State
from holdfast_app.sessions.status import status


@pytest.fixture
def state(opened, project):
    opened().session("one").add("user", "Fix the login test")
    return project / ".holdfast" / "state"


def blocked(state, memory, given=None):
    """A flush while no marker can be made: a file is where the folder of the markers should be."""
    shutil.rmtree(state / "unsafe", ignore_errors=True)
    (state / "unsafe").write_text("in the way")
    with pytest.raises(FlushRefused, match="Not even the UNSAFE marker"):
        memory.session("one").flush(given)
    (state / "unsafe").unlink()


def test_flush__no_marker_can_be_written__another_process_sees_unsafe(opened, state):
    blocked(state, opened())
    memory = opened()
    assert memory.session("one").state is State.UNSAFE
    assert [s.id for s in status(memory.services).unsafe] == ["one"]
    assert [m.session for m in memory.unsafe()] == ["one"]
    assert memory.session("one").flush().written
    assert memory.session("one").state is State.SAFE
    assert emergency_log.notes(str(state)) == []


def test_flush__stated_payload_while_no_marker_can_be_written__must_be_stated_again(opened, state, payload, note):
    blocked(state, opened(), payload(decisions=["Use a UNIQUE index"]))
    with pytest.raises(FlushRefused, match="no marker could be written"):
        opened().session("one").flush()
    assert opened().session("one").state is State.UNSAFE
    opened().session("one").flush(payload(decisions=["Use a UNIQUE index"]))
    assert opened().session("one").state is State.SAFE
    assert "Use a UNIQUE index" in note()
    assert "Not kept" in note()


def test_flush__stated_payload_lost_and_overridden__goes_on(opened, state, payload):
    blocked(state, opened(), payload())
    opened().session("one").override("The operator knows")
    session = opened().session("one")
    session.compact(keep_last=0)
    assert session.flush()
    assert opened().session("one").state is State.SAFE


def refused(memory, given):
    """A flush that fails after its payload was admitted: the handoff cannot be written."""
    handoff = memory.services.root + "/.holdfast/continuity"
    shutil.rmtree(handoff, ignore_errors=True)
    with open(handoff, "w") as file:
        file.write("in the way")
    with pytest.raises(FlushRefused):
        memory.session("one").flush(given)
    os.unlink(handoff)


@pytest.mark.parametrize("damage", ["cut", "zeroed", "removed", "other"])
def test_marker__damaged_with_a_stated_payload__the_payload_is_taken_up(opened, state, payload, note, damage):
    refused(opened(), payload(decisions=["Use a UNIQUE index"]))
    marker = state / "unsafe" / "one.json"
    data = marker.read_bytes()
    if damage == "removed":
        marker.unlink()
    else:
        marker.write_bytes({"cut": data[:40], "zeroed": b"\0" * len(data), "other": b"[]"}[damage])
    session = opened().session("one")
    assert session.state is State.UNSAFE
    session.flush()
    assert "Use a UNIQUE index" in note()
    assert opened().session("one").state is State.SAFE
    assert os.listdir(state / "stated") == []
    kept = [name for name in os.listdir(state / "unsafe") if ".damaged-" in name]
    assert len(kept) == (damage != "removed")


def test_marker__damaged_with_its_copy__a_flush_without_payload_is_refused(opened, state, payload, note):
    refused(opened(), payload(decisions=["Use a UNIQUE index"]))
    (state / "unsafe" / "one.json").write_bytes(b"{")
    (state / "stated" / "one.json").write_bytes(b"{")
    with pytest.raises(FlushRefused, match="marker and its copy are damaged"):
        opened().session("one").flush()
    opened().session("one").flush(payload())
    assert opened().session("one").state is State.SAFE
    assert any(".damaged-" in name for name in os.listdir(state / "unsafe"))


def test_marker__damaged_and_nothing_stated__unsafe_named_and_kept(opened, state):
    refused(opened(), None)
    (state / "unsafe" / "one.json").write_bytes(b"\0\0")
    [marker] = safety.all_unsafe(str(state))
    assert "damaged" in marker.error
    name = marker.error.split("state/unsafe/")[1].rstrip(".")
    opened().session("one").flush()
    assert (state / "unsafe" / name).read_bytes() == b"\0\0"
    assert safety.all_unsafe(str(state)) == []


def test_purge__session_with_damaged_marker_and_stated_payload__nothing_is_left(opened, state, payload):
    refused(opened(), payload(decisions=["Use a UNIQUE index"]))
    marker = state / "unsafe" / "one.json"
    marker.with_name("one.json.damaged-00000000").write_bytes(marker.read_bytes())
    emergency_log.add(str(state), "one", "2026-11-21T12:00:00Z", stated=True)
    report = opened().purge(session="one")
    assert report.clean
    held = [p for p in state.parent.rglob("*") if p.is_file() and b"UNIQUE" in p.read_bytes()]
    assert held == []
    assert emergency_log.notes(str(state)) == []
    with pytest.raises(NothingToFlush):
        opened().session("one").flush()
