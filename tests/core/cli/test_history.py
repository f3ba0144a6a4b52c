"""``holdfast audit`` and ``holdfast import --history``: the sessions that clients recorded on this machine."""

import json
import sqlite3
from pathlib import Path

import pytest

RULE = "Never push to main without a review."
ASKED = "Please fix the flaky login test in tests/test_login.py"
DAY = "2026-11-02T10:00:00Z"


@pytest.fixture
def home(project, tmp_path, monkeypatch) -> Path:
    """A home in which four clients recorded a session in the project, and one elsewhere; today is a week later."""
    made = tmp_path / "clients"
    for name, folder in (("CLAUDE_CONFIG_DIR", ".claude"), ("CODEX_HOME", ".codex"), ("XDG_DATA_HOME", "data")):
        monkeypatch.setenv(name, str(made / folder))
    monkeypatch.setenv("HOME", str(made))
    for session, folder in (("claude-1", str(project)), ("claude-2", "/elsewhere"), ("claude-3", "c:\\work")):
        rows(made / ".claude" / "projects" / "slug" / f"{session}.jsonl", claude(session, folder))
    rows(made / ".codex" / "sessions" / "2026" / "11" / "02" / "rollout-1.jsonl", codex(project))
    rows(made / ".pi" / "agent" / "sessions" / "slug" / "1.jsonl", pi(project))
    (made / ".claude" / "projects" / "slug" / "empty.jsonl").touch()
    opencode(made / "data" / "opencode" / "opencode.db", project)
    return made


def rows(path: Path, table: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in table), encoding="utf-8")


def claude(session: str, folder: str) -> list[dict[str, object]]:
    """Before and after a compaction: a rule, a request and a file, all of them twice."""
    made: list[dict[str, object]] = []

    def row(role: str, content: object, **more: object) -> None:
        made.append({"type": role, "uuid": f"{session}-{len(made)}", "sessionId": session, "cwd": folder,
                     "timestamp": DAY, "message": {"role": role, "content": content}, **more})  # fmt: skip

    def part() -> None:
        row("user", RULE)
        row("user", ASKED)
        call = f"call-{len(made)}"
        row("assistant", [{"type": "tool_use", "id": call, "name": "Read", "input": {"file_path": "src/login.py"}}])
        row("user", [{"type": "tool_result", "tool_use_id": call, "content": "import time\n" * 40}])

    part()
    made.append({"type": "system", "subtype": "compact_boundary", "sessionId": session, "timestamp": DAY})
    row("user", "This session is being continued from a previous conversation.", isCompactSummary=True)
    part()
    row("assistant", "The test passes now.")
    return made


def codex(project: Path) -> list[dict[str, object]]:
    def said(role: str, kind: str, text: str) -> dict[str, object]:
        payload = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        return {"timestamp": DAY, "type": "response_item", "payload": payload}

    meta = {"id": "codex-1", "cwd": str(project / "docs"), "timestamp": DAY}
    return [
        {"timestamp": DAY, "type": "session_meta", "payload": meta},
        said("user", "input_text", "Write the release notes"),
        said("assistant", "output_text", "They are in docs/release.md."),
    ]


def pi(project: Path) -> list[dict[str, object]]:
    return [
        {"type": "session", "id": "pi-1", "timestamp": DAY, "cwd": str(project)},
        {"type": "message", "id": "a", "parentId": None, "timestamp": DAY,
         "message": {"role": "user", "content": "Rename the table to invoices"}},
    ]  # fmt: skip


def opencode(path: Path, project: Path) -> None:
    """The columns that are read, as opencode 1.18.33 makes them."""
    path.parent.mkdir(parents=True)
    at = 1_793_613_600_000
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE session (id TEXT, parent_id TEXT, directory TEXT, time_updated INTEGER)")
        database.execute("CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT)")
        database.execute("CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT)")
        database.execute(
            "INSERT INTO session VALUES ('ses_1', NULL, ?, ?), ('ses_2', 'ses_1', ?, ?)", (str(project), at) * 2
        )
        info = json.dumps({"role": "user", "time": {"created": at}})
        database.execute("INSERT INTO message VALUES ('msg_1', 'ses_1', ?, ?)", (at, info))
        part = json.dumps({"type": "text", "text": "Add a health check to the server"})
        database.execute("INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', ?)", (part,))
    database.close()


def test_import_history__four_clients__each_session_once_under_its_day(run, project, home):
    planned = run("import", "--history", "--dry-run", "--json").json["sessions"]
    assert {one["session"]: one["outcome"] for one in planned} == dict.fromkeys(
        ("claude-1", "codex-1", "pi-1", "ses_1"), "new"
    )
    assert not (project / ".holdfast" / "memory").exists()
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    done = run("import", "--history", "--json")
    assert (done.code, {one["outcome"] for one in done.json["sessions"]}) == (0, {"imported"})
    assert {path: path.read_bytes() for path in before} == before
    notes = {path.name: path.read_text(encoding="utf-8") for path in (project / ".holdfast" / "memory").glob("2*.md")}
    assert list(notes) == ["2026-11-02.md"]
    assert all(text in notes["2026-11-02.md"] for text in ("Write the release notes", "health check", RULE))
    assert not run("work", "--json").json["work"], "past sessions are no open work"
    again = run("import", "--history", "--json").json["sessions"]
    assert {one["outcome"] for one in again} == {"known"}
    assert "invoices" in run("search", "rename table").out


def test_import_history__hooks_follow_one_session_and_the_others_failed__those_are_imported_next(run, project, home):
    assert run("add", "user", "Write the release notes", "--session", "codex-1").code == 0
    notes = project / ".holdfast" / "memory"
    notes.touch()
    for code, outcome in ((1, "failed"), (0, "imported"), (0, "known")):
        done = run("import", "--history", "--json")
        outcomes = {one["session"]: one["outcome"] for one in done.json["sessions"]}
        assert (done.code, outcomes.pop("codex-1"), {*outcomes.values()}) == (code, "known", {outcome})
        notes.is_file() and notes.unlink()


def test_audit__compaction_in_a_recorded_session__counts_what_came_again(run, home, project):
    found = run("audit", "--days", "9000", "--json").json
    assert found["compactions"] == 3
    mine = [(one["kind"], one["text"]) for one in found["repeated"] if one["session"] == "claude-1"]
    assert mine == [("rule", RULE), ("request", ASKED), ("file", "src/login.py")]
    assert [one["tokens"] for one in found["repeated"] if one["kind"] == "file"] == [120] * 3
    assert "files read again" in run("audit", "--days", "9000").out
    assert "--days is not from 1" in run("audit", "--days", "9" * 20).err
    assert not (project / ".holdfast").exists()


def test_audit__secret_in_a_request__is_masked(run, home):
    key = "AKIA" + "QXR7T2LMN4PZ8WVK"
    table = claude("claude-1", "/elsewhere")
    text = json.dumps(table).replace(ASKED, f"{ASKED} with {key}")
    rows(home / ".claude" / "projects" / "slug" / "claude-1.jsonl", json.loads(text))
    shown = run("audit", "--days", "9000").out
    assert key not in shown
    assert "REDACTED" in shown
