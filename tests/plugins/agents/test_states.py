"""Each client's gate in its six states, from the files that ``holdfast install`` writes: allowed, broken, missing,
hangs, repaired, restored, as docs/clients.md has them. A client that cannot be stopped compacts in each of them.
:mod:`tests.plugins.agents.test_real_clients` plays them with the real programs."""

import json
import shutil
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.plugins.agents.hooking import Client, environment, on_page
from tests.support.processes import finished, programs

from holdfast_agents.setup import program
from holdfast_agents.setup.client import GUARDED
from holdfast_agents.setup.clients import CLIENTS

NODE = shutil.which("node")
#: Client, with the kind of the harness and the file that it plays, or the file with the command hooks.
KINDS = {
    "claude-code": ("claude-code", "", ".claude/settings.json"),
    "claude-code module": ("claude-code", "module", ".claude/skills/holdfast-gate/hooks/compact.js"),
    "codex": ("codex", "", ".codex/hooks.json"),
    "opencode": ("opencode", "opencode", ".opencode/plugins/holdfast.js"),
    "kilo": ("kilo", "opencode", ".kilo/plugins/holdfast.js"),
    "pi": ("pi", "pi", ".pi/extensions/holdfast.js"),
    "deepagents": ("deepagents", "", ".deepagents/hooks.json"),
    "droid": ("droid", "", ".factory/settings.json"),
    "qwen": ("qwen", "", ".qwen/settings.json"),
    "gemini": ("gemini", "", ".gemini/settings.json"),
    "copilot": ("copilot", "", ".github/hooks/holdfast.json"),
    "kimi": ("kimi", "", "~/.kimi-code/config.toml"),
}
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="runs /bin/sh")


class Gate(NamedTuple):
    """A client's gate in a project with one turn."""

    client: Client
    harness: str
    file: Path
    programs: Path

    @property
    def blocks(self) -> bool:
        return CLIENTS[self.client.name].holds == GUARDED

    def is_on_page(self, state: str, blocked: bool, reason: str) -> None:
        outcome = "blocked" if blocked else "compacts, told" if "compacts anyway" in reason else "compacts"
        on_page(self.row, state, outcome)

    @property
    def row(self) -> str:
        client = CLIENTS[self.client.name]
        return f"{client.shown} {client.seen}{', module' if self.harness == 'module' else ''}"

    def ask(self, programs: Path | None = None) -> tuple[bool, str]:
        """Whether a compaction is blocked, and the reason that the client shows."""
        path = f"{programs or self.programs}:/usr/bin:/bin"
        env = {**environment(), "PATH": path, "CLAUDE_PROJECT_DIR": str(self.client.project)}
        words = [str(NODE), str(Path(__file__).with_name("gate_harness.mjs")), self.harness, str(self.file)]
        event = "PreCompress" if self.client.name == "gemini" else "PreCompact"
        payload = json.dumps(self.client.payload(event, trigger="manual"))
        if not self.harness:
            text = self.file.read_text()
            hooks = tomllib.loads(text)["hooks"] if self.client.name == "kimi" else json.loads(text)["hooks"][event]
            line = hooks[0].get("command") or hooks[0]["hooks"][0]["command"]
            words = ["/bin/sh", "-c", line]
        done = finished([*words, self.client.native], cwd=self.client.project, env=env, input=payload)
        if self.client.name in ("claude-code", "deepagents", "droid") and not self.harness:
            return done.returncode == 2, done.stderr
        told = json.loads(done.stdout or "{}")
        if not self.blocks:
            return False, told.get("systemMessage", "")
        return (told["blocked"], told["reason"]) if self.harness else (bool(told), told.get("stopReason", ""))


@pytest.fixture(params=KINDS)
def gate(request, command, project, tmp_path) -> Gate:
    name, harness, file = KINDS[request.param]
    if harness and NODE is None:
        pytest.skip("needs node, to run the plugin as the client does")
    assert command("install", name).code == 0
    client = Client(project, name)
    client.hook("UserPromptSubmit", prompt="Fix the login test", prompt_id="p1")
    return Gate(client, harness, project / Path(file).expanduser(), programs(tmp_path / "programs"))


@pytest.mark.req("R083", "R087", "R166", "R167", "R184")
def test_gate__store_broken_then_repaired__is_blocked_then_allowed_and_restored(gate):
    gate.client.break_store()
    blocked, reason = gate.ask()
    gate.is_on_page("store broken", blocked, reason)
    assert blocked is gate.blocks
    assert "'.holdfast/memory' is not a folder" in reason
    assert (f"holdfast override --session {gate.client.session}" in reason) is gate.blocks
    assert ("compacts anyway" in reason) is not gate.blocks
    told = gate.client.hook("UserPromptSubmit", prompt="Go on", prompt_id="p2")
    assert ("compacts anyway" in told.stdout + told.stderr) is (gate.client.name in ("qwen", "gemini", "kimi"))
    gate.client.repair_store()
    gate.is_on_page("repaired", *gate.ask())
    assert gate.client.notes().count("**Objective:** Fix the login test") == 1
    late = gate.client.name in ("gemini", "copilot", "kimi")
    event = "UserPromptSubmit" if late else "SessionStart"
    answer = gate.client.hook(event, source="compact", prompt="Where were we?").stdout
    on_page(gate.row, "restored", f"at {event}" if "Where to resume" in answer else "no")
    assert "Where to resume" not in gate.client.hook("UserPromptSubmit", prompt="Next").stdout


#: What the program does -> a part of the reason, and the state on the page.
FAULTS = {
    None: (f"Install it with {program.INSTALL}", "program missing"),
    "sleep 1": ("gave no answer in", "program hangs"),
    "exit 0": ("ended without", ""),
    "kill -9 $$": ("holdfast-memory doctor", ""),
    "exit 1": ("einstall it", ""),
    "exit 10": ("", "allowed"),
}


@pytest.mark.req("R184")
def test_gate__the_program_is_missing_hangs_or_fails__blocks_and_says_what_to_do(gate, tmp_path):
    tool = tmp_path / "bin/holdfast-memory"
    tool.parent.mkdir()
    files = [gate.file, gate.client.project / ".claude/hooks/holdfast-guard.sh"]
    texts = {file: file.read_text() for file in files if file.exists()}
    for script, (told, state) in FAULTS.items():
        if script is not None:
            tool.write_text(f"#!/bin/sh\ncat > /dev/null\n{script}\n")
            tool.chmod(0o755)
        for file, text in texts.items():
            short = text.replace("KILL 55", "KILL 0.3").replace("compacting: 60_000", "compacting: 300")
            file.write_text(short if script == "sleep 1" else text)  # a hang ends sooner
        blocked, reason = gate.ask(tool.parent)
        if state:
            gate.is_on_page(state, blocked, reason)
        assert blocked is (script != "exit 10" and gate.blocks), script
        assert told in reason.replace("`", "") or not gate.blocks
