"""What a look at a project costs when many sessions came before: the index of SAFE sessions, and that it never lies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import Holdfast, journal, records, statusindex
from holdfast.safety import State
from holdfast.status import status

#: The few are more than a look reads of the newest journals, whatever their number.
FEW, MANY = 40, 1_000
#: Runs a command and writes a byte for each file and folder that it opens, but for Python's own.
COUNTING = """
import os, sys
told = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
def count(event, arguments):
    if event == "open" and not str(arguments[0]).endswith((".py", ".pyc")):
        os.write(told, b".")
sys.addaudithook(count)
from holdfast.cli import main
sys.exit(main(sys.argv[2:]))
"""
START = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "new", "transcript_path": ""}


def opens(root: Path, *words: str, stdin: str = "") -> int:
    """How many files and folders the second of two runs of a command opens."""
    told = root.with_suffix(".opened")
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", COUNTING, str(told), "--root", str(root), *words],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            cwd=root,
        )
        assert done.returncode == 0, done.stderr
    return told.stat().st_size


def lived_in(root: Path, count: int, *, ended: bool) -> Path:
    """A project with ``count`` sessions, all SAFE: one that was held, and its journal under the names of others."""
    root.mkdir()
    with Holdfast.open(root) as memory:
        session = memory.session("s-0000")
        session.add("user", "Fix the login test.")
        session.add("assistant", "Done.")
        session.end() if ended else session.flush()
        first = Path(session.journal.path)
    lines, hint = first.read_bytes().splitlines(keepends=True), first.with_suffix(".hint").read_bytes()
    for number in range(1, count):
        name = f"s-{number:04}"
        data = b"".join(records.encode(_renamed(line, name)) for line in lines)
        assert len(data) == first.stat().st_size
        (first.parent / f"{name}.jsonl").write_bytes(data)
        (first.parent / f"{name}.hint").write_bytes(hint)
    old = first.stat().st_mtime - 7 * 86_400
    for path in first.parent.glob("*.jsonl"):
        path.chmod(0o600)
        os.utime(path, (old, old))
    return root


def _renamed(line: bytes, name: str) -> dict[str, object]:
    record = json.loads(line.replace(b"s-0000", name.encode()))
    del record["crc"]
    return dict(record)


@pytest.mark.parametrize("ended", [True, False], ids=["ended", "flushed"])
@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        (("status",), ""),
        (("status", "--json"), ""),
        ((), ""),
        (("load",), ""),
        (("hook", "claude-code", "SessionStart"), json.dumps(START)),
    ],
    ids=["status", "status --json", "overview", "load", "SessionStart"],
)
def test_a_look_at_a_project__a_thousand_safe_sessions__opens_as_many_files_as_with_ten(
    tmp_path: Path, words: tuple[str, ...], stdin: str, *, ended: bool
) -> None:
    few = opens(lived_in(tmp_path / "few", FEW, ended=ended), *words, stdin=stdin)
    many = opens(lived_in(tmp_path / "many", MANY, ended=ended), *words, stdin=stdin)
    assert many <= few
