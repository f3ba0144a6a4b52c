"""Writes a made-up conversation as each client records it: Claude Code, Codex, opencode, and plain messages.

A conversation is a list of steps: ``("user", text)``, ``("say", text)``, ``("call", tool, arguments, output)`` with an
optional fifth element that is true for a failed call, ``("summary", text)`` for the client's own summary at a
compaction, and ``("meta", text)`` for text that the client sends in the user's name. An output of None leaves the call
without a result.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Step = tuple[Any, ...]
Row = dict[str, Any]

CWD = "/project"


def _stamp(number: int) -> str:
    return f"2026-11-20T{9 + number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}.000Z"


def claude_code(steps: Sequence[Step]) -> Iterator[Row]:
    """Rows of a Claude Code transcript."""

    def row(number: int, role: str, content: object, **more: object) -> Row:
        base = {"type": role, "uuid": f"{number:08x}-0000-4000-8000-000000000000", "timestamp": _stamp(number)}
        place = {"sessionId": "made-up", "cwd": CWD, "gitBranch": "main", "isSidechain": False, "version": "2.1.330"}
        return {**base, **place, "message": {"role": role, "content": content}, **more}

    for number, step in enumerate(steps, 1):
        if step[0] in ("user", "meta"):
            yield row(number, "user", step[1], **({"isMeta": True} if step[0] == "meta" else {}))
        elif step[0] == "say":
            yield row(number, "assistant", [{"type": "text", "text": step[1]}])
        elif step[0] == "summary":
            yield {"type": "system", "subtype": "compact_boundary", "sessionId": "made-up", "uuid": f"b{number}"}
            yield row(number, "user", step[1], isCompactSummary=True)
        else:
            call = {"type": "tool_use", "id": f"toolu_{number}", "name": step[1], "input": step[2]}
            yield row(number, "assistant", [{**call, "caller": {"type": "direct"}}])
            if step[3] is not None:
                failed = len(step) > 4 and step[4]
                result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": step[3]}
                yield row(number + 50_000, "user", [{**result, "is_error": failed}])


def codex(steps: Sequence[Step]) -> Iterator[Row]:
    """Rows of a Codex rollout."""

    def item(number: int, **payload: object) -> Row:
        return {"timestamp": _stamp(number), "type": "response_item", "payload": payload}

    meta = {"id": "made-up", "cwd": CWD, "cli_version": "0.169.0", "git": {"branch": "main"}}
    yield {"timestamp": _stamp(0), "type": "session_meta", "payload": meta}
    for number, step in enumerate(steps, 1):
        if step[0] in ("user", "meta"):
            content = [{"type": "input_text", "text": step[1]}]
            yield item(number, type="message", role="user", id=f"msg_{number}", content=content)
        elif step[0] == "say":
            content = [{"type": "output_text", "text": step[1]}]
            yield item(number, type="message", role="assistant", id=f"msg_{number}", content=content)
        elif step[0] == "summary":
            yield {"timestamp": _stamp(number), "type": "compacted", "payload": {"message": step[1]}}
        elif isinstance(step[2], str):
            yield item(number, type="custom_tool_call", name=step[1], call_id=f"call_{number}", input=step[2])
            if step[3] is not None:
                yield item(number, type="custom_tool_call_output", call_id=f"call_{number}", output=step[3])
        else:
            arguments = json.dumps(step[2])
            yield item(number, type="function_call", name=step[1], call_id=f"call_{number}", arguments=arguments)
            if step[3] is not None:
                code = 1 if len(step) > 4 and step[4] else 0
                output = f"Process exited with code {code}\nOutput:\n{step[3]}"
                yield item(number, type="function_call_output", call_id=f"call_{number}", output=output)


def opencode(steps: Sequence[Step]) -> Iterator[Row]:
    """Rows of an opencode message dump."""
    for number, step in enumerate(steps, 1):
        role = "user" if step[0] in ("user", "meta") else "assistant"
        info: Row = {"id": f"msg_{number}", "role": role, "sessionID": "made-up", "path": {"cwd": CWD}}
        info["time"] = {"created": 1_763_600_000_000 + number * 1000}
        if step[0] == "call":
            done = {"status": "completed", "output": step[3]} if step[3] is not None else {"status": "running"}
            state = {**done, "input": step[2], "time": {"start": 1_763_600_000_000 + number * 1000}}
            part: Row = {"id": f"prt_{number}", "type": "tool", "tool": step[1], "callID": f"c{number}", "state": state}
        else:
            part = {"id": f"prt_{number}", "type": "text", "text": step[1], "synthetic": step[0] == "meta"}
        if step[0] == "summary":
            info["summary"] = True
        yield {"info": info, "parts": [part]}


def messages(steps: Sequence[Step]) -> Iterator[Row]:
    """Rows of a loop that keeps plain messages."""
    for step in steps:
        if step[0] == "call":
            yield {"role": "assistant", "content": f"{step[1]} {step[2]}"}
            if step[3] is not None:
                yield {"role": "user", "content": f"OBSERVATION:\n{step[3]}"}
        else:
            yield {"role": "assistant" if step[0] == "say" else "user", "content": step[1]}


CLIENTS: dict[str, Callable[[Sequence[Step]], Iterator[Row]]] = {
    "claude-code": claude_code,
    "codex": codex,
    "opencode": opencode,
    "messages": messages,
}


def text(client: str, steps: Sequence[Step]) -> str:
    """The conversation as the file that ``client`` would have written."""
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in CLIENTS[client](steps))
