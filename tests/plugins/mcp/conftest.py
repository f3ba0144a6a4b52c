"""The server, spoken to by the SDK's client in this process, and by hand in its own where a client would not dare."""

import asyncio
import json
import subprocess
import sys
from typing import Any

import pytest
from tests.support.stated import goes_on

#: Every field, as a model that read the schema gives them.
WHOLE = goes_on(
    "Fix the login test",
    "Run the tests",
    facts=["The token expires after 60 s"],
    decisions=["Use a lock"],
    state_mutations=[{"kind": "status", "target": "owner/repo#12", "summary": "in review"}],
)


def command(project):
    return [sys.executable, "-m", "holdfast", "--root", str(project), "mcp"]


def text(result):
    """What the model reads."""
    (block,) = result.content
    assert block.type == "text"
    return block.text


@pytest.fixture
def talk(project):
    """``talk(scenario, name=)`` runs ``scenario(client)`` against a server of its own and returns its result."""

    def run(scenario, *, name="a client"):
        from mcp import Client
        from mcp.types import Implementation

        from holdfast_mcp.server import Desk

        async def main():
            server = Desk(str(project)).server
            async with Client(server, client_info=Implementation(name=name, version="1")) as client:
                return await asyncio.wait_for(scenario(client), timeout=60)

        return asyncio.run(main())

    return run


class Wire:
    """The server's stdin and stdout, line by line."""

    def __init__(self, process):
        self.process = process

    def send(self, line):
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def receive(self):
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def ask(self, method, params=None, *, number=1):
        """Send a request and return the answer to it."""
        given = {} if params is None else {"params": params}
        self.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, **given}).encode())
        while (answer := self.receive()).get("id") != number:
            pass
        return answer

    def begin(self, version="2025-06-18"):
        """The handshake."""
        info = {"name": "by hand", "version": "1"}
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": info}
        answer = self.ask("initialize", params, number=1000)
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return answer

    def end(self):
        """Close stdin, as a client that leaves; the exit code and what was logged."""
        _, log = self.process.communicate(timeout=30)
        return self.process.returncode, log.decode()


@pytest.fixture
def wire(project):
    """``wire()`` starts a server to be spoken to by hand."""
    begun: list[subprocess.Popen[bytes]] = []

    def start():
        pipe = subprocess.PIPE
        begun.append(subprocess.Popen(command(project), stdin=pipe, stdout=pipe, stderr=pipe))
        return Wire(begun[-1])

    yield start
    for process in begun:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                pipe.close()
