"""What the adapters of MCP servers share: a client for one server over stdio."""

import json
import os
import subprocess
from typing import Any


class Server:
    def __init__(self, command: list[str], **env: str) -> None:
        self.process = subprocess.Popen(command, text=True, env=os.environ | env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)  # fmt: skip
        about = {"name": "board", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about})
        self._send({"method": "notifications/initialized"})

    def call(self, tool: str, **arguments: object) -> str:
        """The text of a tool's answer. Raises: OSError when it is an error."""
        answer = self._ask("tools/call", {"name": tool, "arguments": arguments})
        text = str(answer["content"][0]["text"])
        if answer.get("isError"):
            raise OSError(text)
        return text

    def _ask(self, method: str, params: dict[str, object]) -> dict[str, Any]:
        self._send({"id": 1, "method": method, "params": params})
        for line in self.process.stdout or ():
            message = json.loads(line)
            if message.get("id") == 1 and "result" in message:
                return dict(message["result"])
            if message.get("id") == 1:
                raise OSError(message.get("error"))
        raise OSError("the server ended")

    def _send(self, message: dict[str, object]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()
