"""Purge: removed from every place, proved by a look at every byte, resumable, and without a trace of what it was."""

import contextlib
import json
import shutil
import sqlite3
import subprocess
import sys
import tracemalloc
from datetime import date, timedelta
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.dying import dies
from tests.support.forget import BACKENDS, FORMS, SUBJECT, fact, fill, holding, snapshot, storage

from holdfast.api import BadValue, Evidence, Holdfast, Outcome, Unavailable, hookimpl
from holdfast.fs import durable, private
from holdfast.journal.safety import State
from holdfast_app.checkup.examine import examine
from holdfast_app.privacy.transforms import Needle, any_in_bytes, fold, in_file

WORDS = ("Zoë", "Müller", "Zoe\u0308", "Mu\u0308ller", "ngstr")


@pytest.fixture(params=BACKENDS)
def full(request, opened, payload, project):
    """The project full of the subject, over each local store."""
    memory = opened(storage=storage(request.param))
    fill(memory, payload, project)
    assert holding(project, SUBJECT)
    return memory


@pytest.mark.req("R245", "R096")
def test_purge__subject_everywhere__no_byte_of_it_left_and_the_rest_is_there(full, opened, project, caplog):
    caplog.set_level("DEBUG", logger="holdfast")
    (project / ".holdfast/state/unknown.log").write_text(f"first\nwritten by {SUBJECT}\nlast\n")
    report = full.purge(subject=SUBJECT)
    assert report.clean, report.left
    assert (project / ".holdfast/state/unknown.log").read_text() == "first\nlast\n"
    assert "Zo" not in caplog.text.replace("Zone", "")
    full.close()
    state = project / ".holdfast" / "state"
    stone = json.loads((state / "tombstones.jsonl").read_text())
    assert stone["at"] == "2026-11-21T14:30:00Z"
    assert (stone["kind"], stone["changed"], stone["left"]) == ("subject", report.counts, 0)
    assert set(stone) == {"at", "kind", "digest", "changed", "files_searched", "bytes_searched", "left"}
    assert (state / "tombstones.jsonl").stat().st_mode & 0o777 == 0o600
    assert holding(project, SUBJECT, *FORMS, *WORDS) == []
    assert set(report.counts) >= {"journals", "documents", "facts", "markers", "private files"}
    assert report.files > 10
    assert {one.kind for one in report.changed if "/unsafe/" in one.name} == {"markers"}
    again = opened(storage=full.config.storage)
    assert [f.content for f in again.facts.list()] == ["The token expires after 60 s", "The CI runs on Debian"]
    texts = {n: again.store.read(n).text for n in again.store.names()}
    assert "- about work" in texts["profile.md"]
    assert texts["MEMORY.md"] == "# Memory\n\n- Python 3.11 is the minimum\n"
    assert "- Fact: The token expires after 60 s" in texts["memory/2026-11-21.md"]
    assert "- Promised: Tell Ana" in texts["memory/2026-11-21.md"]
    assert again.load().memory.count("Python 3.11") == 1
    status = json.loads((project / ".holdfast/state/status.json").read_text())
    assert status == {"error": "[purged]", "hash": "abc", "seen": {"tabs": 2}}


@pytest.mark.req("R245")
def test_purge__sessions_opened_afterwards__same_messages_same_state_and_they_go_on(full, opened, payload):
    before = full.session("talk")
    ids, unflushed = [m.id for m in before.messages], [m.id for m in before.unflushed]
    full.purge(subject=SUBJECT)
    for session in (before, opened(storage=full.config.storage).session("talk")):
        assert ([m.id for m in session.messages], [m.id for m in session.unflushed]) == (ids, unflushed)
        assert session.state is State.DIRTY
        assert "Zoë" not in session.summary + "".join(m.text for m in session.messages)
    assert before.messages[-1].text == "[purged]"
    before.add("user", "go on")
    assert before.compact(0, payload(objective="Go on")) == []
    assert before.state is State.SAFE


