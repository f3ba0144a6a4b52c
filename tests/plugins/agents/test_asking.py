"""The agent is asked to flush while it still has the context, never twice for the same messages."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.agents.hooking import SESSION, Client, environment

from holdfast_agents import asking
from holdfast_agents.dialects import event_in


def answered(tokens: int, **more: Any) -> dict[str, Any]:
    """A row of Claude Code's for an answer."""
    more = {"timestamp": "2026-11-21T21:02:07.989Z", "sessionId": SESSION, **more}
    usage = {"input_tokens": 10, "cache_read_input_tokens": tokens - 60, "output_tokens": 50}
    message = {"role": "assistant", "model": "m", "content": [{"type": "text", "text": "x"}], "usage": usage}
    return {"type": "assistant", "uuid": f"a{time.monotonic_ns()}", "isSidechain": False, "message": message, **more}


def counted(tokens: int, window: int = 100_000) -> dict[str, Any]:
    """A row of Codex's for the use of tokens."""
    info = {
        "total_token_usage": {"total_tokens": 9 * tokens},
        "last_token_usage": {"total_tokens": tokens},
        "model_context_window": window,
    }
    return {"type": "event_msg", "payload": {"type": "token_count", "info": info}}


def question(client: Client, event: str, **more: Any) -> str:
    """What the hook would say, without its process."""
    return asking.question(event_in(client.payload(event, **more), client.name), str(client.project), str(client.state))


def ask(client: Client) -> str:
    return question(client, "UserPromptSubmit", prompt="go on")


def used(client: Client, tool: str = "Read", **arguments: str) -> str:
    """The question after a tool's result."""
    return question(client, "PostToolUse", tool_name=tool, tool_input=arguments, tool_response="ok")


@pytest.mark.parametrize(
    ("name", "event", "tokens"), [("claude-code", "PostToolUse", 150_000), ("codex", "UserPromptSubmit", 75_000)]
)
def test_event__context_is_rather_full__agent_is_asked_once(project, name, event, tokens):
    client = Client(project, name)
    client.write(answered(tokens) if name == "claude-code" else counted(tokens))
    told = client.hook(event, prompt="go on", tool_name="Read", tool_input={}, tool_response="ok").context
    assert told.startswith(f"holdfast: about {tokens:,} tokens are in the context, so it may be compacted soon")
    assert client.session in told
    assert used(client) == ask(client) == ""


