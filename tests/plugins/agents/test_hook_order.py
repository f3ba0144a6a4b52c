"""Remarks between tool calls are only in the transcript. A flush reads them where they were said."""

import json
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.agents.hooking import Client, row

from holdfast import Holdfast

pytestmark = pytest.mark.req("R099")

_STAMPS: dict[str, Callable[[], dict[str, str]]] = {
    "the client's time": lambda: {"timestamp": datetime.now(UTC).isoformat()},
    "a time in the future": lambda: {"timestamp": "2090-01-01T00:00:00.000Z"},
}


def _row(role: str, content: object, stamp: dict[str, str], number: int) -> dict[str, Any]:
    return {"type": role, "uuid": f"row-{number}", **stamp, "message": {"role": role, "content": content}}


def _edit(client: Client, path: str, stamp: Callable[[], dict[str, str]], number: int) -> None:
    call = {"type": "tool_use", "id": f"call-{number}", "name": "Edit", "input": {"file_path": path}}
    client.write(_row("assistant", [call], stamp(), number))
    given = {"tool_name": "Edit", "tool_input": {"file_path": path}, "tool_use_id": f"call-{number}"}
    client.hook("PostToolUse", **given, tool_response="updated")
    result = {"type": "tool_result", "tool_use_id": f"call-{number}", "content": "updated"}
    client.write(_row("user", [result], stamp(), number + 1))


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


@pytest.mark.parametrize("stamp", _STAMPS.values(), ids=_STAMPS)
def test_flush__remarks_only_in_the_transcript__the_final_answer_stays_last(project, stamp):
    client = Client(project)
    client.hook("SessionStart", source="startup")
    request, answer = "Add a --json flag to `report export`.", "Done: `report export --json` prints one object a row."
    client.hook("UserPromptSubmit", prompt=request)
    client.write(_row("user", request, stamp(), 1))
    client.write(_row("assistant", [{"type": "text", "text": "I'll add the flag to cli/export.py."}], stamp(), 2))
    _edit(client, "cli/export.py", stamp, 10)
    client.write(_row("assistant", [{"type": "text", "text": "Now let me write docs/export.md."}], stamp(), 3))
    _edit(client, "docs/export.md", stamp, 20)
    client.write(_row("assistant", [{"type": "text", "text": answer}], stamp(), 4))
    client.hook("Stop", last_assistant_message=answer)

    client.hook("SessionEnd", reason="other")

    (work,) = Holdfast.open(project).work.list(everything=True)
    assert work.status == "finished"
    note = next((project / ".holdfast" / "memory").glob("*.md")).read_text(encoding="utf-8")
    assert "Work is closed." in note
    said_last = note.partition("The agent said last")[2].splitlines()
    assert said_last[1] == f"- {answer}"
