"""The name. Another project's distribution is ``holdfast``, with a package and a command of that name. pip lets it and
holdfast-memory replace and remove each other's files."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.plugins.agents.hooking import Client
from tests.repo.conftest import Environment, build
from tests.support.processes import finished

from holdfast_agents.setup import program
from holdfast_memory import DISTRIBUTION, REPAIR

NODE = shutil.which("node")
HARNESS = Path(__file__).parents[1] / "plugins" / "agents" / "opencode_harness.mjs"
#: A script, a command and a plugin; with the program's name and, for the user, with its path.
GUARDS = (("claude-code", "project"), ("codex", "project"), *([("opencode", "user")] if NODE else []))
#: Notes that it ran, and gives the exit code that permits a compaction.
FOREIGN = "import os, sys\nopen(os.path.expanduser('~/foreign'), 'a').write(__name__)\ndef main(): sys.exit(10)\n"


def pip(made: Environment, index: Path, *words: str) -> None:
    more = ["-y"] if words[0] == "uninstall" else ["--no-index", "--no-deps", "--no-compile", "-f", str(index)]
    command = [sys.executable, "-m", "pip", "--python", str(made.python), *words, "-q", *more]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def index(wheel, tmp_path_factory) -> Path:
    """A folder of wheels with holdfast-memory and the other project's ``holdfast`` 0.5.1."""
    source, folder = tmp_path_factory.mktemp("other"), tmp_path_factory.mktemp("index")
    for name in ("__init__", "__main__", "cli/__init__"):
        path = source / "holdfast" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(FOREIGN + ("main()\n" if name == "__main__" else ""), encoding="utf-8")
    head = '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
    project = '[project]\nname = "holdfast"\nversion = "0.5.1"\nscripts.holdfast = "holdfast_cli:main"\n'
    (source / "pyproject.toml").write_text(head + project, encoding="utf-8")
    build(source, folder)
    shutil.copy(wheel, folder)
    return folder


class Guarded:
    """A project whose installed guards are run with the programs of one Python. ``told`` is the last guard's reason."""

    def __init__(self, made: Environment, project: Path) -> None:
        self.made, self.project = made, project
        self.home = Path(os.environ["HOME"])
        self.env = {"PATH": f"{made.bin}:/usr/bin:/bin", "HOME": str(self.home), "CLAUDE_PROJECT_DIR": str(project)}
        self.told = ""
        self.turn = 0

    def install(self) -> None:
        for client, scope in GUARDS:
            done = self.made.run("holdfast", "install", client, "--scope", scope, cwd=self.project)
            assert done.returncode == 0, done.stderr

    def permits(self, client: str) -> bool:
        """Whether the guard lets the client compact a conversation with a new message."""
        self.turn += 1
        self.message = f"Turn {self.turn} of {client}"
        if client == "opencode":
            return self._opencode(self.home / ".config/opencode")
        speaker = Client(self.project, client, native=f"0f6f7c54-6f0e-4a4b-9f0e-{self.turn:012}")
        speaker.say(self.message)  # with the tests' own holdfast, which is intact
        name = ".claude/settings.json" if client == "claude-code" else ".codex/hooks.json"
        command = json.loads((self.project / name).read_text())["hooks"]["PreCompact"][0]["hooks"][0]["command"]
        done = finished(
            ["/bin/sh", "-c", command],
            cwd=self.project,
            env=self.env,
            input=json.dumps(speaker.payload("PreCompact", trigger="auto")),
        )
        if client == "claude-code":
            assert done.returncode in (0, 2), done
            self.told = done.stderr
            return done.returncode == 0
        assert done.returncode == 0, done
        self.told = json.loads(done.stdout)["stopReason"] if done.stdout else ""
        assert not done.stdout or json.loads(done.stdout)["continue"] is False
        return not done.stdout

    def _opencode(self, folder: Path) -> bool:
        said = [{"info": {"id": f"m{self.turn}", "role": "user"}, "parts": [{"type": "text", "text": self.message}]}]
        steps = [["experimental.session.compacting", {"sessionID": f"ses_{self.turn}"}, {"context": []}]]
        plugin = self.project.parent / f"plugin{self.turn}.mjs"
        shutil.copy(folder / "plugins" / "holdfast.js", plugin)
        asked = {"plugin": str(plugin), "directory": str(self.project), "steps": steps, "messages": said}
        assert NODE
        command = [NODE, str(HARNESS)]
        done = finished(command, input=json.dumps(asked), env=self.env)
        assert done.returncode == 0, done.stderr
        self.told = json.loads(done.stdout)["results"][-1].get("error", "")
        return not self.told

    def flushed(self) -> bool:
        notes = sorted(self.project.glob(".holdfast/memory/*.md"))
        return any(self.message in note.read_text(encoding="utf-8") for note in notes)


