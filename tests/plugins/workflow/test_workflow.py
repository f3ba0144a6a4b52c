"""LOAD at the start, UPDATE at the end, triggers in between: each step as a new process would do it."""

import os
import re
from collections.abc import Callable
from typing import Any

import pytest
from tests.plugins.facts.test_facts import Masker
from tests.support.dying import dies

from holdfast.api import Corrupt, Holdfast, HoldfastError, NotFound, Refused, StorageBackend
from holdfast.config.layout import Layout
from holdfast_app.workflow import observations, update
from holdfast_app.workflow.three import CONDITIONS, FILES, WORKFLOWS, Deliverable, MemoryUpdate

FOLDER = ".opencode/context/01_memory"
ALL = ["active_context", "patterns", "progress"]
MERGE = b"<<<<<<< a\n=======\n>>>>>>> b\n"
NOTHING = MemoryUpdate(no_change=ALL)


@pytest.fixture
def memory(opened) -> Callable[..., Holdfast]:
    """``memory(*plugins)``: the project with the opencode layout and its three files, opened anew."""

    def open_project(*plugins: object) -> Holdfast:
        from holdfast.config.values import StorageConfig

        storage = StorageConfig(path=".opencode", facts="holdfast/facts.jsonl")
        made = opened(*plugins, layout=Layout(preset="opencode"), storage=storage, plugins={})
        update.create(made.services)
        return made

    return open_project


@pytest.fixture
def texts(project) -> Callable[[], dict[str, bytes]]:
    """``texts()``: the three files as they lie on disk."""
    return lambda: {p.stem: p.read_bytes() for p in sorted((project / FOLDER).glob("*.md"))}


@pytest.fixture
def gotchas(texts) -> Callable[[], list[str]]:
    return lambda: [t for t in under(texts()["patterns"], "## Gotchas") if t != "None yet"]


def under(text: bytes, anchor: str) -> list[str]:
    body = text.decode().split(f"{anchor}\n", 1)[1].split("\n## ", 1)[0]
    return [line[2:] for line in body.splitlines() if line.startswith("- ")]


@pytest.mark.req("R204")
def test_create__partial_file__adds_only_the_missing_anchors(memory, project):
    opened = memory()
    path = project / FOLDER / "patterns.md"
    path.write_bytes(b"## Gotchas\r\n* mine, by hand \r\n")
    assert update.create(opened.services)[0] == ["context/01_memory/patterns.md"]
    assert path.read_bytes().startswith(b"## Gotchas\r\n* mine, by hand \r\n\r\n## Conventions\r\n")
    assert opened.validate().ok


@pytest.mark.req("R188", "R205", "R206", "R207", "R208", "R209", "R210")
@pytest.mark.parametrize("name", WORKFLOWS)
def test_start__each_workflow__reads_the_three_in_order_and_returns_them(memory, texts, monkeypatch, name):
    opened = memory()
    before = texts()
    read: list[str] = []
    original = type(opened.store.backend).read

    def probe(self: StorageBackend, document: str) -> Any:
        read.append(document)
        return original(self, document)

    monkeypatch.setattr(type(opened.store.backend), "read", probe)
    started = opened.workflow(name).start()
    assert read == [f"context/01_memory/{stem}.md" for stem in ALL]
    assert [one.text.encode() for one in started.files] == [before[stem] for stem in ALL]
    assert opened.workflow(name).is_open
    assert texts() == before


@pytest.mark.req("R190", "R226", "R242")
@pytest.mark.parametrize(
    "damage",
    [b"# no\n", b"\xff", b"## Conventions\n## Gotchas\n## Gotchas\n## Approved Practices\n", MERGE, None, b""],
    ids=["anchors", "no text", "twice", "merge", "folder", "missing"],
)
def test_start__corrupt_or_missing_file__fails_before_any_write(memory, project, damage):
    opened = memory()
    path = project / FOLDER / "patterns.md"
    path.unlink()
    if damage is None:
        path.mkdir()
    elif damage:
        path.write_bytes(damage)
    before = sorted((p, p.read_bytes() if p.is_file() else b"") for p in project.rglob("*"))
    with pytest.raises(NotFound if damage == b"" else Corrupt, match=r"patterns\.md"):
        opened.workflow("build").start()
    assert sorted((p, p.read_bytes() if p.is_file() else b"") for p in project.rglob("*")) == before
    assert not opened.workflow("build").is_open
    assert opened.validate().errors[0].rule.partition("/")[2] in ("missing", "unreadable", "duplicate", "conflict")


