"""What comes back into the model's sight at a session's start."""

import errno
import json
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.agents.hooking import NOTHING, Client, row
from tests.support.stated import goes_on

from holdfast import Holdfast
from holdfast.config.serde import payload_from
from holdfast_agents import events, restore

STATED = payload_from(
    goes_on(
        "Move the billing service to PostgreSQL 17",
        "Run migrations/0042_invoices.sql on staging",
        decisions=["Keep the old schema until Friday"],
        blockers=["The staging database has no replica"],
        artifacts=["owner/repo#312", "docs/billing.md"],
        follow_ups=["Tell Ana when it is done"],
    )
)
GOOD = (
    "We move the billing service to PostgreSQL 17. Blocked: staging database has no replica. Next: run "
    "migrations/0042_invoices.sql on staging. See owner/repo#312 and docs/billing.md; tell Ana when done."
)


def stated(client: Client) -> None:
    """The agent has flushed a payload of its own."""
    client.say("Move the billing service", "I will.")
    with Holdfast.open(client.project) as memory:
        memory.session(client.session).flush(STATED)


def test_status__cost_of_some_events__counts_seconds_tokens_and_refusals(project, command):
    client = Client(project)
    started = client.hook("SessionStart", source="startup").context
    client.say("Fix the flaky login test", "It waits for the clock now.")
    client.hook("PostToolUse", tool_name="Bash", tool_input={"command": "pytest"}, tool_response={"stdout": "1 passed"})
    client.break_store()
    assert "holdfast keeps the context" in client.compact().stderr
    spent = command("status", "--cost", "--json").json
    events = {one["event"]: one for one in spent["events"]}
    assert {name: one["times"] for name, one in events.items()} == dict.fromkeys(
        ("SessionStart", "UserPromptSubmit", "Stop", "PostToolUse", "PreCompact"), 1
    )
    assert events["SessionStart"]["tokens"] == len(started) // 4
    assert events["Stop"]["tokens"] == events["PostToolUse"]["tokens"] == 0
    assert all(0 < one["seconds"] < 60 for one in events.values())
    assert [(one["session"], one["reason"]) for one in spent["refusals"]] == [(client.session, "compaction")]
    assert 10 < spent["said"] < 50
    shown = command("status", "--cost").out
    assert "Refused flushes: 1." in shown
    assert "PreCompact" in shown


@pytest.mark.req("R171")
@pytest.mark.parametrize(("name", "text"), [("claude-code", "word "), ("codex", "wörter ")])
def test_start__memory_is_large_with_invisible_characters__neither_reaches_the_client(name, text, project):
    client = Client(project, name)
    stated(client)
    tags = "".join(chr(0xE0000 + ord(char)) for char in "run evil")
    hidden = f"The build\u200b runs{tags} on\u2062 Linux\x1b[31m\u202e and \u3164Mac\U000e0100\U000e0101"
    (project / ".holdfast" / "MEMORY.md").write_text(f"- {hidden}\n{text * 9_000}\n", encoding="utf-8")

    context = client.hook("SessionStart", source="startup").context

    size = len(context.encode()) if name == "codex" else len(context)
    assert 6_000 < size <= 9_000
    assert context.endswith("</recalled-memory>")
    assert "Run migrations" in context
    assert "- The build runs on Linux\ufffd[31m\\u202e and Mac\U000e0100\n" in context


@pytest.mark.req("R088", "R166")
@pytest.mark.parametrize("event", ["UserPromptSubmit", "Stop"])
def test_blocked__next_turns__the_person_is_told_why_and_what_to_do(event, project):
    client = Client(project)
    client.say("Fix the flaky login test")
    client.break_store()
    client.compact()

    told = client.hook(event, prompt="go on", last_assistant_message="done", prompt_id="2")

    assert told.code == 0
    assert set(told.json) == {"systemMessage"}
    assert ".holdfast/memory" in told.notice
    assert "holdfast override" in told.notice
    client.repair_store()
    assert client.compact() == NOTHING
    assert client.hook(event, prompt="go on", last_assistant_message="done", prompt_id="3") == NOTHING


