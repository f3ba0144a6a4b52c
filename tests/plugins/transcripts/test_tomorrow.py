"""Transcripts of a later client version: unknown records and tools, and fields that are missing, renamed or retyped."""

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.plugins.transcripts import test_transcripts as samples

from holdfast.models import Payload, turns_of
from holdfast_app.offline import asked, on_extract
from holdfast_app.transcripts import read

ASKED = "Rename the invoice column to cust_ref in the billing schema"
TURN = ("Explain the retry limit of the importer", "The importer retries 5 times, then it writes rejects to a file.")
ANSWERED = "I renamed the column to cust_ref and ran the 12 tests of the billing schema."

#: Fields that say who speaks and what. Without them a row holds no conversation that a reader could know.
_NEEDED = frozenset({"type", "role", "content", "text", "message", "payload", "info", "parts", "isSidechain"})
_VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, -1, 2**70, 1e300, "", "x", "2026-13-45T99:99:99Z", [], {}, [None], [[1]], {"type": {}}, "\ud800"]
).map(copy.deepcopy)


def claude(role, text, number):
    content: Any = text if role == "user" else [{"type": "text", "text": text}]
    more = {"parentUuid": None, "version": "9.0.0", "timestamp": "2026-11-21T10:00:00.000Z", "isSidechain": False}
    return samples.claude(role, content, uuid=f"u{number}", **more)


def codex(role, text, number):
    block = {"type": "input_text" if role == "user" else "output_text", "text": text}
    return samples.codex({"type": "message", "role": role, "content": [block], "id": f"m{number}", "phase": "x"})


def opencode(role, text, number):
    part = {"type": "text", "text": text, "id": f"p{number}", "messageID": f"m{number}", "time": {"start": 1}}
    return samples.opencode(part, role=role, id=f"m{number}", cost=0.1)


def claude_tool(name, number):
    used = claude("assistant", "", number)
    used["message"]["content"] = [{"type": "tool_use", "id": f"t{number}", "name": name, "input": {"deep": [{"a": 1}]}}]
    told = claude("user", "", number + 1)
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": [{"type": "hologram"}]}
    told["message"]["content"] = [result]
    return [used, told]


def codex_tool(name, number):
    used = {"type": "custom_tool_call", "name": name, "call_id": f"t{number}", "input": {"deep": [1]}}
    told = {"type": "custom_tool_call_output", "call_id": f"t{number}", "output": {"hologram": [1, 2]}}
    return [samples.codex(one) for one in (used, told)]


def opencode_tool(name, number):
    row = opencode("assistant", "", number)
    row["parts"] = [{"type": "tool", "tool": name, "callID": f"t{number}", "state": {"status": "teleported"}}]
    return [row]


CLIENTS: dict[str, tuple[Callable[[str, str, int], dict[str, Any]], Callable[[str, int], list[dict[str, Any]]]]] = {
    "claude-code": (claude, claude_tool),
    "codex": (codex, codex_tool),
    "opencode": (opencode, opencode_tool),
}


def conversation(client, request=ASKED):
    """A question with its answer, then ``request``, a call of an unknown tool, and the last answer."""
    row, tool = CLIENTS[client]
    told = [row("user", TURN[0], 1), row("assistant", TURN[1], 2), row("user", request, 3)]
    return [*told, *tool("quantum_edit", 4), row("assistant", ANSWERED, 6)]


@st.composite
def changed(draw, client):
    """The conversation with up to eight changes to other fields, and records of unknown types between its rows."""
    rows: list[dict[str, Any]] = json.loads(json.dumps(conversation(client)))
    for _ in range(draw(st.integers(0, 8))):
        holder = draw(st.sampled_from(_holders(rows)))
        names = sorted(set(holder) - _NEEDED)
        if not names:
            continue
        name = draw(st.sampled_from(names))
        change = draw(st.sampled_from(["drop", "rename", "retype"]))
        value = holder.pop(name)
        if change == "rename":
            holder[f"{name}V2"] = value
        elif change == "retype":
            holder[name] = draw(_VALUES)
    for _ in range(draw(st.integers(0, 4))):
        unknown = {"type": draw(st.sampled_from(["mood", "hologram", "", None, 7])), "data": draw(_VALUES)}
        rows.insert(draw(st.integers(0, len(rows))), unknown)
    return rows


def _holders(value):
    """All mappings in ``value``."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [*([value] if isinstance(value, dict) else []), *(found for one in inner for found in _holders(one))]


def kept(path):
    """The objective and the summary that a flush of the transcript derives."""
    found = list(read(path).messages)
    return asked.objective(asked.spoken(found), 200), on_extract(turns_of(found), Payload()).summary


@pytest.mark.parametrize("client", CLIENTS)
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_read__client_version_of_tomorrow__keeps_the_last_request_and_the_last_answer(client, tmp_path, data):
    objective, summary = kept(samples.write(tmp_path / "t.jsonl", *data.draw(changed(client))))
    assert ASKED in objective
    assert ANSWERED in summary