@pytest.mark.req("R245")
def test_purge__dry_run__tells_the_same_places_and_writes_nothing(full, project):
    before = snapshot(project)
    planned = full.purge(subject=SUBJECT, dry_run=True)
    assert snapshot(project) == before
    done = full.purge(subject=SUBJECT)
    assert {(c.kind, c.name, c.removed) for c in planned.changed} == {(c.kind, c.name, c.removed) for c in done.changed}
    assert planned.counts == done.counts
    full.session("talk").add("user", f"and {FORMS[4]} again", message_id="m3")  # a transcript is read again
    again = full.purge(subject=SUBJECT)
    assert (again.changed, again.clean) == ((), True)


@pytest.mark.req("R245")
def test_purge__subject_in_a_dreams_record__the_run_stays_done_without_it(project):
    """The run's end was removed and its beginning was kept, so `doctor` called it killed."""
    with Holdfast.open(project) as memory:
        with memory.session("talk") as session:
            session.add("user", "Remember: the customer Ottokar Veitl pays late. Remember: staging runs Postgres 15.")
            session.flush()
        assert memory.deep_dream().status == "done"
        assert memory.purge(subject="Ottokar Veitl").clean
        assert holding(project, "Ottokar", "Veitl") == []
        [run] = memory.dreams()
    assert (run.status, run.reason) == ("done", "")
    assert "staging runs Postgres 15" in run.added
    assert "[purged]" in run.added
    checks = examine(str(project))
    assert [check.message for check in checks if check.name == "dreams" and check.outcome is not Outcome.OK] == []


@pytest.mark.req("R245")
@pytest.mark.usefixtures("shared_key")
def test_purge__killed_at_each_step__the_same_call_again_completes_it(opened, payload, project, tmp_path):
    memory = opened()
    fill(memory, payload, project)
    memory.close()
    whole = tmp_path / "whole"
    shutil.copytree(project, whole)
    for step in (5, 40, 80):  # of the calls that change the disk
        shutil.rmtree(project)
        shutil.copytree(whole, project)
        memory = opened()
        assert dies(step, partial(memory.purge, subject=SUBJECT)), "there are fewer steps now: choose others"
        report = opened().purge(subject=SUBJECT)
        assert report.clean, report.left
        assert holding(project, SUBJECT, *FORMS) == []


