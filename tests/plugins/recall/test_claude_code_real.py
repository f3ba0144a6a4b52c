"""A real Claude Code with a scripted model on loopback: it calls holdfast's ``search`` over MCP and gets a turn of a
session that was compacted weeks before."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.agents.test_real_clients import Model, _messages
from tests.support.processes import finished
from tests.support.stated import done

from holdfast import Holdfast

pytest.importorskip("mcp_types", reason="holdfast-memory[mcp] is not installed")

CLAUDE = shutil.which("claude")
TOOL = "mcp__holdfast__search"
QUESTION = "Which port did we choose for the osprey service?"
ANSWER = "The osprey service listens on port 40417, because 8080 is taken"


class Searching(Model):
    """Calls the tool once where it is offered, and then ends the turn."""

    def __init__(self) -> None:
        super().__init__()
        self.results: list[str] = []

    def answer(self, path: str, body: Mapping[str, Any]) -> list[dict[str, Any]]:
        rows = [row["content"] for row in body.get("messages", ()) if isinstance(row["content"], list)]
        results = [_text_of(block) for row in rows for block in row if block.get("type") == "tool_result"]
        self.results += results
        events = _messages("Port 40417.", 10)
        if any(tool.get("name") == TOOL for tool in body.get("tools", ())) and not results:
            asked = json.dumps({"question": QUESTION})
            events[1]["content_block"] = {"type": "tool_use", "id": "toolu_1", "name": TOOL, "input": {}}
            events[2]["delta"] = {"type": "input_json_delta", "partial_json": asked}
            events[4]["delta"]["stop_reason"] = "tool_use"
        return events


def _text_of(block: Mapping[str, Any]) -> str:
    content = block.get("content", "")
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


@pytest.fixture
def model() -> Iterator[Searching]:
    with Searching() as made:
        yield made


@pytest.mark.skipif(CLAUDE is None, reason="needs Claude Code on the PATH, as `claude`")
def test_claude_code__agent_searches_over_mcp__gets_a_turn_compacted_weeks_ago(project, tmp_path, model):
    (project / "holdfast.toml").touch()
    then = datetime.now(UTC) - timedelta(weeks=3)
    with Holdfast.open(project, clock=lambda: then) as memory:
        session = memory.session("then")
        session.add("user", "Where does the osprey service listen?", message_id="m1")
        session.add("assistant", ANSWER, message_id="m2")
        session.flush(done("Set up the services"))
        assert session.compact(keep_last=0) == []
    program = str(Path(sys.executable).with_name("holdfast"))
    server = {"command": program, "args": ["--root", str(project), "mcp"]}
    servers = tmp_path / "servers.json"
    servers.write_text(json.dumps({"mcpServers": {"holdfast": server}}))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CLAUDE", "ANTHROPIC"))}
    own = {
        "ANTHROPIC_BASE_URL": model.url,
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

    ran = finished(
        [str(CLAUDE), *words, "--output-format", "json"],
        cwd=project,
        env={**kept, **own},
        stdin=subprocess.DEVNULL,
        timeout=180,
    )

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert json.loads(ran.stdout)["result"] == "Port 40417."
    (found, *_) = model.results
    assert "name='then' place='m2'" in found
    assert ANSWER in found
    assert f"{then:%Y-%m}" in found
    assert "<recalled-memory>" in found
