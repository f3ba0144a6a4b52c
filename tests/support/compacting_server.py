"""A server on loopback that speaks Anthropic's Messages and OpenAI's Responses and compacts when its script says so."""

import json
import threading
from collections.abc import Callable
from typing import Any

from tests.support.local_server import Handler, LocalServer


class CompactingServer(LocalServer):
    """``compacts(number)`` decides about each request; ``probe(body)`` runs before the answer. A context manager."""

    def __init__(
        self, compacts: Callable[[int], bool] = lambda n: False, probe: Callable[[Any], object] = lambda b: None
    ) -> None:
        self.compacts, self.probe, self.bodies = compacts, probe, list[Any]()
        self._lock = threading.Lock()

    def handler(self) -> type[Handler]:
        owner = self

        class Compacting(Handler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with owner._lock:
                    owner.bodies.append(body)
                    number = len(owner.bodies)
                owner.probe(body)
                kind, data = owner.answer(self.path.partition("?")[0], body, number)
                self.give(200, {"Content-Type": kind}, data)

        return Compacting

    def answer(self, path: str, body: Any, number: int) -> tuple[str, bytes]:
        compacts = self.compacts(number)
        if path.endswith("/chat/completions"):
            choice = {"index": 0, "delta": {"role": "assistant", "content": f"answer {number}"}}
            made = {"id": "c", "object": "chat.completion.chunk", "type": "chunk", "created": 1, "model": "m"}
            return "text/event-stream", _stream([{**made, "choices": [choice]}])
        if path.endswith("/responses/compact"):
            users = [i for i in body["input"] if i.get("role") == "user"]
            made = {"id": f"resp_{number}", "created_at": 1, "object": "response.compaction"}
            made |= {"output": [*users, _sealed(number)], "usage": _USAGE}
            return "application/json", json.dumps(made).encode()
        if path.endswith("/responses"):
            said = {"type": "output_text", "text": f"answer {number}", "annotations": []}
            item = {
                "type": "message",
                "id": f"msg_{number}",
                "role": "assistant",
                "status": "completed",
                "content": [said],
            }
            made = {"id": f"resp_{number}", "created_at": 1, "object": "response", "model": "m", "status": "completed"}
            usage = _USAGE if compacts else {**_USAGE, "input_tokens": tokens(body), "total_tokens": tokens(body) + 5}
            made |= {"output": [*([_sealed(number)] if compacts else []), item], "usage": usage}
            made |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
            if not body.get("stream"):
                return "application/json", json.dumps(made).encode()
            events = [{"type": "response.completed", "sequence_number": 1, "response": made}]
            return "text/event-stream", _stream(events)
        block = {"type": "compaction", "content": f"The server's words {number}", "signature": "sig"}
        text = {"type": "text", "text": f"answer {number}"}
        blocks = [*([block] if compacts else []), text]
        usage = {"input_tokens": 10 if compacts else tokens(body), "output_tokens": 5}
        message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "m"}
        message |= {"content": blocks, "stop_reason": "end_turn", "stop_sequence": None, "usage": usage}
        if not body.get("stream"):
            return "application/json", json.dumps(message).encode()
        events: list[Any] = [{"type": "message_start", "message": {**message, "content": []}}]
        for index, one in enumerate(blocks):
            events.append({"type": "content_block_start", "index": index, "content_block": one})
            events.append({"type": "content_block_stop", "index": index})
        events.append({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage})
        return "text/event-stream", _stream([*events, {"type": "message_stop"}])


_USAGE = {
    "input_tokens": 10,
    "output_tokens": 5,
    "total_tokens": 15,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens_details": {"reasoning_tokens": 0},
}


def tokens(body: Any) -> int:
    """The server's own count, unless it compacts."""
    return len(json.dumps(body)) // 4


def _sealed(number: int) -> dict[str, Any]:
    return {"type": "compaction", "id": f"cmp_{number}", "encrypted_content": "gAAAA" * 20}


def _stream(events: list[Any]) -> bytes:
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events).encode()
