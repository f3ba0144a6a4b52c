"""Clients with hooks in Claude Code's form: what recorded events put into the journal. And the page of clients."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.agents.hooking import Client

from holdfast_agents.setup.client import AGREED
from holdfast_agents.setup.clients import CLIENTS

ANSWER = "The clock is injected."
#: What Gemini CLI and Qwen Code append for an ``@file``.
FILES = "\n--- Content from referenced files ---\nContent from @a.md:\nAlways sign.\n--- End of content ---"
#: What each sends for a prompt, a tool's result and an answer, as recorded with the versions in the page.
TURNS: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {
    "deepagents": (
        ("UserPromptSubmit", {"prompt": "Fix it", "prompt_id": "u1"}),
        ("PostToolUse", {"tool_response": {"content": "one", "additional_kwargs": {}, "type": "tool"}}),
        ("Stop", {"last_assistant_message": ANSWER}),
    ),
    "droid": (
        ("UserPromptSubmit", {"prompt": "Fix it", "message_id": "u1", "has_images": False}),
        ("PostToolUse", {"tool_response": "one"}),
        ("Stop", {"stop_hook_active": False, "tool_execution_count": 1}),
    ),
    "qwen": (
        ("UserPromptSubmit", {"prompt": "Fix it", "submitted_prompt": "Fix it", "prompt_id": "s###0"}),
        ("PostToolUse", {"tool_response": {"llmContent": "one"}, "tool_use_id": "t1"}),
        ("Stop", {"last_assistant_message": ANSWER, "input_tokens": 1000, "context_limit": 200000}),
    ),
    "gemini": (
        ("BeforeAgent", {"prompt": f"<hook_context>The brief</hook_context>\n\nFix it{FILES}"}),
        ("AfterTool", {"tool_response": {"llmContent": "Output: one", "returnDisplay": "one"}}),
        ("AfterAgent", {"prompt": "Fix it", "prompt_response": ANSWER}),
    ),
    "copilot": (
        ("UserPromptSubmit", {"prompt": "Fix it"}),
        ("PostToolUse", {"tool_result": {"result_type": "success", "text_result_for_llm": "one"}}),
        ("Stop", {"stop_reason": "end_turn"}),
    ),
    "kimi": (
        ("UserPromptSubmit", {"prompt": [{"type": "text", "text": "Fix it"}], "is_steer": False}),
        ("PostToolUse", {"tool_output": "one\n", "tool_call_id": "call_1"}),
        ("Stop", {"stop_hook_active": False}),
    ),
}
#: Its record where an answer is only there.
RECORDS = {
    "copilot": {"type": "assistant.message", "data": {"content": ANSWER}},
    "droid": {"type": "message", "message": {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]}},
    "kimi": {"type": "x", "event": {"type": "content.part", "part": {"type": "text", "text": ANSWER}}},
}


@pytest.mark.parametrize("name", TURNS)
def test_turn__recorded_events__prompt_tool_and_answer_are_journalled_once_each(name, project):
    client = Client(project, name)
    if name == "kimi":
        client.transcript = Path.home() / f".kimi-code/sessions/wd_x/{client.native}/agents/main/wire.jsonl"
        client.transcript.parent.mkdir(parents=True)
    client.transcript.write_text(json.dumps(RECORDS.get(name), separators=(",", ":")))
    for event, more in TURNS[name]:
        tool = {"tool_name": "bash", "tool_input": {"command": "echo one"}} if "tool" in str(more) else {}
        assert client.hook(event, **tool, **more)[::2] == (0, "")
    prompt, call, result, said = (row for row in client.said() if row[0] != "system")
    assert (prompt, call, said) == (("user", "Fix it"), ("assistant", "bash: echo one"), ("assistant", ANSWER))
    assert result[0] == "tool"
    assert "one" in result[1]


@pytest.mark.parametrize(
    ("row", "threshold", "flushes"),
    [(("gemini-2.5-pro", 100_000), 0.5, False), (("gemini-2.5-pro", 450_000), 0.5, True), (("other", 9), 0.5, True),
     (("gemini-2.5-pro", 100_000), 0.1, True), ((), 0.5, True)],
)  # fmt: skip
def test_gemini__precompress_at_every_model_call__flushes_only_near_its_threshold(row, threshold, flushes, project):
    (project / ".gemini").mkdir()
    (project / ".gemini/settings.json").write_text(json.dumps({"model": {"compressionThreshold": threshold}}))
    client = Client(project, "gemini")
    client.hook("BeforeAgent", prompt="Fix it")
    told = {"tokens": {"total": row[1]}, "model": row[0]} if row else {}
    client.transcript.write_text(json.dumps(told, separators=(",", ":")))
    assert client.hook("PreCompress", trigger="auto").code == 0
    assert bool(client.notes()) is flushes


def test_page__the_table_of_clients__has_each_version_and_what_holds():
    page = (Path(__file__).parents[3] / "docs/agents.md").read_text(encoding="utf-8")
    table = page.partition("| client, version run |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| (\w.*?) \| (.*?) \|", table, re.MULTILINE) == [
        (f"{client.shown} {client.seen}".strip(), client.label) for client in CLIENTS.values()
    ]
    assert {one.holds for one in CLIENTS.values() if not one.seen} == {AGREED}
