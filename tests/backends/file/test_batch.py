"""Facts changed together: one append and one flush, and of an interrupted one the first lines at most."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from crash_kit import CountingOs, Killed, Os

from holdfast.errors import Unavailable
from holdfast.models import Fact
from holdfast.storage import Add, Condition, Remove, Update
from holdfast.testing.base import make_fact
from holdfast_file.backend import FileBackend


def install(monkeypatch: pytest.MonkeyPatch, stand_in: Os) -> None:
    for module, name, value in stand_in.installed_in():
        if name == "os":
            monkeypatch.setattr(module, name, value)


def facts(*numbers: int) -> list[Fact]:
    return [make_fact(number) for number in numbers]


@pytest.mark.req("R045", "R058")
def test_commit__a_thousand_facts__one_flush_and_a_small_file_when_most_leave(project, monkeypatch):
    store, path = FileBackend(project), project / ".holdfast" / "facts.jsonl"
    store.add_fact(make_fact(0), 2000)
    FileBackend(project).add_fact(make_fact(1), 2000)
    before, counting = path.read_bytes(), CountingOs()
    with monkeypatch.context() as patched:
        install(patched, counting)
        store.commit([Add(fact, 2000) for fact in facts(*range(1, 1000))])
    assert counting.found["write"] == 2, "the file and its mark"
    assert counting.found["fsync"] <= 3, "the file as found, its name, and the file as written"
    assert path.read_bytes().startswith(before)
    assert list(store.facts()) == list(FileBackend(project).facts()) == facts(*range(1000))
    store.commit([Add(fact, 5) for fact in facts(*range(1000, 2000))])
    assert path.read_bytes().count(b"\n") == 6  # one of tombstones
    assert list(FileBackend(project).facts()) == list(store.facts()) == facts(*range(1995, 2000))


#: No fact twice. The last one evicts.
CHANGES = (Update("fact_00000009", source="again"), Remove("fact_00000001"), *(Add(fact, 4) for fact in facts(2, 3, 4)))


def begun(project: Path) -> FileBackend:
    project.mkdir()
    store = FileBackend(project)
    store.commit([Add(fact, 4) for fact in facts(0, 1, 9)])
    return store


def stages(project: Path) -> list[list[Fact]]:
    """The facts before the first of the changes and after each, made one by one."""
    store = begun(project)
    found = [list(store.facts())]
    for change in CHANGES:
        store.commit([change])
        found.append(list(store.facts()))
    return found


@pytest.mark.req("R045")
@pytest.mark.parametrize("how", ["killed", "refused"])
def test_commit__ended_at_any_call__the_first_ones_or_none(scratch, monkeypatch, how):
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

    wanted = stages(scratch / "whole")
    outcomes = set()
    for k in range(1, 40):
        project = scratch / str(k)
        store = begun(project)
        ending = EndingOs(k)
        with monkeypatch.context() as patched, suppress(Killed, Unavailable):
            install(patched, ending)
            store.commit(CHANGES)
        again = FileBackend(project)
        left = list(again.facts())
        assert left in wanted
        assert again.check(thorough=True) == Condition()
        outcomes.add(wanted.index(left))
        if how == "refused":
            assert list(store.facts()) == left
        again.commit(CHANGES)
        assert list(store.facts()) == list(FileBackend(project).facts()) == wanted[-1]
        assert again.check(thorough=True) == Condition()
        if ending.calls < k:
            break
    else:
        pytest.fail("there are more calls than were tried")
    assert outcomes == {0, len(CHANGES)}


@pytest.mark.req("R045")
def test_commit__cut_anywhere_in_its_lines__the_first_ones_and_the_same_call_completes_it(scratch):
    wanted = stages(scratch / "whole")
    whole = (scratch / "whole" / ".holdfast" / "facts.jsonl").read_bytes()
    begun(scratch / "before")
    before = (scratch / "before" / ".holdfast" / "facts.jsonl").read_bytes()
    assert whole.startswith(before)
    for length in range(len(before), len(whole), 7):
        project = scratch / str(length)
        begun(project)
        (project / ".holdfast" / "facts.jsonl").write_bytes(whole[:length])
        store = FileBackend(project)
        assert list(store.facts()) in wanted
        store.commit(CHANGES)
        assert list(store.facts()) == list(FileBackend(project).facts()) == wanted[-1]
        assert FileBackend(project).check(thorough=True) == Condition()
