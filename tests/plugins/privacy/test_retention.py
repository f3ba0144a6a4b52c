"""Retention: what is older than it is kept goes, what is still needed stays."""

import json
import os

import pytest
from tests.support.forget import BACKENDS, snapshot, storage

from holdfast.fs import private
from holdfast.models import CuratedDecision
from holdfast_app.config import RetentionConfig, SessionConfig

CLOSED = {"work_open": False, "handoff": None, "blockers": [], "follow_ups": [], "next_step": "none"}


def aged(path, clock, days):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("x")
    then = clock().timestamp() - days * 86400
    os.utime(path, (then, then))
    return path


@pytest.mark.req("R244")
@pytest.mark.parametrize("backend", BACKENDS)
def test_retention__limits_set__documents_older_than_they_go_others_stay(opened, clock, backend):
    memory = opened(storage=storage(backend), retention=RetentionConfig(daily=2, diary=1, report=5))
    for name in ("memory/{}.md", "memory/dreams/{}.md", "memory/summaries/{}.md", "memory/reports/{}.md"):
        for day in (17, 18, 19, 20, 21):
            memory.store.backend.write(name.format(f"2026-11-{day}"), "x")
    memory.store.backend.write("MEMORY.md", "x")
    report = memory.retention()
    assert sorted(c.name for c in report.removed) == [
        "memory/2026-11-17.md",
        "memory/2026-11-18.md",
        "memory/dreams/2026-11-17.md",
        "memory/dreams/2026-11-18.md",
        "memory/dreams/2026-11-19.md",
    ]
    assert {"MEMORY.md", "memory/2026-11-19.md", "memory/summaries/2026-11-17.md"} <= set(memory.store.names())
    assert memory.retention().removed == ()


@pytest.mark.req("R244")
def test_retention__defaults__nothing_that_somebody_wrote_ever_goes(opened, payload, clock):
    memory = opened()
    session = memory.session("s")
    session.add("user", "hello")
    session.end(payload(curated={"memory": ["A rule"]}))
    memory.facts.create("a fact")
    clock.tick(days=4000)
    names = memory.store.names()
    report = memory.retention()
    assert [(c.kind, c.name) for c in report.removed if c.kind != "log lines"] == [
        ("journals", ".holdfast/state/sessions/s.jsonl")
    ]
    assert (memory.store.names(), memory.facts.count()) == (names, 2)


@pytest.mark.req("R244")
def test_retention__journals__only_of_sessions_that_ended_and_are_flushed(opened, payload, clock, project):
    memory = opened(storage=storage("file"))
    for name in ("ended", "idle", "unflushed", "unsafe"):
        memory.session(name).add("user", f"hello from {name}")
    memory.session("ended").end(payload())
    memory.session("idle").flush(payload())  # it counts as ended two hours later
    memory.session("unsafe").end(payload())
    from holdfast.journal.safety import Marker, begin

    begin(memory.services.state, Marker(session="unsafe", at="2026-11-21T14:30:00Z", reason="end"))
    clock.tick(days=29)
    assert memory.retention().removed == ()
    clock.tick(days=2)
    report = memory.retention()
    assert [c.name.rsplit("/", 1)[1] for c in report.removed] == ["ended.jsonl", "idle.jsonl"]
    assert sorted((left.name.rsplit("/", 1)[1], left.why) for left in report.kept) == [
        ("unflushed.jsonl", "session unflushed has unflushed turns"),
        ("unsafe.jsonl", "session unsafe is UNSAFE"),
    ]
    assert not list((project / ".holdfast/state/sessions").glob("ended*"))
    assert memory.session("unflushed").unflushed


@pytest.mark.req("R244")
def test_retention__note_that_open_work_points_to_or_that_proves_a_flush__stays(opened, payload, clock):
    memory = opened(retention=RetentionConfig(daily=1))
    memory.session("open").end(payload(artifacts=["memory/2026-11-10.md"]))
    memory.store.backend.write("memory/2026-11-10.md", "x")
    clock.tick(days=3)
    memory = opened(retention=RetentionConfig(daily=1), session=SessionConfig(idle_minutes=4320))
    memory.session("goes-on").flush(payload(**CLOSED, curated=CuratedDecision()))
    clock.tick(days=3)
    assert memory.retention().removed == ()
    whys = {left.name: left.why for left in memory.retention(dry_run=True).kept}
    assert whys["memory/2026-11-21.md"] == "open work of session open points to it"
    assert whys["memory/2026-11-10.md"] == "open work of session open points to it"
    assert whys["memory/2026-11-24.md"] == "session goes-on has not ended, and this proves its last flush"
    memory.session("open").end(payload(**CLOSED))
    memory.session("goes-on").end(payload(**CLOSED))
    assert {c.name for c in memory.retention().removed} == {
        "memory/2026-11-10.md",
        "memory/2026-11-21.md",
        "memory/2026-11-24.md",
    }


@pytest.mark.req("R244")
def test_retention__handoff_that_cannot_be_read__no_document_goes(opened):
    memory = opened(retention=RetentionConfig(daily=1))
    memory.store.backend.write("memory/2026-11-01.md", "x")
    memory.store.backend.write("continuity/active.md", "damaged")
    report = memory.retention()
    assert (report.removed, [left.name for left in report.failed]) == ((), ["the handoff"])


@pytest.mark.req("R244")
def test_retention__private_leftovers__old_ones_go(opened, clock, project):
    memory = opened()
    state = project / ".holdfast" / "state"
    private.make(str(state))
    old = [
        aged(state / "sessions" / "s.jsonl.damaged-00", clock, 91),
        aged(state / "backups" / "MEMORY.1.md", clock, 91),
        aged(state / ".holdfast-1-a.tmp", clock, 2),
        aged(project / ".holdfast" / "memory" / ".holdfast-1-b.tmp", clock, 2),
    ]
    young = [
        aged(state / "sessions" / "s.jsonl.damaged-01", clock, 89),
        aged(state / "backups" / "MEMORY.2.md", clock, 89),
        aged(state / ".holdfast-2-a.tmp", clock, 0),
        aged(state / "status.json", clock, 4000),
    ]
    rows = [{"at": "2024-01-01T00:00:00Z", "n": 1}, {"at": "2026-11-01T00:00:00Z", "n": 2}, {"n": 3}]
    (state / "facts.log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (state / "tombstones.jsonl").write_text(json.dumps(rows[0]) + "\n")
    before = snapshot(project)
    planned = memory.retention(dry_run=True)
    assert snapshot(project) == before
    assert memory.retention().removed == planned.removed
    assert [p.exists() for p in old] == [False] * 4
    assert [p.exists() for p in young] == [True] * 4
    assert [json.loads(line)["n"] for line in (state / "facts.log.jsonl").read_text().splitlines()] == [2, 3]
    assert (state / "tombstones.jsonl").read_text()
