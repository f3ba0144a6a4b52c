"""The examples run as they are, each in a process of its own; those that ask a model ask one on loopback."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.support.model_server import ModelServer, Reply

from holdfast import Holdfast
from holdfast_app.memorytool import MemoryTool

EXAMPLES = Path(__file__).parents[2] / "examples"

#: Long enough that a context of it has to be compacted.
LONG = "The test reads the clock twice, and between the two readings a second may pass. " * 4


def run(example: str, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The example's output; it must end well."""
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / example), *words],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
        env={**os.environ, "NO_PROXY": "127.0.0.1", "PYTHONUTF8": "1", **env},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def note_of(project: Path) -> str:
    return "\n".join(p.read_text() for p in (project / ".holdfast" / "memory").glob("*.md"))


def journal_of(project: Path, session: str) -> list[Mapping[str, Any]]:
    with Holdfast.open(project) as memory:
        entries = memory.session(session).journal.entries()
        return [e.record for e in entries if e.record["kind"] == "message"]


def test_examples__each_file__is_run_here():
    source = Path(__file__).read_text()
    assert [p.name for p in EXAMPLES.glob("*.py") if f'"{p.name}"' not in source] == []


def test_own_loop__run__compacts_and_the_next_process_knows_where_to_go_on():
    done = run("own_loop.py")
    assert "Next action: run the suite ten times on staging" in done.stdout
    assert "## Trimmed Context" in done.stdout, "the context was compacted on the way"
    assert done.stderr == ""


def openai(server: ModelServer) -> dict[str, str]:
    return {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "key-123"}


OPENAI_TURNS = (
    Reply(calls=(("run_tests", {"suite": "login"}),)),
    Reply(text=f"It is flaky. {LONG}Decision: inject the clock instead of mocking it."),
    Reply(text="Done. Next: run the suite ten times on staging."),
)


@pytest.mark.skipif(find_spec("openai") is None, reason="openai is not installed")
@pytest.mark.req("R184", "R083", "R171")
def test_openai_loop__run__flushes_before_it_compacts_and_goes_on_from_the_files(project):
    with pytest.raises(AssertionError, match=r"usage: python examples/openai_loop\.py FOLDER"):
        run("openai_loop.py")
    with ModelServer().answers(*OPENAI_TURNS) as server:
        done = run("openai_loop.py", str(project), "Fix the flaky test.", "Do it.", **openai(server))
        assert "compacted: 4 messages are in the files now" in done.stdout
        sent = server.requests[-1].body["messages"]
        assert [m["role"] for m in sent] == ["system", "user", "user"]
        assert "Fix the flaky test." in sent[1]["content"], "told by the files"

        server.answers("I go on with staging.")
        run("openai_loop.py", str(project), "Go on.", **openai(server))
    system = server.requests[-1].body["messages"][0]["content"]
    assert "<recalled-memory>" in system
    assert "run the suite ten times on staging" in system.lower()
    said = [(r["role"], r.get("tool", "")) for r in journal_of(project, "openai-loop")]
    assert said[:4] == [("user", ""), ("assistant", "run_tests"), ("tool", "run_tests"), ("assistant", "")]
    assert "- Next step: run the suite ten times on staging" in note_of(project)


def anthropic(server: ModelServer) -> dict[str, str]:
    return {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "key-123"}


def calls_memory(**command: Any) -> Reply:
    block = {"type": "tool_use", "id": f"toolu_{command['command']}", "name": "memory", "input": command}
    return Reply(blocks=(block,), stop="tool_use")


@pytest.mark.skipif(find_spec("anthropic") is None, reason="anthropic is not installed")
@pytest.mark.req("R184", "R083")
def test_anthropic_loop__run__uses_the_memory_tool_and_flushes_before_it_compacts(project):
    script = (
        calls_memory(command="view", path="/memories"),
        calls_memory(command="create", path="/memories/clock.md", file_text="Inject the clock.\n"),
        calls_memory(command="create", path="/memories/../MEMORY.md", file_text="x"),
        Reply(text=f"Noted. {LONG}Decision: inject the clock."),
        Reply(text="A summary that a model made up."),
        Reply(text="Done. Next: run the suite ten times."),
    )
    with ModelServer().answers(*script) as server:
        done = run("anthropic_loop.py", str(project), "Fix the flaky test.", "Do it.", **anthropic(server))
    assert "compacted: 8 messages are in the files now" in done.stdout
    first = server.requests[0]
    assert first.body["tools"] == [{"type": "memory_20250818", "name": "memory"}]
    results = [
        block
        for request in server.requests
        for message in request.body["messages"]
        for block in (message["content"] if isinstance(message["content"], list) else [])
        if block["type"] == "tool_result"
    ]
    told = {block["tool_use_id"]: json.dumps(block["content"]) for block in results}
    assert "up to 2 levels deep in /memories" in told["toolu_view"]
    assert any("File created successfully at: /memories/clock.md" in json.dumps(b["content"]) for b in results)
    assert any(b.get("is_error") and "is not allowed" in json.dumps(b["content"]) for b in results)
    with Holdfast.open(project) as memory:
        viewed = MemoryTool(memory).run({"command": "view", "path": "/memories/clock.md"})
    assert viewed.endswith("Inject the clock.")
    assert not (project / ".holdfast" / "MEMORY.md").exists()
    assert "- Decision: inject the clock" in note_of(project)
    said = journal_of(project, "anthropic-loop")
    assert [r.get("tool", "") for r in said if r["role"] == "tool"] == ["memory"] * 3
    assert "made up" not in json.dumps(said), "what a model summarised is not what was said"


@pytest.mark.skipif(find_spec("langgraph") is None, reason="langgraph is not installed: only this example needs it")
@pytest.mark.req("R184", "R083", "R171")
def test_langgraph_agent__run__flushes_before_the_state_is_shortened(project):
    done = run("langgraph_agent.py", str(project))
    assert "compacted: 4 messages are in the files now" in done.stdout
    assert "Next action: run the suite ten times on staging" in done.stdout, "told without the checkpoint"
    said = [(r["role"], r.get("tool", "")) for r in journal_of(project, "login-test")]
    turn = [("user", ""), ("assistant", "run_tests"), ("tool", "run_tests"), ("assistant", "")]
    assert said == [*turn, ("user", ""), ("assistant", "")]
    assert "inject the clock" in note_of(project)
