"""A real Claude Code with a scripted model on loopback: it calls holdfast's ``search`` over MCP and gets a turn of a
session that was compacted weeks before."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from holdfast import Holdfast, Payload
from holdfast.models import CuratedDecision

pytest.importorskip("mcp_types", reason="holdfast-memory[mcp] is not installed")

CLAUDE = shutil.which("claude")
TOOL = "mcp__holdfast__search"
QUESTION = "Which port did we choose for the osprey service?"
ANSWER = "The osprey service listens on port 40417, because 8080 is taken"
#: Simulated time since the compaction.
AGO = timedelta(weeks=3)


class Model(BaseHTTPRequestHandler):
    """Calls the tool once where it is offered, and then ends the turn."""

    results: list[str]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.path.startswith("/v1/messages") or "count_tokens" in self.path:
            self._send(json.dumps({"input_tokens": 100}).encode(), "application/json")
            return
        results = [_text_of(block) for block in _blocks(body) if block.get("type") == "tool_result"]
        self.results += results
        offered = any(tool.get("name") == TOOL for tool in body.get("tools", ()))
        call = {"type": "tool_use", "id": "toolu_1", "name": TOOL, "input": {}}
        events = (
            _answer(call, json.dumps({"question": QUESTION}), "tool_use")
            if offered and not results
            else _answer({"type": "text", "text": ""}, "Port 40417.", "end_turn")
        )
        self._send(b"".join(events), "text/event-stream")

    def _send(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


def _blocks(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for message in body.get("messages", ()):
        if isinstance(message["content"], list):
            yield from message["content"]


def _text_of(block: Mapping[str, Any]) -> str:
    content = block.get("content", "")
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def _answer(block: Mapping[str, Any], said: str, stop: str) -> Iterator[bytes]:
    """A message with one block, as the Messages API streams it."""
    delta = {"type": "input_json_delta", "partial_json": said} if block["type"] == "tool_use" else None
    usage = {"input_tokens": 10, "output_tokens": 5}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "fake", "content": [], "usage": usage}
    for event in (
        {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta or {"type": "text_delta", "text": said}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ):
        yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


@pytest.fixture
def model() -> Iterator[tuple[str, list[str]]]:
    """The model's address, and the results of tools that it got."""
    results: list[str] = []
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), type("Scripted", (Model,), {"results": results}))
    serving = threading.Thread(target=httpd.serve_forever, daemon=True)
    serving.start()
    yield f"http://127.0.0.1:{httpd.server_address[1]}", results
    httpd.shutdown()
    httpd.server_close()
    serving.join()


def _weeks_ago(project: Path) -> None:
    """A session of then: said, flushed, compacted, and in no context since."""
    then = datetime.now(UTC) - AGO
    with Holdfast.open(project, clock=lambda: then) as memory:
        session = memory.session("then")
        session.add("user", "Where does the osprey service listen?", message_id="m1")
        session.add("assistant", ANSWER, message_id="m2")
        session.flush(
            Payload(
                objective="Set up the services",
                facts=(),
                decisions=(),
                blockers=(),
                next_step="none",
                artifacts=(),
                follow_ups=(),
                state_mutations=(),
                work_open=False,
                curated=CuratedDecision(),
            )
        )
        assert session.compact(keep_last=0) == []


@pytest.mark.skipif(CLAUDE is None, reason="needs Claude Code on the PATH, as `claude`")
def test_claude_code__agent_searches_over_mcp__gets_a_turn_compacted_weeks_ago(
    project: Path, tmp_path: Path, model: tuple[str, list[str]]
) -> None:
    url, results = model
    (project / "holdfast.toml").touch()
    _weeks_ago(project)
    program = str(Path(sys.executable).with_name("holdfast"))
    server = {"command": program, "args": ["--root", str(project), "mcp"]}
    servers = tmp_path / "servers.json"
    servers.write_text(json.dumps({"mcpServers": {"holdfast": server}}))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CLAUDE", "ANTHROPIC"))}
    own = {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
        # The first request waits for the server, which starts slowly on a busy machine.
        "MCP_CONNECTION_NONBLOCKING": "0",
        "MCP_CONNECT_TIMEOUT_MS": "60000",
    }
    words = ["-p", QUESTION, "--mcp-config", str(servers), "--strict-mcp-config", "--allowedTools", TOOL]

    ran = subprocess.run(
        [str(CLAUDE), *words, "--output-format", "json"],
        cwd=project, env={**kept, **own}, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180,
    )  # fmt: skip

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert json.loads(ran.stdout)["result"] == "Port 40417."
    (found, *_) = results
    assert "name='then' place='m2'" in found
    assert ANSWER in found
    assert f"{datetime.now(UTC) - AGO:%Y-%m}" in found
    assert "<recalled-memory>" in found
