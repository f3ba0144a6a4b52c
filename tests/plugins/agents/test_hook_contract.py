"""What must be durable before compaction, through the command and the hook that clients run."""

import json
from typing import Any

import pytest
from tests.plugins.agents.hooking import NOTHING, Answered, Client
from tests.support import processes
from tests.support.stated import done

#: One value of each category, and the line of the daily note that keeps it.
STATED: dict[str, tuple[Any, str]] = {
    "objective": ("Refresh tokens once", "**Objective:** Refresh tokens once"),
    "facts": (["The token expires after 60 s"], "- Fact: The token expires after 60 s"),
    "blockers": (["test_refresh fails on Windows"], "- Blocker: test_refresh fails on Windows"),
    "follow_ups": (["Send Ana the log"], "- Promised: Send Ana the log"),
    "artifacts": (["docs/tokens.md"], "- Artifact: docs/tokens.md"),
    "state_mutations": (
        [{"kind": "review", "target": "owner/repo#12", "summary": "changes requested"}],
        "- State: review of owner/repo#12: changes requested",
    ),
}
HANDOFF = {
    "active_task": "owner/repo#77",
    "branch": "fix-refresh",
    "blocker": "red on Windows",
    "next_action": "Open the nightly log",
}
WHOLE = done(**{name: value for name, (value, _) in STATED.items()}, work_open=None, handoff=HANDOFF)


def flush(client: Client, payload: dict[str, Any]) -> Answered:
    """``holdfast flush`` as an agent runs it, with the payload on stdin."""
    words = ("flush", "--session", client.session, "--payload", "-")
    ran = processes.run(*words, cwd=client.project, data=json.dumps(payload))
    return Answered(ran.returncode, ran.stdout, ran.stderr)


@pytest.mark.req("R083", "R127", "R135", "R136", "R137", "R138", "R144", "R145", "R146", "R147", "R148", "R149", "R166")
def test_compaction__strict_and_a_category_dropped__is_blocked_until_it_is_stated_and_the_next_session_has_all(project):
    """tests/core/test_flush_contract.py drops each."""
    (project / "holdfast.toml").write_text('[flush]\npolicy = "strict"\n', encoding="utf-8")
    client = Client(project)
    client.say("Fix the flaky login test")
    assert flush(client, {key: value for key, value in WHOLE.items() if key != "state_mutations"}).code == 1

    answer = client.compact()

    assert answer.code == 2
    assert "lacks `state_mutations`;" in answer.stderr
    assert "`/memory-update` states them" in answer.stderr
    assert client.notes() == ""
    client.break_store()
    assert flush(client, WHOLE).code == 1
    assert client.compact().code == 2
    client.repair_store()
    assert client.compact() == NOTHING
    for _, line in STATED.values():
        assert f"\n{line}\n" in client.notes()
    (trail,) = project.glob(".holdfast/memory/summaries/*.md")
    assert "- **review** owner/repo#12: changes requested\n" in trail.read_text(encoding="utf-8")
    brief = Client(project, native="11111111").hook("SessionStart", source="startup").context
    for value in (*HANDOFF.values(), *(line.partition(" ")[2] for _, line in STATED.values())):
        assert value.rpartition(": ")[2] in brief
