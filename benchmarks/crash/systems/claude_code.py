"""Claude Code: its auto memory, which a scripted model writes with the program's own Read and Write tools
(https://code.claude.com/docs/en/memory, "Auto memory"). The memory folder alone is on the disk."""

import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).parents[1] / "envs/claude/node_modules/.bin/claude"


class Store:
    def __init__(self, folder: str) -> None:
        self.memory = Path(folder, "memory", "MEMORY.md")
        self.calls: list[tuple[str, dict[str, str]]] = []
        model = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (_Model,), {"calls": self.calls}))
        threading.Thread(target=model.serve_forever, daemon=True).start()
        home = tempfile.mkdtemp(prefix="crash-claude-")
        env = {name: value for name, value in os.environ.items() if not name.startswith(("CLAUDE", "ANTHROPIC"))}
        env |= {"HOME": home, "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{model.server_port}", "ANTHROPIC_API_KEY": "-",
                "DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}  # fmt: skip
        settings = json.dumps({"autoMemoryDirectory": str(self.memory.parent)})
        command = [str(PROGRAM), "--print", "--verbose", "--input-format", "stream-json", "--output-format",
                   "stream-json", "--allowedTools", "Read,Write", "--settings", settings]  # fmt: skip
        self.command: dict[str, Any] = {"args": command, "env": env, "cwd": home}
        self.process: subprocess.Popen[str] | None = None
        self.known: list[str] = []

    def write(self, text: str) -> None:
        """Append a line to what the model has read. Where another process has changed the file, the tool refuses to
        write it, and the model reads it again."""
        if self.process is None:
            self.process = subprocess.Popen(**self.command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self._open()
        refused = self._tool("Write", content="\n".join([*self.known, text]))
        if "since read" in refused:
            self._open()
            refused = self._tool("Write", content="\n".join([*self.known, text]))
        if refused:
            raise OSError(refused)
        self.known.append(text)

    def _open(self) -> None:
        self._tool("Read")
        self.known = self.read()

    def read(self) -> list[str]:
        return self.memory.read_text().splitlines() if self.memory.exists() else []

    def _tool(self, name: str, **arguments: str) -> str:
        """Let the model call a tool; what the tool refused, or an empty string."""
        assert self.process is not None
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.calls.append((name, {"file_path": str(self.memory), **arguments}))
        message = {"type": "user", "message": {"role": "user", "content": "Remember this."}}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        refused = "the program ended"
        for line in self.process.stdout:
            row = json.loads(line)
            if row["type"] == "user":
                result = row["message"]["content"][0]
                refused = str(result["content"]) if result.get("is_error") else ""
            if row["type"] == "result":
                break
        return refused


class _Model(BaseHTTPRequestHandler):
    """Calls the next tool, and says nothing more."""

    calls: list[tuple[str, dict[str, str]]]

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        block: dict[str, object] = {"type": "text", "text": ""}
        delta: dict[str, object] = {"type": "text_delta", "text": "Done."}
        if asked.get("tools") and self.calls:
            name, arguments = self.calls.pop(0)
            block = {"type": "tool_use", "id": f"toolu_{os.urandom(8).hex()}", "name": name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        usage = {"input_tokens": 10, "output_tokens": 5}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": []}
        reason = "tool_use" if block["type"] == "tool_use" else "end_turn"
        events: Iterable[dict[str, Any]] = (
            {"type": "message_start", "message": {**message, "usage": usage}},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage},
            {"type": "message_stop"},
        )
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in events:
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_: object) -> None:
        """Print nothing."""
