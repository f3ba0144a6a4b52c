"""What the real shells offer at TAB: commands, options, choices and stored names."""

import os
import re
import shutil
from pathlib import Path

import pytest
from tests.support.processes import finished, programs

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
    (project / "holdfast.toml").write_text('[plugins."$(touch pwned)"]\na = 1\n')
    return re.search(r"fact_\w+", stored.out)[0]


@pytest.mark.parametrize("shell", ["bash", "fish"])
def test_shell__at_tab__offers_commands_choices_and_stored_names(shell, run, used, project, tmp_path):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    (project / f"completion.{shell}").write_text(run("completion", shell).out)
    path = f"{programs(tmp_path / 'programs')}{os.pathsep}{os.environ['PATH']}"

    def offer(line):
        words = line.split()
        text = f"COMP_WORDS=({' '.join(words)}); COMP_CWORD={len(words) - 1}; _holdfast; "
        command = {
            "bash": ["bash", "-uc", f"source completion.bash; {text}printf '%s\\n' \"${{COMPREPLY[@]}}\""],
            "fish": ["fish", "--no-config", "-c", f"source completion.fish; complete -C '{line}'"],
        }[shell]
        return finished(command, cwd=project, env={**os.environ, "PATH": path, "TERM": "dumb"}, check=True).stdout

    assert used in offer(f"holdfast --root {project} facts show fact")
    assert "--objective" in offer("holdfast flush --obj")
    assert "touch" not in offer("holdfast show me") + offer("holdfast config plugins.")
    assert not (project / "pwned").exists()
    assert not Path("pwned").exists()


@pytest.mark.parametrize(("typed", "word"), TYPED)
def test_words__typed_so_far__are_completed(run, used, project, typed, word):
    offered = run("completion", "words", *typed.replace("PROJECT", str(project)).split()).out.split()
    assert (used if word == "FACT" else word) in offered
