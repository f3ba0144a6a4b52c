"""The rows of each framework, as its own objects and as they are serialised, are understood or refused."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.plugins.loops.test_frameworks import journal_of

from holdfast import Holdfast

pytestmark = pytest.mark.filterwarnings("ignore")

SAID = [
    ("user", "", "Fix the login test"),
    ("assistant", "thinking", "hm"),
    ("assistant", "", "I run it"),
    ("assistant", "run", "run: suite=login"),
    ("tool", "run", "2 failed"),
    ("assistant", "", "It is flaky"),
]


def langchain() -> tuple[list[Any], list[Any]]:
    pytest.importorskip("langchain_core")
    from langchain_core.load import dumpd
    from langchain_core.messages import (
        AIMessage,
        HumanMessage,
        RemoveMessage,
        SystemMessage,
        ToolMessage,
        message_to_dict,
    )  # fmt: skip

    call = {"name": "run", "args": {"suite": "login"}, "id": "c1"}
    blocks = [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "text", "text": "I run it"},
        {"type": "tool_use", "id": "c1", "name": "run", "input": {"suite": "login"}},
    ]
    rows = [
        SystemMessage("Be brief"),
        HumanMessage("Fix the login test", id="m1"),
        AIMessage(blocks, tool_calls=[call], usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}),
        ToolMessage("2 failed", tool_call_id="c1", name="run", status="error"),
        RemoveMessage(id="m1"),
        AIMessage("It is flaky", response_metadata={"model_name": "m"}),
        HumanMessage("A summary", additional_kwargs={"lc_source": "summarization"}),
    ]
    return rows, [message_to_dict(row) for row in rows[:3]] + [dumpd(row) for row in rows[3:4]] + rows[4:]


def pydantic_ai() -> tuple[list[Any], list[Any]]:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai.messages import (
        CompactionPart,
        ModelMessagesTypeAdapter,
        ModelRequest,
        ModelResponse,
        SystemPromptPart,
        TextPart,
        ThinkingPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )  # fmt: skip

    rows = [
        ModelRequest(parts=[SystemPromptPart("Be brief"), UserPromptPart("Fix the login test")], instructions="Obey"),
        ModelResponse(
            parts=[ThinkingPart("hm"), TextPart("I run it"), ToolCallPart("run", {"suite": "login"}, tool_call_id="c1")]
        ),
        ModelRequest(parts=[ToolReturnPart("run", "2 failed", "c1", outcome="failed")]),
        ModelResponse(parts=[TextPart("It is flaky"), CompactionPart("A summary", provider_name="anthropic")]),
    ]
    return rows, ModelMessagesTypeAdapter.dump_python(rows, mode="json")


def google_adk() -> tuple[list[Any], list[Any]]:
    pytest.importorskip("google.adk")
    from google.adk.events.event import Event
    from google.adk.events.event_actions import EventActions, EventCompaction
    from google.genai.types import Content, FunctionCall, FunctionResponse, Part

    def event(author: str, role: str, *parts: Part) -> Event:
        return Event(author=author, content=Content(role=role, parts=list(parts)))

    call = Part(function_call=FunctionCall(name="run", args={"suite": "login"}, id="c1"))
    answer = Part(function_response=FunctionResponse(name="run", id="c1", response={"error": "2 failed"}))
    summary = Content(role="model", parts=[Part(text="A summary")])
    compaction = EventCompaction(start_timestamp=1, end_timestamp=2, compacted_content=summary)
    rows = [
        event("user", "user", Part(text="Fix the login test")),
        event("agent", "model", Part(text="hm", thought=True), Part(text="I run it"), call),
        event("agent", "user", answer),
        event("agent", "model", Part(text="It is flaky")),
        Event(author="user", actions=EventActions(compaction=compaction)),
    ]
    return rows, [row.model_dump(mode="json", by_alias=True, exclude_none=True) for row in rows]


def agent_framework() -> tuple[list[Any], list[Any]]:
    pytest.importorskip("agent_framework")
    from agent_framework import Content, Message

    call = Content.from_function_call("c1", "run", arguments={"suite": "login"})
    failed = Content.from_function_result("c1", result="2 failed", exception="ValueError")
    group = {"_group": {"_summary_of_group_ids": ["g"]}}
    rows = [
        Message("system", ["Be brief"]),
        Message("user", ["Fix the login test"]),
        Message("assistant", [Content.from_text_reasoning(text="hm"), "I run it", call]),
        Message("tool", [failed]),
        Message("assistant", ["It is flaky"]),
        Message("assistant", ["A summary"], additional_properties=group),
    ]
    return rows, [row.to_dict() for row in rows]


def openai_agents() -> tuple[list[Any], list[Any]]:
    pytest.importorskip("agents")
    from agents import Agent
    from agents.items import MessageOutputItem, ReasoningItem, ToolCallItem, ToolCallOutputItem
    from openai.types.responses import (
        ResponseFunctionToolCall,
        ResponseOutputMessage,
        ResponseOutputText,
        ResponseReasoningItem,
    )  # fmt: skip
    from openai.types.responses.response_reasoning_item import Summary

    agent = Agent(name="a", instructions="Never kept")

    def said(text: str) -> Any:
        content = ResponseOutputText(annotations=[], text=text, type="output_text")
        message = ResponseOutputMessage(id="m", content=[content], role="assistant", status="completed", type="message")
        return MessageOutputItem(agent, message)

    thought = ResponseReasoningItem(id="r", summary=[Summary(text="hm", type="summary_text")], type="reasoning")
    call = ResponseFunctionToolCall(arguments='{"suite": "login"}', call_id="c1", name="run", type="function_call")
    output: Any = {"type": "function_call_output", "call_id": "c1", "output": {"success": False, "content": "2 failed"}}
    rows = [
        {"role": "user", "content": "Fix the login test"},
        ReasoningItem(agent, thought),
        said("I run it"),
        ToolCallItem(agent, call),
        ToolCallOutputItem(agent, output, output="2 failed"),
        said("It is flaky"),
    ]
    return rows, [row if isinstance(row, dict) else row.to_input_item() for row in rows]


@pytest.mark.req("R184")
@pytest.mark.parametrize("form", [0, 1], ids=["objects", "serialised"])
@pytest.mark.parametrize("framework", [langchain, pydantic_ai, google_adk, agent_framework, openai_agents])
def test_guard__rows_of_a_framework__are_journalled_as_they_were_said(framework, form, project):
    rows = framework()[form]
    with Holdfast.open(project) as memory:
        memory.guard(lambda given: given[-1:], session="s")(rows)
        said = [row for row in journal_of(memory) if row[1] != "summary"]
        framing = re.compile(r"^summary\.text: |\nsummary\.type: summary_text$|^error: ")
        assert [(role, tool, framing.sub("", text)) for role, tool, text in said] == SAID
        assert "A summary" not in str(said)
        records = [entry.record for entry in memory.session("s").journal.entries()]
    assert [one.get("failed") for one in records if one.get("role") == "tool"] == [True]


def test_guard__bytes_in_a_frameworks_row__are_named_by_their_digest(project):
    pytest.importorskip("pydantic_ai")
    from pydantic_ai.messages import BinaryContent, ModelRequest, UserPromptPart

    picture = BinaryContent(b"abc" * 900, media_type="image/png")
    with Holdfast.open(project) as memory:
        memory.guard(lambda given: [], session="s")([ModelRequest(parts=[UserPromptPart(["Look", picture])])])
        text = str(journal_of(memory))
    assert "Look" in text
    assert "image/png in base64: 3,637 characters, sha256 " in text
