"""Progress bars: on a terminal only, never in data, gone at the end. Shown through a real pseudo-terminal."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast import Holdfast
from holdfast.plugin import progress
from holdfast_cli.progress import Bar
from holdfast_cli.terminal import Term

pty = pytest.importorskip("pty")

#: Runs a command without the initial delay, because the work of a test is short.
EAGER = """
import sys
from holdfast_cli import main, progress
progress.Bar.__init__.__kwdefaults__["patience_s"] = 0
sys.exit(main(sys.argv[1:]))
"""


def with_stderr_on_a_terminal(*words: str, cwd: Path) -> tuple[str, str]:
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
    assert process.stdout is not None
    with process.stdout:
        out = process.stdout.read().decode()
    assert process.wait(30) == 0, out + data.decode()
    os.close(master)
    return out, data.decode()


@pytest.fixture
def filled(project: Path) -> Path:
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


class Tty(io.TextIOWrapper):
    """A terminal that remembers all it received."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8")

    def isatty(self) -> bool:
        return True

    def received(self) -> str:
        self.flush()
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode()


def test_bar__quick_work__never_drawn():
    stream = Tty()
    bar = Bar(Term(stream))
    bar(1, 2)
    bar.clear()
    assert stream.received() == ""


def test_bar__same_percent_again__drawn_once():
    stream = Tty()
    bar = Bar(Term(stream), patience_s=0)
    for done in range(1000):
        bar(done, 1000, "Checking files")
    assert stream.received().count("\r") == 100


def test_bar__narrow_terminal__never_wraps(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "45")
    stream = Tty()
    Bar(Term(stream), patience_s=0)(55, 501, "Updating the search index")
    line = stream.received().removeprefix("\r\x1b[K")
    assert len(line) == 44
    assert "55 of 501" in line


def test_bar__unknown_total__count_and_activity():
    stream = Tty()
    Bar(Term(stream), patience_s=0)(1200, 0, "conversations extracted")
    assert "1,200  conversations extracted" in stream.received()


def test_each__watched__reports_every_item_and_the_end():
    seen = []
    with progress.watched(lambda *report: seen.append(report)):
        assert list(progress.each(["a", "b"], "Checking")) == ["a", "b"]
    assert seen == [(0, 2, "Checking"), (1, 2, "Checking"), (2, 2, "Checking")]
    list(progress.each(["c"], "Checking"))
    assert len(seen) == 3


def test_report__nobody_watches__costs_next_to_nothing():
    began = time.perf_counter()
    for _ in range(1000):
        progress.report(1, 2, "Checking")
    assert time.perf_counter() - began < 1
