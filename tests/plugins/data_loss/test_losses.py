"""Stored data that was deleted or cut: noticed at each start, named, and written again where a journal has it."""

import os
from datetime import UTC, datetime, timedelta

import pytest
from tests.plugins.outbox.test_outbox import Board

from holdfast.config.values import StorageConfig
from holdfast.errors import Corrupt
from holdfast.fs import private
from holdfast.models import CuratedDecision
from holdfast_app import data_loss, durable_queue
from holdfast_app.checkup import examine as doctor
from holdfast_app.checkup import mending
from holdfast_app.config import FactsConfig, RetentionConfig
from holdfast_app.dream import dreamlog
from holdfast_app.dream.dreamlog import DreamResult, Status
from holdfast_app.outbox.outbox import Item, Outbox
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
        assert all(name in told for name in before)
        assert "block flush_" in told
        assert all(f"session {name}" in told for name in ("one", "two"))
    now = status(services)
    assert not now.ok
    assert messages(now.lost) == messages(data_loss.newest(services))
    (flushed / "holdfast.db").touch()  # of the backend in use before
    assert "**MISSING:** continuity/active.md is missing. If the sqlite store, which is here," in str(opened().load())
    assert all(done.repaired for done in mending.mend(services, data_loss.every(services)))
    after = stored(flushed)
    for name in before:
        if name != "continuity/active.md":
            assert after[name] == before[name], "as it was written"
    assert {w.session for w in opened().load().work} == {"one", "two"}
    assert all(said in after["continuity/active.md"] for said in ("Ship it", "Run the tests"))
    assert data_loss.every(services) == []
    (flushed / "MEMORY.md").write_bytes(b"")
    (flushed / "continuity/active.md").write_text(after["continuity/active.md"].replace("objective =", "objectiv ="))
    told = messages(data_loss.newest(opened().services))
    assert "active.md is not valid: objectiv: unknown key" in told
    assert "MEMORY.md is empty." in told
    list(mending.mend(opened().services, data_loss.every(opened().services)))
    assert stored(flushed)["MEMORY.md"] == before["MEMORY.md"]


def test_mend__documents_as_before_a_flush__its_block_and_open_work_are_back(flushed, opened, payload):
    before = stored(flushed)
    opened().session("three").flush(payload(objective="Write it"))
    for name, text in before.items():
        (flushed / name).write_text(text)
    assert all(done.repaired for done in mending.mend(opened().services, data_loss.every(opened().services)))
    assert {work.session for work in opened().load().work} == {"one", "two", "three"}
    assert data_loss.every(opened().services) == []


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
    assert all(done.repaired for done in mending.mend(memory.services, found))
    assert data_loss.every(memory.services) == []
    memory.store.change("diary", written[0], lambda _: "# Again\n")
    memory.store.backend.delete(written[0])
    assert [loss.name for loss in data_loss.every(memory.services)] == written[:1]


def test_losses__folder_replaced_by_a_file__named_once_and_nothing_is_accepted_as_deleted(flushed, opened):
    memory = opened()
    memory.store.change("diary", "memory/dreams/2026-11-20.md", lambda _: "# A day\n")
    (flushed / "memory").rename(flushed / "away")
    (flushed / "memory").touch()
    [loss] = data_loss.every(memory.services)
    assert (loss.message, loss.next_step[:12]) == ("'.holdfast/memory' is not a folder.", "Move it away")
    assert not any(done.repaired for done in mending.mend(memory.services, [loss]))
    assert "memory/dreams/2026-11-20.md" in memory.store.provenance.stored()


@pytest.mark.parametrize("how", ["gone", "cut"])
def test_losses__facts_gone_or_cut__named_until_taken_as_they_are(flushed, opened, how):
    path = flushed / "facts.jsonl"
    path.unlink() if how == "gone" else os.truncate(path, path.read_bytes().index(b"\n") + 1)
    [loss] = data_loss.newest(opened().services)
    assert loss.message.startswith("3 stored facts are" if how == "gone" else "2 stored facts are")
    opened().facts.create(content="Another", category="knowledge", confidence=0.9)
    assert [loss] == data_loss.newest(opened().services)
    [done] = mending.mend(opened().services, [loss])
    assert done.repaired
    assert data_loss.newest(opened().services) == []


def test_losses__facts_emptied__repair_says_how_many_are_gone(flushed, opened):
    os.truncate(flushed / "facts.jsonl", 0)
    [done] = mending.unmerged(opened().services, repair=True)
    assert (done.repaired, done.message.partition("put back: ")[2]) == (False, "1. Gone: 2.")


def test_losses__journal_removed__named_and_begun_anew(flushed, opened, project):
    (flushed / "state/sessions/two.jsonl").unlink()
    assert ".holdfast/state/sessions/two.jsonl is missing." in messages(data_loss.newest(opened().services))
    with pytest.raises(Corrupt, match=r"^\.holdfast/state/sessions/two\.jsonl is missing or empty"):
        opened().session("two")
    list(mending.mend(opened().services, data_loss.every(opened().services)))
    assert data_loss.newest(opened().services) == []
    opened().session("two").add("user", "hello")


def test_losses__journal_renamed__is_to_be_renamed_back_and_not_begun_anew(flushed, opened):
    path = flushed / "state/sessions/two.jsonl"
    path.rename(path.with_name("owt.jsonl"))
    [loss] = data_loss.lost_journals(opened().services)
    assert loss.next_step == "Rename owt.jsonl to two.jsonl."
    assert not any(done.repaired for done in mending.mend(opened().services, [loss]))


