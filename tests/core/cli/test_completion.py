"""What the real shells offer at TAB: commands, options, choices and stored names."""

import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from tests.support.processes import finished

BIN = os.path.dirname(sys.executable)
#: The words typed so far, and one that must be offered.
TYPED = [
    ("unins", "uninstall"),
    ("--root PROJECT facts sh", "show"),
    ("facts show fact", "FACT"),
    ("sessions show fix", "fix-login"),
    ("flush --session fix", "fix-login"),
    ("show MEM", "MEMORY.md"),
    ("install claude", "claude-code"),
    ("config flush.pol", "flush.policy"),
    ("init --layout tim", "timmy"),
    ("flush --obj", "--objective"),
]


@pytest.fixture
def used(run, project):
    """A project with a session, a fact and a document; the fact's id."""
    assert run("add", "user", "Fix it", "--session", "fix-login").code == 0
    stored = run("remember", "The deploy day is Tuesday", "--json")
    (project / ".holdfast" / "MEMORY.md").write_text("- One\n")
    (project / ".holdfast" / "memory").mkdir(exist_ok=True)
    (project / ".holdfast" / "memory" / "$(touch pwned) `touch pwned`.md").write_text("x")
    (project / ".holdfast" / "memory" / "x;touch pwned.md").write_text("x")
    return re.search(r"fact_\w+", stored.out)[0]


def environment():
    return {**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "TERM": "dumb"}


def script(shell, folder):
    done = finished([os.path.join(BIN, "holdfast"), "completion", shell], cwd=folder, check=True)
    (folder / f"completion.{shell}").write_text(done.stdout)
    return folder / f"completion.{shell}"


def in_bash(line, file, project):
    words = line.split()
    text = f"source {file}; COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _holdfast; "
    text += "printf '%s\\n' \"${COMPREPLY[@]}\""
    return finished(["bash", "-uc", text], cwd=project, env=environment(), check=True).stdout


def in_fish(line, file, project):
    text = f"source {file}; complete -C '{line}'"
    return finished(["fish", "--no-config", "-c", text], cwd=project, env=environment(), check=True).stdout


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_shell__at_tab__offers_commands_choices_and_stored_names(shell, used, project):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    offer = {"bash": in_bash, "fish": in_fish}[shell]
    file = script(shell, project)
    assert used in offer(f"holdfast --root {project} facts show fact", file, project)
    assert "--objective" in offer("holdfast flush --obj", file, project)
    assert "touch" not in offer("holdfast show me", file, project)
    assert not (project / "pwned").exists()
    assert not Path("pwned").exists()


@pytest.mark.parametrize(("typed", "word"), TYPED)
def test_words__typed_so_far__are_completed(run, used, project, typed, word):
    offered = run("completion", "words", *typed.replace("PROJECT", str(project)).split()).out.split()
    assert (used if word == "FACT" else word) in offered
