"""opencode's plugin, run by node, with real ``holdfast`` processes: a conversation from its first prompt to after a
compaction. The events and messages have the form that opencode 1.18.33 sends them in."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.agents.hooking import Client, environment

from holdfast_agents.setup import opencode as opencode_files

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="needs node, to run the plugin as opencode does")

ID = "ses_1"
MODEL = {"providerID": "fake", "modelID": "fake-model"}
PROVIDERS = [{"id": "fake", "models": {"fake-model": {"limit": {"context": 100_000, "output": 4_000}}}}]
COMPACT = ["experimental.session.compacting", {"sessionID": ID}, {"context": []}]
COMPACTED = ["event", {"event": {"type": "session.compacted", "properties": {"sessionID": ID}}}, None]
IDLE = ["event", {"event": {"type": "session.idle", "properties": {"sessionID": ID}}}, None]
TOOL = [
    "tool.execute.after",
    {"tool": "bash", "sessionID": ID, "callID": "call_1", "args": {"command": "pytest -q", "description": "run tests"}},
    {"title": "pytest -q", "output": "1 failed: test_login", "metadata": {"exit": 1}},
]
SYSTEM = ["experimental.chat.system.transform", {"sessionID": ID, "model": MODEL}, {"system": []}]
SUMMARY = "## Goal\nRepair the login test; the column is called cust_ref"

Play = Callable[..., list[dict[str, Any]]]


def said(number: int, text: str) -> dict[str, Any]:
    """A message of the user."""
    part = {"type": "text", "id": f"prt_u{number}", "text": text}
    return {"info": {"role": "user", "id": f"msg_u{number}", "agent": "build", "model": MODEL}, "parts": [part]}


def answered(number: int, text: str, tokens: int = 5_000, **more: Any) -> dict[str, Any]:
    """A message of the model, with the tokens that it cost."""
    counted = {"total": tokens, "input": tokens - 40, "output": 40, "reasoning": 0, "cache": {"read": 0, "write": 0}}
    info = {"role": "assistant", "id": f"msg_a{number}", "mode": "build", **MODEL, "tokens": counted, **more}
    part = {"type": "text", "id": f"prt_a{number}", "text": text}
    return {"info": info, "parts": [{"type": "step-start", "id": f"prt_s{number}"}, part]}


def summary(number: int) -> list[dict[str, Any]]:
    """A compaction's two messages."""
    asked = {"type": "compaction", "auto": True, "overflow": False, "id": f"prt_c{number}"}
    return [
        {"info": {"role": "user", "id": f"msg_c{number}", "model": MODEL}, "parts": [asked]},
        answered(number, SUMMARY, 7_000, summary=True, agent="compaction"),
    ]


def prompt(number: int, text: str) -> list[Any]:
    """The event of a prompt."""
    message = said(number, text)
    whole = {"message": message["info"], "parts": message["parts"]}
    return ["chat.message", {"sessionID": ID, "messageID": message["info"]["id"], "model": MODEL}, whole]


def system() -> list[Any]:
    return json.loads(json.dumps(SYSTEM))  # type: ignore[no-any-return]


@pytest.fixture
def opencode(project: Path) -> Client:
    return Client(project, "opencode", ID)


@pytest.fixture
def play(opencode: Client, tmp_path: Path) -> Play:
    """``play(*steps)``: what came of each; the plugin starts the ``holdfast`` of this interpreter."""
    plugin = tmp_path / "holdfast.mjs"
    plugin.write_text(opencode_files.plugin((sys.executable, "-m", "holdfast")), encoding="utf-8")

    def run(*steps: list[Any]) -> list[dict[str, Any]]:
        asked = {"plugin": str(plugin), "directory": str(opencode.project), "steps": steps, "providers": PROVIDERS}
        assert NODE
        done = subprocess.run(
            [NODE, str(Path(__file__).with_name("opencode_harness.mjs"))],
            input=json.dumps(asked),
            env=environment(),
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        return [*told["results"], {"toasts": told["toasts"]}]

    return run


def pushed(result: dict[str, Any]) -> str:
    """What the plugin put into the system prompt."""
    return "\n".join(result["output"]["system"])


def test_compacted__by_opencode__its_summary_is_in_the_note_once_and_the_next_call_has_the_brief(
    play: Play, opencode: Client
) -> None:
    talk = [said(1, "Repair the login test"), answered(1, "Done.")]
    steps = [prompt(1, "Repair the login test"), ["messages", talk], COMPACT]
    told = play(*steps, ["messages", [*talk, *summary(2)]], COMPACTED, COMPACTED, system())
    notes = opencode.notes()
    assert notes.count("the column is called cust_ref") == 1
    assert ", by opencode._" in notes.partition("## Summary")[2]
    assert "This conversation is its session `opencode-ses_1`" in pushed(told[6])