# UPDATE

WHOLE = {
    "current_focus": ["login"],
    "decisions": ["use a lock"],
    "open_questions": ["which zone?"],
    "next_steps": ["write the docs"],
    "conventions": ["handlers are named on_EVENT"],
    "gotchas": ["the clock is mocked"],
    "approved_practices": ["tests first"],
    "verified_deliverables": [{"text": "login works", "evidence": "https://example.org/run/1"}],
    "deferred_items": ["the rate limit"],
}


@pytest.mark.req("R187", "R188", "R211", "R212", "R213")
def test_end__another_process__puts_each_entry_under_its_anchor_and_leaves_the_rest(memory, project, texts):
    memory().workflow("build").start()
    path = project / FOLDER / "active_context.md"
    own = "\ufeff# Mine\r\n\r\n## Decisions\r\n- old one\r\n\r\n## Current Focus\r\n\r\n## Own\r\nprose\r\n\r\n"
    own += "## Open Questions\r\n\r\n"
    path.write_bytes((own + "## Next Steps\r\n").encode())
    done = memory().workflow("build").end(WHOLE, confirmed=["tests-passed"])
    after = texts()
    assert under(after["active_context"].replace(b"\r", b""), "## Decisions") == ["old one", "use a lock"]
    assert under(after["patterns"], "## Conventions") == WHOLE["conventions"]
    assert under(after["patterns"], "## Gotchas") == WHOLE["gotchas"]
    assert under(after["progress"], "## Verified Deliverables") == ["login works (https://example.org/run/1)"]
    assert under(after["progress"], "## Evidence Links") == ["https://example.org/run/1: login works"]
    text = after["active_context"].decode()
    for line in ("- use a lock", "- login", "- which zone?", "- write the docs"):
        text = text.replace(f"{line}\r\n", "", 1)
    assert [piece for piece in text.split("\r\n") if piece] == [p for p in own.split("\r\n") if p] + ["## Next Steps"]
    assert [(change.surface, len(change.added)) for change in done.files] == list(zip(FILES, (4, 3, 3), strict=True))
    assert not memory().workflow("build").is_open


@pytest.mark.req("R188", "R234")
@pytest.mark.parametrize("started", [False, True], ids=["without LOAD", "without UPDATE"])
def test_end__protocol_broken__is_refused_and_writes_nothing(memory, texts, started):
    opened = memory()
    workflow = opened.workflow("review")
    before = texts()
    if started:
        workflow.start()
    given = MemoryUpdate(decisions=["x"], no_change=["patterns"]) if started else NOTHING
    with pytest.raises(Refused, match=r"without an entry for progress\.md" if started else "not started"):
        workflow.end(given, confirmed=["review-complete"])
    assert texts() == before
    assert workflow.is_open is started


@pytest.mark.req("R214", "R215", "R216", "R217", "R218", "R246")
@pytest.mark.parametrize("name", WORKFLOWS)
def test_end__condition_of_the_workflow__decides_whether_there_is_an_update(memory, texts, name):
    opened = memory()
    opened.workflow(name).start()
    before = texts()
    given = MemoryUpdate(decisions=["x"], no_change=["patterns", "progress"])
    others = [c for other in WORKFLOWS if other != name for c in CONDITIONS[other]]
    for confirmed in ([], [*CONDITIONS[name]][:-1], others[:1], ["anything"]):
        with pytest.raises(Refused, match=r"cannot end before|is not a condition"):
            opened.workflow(name).end(given, confirmed=confirmed)
    assert texts() == before
    opened.workflow(name).end(given, confirmed=CONDITIONS[name])
    assert "x" in under(texts()["active_context"], "## Decisions")


