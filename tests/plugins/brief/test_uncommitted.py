"""The uncommitted files in a flush's note, read by a git that a hostile repository cannot make run a program."""

from __future__ import annotations

import os
import stat
import subprocess
import time
from pathlib import Path

import pytest

from holdfast import Holdfast
from holdfast_app.brief import uncommitted


def git(folder: Path, *words: str) -> None:
    names = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(project: Path) -> Path:
    git(project, "init")
    (project / "old.py").write_text("x = 1\n")
    (project / "same.py").write_text("x = 1\n")
    (project / "sub").mkdir()
    (project / "sub" / "b.py").write_text("y = 1\n")
    git(project, "add", "-A")
    git(project, "commit", "-m", "first")
    (project / "old.py").write_text("x = 2, longer\n")
    (project / "new.py").write_text("z = 1\n")
    return project


def flushed_note(root: Path) -> str:
    with Holdfast.open(root) as memory:
        session = memory.session("s")
        session.add("user", "please mend the parser")
        session.add("assistant", "The parser is mended.")
        session.flush()
        return next(memory.store.backend.read(n).text for n in memory.store.backend.names("memory/"))  # type: ignore[union-attr]


def test_flush__files_with_changes__are_in_the_note(repository: Path) -> None:
    (repository / "holdfast.toml").write_text('zone = "UTC"\n')
    note = flushed_note(repository)
    assert "Uncommitted files (git):\n- changed: old.py\n- new: new.py\n" in note + "\n"
    assert "same.py" not in note
    assert ".holdfast" not in note


def test_uncommitted__names_of_every_kind__on_one_line_each(repository: Path) -> None:
    if os.name == "nt":
        pytest.skip("the system has no such names")
    for name in ("a\nb.py", "-rf", "ü.py", "x\u202e.py", "y" * 250):
        (repository / name).write_text("")
    lines = uncommitted.text(str(repository)).splitlines()
    assert len(lines) == 1 + 7
    assert all(len(line) <= uncommitted.MAX_CHARS + 20 for line in lines)


HOSTILE = {
    "fsmonitor": "[core]\n\tfsmonitor = {program}\n",
    "hooks": "[core]\n\thooksPath = {folder}\n",
    "filter": '[filter "x"]\n\tclean = {program}\n\tsmudge = {program}\n\trequired = true\n',
    "process": '[filter "x"]\n\tprocess = {program}\n\trequired = true\n',
    "include": "[include]\n\tpath = {folder}/more\n",
    "pager": "[core]\n\tpager = {program}\n[pager]\n\tstatus = {program}\n[alias]\n\tstatus = !{program}\n",
}


@pytest.mark.skipif(os.name == "nt", reason="the programs are shell scripts")
@pytest.mark.parametrize("way", HOSTILE)
def test_uncommitted__repository_whose_settings_start_programs__none_is_started(
    repository: Path, tmp_path: Path, way: str
) -> None:
    folder, ran = tmp_path / "evil", tmp_path / "ran"
    folder.mkdir()
    program = folder / "post-index-change"
    program.write_text(f"#!/bin/sh\necho ran >> {ran}\ncat\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (folder / "more").write_text(HOSTILE["filter"].format(program=program, folder=folder))
    with (repository / ".git" / "config").open("a") as config:
        config.write(HOSTILE[way].format(program=program, folder=folder))
    (repository / ".gitattributes").write_text("*.py filter=x\n")
    for name in ("old.py", "same.py"):  # touched, so that git compares contents
        os.utime(repository / name, ns=(time.time_ns(), time.time_ns()))
    (repository / "old.py").write_text("x = 2\n")
    assert "changed: old.py" in uncommitted.files(str(repository))
    assert not ran.exists()


@pytest.mark.skipif(os.name == "nt", reason="the program is a shell script")
@pytest.mark.parametrize("script", ["sleep 60", "exit 1", "kill -9 $$", "printf 'garbage\\0\\0?'"])
def test_uncommitted__git_hangs_or_fails__nothing_is_said_soon(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(uncommitted, "TIMEOUT_S", 0.5)
    assert uncommitted.files(str(repository)) == []