@pytest.mark.parametrize("deleted", ["It was typed", "The build needs Go"])
def test_mend__facts_file_removed__those_stated_and_not_removed_since_are_back(opened, payload, project, deleted):
    memory = opened()
    memory.facts.create(content="It was typed", category="knowledge", confidence=0.9)
    memory.session("one").flush(payload(facts=["The build needs Go", "The port is [purged]"]))
    memory.facts.delete(next(fact.id for fact in memory.facts.list() if fact.content == deleted))
    memory.close()
    (project / ".holdfast" / "facts.jsonl").unlink()
    services = opened().services
    assert all(done.repaired for done in mending.mend(services, data_loss.every(services)))
    assert [fact.content for fact in opened().facts.list()] == ["The build needs Go"] * (deleted == "It was typed")
    assert data_loss.every(opened().services) == []


AT = datetime(2026, 11, 21, 12, tzinfo=UTC)


def put(state, *ids):
    Outbox(str(state)).put(
        Item(id=i, plugin="forge", flush="flush_1", target="o/r#1", body=f"body {i}", at=AT, due=AT) for i in ids
    )


def dreamt(state, number):
    dreamlog.record(str(state), DreamResult(id=f"d{number}", at=AT, status=Status.SKIPPED, reason="nothing new"))


@pytest.fixture
def filled(opened, project, payload):
    memory = opened(facts=FactsConfig(max_facts=3))
    memory.session("one").flush(payload(state_mutations=[]))
    for number in range(8):
        memory.facts.create(content=f"Fact {number}", category="knowledge", confidence=0.9)
    state = project / ".holdfast" / "state"
    put(state, "a", "b", "c", "d")
    for number in range(5):
        dreamt(state, number)
    return state


FILES = ("outbox.jsonl", "facts.log.jsonl", "dreams.jsonl")


def told(opened):
    services = opened().services
    quick, full = data_loss.newest(services), data_loss.every(services)
    assert quick == full
    return "\n".join(one.message for one in quick)


def without(path, *numbers):
    lines = [line for line in path.read_bytes().splitlines(keepends=True) if line.strip()]
    path.write_bytes(b"".join(line for n, line in enumerate(lines) if n not in [m % len(lines) for m in numbers]))


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("numbers", [(0, -1), (1, 2)])
def test_lines__removed__named_until_accepted_and_later_ones_hide_nothing(filled, opened, file, numbers):
    assert told(opened) == ""
    without(filled / file, *numbers)
    assert told(opened).startswith(f"{len(numbers)} ")
    assert f"missing from .holdfast/state/{file}" in told(opened)
    put(filled, "later")
    dreamt(filled, 9)
    opened(facts=FactsConfig(max_facts=3)).facts.create(content="Later", category="knowledge", confidence=0.9)
    assert told(opened).startswith(f"{len(numbers)} ")
    services = opened().services
    assert all(done.repaired for done in mending.mend(services, data_loss.every(services)))
    assert told(opened) == ""
    dreamt(filled, 10)
    put(filled, "last")
    assert told(opened) == ""


def test_lines__sent_dropped_cut_purged_and_past_retention__are_no_loss(filled, opened, monkeypatch):
    box = Outbox(str(filled))
    box.remove("d")
    box.remove("a")
    assert told(opened) == ""
    memory = opened(retention=RetentionConfig(log=1))
    memory.purge(subject="body c")
    assert told(opened) == ""
    memory.purge(before=(AT + timedelta(days=2)).date())
    assert told(opened) == ""
    dreamt(filled, 11)
    memory.retention()
    memory.scrub()
    assert told(opened) == ""
    monkeypatch.setattr(dreamlog, "MAX_BYTES", 10)
    for number in range(20, 24):
        dreamt(filled, number)
    assert told(opened) == ""
    for item in box.items():
        box.remove([item.id])
    assert told(opened) == ""
    put(filled, "new")
    assert told(opened) == ""
    assert memory.purge(everything=True).clean
    assert told(opened) == ""


def test_missing__while_others_change_the_list__is_never_reported(filled):
    path = str(filled / "outbox.jsonl")
    if not (child := os.fork()):
        for number in range(150):
            put(filled, f"x{number}")
            Outbox(str(filled)).remove([f"x{number}"])
        os._exit(0)
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        assert durable_queue.missing(path) == 0
    with private.lock(path):
        pass


def test_mend__comment_removed_from_the_outbox__waits_again_unless_it_was_dropped(opened, project, payload):
    board = Board(project)
    board.trouble = board.is_down
    memory = opened(board)
    for target in ("o/r#1", "o/r#2"):
        memory.session(target).flush(
            payload(
                objective=f"Review {target}",
                state_mutations=[{"kind": "status", "target": target, "summary": f"in review {target}"}],
            )
        )
    [_, second] = memory.outbox.items()
    memory.outbox.drop(second.id, "It is wrong")
    (project / ".holdfast" / "state" / "outbox.jsonl").unlink()
    services = opened(board).services
    found = data_loss.newest(services)
    assert [one.message for one in found] == ["1 waiting comment is missing from .holdfast/state/outbox.jsonl."]
    assert all(done.repaired for done in mending.mend(services, data_loss.every(services)))
    assert data_loss.every(services) == []
    assert [item.target for item in opened(board).outbox.items()] == ["o/r#1"]
    board.trouble = lambda item: None
    opened(board).outbox.send()
    assert board.bodies("o/r#1") == ["in review o/r#1"]
    assert board.bodies("o/r#2") == []
