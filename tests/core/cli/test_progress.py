"""Progress bars: on a terminal only, never in data, gone at the end. Shown through a real pseudo-terminal."""

import os
import subprocess
import sys

import pytest

from holdfast import Holdfast

pty = pytest.importorskip("pty")

#: Runs a command without the initial delay, because the work of a test is short.
EAGER = """
import sys
from holdfast_cli import main, progress
progress.Bar.__init__.__kwdefaults__["patience_s"] = 0
sys.exit(main(sys.argv[1:]))
"""


def with_stderr_on_a_terminal(*words, cwd):
    """What stdout, a pipe, and stderr, a terminal, receive."""
    master, slave = pty.openpty()
    env = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    process = subprocess.Popen(
        [sys.executable, "-c", EAGER, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=slave,
        cwd=cwd,
        env=env,
    )
    os.close(slave)
    data = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # Linux: the other end is closed
            break
        if not part:
            break
        data += part
    with process.stdout:
        out = process.stdout.read().decode()
    assert process.wait(30) == 0, out + data.decode()
    os.close(master)
    return out, data.decode()


@pytest.fixture
def filled(project):
    with Holdfast.open(project) as memory:
        memory.facts.create("Jane Doe prefers tabs", "preference", 0.9)
        session = memory.session("s1")
        session.add("user", "Ask Jane Doe about the 40 failing tests of the parser")
        session.add("assistant", "Decision: the parser reads UTF-8 only, because Jane Doe said so.")
        session.flush()
    return project


@pytest.mark.parametrize(
    ("words", "activity"),
    [
        (("purge", "--subject", "Jane Doe", "--yes"), "Searching every file"),
        (("purge", "--subject", "Jane Doe", "--dry-run"), "Checking journals"),
        (("scrub", "--yes"), "Editing documents"),
        (("retention", "run"), "Checking private files"),
        (("dream", "--force"), "Waiting for offline"),
        (("search", "parser"), "3 of 3"),
        (("migrate", "--to", "sqlite"), " of "),
    ],
)
def test_long_command__stderr_is_a_terminal__bar_there_and_gone_at_the_end(filled, words, activity):
    out, err = with_stderr_on_a_terminal(*words, cwd=filled)
    assert activity in err
    assert err.rpartition("\r\x1b[K")[2].strip() == ""
    assert out
    assert "\x1b[K" not in out


@pytest.mark.parametrize("command", [("purge", "--subject", "Jane Doe", "--yes"), ("dream", "--force")])
def test_long_command__json_or_a_pipe__no_bar(filled, run, command):
    assert run(*command).err == ""
    assert with_stderr_on_a_terminal(*command, "--json", cwd=filled)[1] == ""