@pytest.mark.req("R245")
def test_purge__place_that_cannot_be_written__told_as_left_and_completed_later(full, project, monkeypatch):
    blocked = project / ".holdfast/state/status.json"
    real = durable.replace

    def refuse(path, data, **kwargs):
        if str(path) == str(blocked):
            raise durable.unavailable(OSError(30, "Read-only file system"), path, "write")
        real(path, data, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(durable, "replace", refuse)
        report = full.purge(subject=SUBJECT)
    assert [left.name for left in report.left] == [".holdfast/state/status.json"]
    assert holding(project, SUBJECT) == [".holdfast/state/status.json"]
    assert full.purge(subject=SUBJECT).clean


@pytest.mark.req("R245")
@pytest.mark.parametrize("backend", BACKENDS)
def test_purge__session__its_journal_blocks_handoff_and_facts_go_others_stay(opened, payload, project, backend):
    memory = opened(storage=storage(backend))
    for name in ("one", "two"):
        session = memory.session(name)
        session.add("user", f"said in {name}", message_id=f"message-of-{name}")
        receipt = session.flush(payload(objective=f"goal of {name}"))
        memory.facts.create(f"learned in {name}", source=f"message-of-{name}")
    session = memory.session("one")
    report = memory.purge(session="one")
    assert report.clean, report.left
    assert holding(project, "said in one", "goal of one", "learned in one", "message-of-one") == []
    assert (session.messages, session.last_receipt) == ([], None)
    assert memory.sessions() == ["two"]
    assert "goal of two" in memory.store.read("memory/2026-11-21.md").text
    assert memory.session("two").flush().flush_id == receipt.flush_id
    assert [w.session for w in memory.load().work] == ["two"]
    assert "holdfast:gone" not in str(memory.load())
    assert not list((project / ".holdfast/state/sessions").glob("one*"))


@pytest.mark.req("R245")
def test_purge__session_whose_flush_was_published__lists_what_lies_on_the_forge(opened, payload, project):
    class Forge:
        @hookimpl
        def on_flush(self, payload, receipt):
            pointer = f"https://forge.test/a/b/1#{receipt.session_id}"
            return Evidence(target="forge", pointer=pointer, published="x", read_back="x")

    memory = opened(Forge())
    memory.session("s").flush(payload(objective=f"for {SUBJECT}"))
    memory.session("other").flush(payload(objective="for nothing"))
    for what in ({"session": "s"}, {"subject": SUBJECT}):
        assert memory.purge(**what, dry_run=True).elsewhere == ("https://forge.test/a/b/1#s",)
    assert len(memory.purge(everything=True, dry_run=True).elsewhere) == 2
    assert memory.purge(session="s").elsewhere == ("https://forge.test/a/b/1#s",)


def test_purge__document_in_a_database_cannot_be_read__is_reported_as_left(opened, payload, project):
    memory = opened(storage=storage("sqlite"))
    memory.session("s").flush(payload(objective=f"for {SUBJECT}"))
    memory.close()
    [database] = project.rglob("*.db")
    with contextlib.closing(sqlite3.connect(database)) as sql, sql:
        sql.execute("UPDATE pieces SET text = CAST(text || x'ff' AS TEXT)")
    for dry_run in (True, False):
        report = opened(storage=storage("sqlite")).purge(subject=SUBJECT, dry_run=dry_run)
        assert "memory/2026-11-21.md" in {left.name for left in report.left}


def test_purge__facts_of_a_store_not_in_use__go_and_are_not_missed(opened):
    opened().facts.create(f"{SUBJECT} likes tea", category="context", confidence=1.0)
    assert opened(storage=storage("sqlite")).purge(subject=SUBJECT).clean
    assert (opened().store.backend.check().lost, opened().facts.list()) == (0, [])


@pytest.mark.req("R245")
@pytest.mark.parametrize("backend", BACKENDS)
def test_purge__before_a_day__what_is_older_goes_what_bears_no_date_stays(opened, payload, project, clock, backend):
    memory = opened(storage=storage(backend))
    old = memory.session("old")
    old.add("user", "an old saying")
    old.flush(payload(objective="an old goal", curated={"memory": ["A standing rule"]}))
    memory.store.backend.add_fact(fact(1, "an old fact", clock() - timedelta(days=1)), 500)
    both = memory.session("both")
    both.add("user", "an old start")
    both.flush(payload(objective="an old aim"))
    clock.tick(days=3)
    both.add("user", "a new start")
    new = memory.session("new")
    new.add("user", "a new saying")
    new.flush(payload(objective="a new goal"))
    memory.store.backend.add_fact(fact(2, "a new fact", clock()), 500)
    report = memory.purge(before=date(2026, 11, 24))
    assert report.clean, report.left
    assert holding(project, "an old") == []
    assert [m.text for m in both.messages] == ["[purged]", "a new start"]
    assert memory.store.read("memory/2026-11-21.md") is None
    assert "A standing rule" in memory.store.read("MEMORY.md").text
    assert [f.content for f in memory.facts.list()] == ["a new fact"]
    assert memory.sessions() == ["both", "new"]


@pytest.mark.req("R245")
def test_purge__everything__nothing_is_left_and_the_store_can_be_used(full, opened, payload, project):
    report = full.purge(everything=True)
    assert report.clean, report.left
    full.close()
    kept = {".gitignore", "owner", "tombstones.jsonl", "tombstones.key", "holdfast.db"}
    found = snapshot(project)
    stones = found.pop(".holdfast/facts.jsonl", b"")  # what a git merge needs, so that no fact comes back
    assert stones.count(b"\n") == stones.count(b'{"op": "gone", "ids": [')
    lying = [n for n, data in found.items() if data and n.rsplit("/", 1)[-1] not in kept]
    assert lying == []
    assert holding(project, SUBJECT, "Prefers tabs", "release", "Python 3.11") == []
    again = opened(storage=full.config.storage)
    assert (again.sessions(), again.facts.count(), again.store.names()) == ([], 0, [])
    again.session("fresh").add("user", "hello")
    again.session("fresh").flush(payload())
    assert again.facts.create("new").fact is not None
    assert "Fix the login test" in again.store.read("memory/2026-11-21.md").text


@pytest.mark.req("R245")
def test_purge__folder_shared_with_others__their_files_are_told_of_and_not_touched(opened, payload, project):
    from holdfast.config.layout import Layout
    from holdfast.config.values import StorageConfig

    config = {"layout": Layout(preset="timmy"), "storage": StorageConfig(path=".", facts="timmy-config/facts.jsonl")}
    memory = opened(**config)
    memory.session("s").flush(payload(objective=f"for {SUBJECT}"))
    for name in ("timmy-home/README.md", "notes.txt"):
        (project / name).write_text(f"by {SUBJECT}\n", encoding="utf-8")
    (project / "holdfast.toml").write_text(f"# by {SUBJECT}\n", encoding="utf-8")
    report = memory.purge(subject=SUBJECT)
    assert report.clean, report.left
    assert set(report.elsewhere) == {"timmy-home/README.md", "notes.txt", "holdfast.toml"}
    assert memory.purge(everything=True).clean
    assert holding(project, SUBJECT) == ["holdfast.toml", "notes.txt", "timmy-home/README.md"]


@pytest.mark.req("R245")
@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a\nJane  Doe b\nc\n", "a\nc\n"),
        ("a\nJane\n  doe b\nc\n", "a\nc\n"),
        ("Jane\nJane Doe\nDoe\nc\n", "c\n"),
        ("a\r\nx JANE\u00a0DOE\r\nc\r\n", "a\r\nc\r\n"),
        ('a\n{"name": "\\u004aane Doe"}\nc', "a\nc"),
        ("clipped by us: Jane Do…\nJane …\n", "Jane …\n"),
        ("Jane D.\nDoe, Jane\n", "Jane D.\nDoe, Jane\n"),
    ],
)
def test_purge__lines_written_by_hand__those_that_hold_it_go_and_no_others(opened, text, left):
    memory = opened()
    memory.store.backend.write("MEMORY.md", text)
    assert memory.purge(subject="Jane Doe").clean
    assert memory.store.read("MEMORY.md").text == left


