"""Running the command line in this process, in a project of its own."""

import contextlib
import io
import json
import os
import subprocess
import sys
from typing import NamedTuple

import pytest

from holdfast_cli import main


class Result(NamedTuple):
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


def called(capsys, *words):
    """The command in this process."""
    capsys.readouterr()
    code = main(words)
    return Result(code, *capsys.readouterr())


def on_a_terminal(command, cwd, env, **streams):
    """What a pseudo-terminal receives from a program, and its piped stdout. ``streams`` are not the terminal."""
    leader, follower = pytest.importorskip("pty").openpty()
    given = {"stdin": follower, "stdout": follower, "stderr": follower, **streams}
    with subprocess.Popen(command, cwd=cwd, env={**os.environ, "PYTHONIOENCODING": "utf-8", **env}, **given) as process:
        os.close(follower)
        data = b""
        with contextlib.suppress(OSError):  # Linux: the other end is closed
            while part := os.read(leader, 65536):
                data += part
        out = process.stdout.read().decode() if process.stdout else ""
    os.close(leader)
    assert process.returncode == 0, out + data.decode()
    return data.decode(), out


@pytest.fixture
def run(project, monkeypatch, capsys):
    """``run("flush", "--json", stdin="...")`` in the project's folder, without a terminal."""
    monkeypatch.chdir(project)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def run(*words, stdin=b""):
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        return called(capsys, *words)

    return run


@pytest.fixture
def answer(monkeypatch, capsys):
    """``answer("y", "purge", ...)``: the command on a terminal, where a person says that."""

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    def run(text, *words):
        monkeypatch.setattr(sys, "stdin", Terminal(text + "\n"))
        return called(capsys, *words)

    return run


@pytest.fixture
def talked(run):
    """A project in which session ``s1`` has one turn that is not flushed."""
    assert run("add", "user", "Fix the flaky login test", "--session", "s1").code == 0
    assert run("add", "assistant", "I will look at tests/test_login.py", "--session", "s1").code == 0
    return run


@pytest.fixture
def flushed(talked):
    """As ``talked``, and flushed with a payload that answers everything."""
    fields = {
        "--objective": "Fix login",
        "--fact": "Größe 漢字",
        "--decision": "use a lock",
        "--blocker": "no staging",
        "--artifact": "acme/app#12",
        "--follow-up": "tell Ana",
        "--next-step": "run the tests",
        "--mutation": "status:acme/app#12:in review",
        "--branch": "fix/login",
        "--memory": "Python 3.11 is the minimum",
    }
    result = talked("flush", "--session", "s1", *(word for pair in fields.items() for word in pair))
    assert result.code == 0, result.err
    return talked


@pytest.fixture
def unwritable(talked, project):
    """As ``talked``, and no note can be written: a file is in the place of their folder."""
    (project / ".holdfast" / "memory").write_text("in the way")
    return talked
