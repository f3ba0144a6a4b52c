"""Starts ``holdfast hook`` as a client does: a process, JSON on stdin, an answer on both streams."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.support import processes

from holdfast_agents import events
from holdfast_app.journal.journal import Journal

DATA = Path(__file__).parents[2] / "data" / "clients"
PAGE = Path(__file__).parents[3] / "docs" / "clients.md"
STATES = ("allowed", "store broken", "program missing", "program hangs", "repaired", "restored")
SESSION = "0f6f7c54-6f0e-4a4b-9f0e-2b8a0d1c7e11"


class Answered(NamedTuple):
    """What the client sees."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object that stdout holds."""
        told = json.loads(self.stdout)
        assert isinstance(told, dict)
        return told

    @property
    def context(self) -> str:
        """What is put before the model."""
        return str(self.json["hookSpecificOutput"]["additionalContext"]) if self.stdout.startswith("{") else self.stdout

    @property
    def notice(self) -> str:
        """What is shown to the person."""
        return str(self.json.get("systemMessage", "")) if self.stdout else ""


NOTHING = Answered(0, "", "")


class Client:
    """A client with one conversation in ``project``. Its transcript is in the client's own folder."""

    def __init__(self, project: Path, name: str = "claude-code", native: str = SESSION) -> None:
        self.project = project
        self.name = name
        self.native = native
        self.session = events.session_of(name, native)
        name_of_project = re.sub(r"[^A-Za-z0-9]", "-", str(project))
        folder = ".codex/sessions/2026/11/21" if name == "codex" else f".claude/projects/{name_of_project}"
        self.transcript = Path(os.environ["HOME"], *folder.split("/"), f"{native}.jsonl")
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        self.state = project / ".holdfast" / "state"

    def payload(self, event: str, **more: Any) -> dict[str, Any]:
        """A payload as Claude Code sends it; ``None`` leaves a key out."""
        whole = {
            "session_id": self.native,
            "transcript_path": str(self.transcript),
            "cwd": str(self.project),
            "hook_event_name": event,
            **more,
        }
        return {k: v for k, v in whole.items() if v is not None}

    def start(self, payload: Mapping[str, Any] | bytes, *words: str, **env: str) -> subprocess.Popen[bytes]:
        """The process, with its input given and closed."""
        process = subprocess.Popen(
            [sys.executable, "-m", "holdfast_memory", "hook", self.name, *words],
            cwd=self.project,
            env={k: v for k, v in {**environment(), **env}.items() if v},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        process.stdin.write(payload if isinstance(payload, bytes) else json.dumps(payload).encode())
        process.stdin.close()
        process.stdin = None
        return process

    def send(self, payload: Mapping[str, Any] | bytes, *words: str, dies_at: int = 0, **env: str) -> Answered:
        """The answer to a payload, of a process that is killed before that change of the disk."""
        data = payload if isinstance(payload, bytes) else json.dumps(payload)
        env = {**environment(), **env}
        command = ("hook", self.name, *words)
        done = processes.run(*command, cwd=self.project, env=env, data=data, timeout=60, dies_at=dies_at)
        return Answered(done.returncode, done.stdout, done.stderr)

    def hook(self, event: str, *words: str, **more: Any) -> Answered:
        """The answer to an event of this conversation."""
        return self.send(self.payload(event, **more), *words)

    def say(self, prompt: str, answer: str = "") -> None:
        """A turn as hooks hear of it."""
        assert self.hook("UserPromptSubmit", prompt=prompt, prompt_id=f"p-{prompt}") == NOTHING
        if answer:
            assert self.hook("Stop", last_assistant_message=answer, prompt_id=f"p-{prompt}") == NOTHING

    def compact(self, *words: str) -> Answered:
        """The answer before a compaction."""
        return self.hook("PreCompact", *words, trigger="auto", custom_instructions=None)

    def write(self, *rows: Mapping[str, Any], append: bool = True) -> None:
        """Rows into the transcript."""
        with self.transcript.open("a" if append else "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)

    def said(self) -> list[tuple[str, str]]:
        """Role and text of every message in the journal, in order."""
        return [(r["role"], r["text"]) for r in self.records() if r["kind"] == "message"]

    def records(self) -> list[dict[str, Any]]:
        """The journal."""
        return [e.record for e in Journal(str(self.state), self.session).entries()]

    def notes(self) -> str:
        """All daily notes."""
        return "".join(p.read_text(encoding="utf-8") for p in sorted(self.project.glob(".holdfast/memory/*.md")))

    def break_store(self) -> None:
        """No daily note can be written from now on."""
        folder = self.project / ".holdfast" / "memory"
        if folder.is_dir():
            folder.rename(folder.with_name("memory.away"))
        folder.parent.mkdir(exist_ok=True)
        folder.write_text("in the way", encoding="utf-8")

    def repair_store(self) -> None:
        folder = self.project / ".holdfast" / "memory"
        folder.unlink()
        if folder.with_name("memory.away").exists():
            folder.with_name("memory.away").rename(folder)


def row(role: str, content: str | Iterable[Mapping[str, Any]], uuid: str, **more: Any) -> dict[str, Any]:
    """A row of Claude Code's transcript."""
    told = content if isinstance(content, str) else list(content)
    return {
        "type": role,
        "message": {"role": role, "content": told},
        "uuid": uuid,
        "sessionId": SESSION,
        "isSidechain": False,
        "timestamp": "2026-11-21T21:02:07.989Z",
        **more,
    }


def shrink(folder: Path, answer: str) -> Path:
    """A plugin of Claude Code in ``folder`` whose module gives this answer to a compaction."""
    for name, text in {
        ".claude-plugin/plugin.json": '{"name": "shrink", "version": "0.1.0", "description": "x"}',
        "hooks/hooks.json": '{"modules": ["./register.js"]}',
        "hooks/register.js": f"export const register = (on) => on('session.compact', async ($, e, next) => {answer})",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def on_page(client: str, state: str, outcome: str) -> None:
    """The runs make the page's table of states: this compares a cell with a run, or writes it if WRITE_PAGE is set."""
    text = PAGE.read_text(encoding="utf-8")
    row = next(line for line in text.splitlines() if line.startswith(f"| {client} |"))
    cells = row.strip("| ").split(" | ")
    if os.environ.get("WRITE_PAGE"):
        cells[1 + STATES.index(state)] = outcome
        PAGE.write_text(text.replace(row, f"| {' | '.join(cells)} |"), encoding="utf-8")
    assert cells[1 + STATES.index(state)] == outcome


def environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("CLAUDE", "CODEX", "HOLDFAST_"))}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)  # or every start compiles anew
    return {**kept, "HOLDFAST_DREAM__WHEN": "manual"}  # no process in the background, unless a test asks for one