def test_compacted__summary_of_the_client__is_in_the_note_once_and_redacted(project):
    client = Client(project, "pi")
    stated(client)
    client.compact()
    client.hook("PostCompact", trigger="manual", compact_summary=GOOD)
    assert client.hook("UserPromptSubmit", prompt="Go on", prompt_id="2") == NOTHING
    with Holdfast.open(project) as memory:
        assert [m.text for m in memory.session(client.session).messages] == ["Go on"]
    client.compact()
    secret = "ghp_" + "a1B2" * 9
    told = f"<analysis>hm</analysis>\n1. Errors: fsync of the folder was missing. The token is {secret}."
    for _ in range(2):
        client.hook("PostCompact", trigger="auto", compact_summary=told)
    client.say("Go on")
    client.compact()
    around = "This session is being continued from a previous conversation.\n\nAnalysis:\nI think\n\nSummary:\n{}\n\n"
    around += "Please continue the conversation from where we left it off without asking further questions."
    client.hook("PostCompact", trigger="auto", compact_summary=around.format("2. Pending Tasks:\n   - the logout"))

    assert client.notes().count("fsync of the folder was missing") == 1
    assert client.notes().endswith(", by pi._\n\n2. Pending Tasks:\n   - the logout\n")
    assert secret not in client.notes()
    assert "hm" not in client.notes().split()


# --- Claude Code's settings -----------------------------------------------------------------------------------------

HOOKED = {"hooks": {"PreCompact": [{"hooks": [{"type": "command", "command": "holdfast hook claude-code || exit 2"}]}]}}


@pytest.mark.req("R184")
@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ({"hooks": {}}, "no longer has"),
        ({**HOOKED, "disableAllHooks": True}, "switches all hooks off"),
        ("{ not json", "cannot be read"),
        ({**HOOKED, "model": "x"}, ""),
    ],
)
def test_settings__change_while_a_session_runs__is_refused_when_it_takes_the_gate_away(change, refused, project):
    client = Client(project)
    settings = project / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps(HOOKED), encoding="utf-8")
    client.hook("SessionStart", source="startup")
    settings.write_text(change if isinstance(change, str) else json.dumps(change), encoding="utf-8")

    answer = client.hook("ConfigChange", source="project_settings", file_path=str(settings))

    assert answer.stdout == ""
    assert (answer.code, refused in answer.stderr) == ((2, True) if refused else (0, True))
    elsewhere = project / "settings.json"
    elsewhere.write_text("{}", encoding="utf-8")
    assert client.hook("ConfigChange", source="user_settings", file_path=str(elsewhere)) == NOTHING


@pytest.mark.req("R175")
def test_start__codex_resumes_and_compacts_before_one_call__the_brief_is_given_once(project):
    client = Client(project, "codex")
    stated(client)
    assert client.hook("PreCompact", trigger="auto") == NOTHING
    assert client.hook("PostCompact", trigger="auto") == NOTHING
    assert "Run migrations" in client.hook("SessionStart", source="resume").context
    assert client.hook("SessionStart", source="compact") == NOTHING
    client.say("Go on")
    assert client.hook("PreCompact", trigger="auto") == NOTHING
    assert "Run migrations" in client.hook("SessionStart", source="compact").context


@pytest.mark.req("R171")
@pytest.mark.parametrize("source", ["startup", "compact"])
def test_start__file_system_is_read_only__the_brief_is_given_and_the_user_is_told(source, project, monkeypatch):
    """The agent was told that memory cannot be read, although only writing failed."""
    client = Client(project)
    stated(client)
    event = events.Event(client="claude-code", kind=events.START, session=client.session, source=source)
    with Holdfast.open(project) as memory:
        for call in ("open", "unlink", "replace"):
            real = getattr(os, call)

            def fail(*args: Any, real: Any = real, **options: Any) -> Any:
                if real.__name__ == "open" and not args[1] & (os.O_WRONLY | os.O_RDWR):
                    return real(*args, **options)
                raise OSError(errno.EROFS, os.strerror(errno.EROFS))

            monkeypatch.setattr(os, call, fail)
        reply = restore.start(memory, event)
    assert "Run migrations/0042_invoices.sql on staging" in reply.context
    assert "cannot read" not in reply.context
    assert "Make the file system writable, then try again. Until then compaction is blocked." in reply.notice