@pytest.mark.req("R245")
def test_purge__damaged_journal_and_unreadable_note__cleaned_all_the_same(opened, payload, project):
    memory = opened()
    memory.session("s").add("user", f"for {SUBJECT}")
    journal = project / ".holdfast/state/sessions/s.jsonl"
    journal.write_bytes(journal.read_bytes() + b"damage " + SUBJECT.encode() + b"\n" + b"more damage\n")
    (project / ".holdfast/memory").mkdir()
    (project / ".holdfast/memory/2026-11-20.md").write_bytes(b"\xff\n" + SUBJECT.encode() + b"\nstays\n")
    report = memory.purge(subject=SUBJECT)
    assert holding(project, SUBJECT) == []
    assert report.clean, report.left
    assert (project / ".holdfast/memory/2026-11-20.md").read_bytes() == b"\xff\nstays\n"


@pytest.mark.req("R245")
def test_purge__name_of_session_or_document_holds_it__they_go(opened, payload, project):
    memory = opened()
    memory.session("jane-doe").add("user", "hello")
    memory.session("jane-doe").flush(payload())
    memory.store.backend.write("briefings/Jane-Doe.md", "x")
    assert memory.purge(subject="Jane-Doe").clean
    assert holding(project, "jane-doe", "Jane-Doe") == []
    assert "Fix the login test" in memory.store.read("memory/2026-11-21.md").text


def test_purge__at_the_time_of_another__refused(opened, project):
    memory = opened()
    memory.session("s").add("user", "x")
    with durable.lock(project / ".holdfast/state/purge.lock"), pytest.raises(Unavailable):
        memory.purge(subject="anybody")


