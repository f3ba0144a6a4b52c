"""Facts added together: one new file in the place of the old one, or nothing at all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from crash_kit import DAY, HEADER, CountingOs, Killed, Os

from holdfast.errors import Conflict, Unavailable
from holdfast.models import AddOutcome, Fact
from holdfast.storage import FactOrder
from holdfast.testing.base import make_block, make_fact
from holdfast_file.backend import FileBackend


@pytest.fixture
def store(project: Path) -> FileBackend:
    return FileBackend(project, lock_timeout_s=0.2)


def install(monkeypatch: pytest.MonkeyPatch, stand_in: Os) -> None:
    for module, name, value in stand_in.installed_in():
        if name == "os":
            monkeypatch.setattr(module, name, value)


def facts(*numbers: int) -> list[Fact]:
    return [make_fact(number) for number in numbers]


@pytest.mark.req("R045")
def test_batch__a_thousand_facts__two_flushes_and_the_old_lines_as_they_were(
    store: FileBackend, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.add_fact(make_fact(0), 2000)
    path = project / ".holdfast" / "facts.jsonl"
    before = path.read_bytes()
    counting = CountingOs()
    found = counting.found
    with store.batch():
        install(monkeypatch, counting)
        for number in range(1, 1000):
            store.add_fact(make_fact(number), 2000)
        assert not found["write"]
        assert FileBackend(project).count_facts() == 1
        assert store.count_facts() == 1000
        assert store.get_fact("fact_00000007") == make_fact(7)
        found.clear()  # opening the store of the line above is none of ours
    # The new file and its name; the way to the folder is made durable again, one folder after the other.
    assert found["write"] == 2, "the file and the mark"
    assert found["replace"] == 1
    assert found["fsync"] <= 4
    assert path.read_bytes().startswith(before)
    for view in (store, FileBackend(project)):
        assert list(view.facts()) == facts(*range(1000))


@pytest.mark.req("R045")
def test_batch__another_process_added_since_the_last_look__its_facts_are_known(
    store: FileBackend, project: Path
) -> None:
    store.add_fact(make_fact(0), 50)
    FileBackend(project).add_fact(make_fact(1), 50)
    with store.batch():
        assert store.add_fact(make_fact(1), 50).outcome is AddOutcome.DUPLICATE
        with store.batch():  # the inner batch is part of the outer one
            store.add_fact(make_fact(2), 50)
        store.add_fact(make_fact(3), 50)
        assert FileBackend(project).count_facts() == 2
    assert list(FileBackend(project).facts()) == list(store.facts()) == facts(0, 1, 2, 3)


@pytest.mark.req("R058")
def test_batch__most_leave_again__file_holds_the_live_ones(store: FileBackend, project: Path) -> None:
    with store.batch():
        for number in range(1000):
            store.add_fact(make_fact(number), 5)
    assert (project / ".holdfast" / "facts.jsonl").read_bytes().count(b"\n") == 6  # one of tombstones
    assert list(FileBackend(project).facts()) == list(store.facts()) == facts(*range(995, 1000))


@pytest.mark.req("R045")
def test_batch__documents_and_deletions_inside__part_of_one_lock(store: FileBackend, project: Path) -> None:
    with store.batch(), store.batch():
        store.add_fact(make_fact(1), 9)
        store.add_fact(make_fact(2), 9)
        store.append(DAY, make_block("one", "- said"), HEADER, "one")
        store.delete_fact("fact_00000001")
        store.update_fact("fact_00000002", confidence=0.25)
        store.compact()
        store.add_fact(make_fact(3), 9)
    again = FileBackend(project)
    assert [(fact.id, fact.confidence) for fact in again.facts(FactOrder.CREATED)] == [
        ("fact_00000002", 0.25),
        ("fact_00000003", make_fact(3).confidence),
    ]
    assert again.read(DAY) == store.read(DAY)
    again.add_fact(make_fact(4), 9)
    assert list(store.facts())[-1] == make_fact(4)


@pytest.mark.req("R045")
def test_batch__other_writer_meanwhile__waits_and_is_refused(store: FileBackend, project: Path) -> None:
    said: list[Exception] = []

    def write() -> None:
        try:
            FileBackend(project, lock_timeout_s=0.05).add_fact(make_fact(2), 9)
        except Unavailable as error:
            said.append(error)

    with store.batch():
        store.add_fact(make_fact(1), 9)
        other = threading.Thread(target=write)
        other.start()
        other.join()
    assert "still held" in str(said[0])
    write()
    assert list(store.facts()) == facts(1, 2)


@pytest.mark.req("R045")
def test_batch__file_edited_by_hand_meanwhile__edit_stays_and_nothing_enters(store: FileBackend, project: Path) -> None:
    store.add_fact(make_fact(1), 9)
    path = project / ".holdfast" / "facts.jsonl"
    typed = path.read_text(encoding="utf-8").replace("fact_00000001", "fact_0000000a")
    typed = typed[: typed.index(', "crc"')] + "}\n"

    def import_two() -> None:
        with store.batch():
            store.add_fact(make_fact(2), 9)
            path.write_text(typed, encoding="utf-8")

    with pytest.raises(Conflict, match="edited manually"):
        import_two()
    assert path.read_text(encoding="utf-8") == typed
    assert [fact.id for fact in store.facts()] == ["fact_0000000a"]
    store.add_fact(make_fact(2), 9)
    assert store.count_facts() == 2


@pytest.mark.req("R045")
@pytest.mark.parametrize("how", ["killed", "refused"])
def test_batch__ended_at_any_call__all_or_none(scratch: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    class EndingOs(Os):
        def __init__(self, k: int) -> None:
            super().__init__()
            self.k = k

        def on_call(self, name: str, real: Callable[..., Any], args: tuple[Any, ...]) -> Any:
            if how == "killed" and self.calls >= self.k:
                raise Killed
            if self.calls == self.k:
                raise OSError(28, "No space left on device")
            return real(*args)

    outcomes = set()
    for k in range(1, 40):
        project = scratch / str(k)
        project.mkdir()
        store = FileBackend(project)
        store.add_fact(make_fact(1), 9)
        ending = EndingOs(k)
        with monkeypatch.context() as patched, suppress(Killed, Unavailable):
            install(patched, ending)
            with store.batch():
                for number in (2, 3, 4):
                    store.add_fact(make_fact(number), 9)
        left = list(FileBackend(project).facts())
        assert left in (facts(1), facts(1, 2, 3, 4))
        outcomes.add(len(left))
        if how == "refused":
            assert list(store.facts()) == left
            store.add_fact(make_fact(5), 9)
            assert list(FileBackend(project).facts()) == [*left, make_fact(5)]
        if ending.calls < k:
            break
    else:
        pytest.fail("there are more calls than were tried")
    assert outcomes == {1, 4}