def test_question__its_command_is_run_as_it_is__states_the_payload_and_later_work_is_added(project):
    client = Client(project)
    client.say("Repair the login test", "Done.")
    client.write(answered(150_000))
    command = used(client).partition("\n")[2].replace("objective: ...", "objective: It's the $CLOCK, `date`")
    command = command.replace("next step: ...", "next step: delete the sleep")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**environment(), "PATH": path}
    done = subprocess.run(["sh", "-c", command], cwd=project, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "**Objective:** It's the $CLOCK, `date`\n" in client.notes()
    client.hook("Stop", last_assistant_message="The sleep is gone. Now I'll update the changelog.", prompt_id="2")
    client.compact()
    handoff = (project / ".holdfast/continuity/active.md").read_text(encoding="utf-8")
    assert "delete the sleep. Since then: The sleep is gone. Now I'll update the changelog." in handoff


def test_question__more_work_since_the_last_one__comes_again_and_sooner_after_a_request(project):
    client = Client(project)
    for tokens, asked_by_tool, asked_by_prompt in [
        (141_000, True, False),
        (149_000, False, False),
        (152_000, False, True),
        (181_000, False, True),
        (196_000, False, True),
        (199_000, False, False),
    ]:
        client.write(answered(tokens))
        assert bool(used(client)) is asked_by_tool, tokens
        assert bool(ask(client)) is asked_by_prompt, tokens


@pytest.mark.parametrize(
    "call",
    [
        {"tool": "Bash", "command": f"holdfast-memory flush --session claude-code-{SESSION} --payload - <<'JSON'"},
        {"tool": "mcp__holdfast__flush", "objective": "x"},
    ],
    ids=["shell", "mcp"],
)
def test_question__the_payload_was_just_stated__is_not_asked_for_the_same_messages(project, call):
    client = Client(project)
    client.write(answered(138_000))
    assert used(client, **call) == ""
    client.write(answered(145_000))
    assert ask(client) == ""
    client.write(answered(150_000))
    assert ask(client)


def test_stop__the_user_wants_it__the_agent_goes_on_once_a_session(project):
    client = Client(project)
    client.write(answered(80_000))
    assert question(client, "Stop") == ""
    (project / "holdfast.toml").write_text("[session]\nask_at_stop = true\n")
    told = client.hook("Stop", last_assistant_message="Done.", prompt_id="1").json
    assert told["decision"] == "block"
    assert f"flush --session {client.session}" in told["reason"]
    client.write(answered(120_000))
    assert question(client, "Stop") == ""


def test_prompt__compacted_and_full_again__agent_is_asked_again(project):
    client = Client(project)
    client.say("hello", "hi")
    client.write(answered(150_000))
    assert ask(client)
    client.write({"type": "system", "subtype": "compact_boundary", "uuid": "c"})
    assert ask(client) == ""  # the usage before the compaction says nothing any more
    client.write(answered(160_000))
    assert ask(client)
    client.write(answered(40_000))  # a client that rewinds, or whose compaction no hook saw
    assert ask(client) == ""
    client.write(answered(150_000))
    assert ask(client)
    client.compact()
    client.hook("PostCompact", trigger="auto", compact_summary="We said hello.")
    client.write(answered(155_000))
    assert ask(client)


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [answered(100_000), answered(190_000, isSidechain=True)],
        [answered(100_000), {"type": "user", "toolUseResult": {"usage": {"input_tokens": 199_000}}}],
        [{"type": "assistant", "message": {"usage": "many"}}, {"type": "assistant", "message": None}, {"usage": []}],
        [answered(300_000)],  # of a window of a million
    ],
)
def test_prompt__context_is_not_full_or_not_known__says_nothing(project, rows):
    client = Client(project)
    client.write(*rows)
    assert ask(client) == ""


@pytest.mark.parametrize(
    ("setting", "window", "used", "asks"),
    [
        ("ask_at = 0.9", "", 150_000, False),
        ("ask_at = 0.9", "", 185_000, True),
        ("ask_at = 0", "", 195_000, False),
        ("context_window = 1_000_000", "", 180_000, False),
        ("", "400000", 300_000, True),
        ("", "100000", 75_000, True),
        ("", "400000", 150_000, False),
        ("", "auto", 150_000, True),
    ],
)
def test_prompt__the_project_or_claude_code_sets_share_or_window__it_counts(
    setting, window, used, asks, project, monkeypatch
):
    (project / "holdfast.toml").write_text(f"[session]\n{setting}\n")
    monkeypatch.setenv("CLAUDE_CODE_AUTO_COMPACT_WINDOW", window)
    client = Client(project)
    client.write(answered(used))
    assert (f"about {used:,} tokens" in ask(client)) is asks


@pytest.mark.parametrize("where", ["transcript", "environment", "local", "user"])
def test_prompt__the_model_is_named_with_its_larger_window__it_counts(project, where, monkeypatch):
    client = Client(project)
    row = answered(150_000)
    if where == "transcript":
        row["message"]["model"] = "claude-model[1m]"
    elif where == "environment":
        monkeypatch.setenv("ANTHROPIC_MODEL", "sonnet[1m]")
    else:
        folder = Path(os.environ["HOME"]) if where == "user" else project
        name = "settings.local.json" if where == "local" else "settings.json"
        (folder / ".claude").mkdir(exist_ok=True)
        (folder / ".claude" / name).write_text(json.dumps({"model": "opus[1m]"}))
    client.write(row)
    assert ask(client) == ""
    row["message"]["usage"]["cache_read_input_tokens"] = 720_000
    client.write(row)
    assert "about 720,000 tokens" in ask(client)
