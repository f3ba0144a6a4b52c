"""Scrub: what older versions let through is masked wherever it lies, and looked for in every byte."""

import json
import re

import pytest
from tests.support.forget import BACKENDS, fact, holding, snapshot, storage

from holdfast.api import Finding, HookFailed, hookimpl
from holdfast.journal.safety import Marker, State, begin

KEY = "tok_9f8e7d6c5b4a39281706"
PASS = "hunter2secret"


class Rules:
    """Knows the keys by their form and passwords by what stands before them. Memory of the user may hold mails."""

    def __init__(self, *, refuse=False):
        self.refuse = refuse

    @hookimpl
    def on_validate(self, request):
        found = [
            Finding(rule="key", message="a key", span=m.span(), replacement="[REDACTED:key:0001]")
            for m in re.finditer(r"tok_[0-9a-f]{20}", request.text)
        ]
        found += [
            Finding(rule="word", message="a password", span=m.span(1), replacement="[REDACTED:word:0002]")
            for m in re.finditer(r"password = (?!\[REDACTED)(\S+)", request.text)
        ]
        if request.surface != "user":
            found += [
                Finding(rule="mail", message="a mail", span=m.span(), replacement=None if self.refuse else "[mail]")
                for m in re.finditer(r"\w+@example\.org", request.text)
            ]
        return found


def fill(memory, payload, project):
    """What was stored before there were rules, everywhere."""
    session = memory.session("s")
    session.add("user", f"use {KEY} and password = {PASS} please", message_id="m1")
    session.flush(payload(objective=f"deploy with {KEY}", curated={"memory": [f"The key is {KEY}"]}))
    session.compact(0)
    session.add("assistant", f"still {PASS}", message_id="m2")
    backend = memory.store.backend
    backend.add_fact(fact(1, f"the key {KEY} works", source=f"said: {KEY}"), 500)
    backend.add_fact(fact(2, "harmless", source=KEY), 500)
    backend.write("memory/dreams/2026-11-20.md", f"dreamt of {KEY}\n{PASS}\n")
    state = project / ".holdfast" / "state"
    begin(str(state), Marker(session="t", at="2026-11-21T10:00:00Z", reason="end", pending={"summary": KEY}))
    (state / "backups").mkdir()
    (state / "backups" / "MEMORY.1.md").write_text(f"- {KEY}\n- stays\n")
    (state / "sessions" / "s.jsonl.damaged-00").write_bytes(b"\xff" + KEY.encode())
    (state / "facts.log.jsonl").write_text(json.dumps({"at": "2026-11-20T10:00:00Z", "content": KEY}) + "\n")
    (project / ".holdfast" / ".holdfast-1-a.tmp").write_text(KEY)
    assert memory.search("deploy")
    assert any(name.endswith("search.sqlite") for name in holding(project, KEY))


@pytest.mark.req("R241", "R240")
@pytest.mark.parametrize("backend", BACKENDS)
def test_scrub__secrets_in_every_place__masked_in_place_and_in_no_byte(opened, payload, project, backend, caplog):
    caplog.set_level("DEBUG", logger="holdfast")
    before = opened(storage=storage(backend))
    fill(before, payload, project)
    before.close()
    memory = opened(Rules(), storage=storage(backend))
    lying = snapshot(project)
    planned = memory.scrub(dry_run=True)
    assert backend == "sqlite" or snapshot(project) == lying
    report = memory.scrub()
    assert report.clean, report.left
    assert (planned.counts, planned.rules, planned.secrets) == (report.counts, report.rules, report.secrets)
    again = memory.scrub()
    assert (again.changed, again.rules, again.clean) == ((), {}, True)
    assert KEY not in caplog.text + repr(report)
    stone = json.loads((project / ".holdfast/state/tombstones.jsonl").read_text().splitlines()[0])
    assert (stone["kind"], stone["left"], stone["rules"]) == ("scrub", 0, report.rules)
    memory.close()
    assert holding(project, KEY, PASS) == []
    assert set(report.rules) == {"key", "word"}
    assert (report.secrets, report.judges) == (2, ("test0",))
    assert set(report.counts) == {"journals", "documents", "facts", "markers", "private files"}
    assert report.files > 5
    again = opened(storage=storage(backend))
    stored = {f.id: (f.content, f.source) for f in again.facts.list() if not f.source.startswith("flush_")}
    assert stored == {
        "fact_00000001": ("the key [REDACTED:key:0001] works", "said: [REDACTED:key:0001]"),
        "fact_00000002": ("harmless", "[REDACTED:key:0001]"),
    }
    assert again.store.read("MEMORY.md").text == "# Memory\n\n- The key is [REDACTED:key:0001]\n"
    session = again.session("s")
    assert [m.text for m in session.messages] == ["still [REDACTED:word:0002]"]
    assert session.state is State.DIRTY
    assert session.end(payload()).flush_id
    assert (project / ".holdfast/state/backups/MEMORY.1.md").read_text() == "- [REDACTED:key:0001]\n- stays\n"


@pytest.mark.req("R241", "R243")
def test_scrub__allowed_on_one_surface__stays_there_and_goes_elsewhere(opened):
    memory = opened(Rules())
    memory.store.backend.write("USER.md", "- ana@example.org\n")
    memory.store.backend.write("MEMORY.md", "- ana@example.org\n")
    report = memory.scrub()
    assert report.clean, report.left
    assert memory.store.read("USER.md").text == "- ana@example.org\n"
    assert memory.store.read("MEMORY.md").text == "- [mail]\n"
    assert report.allowed == ("USER.md",)


@pytest.mark.req("R241", "R243")
def test_scrub__refused_without_a_mask__place_is_named_and_left(opened):
    memory = opened(Rules(refuse=True))
    memory.store.backend.write("MEMORY.md", "- ana@example.org\n")
    report = memory.scrub()
    assert [left.name for left in report.left] == ["MEMORY.md"]
    assert not report.clean
    assert memory.store.read("MEMORY.md").text == "- ana@example.org\n"


def test_scrub__validator_that_fails__nothing_changes_and_every_place_is_told(opened, payload, project):
    class Broken:
        @hookimpl
        def on_validate(self, request):
            raise RuntimeError("boom")

    opened().store.backend.write("MEMORY.md", f"- {KEY}\n")
    memory = opened(Broken())
    with pytest.raises(HookFailed):
        memory.scrub()
    assert memory.store.read("MEMORY.md").text == f"- {KEY}\n"