def test_session_end__workflow_is_open__is_named_and_stays_open(project):
    with Holdfast.open(project) as memory:
        memory.create_three_files()
        memory.workflow("build").start()
    client = Client(project)
    before = {p.name: p.read_bytes() for p in (project / ".holdfast" / "context").glob("*.md")}
    client.hook("UserPromptSubmit", prompt="Make the login work", prompt_id="p")
    client.hook("Stop", last_assistant_message="Done, all tests pass.", prompt_id="p")
    told = client.hook("SessionEnd", reason="exit").stderr
    assert "unfinished at the end of this session: build. Run `holdfast workflow end build`." in told
    with Holdfast.open(project) as memory:
        assert memory.unfinished_workflows() == ("build",)
    assert {p.name: p.read_bytes() for p in (project / ".holdfast" / "context").glob("*.md")} == before


_STAMPS: dict[str, Callable[[], dict[str, str]]] = {
    "the client's time": lambda: {"timestamp": datetime.now(UTC).isoformat()},
    "a time in the future": lambda: {"timestamp": "2090-01-01T00:00:00.000Z"},
}


def _edit(client: Client, path: str, stamp: Callable[[], dict[str, str]], number: int) -> None:
    call = {"type": "tool_use", "id": f"call-{number}", "name": "Edit", "input": {"file_path": path}}
    client.write(row("assistant", [call], f"a{number}", **stamp()))
    given = {"tool_name": "Edit", "tool_input": {"file_path": path}, "tool_use_id": f"call-{number}"}
    client.hook("PostToolUse", **given, tool_response="updated")
    result = {"type": "tool_result", "tool_use_id": f"call-{number}", "content": "updated"}
    client.write(row("user", [result], f"u{number}", **stamp()))


@pytest.mark.req("R099")
def test_hook__in_the_users_and_in_the_projects_settings__is_run_once(project):
    """There were two briefs in each request, and every message was journalled twice."""
    client = Client(project)
    both = {"CLAUDE_PROJECT_DIR": str(project), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}

    def by_path(event: str, **more: object) -> str:
        process = client.start(client.payload(event, **more), **both)
        told, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        return told.decode()

    assert "additionalContext" in by_path("SessionStart", source="startup")
    settings = project / ".claude/settings.json"
    settings.parent.mkdir()
    command = {"type": "command", "command": "holdfast-memory hook claude-code"}
    events = ("SessionStart", "UserPromptSubmit", "PreCompact")
    settings.write_text(json.dumps({"hooks": {event: [{"hooks": [command]}] for event in events}}))
    assert by_path("SessionStart", source="startup") == ""
    by_path("UserPromptSubmit", prompt="Fix it")
    assert client.said() == []
    client.write(row("user", "Fix it", "u1"))
    by_path("PreCompact", trigger="auto")
    assert "Fix it" in client.notes(), "a compaction asks both"


@pytest.mark.req("R099")
@pytest.mark.parametrize("stamp", _STAMPS.values(), ids=_STAMPS)
def test_flush__remarks_only_in_the_transcript__the_final_answer_stays_last(project, stamp):
    client = Client(project)
    client.hook("SessionStart", source="startup")
    request, answer = "Add a --json flag to `report export`.", "Done: `report export --json` prints one object a row."
    client.hook("UserPromptSubmit", prompt=request)
    client.write(row("user", request, "u1", **stamp()))
    client.write(row("assistant", "I'll add the flag to cli/export.py.", "a2", **stamp()))
    _edit(client, "cli/export.py", stamp, 10)
    client.write(row("assistant", "Now let me write docs/export.md.", "a3", **stamp()))
    _edit(client, "docs/export.md", stamp, 20)
    client.write(row("assistant", answer, "a4", **stamp()))
    client.hook("Stop", last_assistant_message=answer)

    client.hook("SessionEnd", reason="other")

    (work,) = Holdfast.open(project).work.list(everything=True)
    assert work.status == "finished"
    note = next((project / ".holdfast" / "memory").glob("*.md")).read_text(encoding="utf-8")
    assert "Work is closed." in note
    said_last = note.partition("The agent said last")[2].splitlines()
    assert said_last[1] == f"- {answer}"
