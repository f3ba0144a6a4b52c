"""Read-only stores and full disks: reading goes on, a write is Unavailable and leaves everything as it was."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.api import AddOutcome, Unavailable
from holdfast.storage import delete_fact, get_fact
from holdfast.testing.base import make_block, make_fact
from holdfast_sqlite.backend import SqliteBackend

pytestmark = [
    pytest.mark.req("R045", "R096"),
    pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="mounting needs root"),
]


def mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"this machine cannot mount: {done.stderr.strip()}")


@pytest.fixture
def disk(tmp_path) -> Iterator[Path]:
    """A file system of its own, of 1 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount("-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder))
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def check_reads(store: SqliteBackend) -> None:
    """All of the reading calls, and the writing ones refused."""
    assert get_fact(store, "fact_00000001") == make_fact(1)
    assert [fact.id for fact in store.facts()] == [make_fact(n).id for n in range(3)]
    assert len(list(store.facts())) == 3
    assert store.names() == ["MEMORY.md"]
    document = store.read("MEMORY.md")
    assert document.text == "text"
    for write in (
        lambda: store.add_fact(make_fact(7), 10),
        lambda: delete_fact(store, "fact_00000001"),
        lambda: store.write("MEMORY.md", "new"),
        lambda: store.append("day.md", make_block("one"), "", "one"),
    ):
        with pytest.raises(Unavailable, match="read-only") as caught:
            write()
        assert caught.value.next_step


def fill(store: SqliteBackend) -> None:
    store.write("MEMORY.md", "text")
    for number in range(3):
        store.add_fact(make_fact(number), 10)


def test_read_only__closed_store__reads_work_and_writes_do_once_they_can(disk):
    with contextlib.closing(SqliteBackend(disk)) as store:
        fill(store)
    before = {p.name: p.read_bytes() for p in (disk / ".holdfast").iterdir()}
    mount("-o", "remount,ro", str(disk))
    with contextlib.closing(SqliteBackend(disk)) as store:
        check_reads(store)
        assert {p.name: p.read_bytes() for p in (disk / ".holdfast").iterdir()} == before
        mount("-o", "remount,rw", str(disk))
        assert store.add_fact(make_fact(7), 10).outcome is AddOutcome.ADDED
        assert len(list(store.facts())) == 4


def test_read_only__store_of_a_killed_writer__log_is_read_and_without_its_index_nothing_older(disk, tmp_path):
    with contextlib.closing(SqliteBackend(tmp_path)) as store:
        fill(store)
        shutil.copytree(tmp_path / ".holdfast", disk / ".holdfast")  # as a killed process leaves it: log and all
    mount("-o", "remount,ro", str(disk))
    with contextlib.closing(SqliteBackend(disk)) as store:
        check_reads(store)
    mount("-o", "remount,rw", str(disk))
    (disk / ".holdfast" / "holdfast.db-shm").unlink()
    mount("-o", "remount,ro", str(disk))
    with contextlib.closing(SqliteBackend(disk)) as store, pytest.raises(Unavailable):
        len(list(store.facts()))


def added_until_full(store: SqliteBackend) -> int:
    """How many facts still went in: the log may have room for a few."""
    before = len(list(store.facts()))

    def add_many() -> None:
        for number in range(400):
            store.add_fact(make_fact(10 + number), 1000)

    with pytest.raises(Unavailable, match="disk") as caught:
        add_many()
    assert caught.value.next_step
    return len(list(store.facts())) - before


def test_full_disk__writes__unavailable_until_there_is_room(disk):
    with contextlib.closing(SqliteBackend(disk)) as store:
        fill(store)
        ballast = disk / "ballast"
        with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
        stored = 3 + added_until_full(store)
        with pytest.raises(Unavailable):
            store.write("MEMORY.md", "y" * 500_000)
        assert len(list(store.facts())) == len(list(store.facts())) == stored
        ballast.unlink()
        assert store.add_fact(make_fact(900), 1000).outcome is AddOutcome.ADDED
    with contextlib.closing(SqliteBackend(disk)) as store:
        assert len(list(store.facts())) == stored + 1
        document = store.read("MEMORY.md")
        assert document.text == "text"
