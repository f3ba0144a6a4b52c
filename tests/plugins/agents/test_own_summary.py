"""Compaction by holdfast: its brief in place of the client's summary, where the settings and the client want it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.agents.hooking import NOTHING, Answered, Client
from tests.support.processes import finished

HEAD = "holdfast has compacted this conversation without a model."
RULE = "Never push to main without a review."


@pytest.fixture
def client(project) -> Client:
    (project / "holdfast.toml").write_text('[agents]\ncompact = "holdfast"\n')
    return Client(project)


def asked(client: Client, **more: Any) -> Answered:
    """The answer to a module that takes a summary."""
    return client.hook("PreCompact", trigger="auto", answers=True, **more)


@pytest.mark.req("R083", "R087", "R184")
def test_compaction__by_holdfast__the_brief_comes_once_and_the_dropped_messages_come_back(client, command, monkeypatch):
    monkeypatch.chdir(client.project)
    client.say("Fix the flaky login test", "Decision: the clock is injected.")
    client.hook("UserPromptSubmit", prompt=f"{RULE} Now run the suite.", prompt_id="p2")
    for turn in ("Fix the flaky login test", "Say it once more"):
        summary = asked(client).stdout
        assert summary.startswith(HEAD)
        assert len(summary) <= 20_000
        for told in ("Where to resume", RULE, "the clock is injected", "run the suite"):
            assert told in summary
        client.hook("PostCompact", trigger="auto", compact_summary="")
        assert client.hook("SessionStart", source="compact") == NOTHING
        rows = command("sessions", "show", client.session, "--dropped", "--json").json["messages"]
        assert rows[0]["text"] == turn
        client.say("Say it once more", "Done.")
    assert len(rows) == 2
    assert command("status", "--json").json["notices"] == []
    assert HEAD not in client.notes()

    client.compact()
    client.hook("PostCompact", trigger="auto", compact_summary="## Goal")
    assert "Where to resume" in client.hook("SessionStart", source="compact").context


@pytest.mark.req("R184")
def test_compaction__by_holdfast_in_advance__a_flush_before_its_use_is_no_other_compaction(
    client, command, monkeypatch
):
    monkeypatch.chdir(client.project)
    client.say("Fix the flaky login test", "Done.")
    assert asked(client).stdout.startswith(HEAD)
    client.say("And the other one", "Done.")
    assert command("flush", "--session", client.session).code == 0
    client.say("Say it once more", "Done.")
    client.hook("PostCompact", trigger="auto", compact_summary="")
    assert client.hook("SessionStart", source="compact") == NOTHING
    assert command("status", "--json").json["notices"] == []
    assert client.notes().count("Say it once more") > 0
    client.say("Another module answers now", "Done.")
    client.hook("PostCompact", trigger="auto", compact_summary="")
    assert "past the gate" in str(command("status", "--json").json["notices"])


def test_compaction__by_holdfast__not_wanted_or_not_taken_or_of_a_sub_agent__leaves_it_to_the_client(client):
    client.say("Fix the flaky login test", "Done.")
    assert client.compact() == NOTHING
    client.hook("UserPromptSubmit", prompt="Look around", prompt_id="p3", agent_id="a1")
    assert HEAD not in asked(client, agent_id="a1").stdout
    (client.project / "holdfast.toml").write_text("")
    assert asked(client) == NOTHING


@pytest.mark.parametrize("large", [False, True])
def test_module__the_summary_is_holdfasts__keeps_the_rows_of_the_last_request_that_fit(large, client, command):
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node, to run the module as the client does")
    command("install", "claude-code")
    client.say("Fix the flaky login test", "Done.")
    call = {"role": "assistant", "text": "", "toolUses": [{"tool_use_id": "t1", "tool": "Bash", "input": {}}]}
    result = {"role": "user", "text": "", "toolUses": [], "toolResults": [{"tool_use_id": "t1", "text": "one"}]}
    prompt = {"role": "user", "text": "x" * (50_000 if large else 1), "toolUses": [], "handle": "h1"}
    rows = [{"role": "user", "text": HEAD, "toolUses": []}, call, prompt, call, result]
    harness = Path(__file__).with_name("gate_harness.mjs")
    module = client.project / ".claude/skills/holdfast-gate/hooks/compact.js"
    done = finished([node, harness, "module", module, client.native, json.dumps(rows)], cwd=client.project, check=True)
    first, *kept = json.loads(done.stdout)["messages"]
    assert first["text"].startswith(HEAD)
    assert kept == [call, result] if large else [{"role": "user", "text": "x", "toolUses": []}, call, result]
