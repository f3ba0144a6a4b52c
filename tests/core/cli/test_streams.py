"""What comes in and goes out of a process: arguments that are not text, a full disk, closed streams."""

import json
import os
import subprocess
import sys

import pytest
from tests.support.processes import finished

COMMAND = [sys.executable, "-m", "holdfast"]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="bytes as arguments, /dev/full and SIGINT are POSIX")
full = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")


def shell(line, cwd):
    """``$H`` is holdfast. Streams are redirected by the line itself."""
    return finished(["sh", "-c", line], cwd=cwd, env={**os.environ, "H": " ".join(COMMAND)}, stdin=subprocess.DEVNULL)


def test_argument__not_utf8__refused_before_anything_happens(project):
    command = [*COMMAND, b"remember", b"gr\xfcn"]
    done = subprocess.run(command, cwd=project, stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(
        rb"holdfast: The argument 'gr\udcfcn' is not UTF-8; nothing was done." + b"\n  next: "
    )
    assert list(project.iterdir()) == []


@full
def test_output__disk_full__one_clear_sentence_and_exit_1(run, project):
    run("remember", "a")
    done = shell("$H facts > /dev/full", project)
    assert done.returncode == 1
    first, second = done.stderr.splitlines()
    assert first == "holdfast: The output could not be written: No space left on device."
    assert second.startswith("  next: ")


@pytest.mark.parametrize("line", ["status", "add user c --session s1 --json", "--help", "--version"])
def test_output__stdout_closed__exit_1_and_the_reason(project, line):
    done = shell(f"$H {line} >&-", project)
    assert done.returncode == 1
    assert done.stderr.startswith("holdfast: The output could not be written: Bad file descriptor.\n  next: ")
    assert shell("$H add user c --session s1 >&-", project).returncode == 0  # it has no output


@pytest.mark.parametrize("zone", ["UTC+25", "<+99>-99"])
def test_zone__offset_of_a_day_or_more__utc(project, zone):
    env, stated = {**os.environ, "TZ": zone}, ("--next-step", "x", "--curated", "none")
    for words in (("add", "user", "Fix it", "--session", "s"), ("status",), ("flush", "--session", "s", *stated)):
        done = finished([*COMMAND, *words], cwd=project, env=env, stdin=subprocess.DEVNULL)
        assert (done.returncode, done.stderr) == (0, ""), words


@full
@pytest.mark.parametrize("line", ["--json --debug > /dev/full 2> /dev/full", "2>&-", "--json --debug >&- 2>&-"])
def test_error__streams_full_or_closed__only_the_exit_code_is_left(project, line):
    done = shell(f"$H facts show fact_deadbeef {line}", project)
    assert done.returncode == 1
    assert done.stderr == ""
    assert done.stdout == "" or json.loads(done.stdout)["error"]["kind"] == "NotFound"
