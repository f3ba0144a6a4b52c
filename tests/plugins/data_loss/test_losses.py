"""Stored data that was deleted or cut: noticed at each start, named, and written again where a journal has it."""

import os

import pytest

from holdfast.config.values import StorageConfig
from holdfast.errors import Corrupt
from holdfast.models import CuratedDecision
from holdfast_app import data_loss
from holdfast_app.checkup import examine as doctor
from holdfast_app.checkup import mending
from holdfast_app.sessions.status import status


@pytest.fixture
def flushed(opened, payload, project):
    """Two sessions with open work, one with a decided line."""
    memory = opened()
    memory.session("one").flush(payload(curated=CuratedDecision(memory=["Use UTC"])))
    memory.session("two").flush(payload(objective="Ship it", state_mutations=[]))
    memory.facts.create(content="The build needs Go", category="knowledge", confidence=0.9)
    memory.facts.create(content="The port is 8080", category="knowledge", confidence=0.9)
    return project / ".holdfast"


def messages(found):
    return "\n".join(one.message for one in found)


def stored(home):
    return {p.relative_to(home).as_posix(): p.read_text() for p in home.rglob("*.md")}


def test_losses__summary_of_state_changes_removed__named_reported_and_written_again(flushed, opened, payload):
    merged = {"kind": "merge", "target": "o/r#7", "summary": "merged: at last"}
    opened().session("three").flush(payload(objective="Merge", state_mutations=[merged]))
    [summary] = (flushed / "memory/summaries").glob("*.md")
    before, reported = summary.read_text(), str(opened().report())
    assert "**merge** o/r#7: merged: at last" in reported
    summary.unlink()
    now = status(opened().services)
    assert not now.ok
    assert "state changes flush_" in messages(now.lost)
    assert summary.name in messages(now.lost)
    assert "**merge** o/r#7: merged: at last" in str(opened().report())
    doctor.examine(str(flushed.parent), repair=True)
    assert sorted(summary.read_text().splitlines()) == sorted(before.splitlines())
    assert str(opened().report()) == reported
    assert status(opened().services).ok


@pytest.mark.req("R173")
def test_losses__notes_and_handoff_removed__named_everywhere_and_written_again(flushed, opened):
    before = {name: text for name, text in stored(flushed).items() if "summaries" not in name}
    for name in before:
        (flushed / name).unlink()
    services = opened().services
    for found in (data_loss.newest(services), data_loss.every(services)):
        told = messages(found)
        for name in before:
            assert name in told
        assert "block flush_" in told
        assert "session one" in told
        assert "session two" in told
    now = status(services)
    assert not now.ok
    assert messages(now.lost) == messages(data_loss.newest(services))
    assert "**MISSING:**" in str(opened().load())
    assert all(done.whole for done in mending.mend(services, data_loss.every(services)))
    after = stored(flushed)
    assert after.keys() >= before.keys()
    for name in before:
        if name != "continuity/active.md":
            assert after[name] == before[name], "as it was written"
    assert {w.session for w in opened().load().work} == {"one", "two"}
    assert "Ship it" in after["continuity/active.md"]
    assert "Run the tests" in after["continuity/active.md"]
    assert data_loss.every(services) == []


@pytest.mark.parametrize("backend", ["file", "sqlite"])
def test_losses__document_without_a_receipt_removed__doctor_names_it_until_it_is_taken_as_deleted(opened, backend):
    memory = opened(storage=StorageConfig(backend=backend))
    written = ["memory/dreams/2026-11-20.md", "memory/reports/2026-11-20.md", "memory/summaries/2026-11-20.md"]
    for name in written:
        memory.store.change("diary", name, lambda _: "# A day\n\n- said\n")
    memory.store.change("diary", "outside-of-the-layout.md", lambda _: "- x\n")
    assert data_loss.every(memory.services) == []
    for name in [*written, "outside-of-the-layout.md"]:
        memory.store.backend.delete(name)
    found = data_loss.every(opened(storage=StorageConfig(backend=backend)).services)
    assert [loss.message for loss in found] == [f"{name} is missing." for name in written]
    assert all(done.whole for done in mending.mend(memory.services, found))
    assert data_loss.every(memory.services) == []
    memory.store.change("diary", written[0], lambda _: "# Again\n")
    memory.store.backend.delete(written[0])
    assert [loss.name for loss in data_loss.every(memory.services)] == written[:1]


@pytest.mark.parametrize("how", ["gone", "cut"])
def test_losses__facts_gone_or_cut__named_until_taken_as_they_are(flushed, opened, how):
    path = flushed / "facts.jsonl"
    path.unlink() if how == "gone" else os.truncate(path, path.read_bytes().index(b"\n") + 1)
    [loss] = data_loss.newest(opened().services)
    assert loss.message.startswith("3 stored facts are" if how == "gone" else "2 stored facts are")
    opened().facts.create(content="Another", category="knowledge", confidence=0.9)
    assert [loss] == data_loss.newest(opened().services)
    [done] = mending.mend(opened().services, [loss])
    assert done.whole
    assert data_loss.newest(opened().services) == []


def test_losses__journal_removed__named_and_begun_anew(flushed, opened, project):
    (flushed / "state/sessions/two.jsonl").unlink()
    assert ".holdfast/state/sessions/two.jsonl is missing." in messages(data_loss.newest(opened().services))
    with pytest.raises(Corrupt, match=r"^\.holdfast/state/sessions/two\.jsonl is missing or empty"):
        opened().session("two")
    list(mending.mend(opened().services, data_loss.every(opened().services)))
    assert data_loss.newest(opened().services) == []
    opened().session("two").add("user", "hello")


@pytest.mark.parametrize("deleted", [False, True])
def test_mend__facts_file_removed__facts_stated_since_none_left_are_stored_again(opened, payload, project, deleted):
    memory = opened()
    other = memory.facts.create(content="It was typed", category="knowledge", confidence=0.9).fact
    memory.session("one").flush(payload(facts=["The build needs Go"]))
    if deleted:  # perhaps it was this one: the fact log does not hold its text
        memory.facts.delete(other.id)
    memory.close()
    (project / ".holdfast" / "facts.jsonl").unlink()
    services = opened().services
    assert all(done.whole for done in mending.mend(services, data_loss.every(services)))
    assert [fact.content for fact in opened().facts.list()] == ([] if deleted else ["The build needs Go"])
    assert data_loss.every(opened().services) == []
