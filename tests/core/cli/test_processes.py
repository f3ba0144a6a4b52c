"""The command line as a process: exit codes, pipes, and what the hot command imports."""

import os
import subprocess
import sys
import threading
import time

import pytest
from tests.support.processes import finished

from holdfast_cli import stdin


def test_process__reader_goes_away__ends_quietly(project):
    command = [sys.executable, "-m", "holdfast", "--help", "all"]
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(command, cwd=project, stdout=write, stderr=subprocess.PIPE, timeout=60, check=False)
    os.close(write)
    assert done.stderr == b""
    assert done.returncode == 141


#: Runs commands, each on streams that hold ASCII only.
ASCII = """
import sys
from holdfast_cli import main
for words in ([], ["status"], ["flush", "--session", "s1"], ["load"], ["report"], ["doctor"]):
    assert main(words) == 0, words
"""


def test_process__ascii_output__every_mark_has_a_fallback(run, project):
    run("add", "user", "Größe 漢字", "--session", "s1")
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = finished([sys.executable, "-c", ASCII], cwd=project, env=env)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture
def silent_pipe(monkeypatch):
    """Stdin is a pipe that somebody keeps open, and writes into only if the test does."""
    read, write = os.pipe()
    with os.fdopen(read, encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        yield write
        os.close(write)


def test_stdin__once_it_has_begun__is_read_to_the_end_however_slow(silent_pipe, monkeypatch):
    monkeypatch.setattr(stdin, "_FIRST_BYTE_S", 0.05)
    copy = os.dup(silent_pipe)
    os.write(copy, b"first")

    def rest():
        time.sleep(0.2)
        os.write(copy, b" and last")
        os.dup2(os.open(os.devnull, os.O_WRONLY), silent_pipe)
        os.close(copy)

    writer = threading.Thread(target=rest)
    writer.start()
    assert stdin.read_if_any() == "first and last"
    writer.join()