@pytest.mark.req("R188")
def test_end__no_change__is_recorded_once_in_active_context(memory, texts):
    for name in ("build", "review"):
        memory().workflow(name).start()
        memory().workflow(name).end(NOTHING, confirmed=CONDITIONS[name])
    assert under(texts()["active_context"], "## Decisions") == [
        "No change: active_context.md, patterns.md, progress.md (review, 2026-11-21)"
    ]


@pytest.mark.req("R237")
def test_end__same_update_again__is_answered_without_writing(memory, texts):
    memory().workflow("build").start()
    given = MemoryUpdate(decisions=["x"], no_change=["patterns", "progress"])
    memory().workflow("build").end(given, confirmed=["tests-passed"])
    after = texts()
    assert memory().workflow("build").end(given, confirmed=["tests-passed"]).repeated
    assert texts() == after
    with pytest.raises(Refused, match="not started"):
        memory().workflow("build").end(NOTHING, confirmed=["tests-passed"])


@pytest.mark.req("R187", "R237")
@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
@pytest.mark.parametrize("n", range(5, 65, 15))
def test_end__killed_at_any_write__the_next_try_completes_it_and_doubles_nothing(memory, texts, gotchas, n):
    memory().workflow("build").start()

    def finish() -> None:
        opened = memory()
        opened.capture("issue", "noticed", critical=True)
        given = MemoryUpdate(decisions=["d"], gotchas=["g"], deferred_items=["i"])
        opened.workflow("build").end(given, confirmed=["tests-passed"])

    if dies(n, finish):
        assert memory().workflow("build").is_open
        finish()
    after = texts()
    assert under(after["active_context"], "## Decisions") == ["d"]
    assert sorted(gotchas()) == ["g", "noticed"]
    assert under(after["progress"], "## Deferred Items") == ["i"]
    assert memory().validate().ok


@pytest.mark.req("R239")
def test_end__one_file_cannot_take_its_entry__none_is_written(memory, texts):
    memory().workflow("build").start()
    before = texts()
    for bad in ({"deferred_items": ["x" * 501]}, {"deferred_items": list(map(str, range(51)))}, {"decisions": [" "]}):
        with pytest.raises(Refused):
            memory().workflow("build").end({**WHOLE, **bad}, confirmed=["tests-passed"])
    assert texts() == before


@pytest.mark.req("R213", "R238")
@pytest.mark.parametrize(
    ("deliverable", "verified"),
    [
        ({"evidence": "https://example.org/1"}, True),
        ({"evidence": "owner/repo#12"}, True),
        ({"evidence": "reports/run.txt"}, True),
        ({"evidence": "3f2a9c1"}, True),
        ({"evidence": "deadbeef"}, True),
        ({"command": "pytest -q", "exit_status": 0}, True),
        ({"command": "pytest -q", "exit_status": 1}, False),
        ({"command": "pytest -q"}, False),
        ({"evidence": "reports/run.txt:12"}, True),
        ({"evidence": "reports/"}, True),
        ({"evidence": "reports/other.txt"}, False),
        ({"evidence": "and/or"}, False),
        ({"evidence": "no/such.txt", "command": "pytest -q", "exit_status": 0}, True),
        ({"evidence": "I looked at it"}, False),
        ({}, False),
    ],
)
def test_deliverable__with_or_without_proof__is_verified_or_deferred(memory, texts, project, deliverable, verified):
    (project / "reports").mkdir()
    (project / "reports/run.txt").touch()
    done = memory().update({"verified_deliverables": [{"text": "it works", **deliverable}]})
    progress = texts()["progress"]
    assert ("it works" in str(under(progress, "## Verified Deliverables"))) is verified
    assert ("it works" in str(under(progress, "## Evidence Links"))) is verified
    assert ("it works (not verified" in str(under(progress, "## Deferred Items"))) is not verified
    assert bool(done.deferred) is not verified
    assert not Deliverable(text="it works", command="pytest -q", exit_status=False).proof


