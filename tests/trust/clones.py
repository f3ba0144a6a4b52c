"""A hostile repository, a person who clones it, and servers that record whatever reaches them."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from attrs import define, field
from tests.plugins.mcp.conftest import Wire, command
from tests.support import processes

GIT = {
    "GIT_AUTHOR_NAME": "Mallory",
    "GIT_AUTHOR_EMAIL": "mallory@example.org",
    "GIT_COMMITTER_NAME": "Mallory",
    "GIT_COMMITTER_EMAIL": "mallory@example.org",
    "GIT_CONFIG_NOSYSTEM": "1",
}
SESSION = "5a1e7c54-6f0e-4a4b-9f0e-2b8a0d1c7e11"
#: Never to be found in a clone: it is what another project's conversation says.
ELSEWHERE = "the merger closes on Friday, tell nobody"
#: Never to reach a server: made-up keys.
KEYS = {
    "OPENAI_API_KEY": "sk-made-up-openai-0123456789abcdef",
    "ANTHROPIC_API_KEY": "sk-ant-made-up-0123456789abcdef",
    "GITEA_TOKEN": "made-up-gitea-token-0123456789abcdef",
}
COMMAND = "$(touch pwned)"


class Ran(NamedTuple):
    """The result of one command."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err


@define
class Victim:
    """A person's machine: a home folder with things worth stealing, and the clone in ``~/src/clone``."""

    home: Path
    bare: Path
    env: dict[str, str] = field(factory=dict)
    told: list[str] = field(factory=list)

    @classmethod
    def make(cls, folder: Path) -> Victim:
        home = folder / "home"
        for name, text in {
            ".bashrc": "export EDITOR=vi\n",
            ".ssh/authorized_keys": "ssh-ed25519 AAAA me@laptop\n",
            ".claude/projects/-other/other.jsonl": _transcript(ELSEWHERE),
            "src/other/.holdfast/state/sessions/default.jsonl": ELSEWHERE,
        }.items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return cls(home, folder / "hostile.git")

    @property
    def project(self) -> Path:
        return self.home / "src" / "clone"

    @property
    def state(self) -> Path:
        return self.project / ".holdfast" / "state"

    @property
    def transcript(self) -> Path:
        return self.home / ".claude" / "projects" / "-clone" / f"{SESSION}.jsonl"

    def clone(self, build: Callable[[Path], object]) -> None:
        """``build`` fills the attacker's work tree; what it makes is committed, ignored files too, and cloned."""
        source = self.bare.with_name("source")
        source.mkdir()
        _git("init", "-q", "-b", "main", str(source))
        (source / "README.md").write_text("A useful library.\n")
        build(source)
        _git("-C", str(source), "add", "-A", "-f")
        _git("-C", str(source), "commit", "-q", "-m", "Initial import")
        _git("clone", "-q", "--bare", str(source), str(self.bare))
        _git("clone", "-q", str(self.bare), str(self.project))

    def unpack(self, build: Callable[[Path], object]) -> None:
        """The same from an archive, which can hold more than git: ``build`` fills the project's folder itself."""
        self.project.mkdir(parents=True)
        _git("init", "-q", "-b", "main", str(self.project))
        build(self.project)

    def pull(self, build: Callable[[Path], object]) -> None:
        """A further commit of the attacker's, brought into the clone by ``git pull``."""
        source = self.bare.with_name("source")
        build(source)
        _git("-C", str(source), "add", "-A", "-f")
        _git("-C", str(source), "commit", "-q", "-m", "Improve things")
        _git("-C", str(source), "push", "-q", str(self.bare), "main")
        _git("-C", str(self.project), "pull", "-q", "--no-rebase", "origin", "main")

    # the person's programs

    def run(self, *words: str, stdin: str = "", cwd: Path | None = None, **env: str) -> Ran:
        """One command of holdfast, as the person's shell starts it."""
        done = processes.run(*words, cwd=cwd or self.project, env={**self.environment(), **env}, data=stdin)
        assert "Traceback" not in done.stderr, done.stderr
        return Ran(done.returncode, done.stdout, done.stderr)

    def hook(self, event: str, client: str = "claude-code", **more: Any) -> Ran:
        """One event of the client's, as the client starts the hook."""
        payload = {
            "session_id": SESSION,
            "transcript_path": str(self.transcript),
            "cwd": str(self.project),
            "hook_event_name": event,
            **more,
        }
        ran = self.run("hook", client, stdin=json.dumps(payload))
        self.told.append(ran.text)
        return ran

    def mcp(self, *requests: tuple[str, dict[str, object]]) -> str:
        """What the server answers to these requests, and what it logs."""
        pipe = subprocess.PIPE
        process = subprocess.Popen(command(self.project), env=self.environment(), stdin=pipe, stdout=pipe, stderr=pipe)
        wire = Wire(process)
        read = [wire.begin(), *(wire.ask(method, given, number=n) for n, (method, given) in enumerate(requests))]
        return json.dumps(read) + wire.end()[1]

    def work(self, prompt: str = "Remember: the port is 8443.") -> Ran:
        """A whole conversation in the clone, up to and past one compaction. Returns the compaction's answer."""
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        self.transcript.write_text(_transcript(prompt))
        self.hook("SessionStart", source="startup")
        self.hook("UserPromptSubmit", prompt=prompt, prompt_id="p-1")
        self.hook("PostToolUse", tool_name="Bash", tool_input={"command": "ls"}, tool_response="README.md")
        self.hook("Stop", last_assistant_message="Decision: keep port 8443. Next: write the test.", prompt_id="p-1")
        blocked = self.hook("PreCompact", trigger="manual", custom_instructions=None)
        self.hook("SessionStart", source="compact")
        self.hook("PostCompact", trigger="manual", compact_summary="We kept port 8443.")
        self.hook("SessionEnd", reason="other")
        return blocked

    def look_around(self) -> str:
        """What the person reads about the project."""
        words = [self.run(command).text for command in ("status", "doctor", "config", "load")]
        return "\n".join([*self.told, *words])

    def environment(self) -> dict[str, str]:
        kept = {
            k: v for k, v in os.environ.items() if not k.startswith(("CLAUDE", "CODEX", "HOLDFAST_", "XDG_", "GIT_"))
        }
        kept.pop("PYTHONDONTWRITEBYTECODE", None)
        home = str(self.home)
        return {**kept, **KEYS, "HOME": home, "USERPROFILE": home, "TZ": "UTC", "NO_PROXY": "", **self.env}

    # what may not change

    def outside(self) -> dict[str, str]:
        """Every file outside of the clone and of holdfast's own folder, with a digest of what is in it."""
        found = {}
        for path in sorted(self.home.rglob("*")):
            inside = path.is_relative_to(self.project) or path.is_relative_to(self.home / ".config" / "holdfast")
            if inside or path == self.transcript or path.is_relative_to(self.home / ".cache"):
                continue
            if path.is_file():
                found[str(path.relative_to(self.home))] = hashlib.sha256(path.read_bytes()).hexdigest()
            elif path != self.project and not self.transcript.is_relative_to(path) and path.name != ".config":
                found[str(path.relative_to(self.home))] = "folder"
        return found

    def inside(self) -> Mapping[str, bytes]:
        """Every regular file of the clone, without git's own."""
        return {
            str(path.relative_to(self.project)): path.read_bytes()
            for path in self.project.rglob("*")
            if path.is_file() and not path.is_symlink() and ".git" not in path.relative_to(self.project).parts
        }


def _transcript(text: str) -> str:
    rows = [
        {"type": "user", "message": {"role": "user", "content": text}, "uuid": "u-1", "sessionId": "other"},
        {
            "type": "assistant",
            "message": {"role": "assistant", "content": [{"type": "text", "text": f"Understood: {text}"}]},
            "uuid": "u-2",
            "sessionId": "other",
        },
    ]
    return "".join(json.dumps({**row, "timestamp": "2026-11-21T10:00:00.000Z"}) + "\n" for row in rows)


def _git(*words: str) -> None:
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    subprocess.run(["git", *words], check=True, capture_output=True, env={**env, **GIT})