@pytest.mark.parametrize("what", [{}, {"subject": "x y", "everything": True}, {"subject": " a "}, {"session": " "}])
def test_purge__nothing_or_too_much_said__refused_and_nothing_written(opened, project, what):
    memory = opened()
    with pytest.raises(BadValue):
        memory.purge(**what)
    assert snapshot(project) == {}


APPENDER = """
import sys
from datetime import UTC, datetime
from holdfast_app.facts.rejected import Departure, FactTrail
from holdfast.models import Fact
from holdfast_models.retry import Completion, record
state, count = sys.argv[1], int(sys.argv[2])
trail = FactTrail(state)
print("ready", flush=True)
for number in range(count):
    trail.add(Departure(at=datetime.now(UTC), event="evicted", id=f"fact_{number:08x}", why="it was full"))
    record(state, plugin="p", model=str(number), outcome=Completion(text=""), took_s=0.0)
"""


@pytest.mark.req("R244")
def test_purge__logs_are_appended_to_meanwhile__no_line_of_another_process_is_lost(full, project):
    state, count = project / ".holdfast" / "state", 150
    command = [sys.executable, "-c", APPENDER, str(state), str(count)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as appender:
        assert appender.stdout.readline() == "ready\n"
        while appender.poll() is None:
            row = f'{{"event": "updated", "id": "fact_0", "content": "{SUBJECT}"}}\n'
            rows = row * 2_000
            for name in ("facts.log.jsonl", "usage.jsonl"):
                with private.lock(str(state / name)):
                    durable.append(state / name, rows.encode(), flush=False)
            full.purge(subject=SUBJECT)
    assert appender.returncode == 0
    log = (state / "facts.log.jsonl").read_text()
    assert [n for n in range(count) if f"fact_{n:08x}" not in log] == []
    assert len((state / "usage.jsonl").read_text().splitlines()) >= count


_TEXT = st.text('…[]aAbBkK\u212a\ufb01fi\u00e9e\u0301\u0338< \n_0159-\\"\u00df\U0001f642', min_size=2, max_size=12)
_DRESS = st.sampled_from(
    [
        lambda text: text.encode(),
        lambda text: text.upper().encode(),
        lambda text: text.encode("utf-16-le"),
        lambda text: text.encode("utf-16"),
        lambda text: json.dumps(text).encode(),
        lambda text: json.dumps(json.dumps(text)).encode(),
        lambda text: "".join(f"\\U{ord(char):08x}" for char in text).encode(),
        lambda text: text.replace(" ", " \n ").encode(),
    ]
)


@given(_TEXT.filter(lambda text: fold(text)), _TEXT, _DRESS, st.just(b"\xff |"))
def test_any_in_bytes__any_needle_in_any_form__is_found_where_it_is(text, other, dress, around):
    assert any_in_bytes([Needle(text)], around + dress(f" {text} ") + around)
    assert any_in_bytes([Needle(text)], dress(f"{other} ")) or fold(text) not in fold(other)


@pytest.mark.parametrize("cut", range(3, 12))
def test_needle__cut_by_an_excerpt__is_found_on_the_side_with_most_of_it(cut):
    """The excerpt of a long tool result kept both halves of a name, and a purge reported that nothing was left."""
    text = "Zelda Quimby"
    excerpt = f"first {text[:cut]}\n[… 9 of 99 characters left out; sha256 00 …]\n{text[cut:]} last"
    needle = Needle(text)
    assert needle.in_text(excerpt) == any_in_bytes([needle], excerpt.encode()) == (cut not in range(5, 8))


def test_in_file__of_2_megabytes__found_wherever_it_is_and_memory_stays_flat(tmp_path):
    path = tmp_path / "big"
    for at in (1_048_570, 1_799_000):
        data = bytearray(b"caf\xc3\xa9 and more \0\n" * 100_000)
        data[at : at + 22] = b"flush_00112233aabbccdd"
        path.write_bytes(data)
        assert in_file(str(path), [Needle("flush_00112233aabbccdd")])
    del data
    tracemalloc.start()
    assert not in_file(str(path), [Needle("flush_0000000000000001")])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 << 20