@pytest.mark.req("R240")
def test_update__secret__reaches_neither_files_nor_private_state(memory, project):
    opened = memory(Masker())
    opened.workflow("build").start()
    done = opened.update({"decisions": ["the word is hunter\n2"], "verified_deliverables": ["hunter2"]})
    assert done.deferred == ("[SECRET]: no evidence",)
    opened.capture("issue", "login with hunter\n2 fails")
    opened.capture("issue", "hunter2 again", critical=True)
    proved = {"text": "hunter2", "command": "login hunter\n2", "exit_status": 0}
    opened.workflow("build").end({"verified_deliverables": [proved], "no_change": ALL[:2]}, confirmed=["tests-passed"])
    written = [p for p in project.rglob("*") if p.is_file()]
    assert [p for p in written if re.search(rb"hunter\s?2", p.read_bytes())] == []
    assert b"[SECRET]" in (project / FOLDER / "patterns.md").read_bytes()


RECORD = b'{"name": "build", "state": "open", "started": "2026-11-23T04:36:26Z"}'


@pytest.mark.parametrize("body", [b"{", RECORD.replace(b"open", b"opened"), RECORD.replace(b"build", b"review")])
def test_record__damaged__is_told_and_start_replaces_it(memory, project, body):
    opened = memory()
    opened.workflow("build").start()
    (project / ".opencode/state/workflows/build.json").write_bytes(body)
    with pytest.raises(HoldfastError, match="damaged"):
        opened.workflow("build").end(NOTHING, confirmed=["tests-passed"])
    opened.workflow("build").start()
    assert opened.workflow("build").is_open


@pytest.mark.req("R219", "R222")
def test_capture__similar_three_times_over_sessions__is_one_gotcha(memory, gotchas):
    for text in (
        "Test 1 of user_1 fails at line 12 of v1.2 after 30s",
        "test 2 of user_12 FAILS, at line 40 of v3 after 5s.",
    ):
        memory().capture("issue", text)
    assert gotchas() == []
    for _ in range(3):
        memory().capture("issue", "test 3 of user_2 fails at line 1f of v1.2.3 after 7s")
        assert gotchas() == ["Test 1 of user_1 fails at line 12 of v1.2 after 30s"]


@pytest.mark.req("R224")
def test_capture__same_issue_in_two_workflows__is_written(memory, gotchas):
    memory().workflow("build").start()
    memory().capture("issue", "the port is taken")  # in the one that is open
    assert gotchas() == []
    assert memory().capture("issue", "the port is taken", workflow="review").sighting.trigger == "integration"
    assert gotchas() == ["the port is taken"]


@pytest.mark.req("R221", "R239")
def test_capture__a_hundred_in_a_window__few_writes_and_nothing_lost(memory, gotchas, clock, monkeypatch):
    opened = memory()
    writes: list[str] = []
    backend = type(opened.store.backend)
    original = backend.write

    def counts(self: StorageBackend, name: str, text: str, expected: str | None = None) -> str:
        writes.append(name)
        return original(self, name, text, expected)

    monkeypatch.setattr(backend, "write", counts)
    words = [f"{a}{b} leaks" for a in "abcd" for b in "vwxyz"]
    for word in words:
        for _ in range(3):
            done = opened.capture("issue", word)
        opened.capture("pattern", f"{word} so what", critical=word < "b")
    assert len(writes) <= 20
    assert done.waiting > 0
    clock.tick(minutes=2)
    memory().capture("issue", "something else")
    assert gotchas() == words
    assert observations.waiting(opened.services) == ()


@pytest.mark.req("R221", "R225")
def test_update__captured_entries_wait__are_reported_and_those_without_room_counted(memory, gotchas):
    opened = memory()
    for n in range(52):
        opened.capture("issue", f"{'xyz'[n // 26]}{chr(97 + n % 26)} leaks", critical=True)
    done = opened.update({"gotchas": ["mine"]})
    assert (len(gotchas()), len(done.files[1].added)) == (50, 30)
    assert "no room for 3 captured" in done.warnings[0]
