"""What a look at a project costs when many sessions came before: the index of SAFE sessions, and that it never lies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import Holdfast
from holdfast.fs import records
from holdfast.journal import safety, statusindex
from holdfast.journal.safety import Marker, State
from holdfast.journal.statusindex import StatusIndex
from holdfast.session.status import SessionStatus, status

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
from holdfast_cli import main
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


COMMANDS: dict[str, tuple[tuple[str, ...], str]] = {
    "status": (("status",), ""),
    "sessions": (("sessions",), ""),
    "overview": ((), ""),
    "load": (("load",), ""),
    "SessionStart": (("hook", "claude-code", "SessionStart"), json.dumps(START)),
}


@pytest.mark.parametrize("ended", [True, False], ids=["ended", "flushed"])
def test_a_look_at_a_project__a_thousand_safe_sessions__opens_as_many_files_as_with_forty(
    tmp_path: Path, *, ended: bool
) -> None:
    few, many = (lived_in(tmp_path / str(count), count, ended=ended) for count in (FEW, MANY))
    opened = {
        name: (opens(few, *words, stdin=told), opens(many, *words, stdin=told))
        for name, (words, told) in COMMANDS.items()
    }
    assert {name: counts for name, counts in opened.items() if counts[1] > counts[0]} == {}


# the index is never believed over the journals


def _indexed(root: Path) -> Path:
    """A project with an index of its twenty sessions; the path of the index."""
    lived_in(root, 20, ended=False)
    assert {s.state for s in looked(root).values()} == {State.SAFE}
    return root / ".holdfast" / "state" / statusindex.FILE


def looked(root: Path) -> dict[str, SessionStatus]:
    with Holdfast.open(root) as memory:
        return {one.id: one for one in status(memory.services).sessions}


def test_status__with_and_without_the_index__is_the_same(tmp_path: Path) -> None:
    index = _indexed(tmp_path / "p")
    with_index = looked(tmp_path / "p")
    assert len(index.read_bytes().splitlines()) == 20
    index.unlink()
    assert looked(tmp_path / "p") == with_index


def test_status__a_session_is_used_again_by_another_process__is_dirty(tmp_path: Path) -> None:
    _indexed(tmp_path / "p")
    subprocess.run(
        [sys.executable, "-m", "holdfast", "--root", tmp_path / "p", "add", "user", "more", "--session", "s-0007"],
        check=True,
    )
    after = looked(tmp_path / "p")
    assert [one for one, seen in after.items() if seen.state is State.DIRTY] == ["s-0007"]
    assert after["s-0007"].unflushed_turns == 1


def test_status__a_flush_of_a_session_failed__is_unsafe(tmp_path: Path) -> None:
    _indexed(tmp_path / "p")
    with Holdfast.open(tmp_path / "p") as memory:
        safety.begin(memory.services.state, Marker(session="s-0003", at="", reason="manual", error="The disk is full."))
    assert looked(tmp_path / "p")["s-0003"].state is State.UNSAFE


def test_status__a_journal_is_damaged_or_gone__is_reported(tmp_path: Path) -> None:
    index = _indexed(tmp_path / "p")
    folder = index.parent / "sessions"
    cut = folder / "s-0004.jsonl"
    cut.write_bytes(cut.read_bytes()[:-40])
    (folder / "s-0005.jsonl").unlink()
    with Holdfast.open(tmp_path / "p") as memory:
        now = status(memory.services)
    assert [one.id for one in now.unsafe] == ["s-0004"]
    assert [one.name for one in now.lost] == ["state/sessions/s-0005.jsonl"]


@pytest.mark.parametrize(
    "change",
    [
        {"session": "s-0001"},
        {"session": 5},
        {"at": "yesterday"},
        {"turn_at": 3},
        {"tokens": "many"},
        {"messages": None},
        {"size": [1]},
        {"journal": "../../s-0002.jsonl"},
        {"journal": None},
    ],
    ids=str,
)
def test_status__a_row_of_the_index_is_not_one_of_ours__the_journal_is_read(
    tmp_path: Path, change: dict[str, object]
) -> None:
    index = _indexed(tmp_path / "p")
    right = looked(tmp_path / "p")
    rows = [records.decode(line) or {} for line in index.read_bytes().splitlines()]
    rows[2] |= change
    index.write_bytes(b"".join(map(records.encode, rows)) + b"not a row\n")
    assert looked(tmp_path / "p") == right


def test_purge__a_session_in_the_index__leaves_no_trace_of_it(tmp_path: Path) -> None:
    root = lived_in(tmp_path / "p", 20, ended=False)
    with Holdfast.open(root) as memory:
        session = memory.session("of-ana")
        session.add("user", "Move the port.")
        session.flush()
    assert "of-ana" in looked(root)
    index = root / ".holdfast" / "state" / statusindex.FILE
    assert b"of-ana" in index.read_bytes()
    with Holdfast.open(root) as memory:
        assert memory.purge(session="of-ana").clean
    assert b"of-ana" not in index.read_bytes()
    assert "of-ana" not in looked(root)


def test_save__a_journal_was_purged_since_it_was_read__its_row_is_left_out(tmp_path: Path) -> None:
    index = _indexed(tmp_path / "p")
    index.unlink()
    late = StatusIndex(str(index.parent))
    for path in late.journals:
        late.learn(path, {"session": "read before the purge"})
    (index.parent / "sessions" / "s-0006.jsonl").unlink()
    late.save()
    assert len(index.read_bytes().splitlines()) == 19
    assert b"s-0006" not in index.read_bytes()


def test_status__the_index_cannot_be_written__is_the_same(tmp_path: Path) -> None:
    root = lived_in(tmp_path / "p", 20, ended=True)
    (root / ".holdfast" / "state" / statusindex.FILE).mkdir()
    assert len(looked(root)) == 20


def test_status__by_many_processes_while_sessions_go_on__misses_no_unflushed_turn(tmp_path: Path) -> None:
    root = tmp_path / "p"
    _indexed(root)
    run = [sys.executable, "-m", "holdfast", "--root", str(root)]
    looks = [subprocess.Popen([*run, "status"], stdout=subprocess.DEVNULL) for _ in range(4)]
    for number in range(4):
        subprocess.run([*run, "add", "user", "more", "--session", f"s-{number:04}"], check=True)
    assert [look.wait() for look in looks] == [0] * 4
    assert [one for one, seen in sorted(looked(root).items()) if seen.state is State.DIRTY] == [
        f"s-{number:04}" for number in range(4)
    ]
