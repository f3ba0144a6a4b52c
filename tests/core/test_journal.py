"""The journal: torn tails are nobody's loss, damage is never silence, and any session id is a file of its own."""

import os
import tracemalloc
from pathlib import Path

import pytest

from holdfast.errors import Corrupt, Unavailable
from holdfast.fs import safeopen
from holdfast.journal.journal import encode, file_stem
from holdfast_app.journal.journal import Journal, session_files, session_id_of
from holdfast_app.sessions import rewriting


def message(text: str) -> dict:
    return {"kind": "message", "id": text, "at": "2026-11-21T14:30:00+00:00", "role": "user", "text": text}


def texts(journal: Journal) -> list[str]:
    return [e.record["text"] for e in journal.entries() if e.record["kind"] == "message"]


@pytest.fixture
def journal(tmp_path) -> Journal:
    return Journal(str(tmp_path), "s")


@pytest.mark.parametrize(
    ("line", "damage"), [*((line, "flip") for line in range(5)), (2, "lose newline"), (3, "insert")]
)
def test_repair__damage_in_any_line__keeps_the_rest_the_damaged_file_and_what_was_flushed(
    opened, project, note, damage, line
):
    session = opened().session("s")
    session.add("user", "one " * 10)
    session.flush()
    session.add("user", "two " * 10)
    session.compact(keep_last=1)
    session.add("user", "three")
    path = Path(session.journal.path)
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) > 5
    lines[line] = {
        "flip": lines[line][:9] + b"\0" + lines[line][10:],
        "lose newline": lines[line][:-1],
        "insert": b"garbage\xff\n" + lines[line],
    }[damage]
    data = b"".join(lines)
    path.write_bytes(data)
    lost = rewriting.repair(Journal(str(project / ".holdfast" / "state"), "s"))
    assert lost > 0
    [copy] = path.parent.glob("s.jsonl.damaged-*")
    assert copy.read_bytes() == data
    again = opened()
    assert again.sessions() == ["s"]
    session = again.session("s")
    assert session.messages[-1].text == "three"
    assert session.unflushed[-1].text == "three"
    before = note()
    session.end()
    assert note().startswith(before)
    assert "three" in note()
    assert opened().session("s").messages == []
    assert rewriting.repair(session.journal) == 0


@pytest.mark.parametrize(
    "read",
    [
        Journal.is_unflushed,
        Journal.last_checkpoint,
        lambda journal: list(journal.entries()),
        lambda journal: list(journal.of_kinds("message")),
        lambda journal: session_id_of(journal.path),
        lambda journal: session_files(os.path.dirname(journal.folder)),
    ],
)
def test_read__disk_fails__is_unavailable_and_never_empty(journal, monkeypatch, read):
    journal.append(message("said"))

    def broken(*args, **more):
        raise OSError(5, os.strerror(5))

    monkeypatch.setattr(safeopen, "reader", broken)
    monkeypatch.setattr(safeopen, "names", broken)
    with pytest.raises(Unavailable, match=os.strerror(5)):
        read(journal)


@pytest.mark.parametrize(
    "session_id",
    ["../x", "/etc/passwd", "con", "NUL", "a/b", "A", "x" * 300, "..", ".", "~", "com1", "s.flush", "é", "a\\b", "s "],
)
def test_file_stem__hostile_id__stays_in_its_folder_and_is_nobody_elses(session_id, opened, project):
    stem = file_stem(session_id)
    assert file_stem(stem) != stem or stem == session_id
    opened().session(session_id).add("user", "hello")
    outside = [p for p in project.rglob("*") if p.is_file() and ".holdfast/state" not in p.as_posix()]
    assert outside == []
    assert opened().sessions() == [session_id]
    assert [m.text for m in opened().session(session_id).messages] == ["hello"]


def test_entries__journal_of_8_megabytes__memory_stays_flat(tmp_path):
    journal = Journal(str(tmp_path), "s")
    journal.append(message("one"))
    line = encode(message("x" * 1000))
    with open(journal.path, "ab") as file:
        file.writelines(line * 1000 for _ in range(8))
    tracemalloc.start()
    count = sum(1 for _ in journal.entries())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 8_002
    assert peak < 2_000_000


@pytest.mark.parametrize(
    "damage",
    [
        lambda data, ends: bytes(len(data)),
        lambda data, ends: b"",
        lambda data, ends: None,
        lambda data, ends: data[: ends[1] + 20],
        lambda data, ends: data[: ends[1]],
        lambda data, ends: data[: ends[0]] + data[ends[1] :],
        lambda data, ends: data[: ends[1]] + bytes(len(data) - ends[1]),
        lambda data, ends: data + b"some text",
        lambda data, ends: data + b'{"kind":"mess\x01',
        lambda data, ends: b"some text",
        lambda data, ends: data + b"\0\0todo",
        lambda data, ends: data + b'{"kind":"\0\0todo',
        lambda data, ends: data + b'\0\0todo"}\n',
        lambda data, ends: data + b"\0\0a\0\0",
        lambda data, ends: data + b"todo\0\0",
    ],
)
def test_journal__damaged_after_it_was_acknowledged__is_corrupt_until_repaired(journal, damage):
    ends = [journal.append(message(text))[0].end for text in ("one", "two", "three")]
    path = Path(journal.path)
    damaged = damage(path.read_bytes(), ends)
    path.unlink() if damaged is None else path.write_bytes(damaged)
    state = os.path.dirname(journal.folder)
    assert session_files(state) == [journal.path] or Path(journal.hint_path).exists()
    with pytest.raises(Corrupt, match=r"/sessions/s\.jsonl"):
        texts(Journal(state, "s"))
    with pytest.raises(Corrupt, match=r"/sessions/s\.jsonl"):
        Journal(state, "s").append(message("four"))
    assert (path.read_bytes() if path.exists() else None) == damaged
    assert rewriting.repair(Journal(state, "s")) > 0
    kept = texts(Journal(state, "s"))
    assert set(kept) <= {"one", "two", "three"}
    Journal(state, "s").append(message("four"))
    assert texts(Journal(state, "s")) == [*kept, "four"]


def test_journal__cut_while_a_session_is_open__is_corrupt_for_it_too(journal):
    journal.append(message("one"))
    [last] = journal.append(message("two"))
    os.truncate(journal.path, last.start)
    with pytest.raises(Corrupt, match=f"was cut at byte {last.start}"):
        journal.append(message("three"))
    with pytest.raises(Corrupt, match="acknowledged"):
        list(journal.entries(last.end))


def test_entries__rewritten_or_erased_by_another_process_meanwhile__is_no_damage(journal):
    for text in ("one", "two", "three"):
        journal.append(message(text))
    other = Journal(os.path.dirname(journal.folder), "s")
    rewriting.rewrite(
        other, lambda record: {**record, "text": ""} if record["kind"] == "message" else record, lambda line: True
    )
    assert texts(journal) == ["", "", ""]
    rewriting.erase(other)
    assert texts(journal) == []
    journal.append(message("four"))
    assert texts(journal) == ["four"]


def test_is_unflushed__torn_last_message__does_not_count_until_it_is_whole(journal):
    [checkpoint] = journal.append({"kind": "checkpoint", "flushed_to": 0, "last_message": -1})
    path = Path(journal.path)
    line = encode(message("said"))
    path.write_bytes(path.read_bytes() + line[:-1])
    assert not journal.is_unflushed()
    path.write_bytes(path.read_bytes() + b"\n")
    assert journal.is_unflushed()
    path.write_bytes(path.read_bytes()[: checkpoint.end])
    assert not journal.is_unflushed()