@pytest.fixture
def guarded(index, project, tmp_path, monkeypatch) -> Guarded:
    """Guards of each client that holdfast-memory has installed for the project and for the user."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    made = Environment(tmp_path / "environment")
    made.lend("attrs", "markdown-it-py", "mdurl", "pluggy", "tomli-w", "tomlkit")
    pip(made, index, "install", DISTRIBUTION)
    found = Guarded(made, project)
    found.install()
    return found


THEIRS = ("install", "holdfast")
THEIRS_AWAY, OURS_AGAIN = (command.split()[1:] for command in REPAIR.split(" && "))
REPLACED, REMOVED = f"is not from {DISTRIBUTION}", f"Files of {DISTRIBUTION} are missing"
STEP = re.compile(rf"pip install (--force-reinstall )?{DISTRIBUTION}")


@pytest.mark.req("R184")
@pytest.mark.skipif(sys.platform == "win32", reason="runs /bin/sh")
def test_guard__distribution_of_the_same_name__permits_only_what_our_code_flushed(guarded, index):
    run = guarded.made.run
    for change, blocked in ((THEIRS, REPLACED), (THEIRS_AWAY, REMOVED), (OURS_AGAIN, "")):
        pip(guarded.made, index, *change)
        for client, scope in GUARDS:
            said = (change, client, scope)
            permits = guarded.permits(client)
            assert (permits, guarded.flushed()) == (not blocked, not blocked), (*said, guarded.told)
            if blocked:
                assert STEP.search(guarded.told), (*said, guarded.told)
                # Codex's hook can only give one of its prepared reasons.
                assert (program.FAILED if client == "codex" else blocked) in guarded.told, (*said, guarded.told)
        if change == THEIRS:
            done = run(DISTRIBUTION, "doctor", cwd=guarded.project)
            assert (done.returncode, done.stdout) == (3, "")
            assert REPLACED in done.stderr
            assert f"  next: Run `{REPAIR}`." in done.stderr
        assert not (guarded.home / "foreign").exists(), change

    (guarded.made.site / "holdfast-0.5.1.dist-info").mkdir()
    (guarded.made.site / "holdfast-0.5.1.dist-info" / "METADATA").write_text("Name: holdfast\nVersion: 0.5.1\n")
    done = run("holdfast", "doctor", cwd=guarded.project)
    assert "Another project, holdfast 0.5.1, is installed in the same Python." in " ".join(done.stdout.split())
    assert REPAIR in " ".join(done.stdout.split())


def test_name__in_the_project_and_in_the_code__is_the_same(root):
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == DISTRIBUTION
    assert set(project["scripts"]) == {"holdfast", DISTRIBUTION}


#: Ways to ask for the other project: as an argument, as a requirement, with an extra.
OTHERS = re.compile(r"""(pip|pipx|uv tool|uv pip) install ['"]?holdfast(?![-\w])|\bholdfast(\[[a-z]+\]|\s*[<>=~]=)""")


def test_files__that_name_the_distribution__never_ask_for_the_other_project(root, tracked):
    found = [
        f"{path.relative_to(root)}: {line.strip()}"
        for path in tracked
        if path.suffix in (".md", ".py", ".toml", ".tmpl", ".sh", ".js", ".yml", ".yaml")
        and path.name not in (Path(__file__).name, "CHANGELOG.md", "redaction_corpus.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if OTHERS.search(line)
    ]
    assert found == []
