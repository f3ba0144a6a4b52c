"""A scripted model on loopback that speaks OpenAI's Chat Completions and Anthropic's Messages, for the real SDKs."""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Self

from attrs import define, evolve, field, frozen
from tests.support.local_server import Handler, LocalServer


@frozen(kw_only=True)
class Reply:
    """One answer. ``status`` other than 200 is an error; ``cut`` sends half of the body and hangs up; ``delay_s`` waits
    first. ``write`` makes the text from the request's body. ``blocks`` are Anthropic content blocks sent as they are;
    ``refusal`` is OpenAI's field of that name, and ``calls`` are its tool calls, each a name and arguments."""

    text: str = ""
    write: Callable[[Mapping[str, Any]], str] | None = None
    status: int = 200
    headers: Mapping[str, str] = field(factory=dict)
    delay_s: float = 0.0
    cut: bool = False
    stop: str = ""
    blocks: tuple[Mapping[str, Any], ...] = ()
    refusal: str | None = None
    raw: tuple[bytes, str] | None = None  # any other body, and its type
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()


@frozen(kw_only=True)
class Request:
    """What the SDK sent."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


@define
class ModelServer(LocalServer):
    """Answers the script's replies in turn, and then the last one for ever. A context manager."""

    script: list[Reply] = field(factory=lambda: [Reply(text='{"facts": []}')])
    requests: list[Request] = field(factory=list)

    def answers(self, *replies: Reply | str) -> Self:
        """Set the script; a text is a plain answer."""
        self.script = [Reply(text=r) if isinstance(r, str) else r for r in replies]
        return self

    def take(self) -> Reply:
        return self.script.pop(0) if len(self.script) > 1 else self.script[0]

    def handler(self) -> type[Handler]:
        return type("Bound", (_Handler,), {"server_owner": self})


class _Handler(Handler):
    protocol_version = "HTTP/1.1"
    server_owner: ModelServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server_owner.requests.append(Request(path=self.path, headers=headers, body=body))
        reply = self.server_owner.take()
        if reply.write is not None:
            reply = evolve(reply, text=reply.write(body))
        time.sleep(reply.delay_s)
        if reply.status != 200:
            kind = "invalid_request_error"
            answer: dict[str, Any] = {
                "type": "error",
                "error": {"type": kind, "message": "no: sk-secret", "code": None},
            }
        elif self.path.endswith("/chat/completions"):
            answer = _chat(body, reply)
        elif self.path.partition("?")[0].endswith("/messages"):
            answer = _message(body, reply)
        else:
            answer, reply = {"error": {"type": "not_found_error", "message": "no such path"}}, Reply(status=404)
        data, kind = reply.raw or (json.dumps(answer).encode(), "application/json")
        self.send_response(reply.status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if reply.cut else data)
        self.close_connection = reply.cut


def _chat(body: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
    content = reply.text if reply.refusal is None and not reply.calls else None
    message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": reply.refusal}
    if reply.calls:
        message["tool_calls"] = [
            {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for n, (name, arguments) in enumerate(reply.calls)
        ]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [
            {
                "index": 0,
                "message": message,
                "logprobs": None,
                "finish_reason": reply.stop or ("tool_calls" if reply.calls else "stop"),
            }
        ],
        "usage": {"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150},
    }


def _message(body: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
    text = [{"type": "text", "text": reply.text}] if reply.text else []
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [*reply.blocks, *text],
        "stop_reason": reply.stop or "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 120, "output_tokens": 30},
    }
