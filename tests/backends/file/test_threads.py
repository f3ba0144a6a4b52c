"""Several threads, and several stores on one folder."""

import os
import threading

import pytest

from holdfast.storage import delete_fact
from holdfast.testing.base import make_fact
from holdfast_file import mark
from holdfast_file.backend import FileBackend
from holdfast_file.facts import FactFile
from holdfast_file.place import Place

#: Seconds within which a call that takes no lock has certainly ended.
ENOUGH_S = 0.3


@pytest.fixture
def store(project) -> FileBackend:
    return FileBackend(project, lock_timeout_s=20)


@pytest.mark.req("R045")
def test_compact__another_store_is_writing__waits_and_keeps_its_facts(store, project):
    store.add_fact(make_fact(1), 9)
    store.add_fact(make_fact(3), 9)
    delete_fact(store, "fact_00000003")
    facts, writer = (FactFile(Place(project, path=".holdfast", facts="facts.jsonl", timeout_s=20)) for _ in range(2))
    other = threading.Thread(target=facts.compact)  # the store's own call settles the documents first
    with writer.batch():
        writer.add(make_fact(2), 9)
        other.start()
        other.join(ENOUGH_S)
        assert other.is_alive()
    other.join()
    assert list(FileBackend(project).facts()) == [make_fact(1), make_fact(2)]


@pytest.mark.req("R142")
def test_read__another_process_replaces_a_file_with_a_torn_line__is_no_damage(store, project, monkeypatch):
    store.add_fact(make_fact(1), 9)
    path = project / ".holdfast" / "facts.jsonl"
    with path.open("ab") as file:
        file.write(b'{"id": "fa')  # a writer was killed
    os.link(path, path.with_name("copy.jsonl"))  # so the next writer makes a new file
    writer = FileBackend(project, lock_timeout_s=20)
    read = mark.read

    def after_a_change(at: str) -> mark.Mark:
        monkeypatch.setattr(mark, "read", read)
        for number in range(2, 6):
            writer.add_fact(make_fact(number), 9)
        return read(at)

    reader = FileBackend(project, lock_timeout_s=20)
    monkeypatch.setattr(mark, "read", after_a_change)  # the reader has opened the old file by then
    assert list(reader.facts()) == [make_fact(1)]
    assert list(reader.facts()) == [make_fact(number) for number in range(1, 6)]
