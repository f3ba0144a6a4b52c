"""The file store on the simulation's disk, which loses what was not synced (tests/simulation): killed, out of power, or
failing at each call that changes the disk.

The oracle is the state after each acknowledged step: whatever happens, a new process sees the last acknowledged state
or the one that the step that was hit would have made, as a whole; and the work can go on from there.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import cache
from itertools import count
from random import Random

import pytest
from tests.simulation.history import plugins
from tests.simulation.world import ROOT, Dead, Process, World

from holdfast.api import Conflict, Fact, NotFound, Unavailable
from holdfast.storage import ABSENT, Add, Condition, Remove, StorageBackend, Update, delete_fact, sha256, update_fact
from holdfast.testing.base import make_block, make_fact
from holdfast_file.backend import FileBackend

DAY, HEADER = "memory/2026-03-01.md", "# Daily Memory: 2026-03-01\n"
LONG = "- " + "\u00e9\U0001f469\u200d" * 200
Step = Callable[[StorageBackend], object]
#: The documents and the facts, as a reader sees them.
State = tuple[dict[str, str], list[Fact]]


def _append(block_id: str, text: str = "- short") -> Step:
    return lambda store: store.append(DAY, make_block(block_id, text), HEADER, block_id)


def _add(number: int, confidence: float = 0.5, limit: int = 2) -> Step:
    return lambda store: store.add_fact(make_fact(number, confidence=confidence), limit)


STEPS: tuple[Step, ...] = (
    lambda store: store.write("MEMORY.md", "# Memory\n", expected=ABSENT),
    _append("one"),
    _append("two", LONG),
    _add(1, 0.9),
    _add(2),
    lambda store: store.write("MEMORY.md", "# Memory\n- changed\n", expected=sha256("# Memory\n")),
    _append("two", LONG),
    _add(3),  # evicts 2
    lambda store: update_fact(store, "fact_00000003", confidence=0.1),
    _add(4),  # evicts 3
    _add(4),
    lambda store: delete_fact(store, "fact_00000001"),  # and the file is rewritten, see the fixture
    _add(5),
    lambda store: store.write("notes/deep/x.md", "x"),
    lambda store: store.delete("MEMORY.md"),
    _append("three"),
)


@pytest.fixture(autouse=True)
def spare(monkeypatch) -> None:
    monkeypatch.setattr("holdfast_file.facts.SPARE_DEAD_LINES", 0)


def observe() -> State:
    """Open the store as a new process would, and look. Changes nothing."""
    store = FileBackend(ROOT)
    return {name: document.text for name in store.names() if (document := store.read(name))}, list(store.facts())


@cache
def states() -> list[State]:
    """The state before the first step and after each one, when nothing goes wrong."""
    with World(Random(0), plugins()).installed():
        store = FileBackend(ROOT)
        return [observe(), *(observe() for step in STEPS if step(store) is not store)]


class Broken:
    """The steps until the change of the disk with that number, at which the process breaks in that way."""

    def __init__(self, way: str, at: int, chance: int) -> None:
        self.world = World(Random(f"{way} {at} {chance}"), plugins())
        self.world.break_at(at, way)
        self.done, self.way, self.chance = 0, way, self.world.chance
        self.told: BaseException | None = None

    def play(self) -> bool:
        """Whether it came so far. What it left has been checked."""
        with self.world.installed():
            store = FileBackend(ROOT)
            try:
                for step in STEPS:
                    step(store)
                    self.done += 1
            except (Dead, Unavailable) as error:
                self.told = error
            self.world.mend()
            if self.way == "cut":
                self.world.cut_power()
            assert isinstance(self.told, Unavailable) is (self.way == "fault" and self.done < len(STEPS))
            assert not isinstance(self.told, Unavailable) or (self.told.next_step and ROOT not in str(self.told))
            first, self.world.running = self.world.running, Process(2, timedelta())
            self._look(states()[self.done : self.done + 2])
            if self.done == len(STEPS):
                pass
            elif self.way == "fault" and self.chance.random() < 0.5:  # it knows that a flush failed, others do not
                self.world.running = first
                self._go_on(store)
            else:
                self._go_on(FileBackend(ROOT))
        return bool(self.world.hit)

    def _look(self, wanted: list[State]) -> State:
        found = observe()
        assert found in wanted, f"{self.world.hit} after step {self.done}: {found}"
        return found

    def _go_on(self, store: FileBackend) -> None:
        """Other work, or the step that was hit and some more; then the power is cut."""
        before = observe()
        if self.chance.random() < 0.3:
            store.append(DAY, make_block("other"), HEADER, "other")
            store.add_fact(make_fact(50), 100)
            self.world.cut_power()
            self._look([
                ({**texts, DAY: texts.get(DAY, HEADER) + make_block("other")}, [*facts, make_fact(50)])
                for texts, facts in states()[self.done : self.done + 2]
            ])  # fmt: skip
            return
        end = min(self.done + self.chance.choice((1, 1, 3)), len(STEPS))
        for at in range(self.done, end):
            try:
                STEPS[at](store)
            except (Conflict, NotFound):
                assert at == self.done, "only the step that was hit may find its work done"
                assert before == states()[at + 1]
        self._look([states()[end]])
        self.world.cut_power()
        self._look([states()[end]])


@pytest.mark.req("R142", "R143", "R167")
@pytest.mark.parametrize("way", ["kill", "cut", "fault"])
def test_steps__broken_at_each_change_of_the_disk__acknowledged_is_there_and_work_goes_on(way):
    """C1, C7, C8, E2, E3"""
    for at in count(1):
        hit = [Broken(way, at, chance).play() for chance in range(2)]
        if not all(hit):
            break
    assert at > 100


#: No fact twice. The last one evicts.
CHANGES = (Update("fact_00000009", source="again"), Remove("fact_00000001"), *(Add(make_fact(n), 4) for n in (2, 3, 4)))


@pytest.mark.req("R045")
@pytest.mark.parametrize("way", ["kill", "cut", "fault"])
def test_commit__of_many_facts_broken_at_each_change__the_first_ones_and_the_same_call_completes_it(way):
    def begun() -> FileBackend:
        store = FileBackend(ROOT)
        store.commit([Add(make_fact(n), 4) for n in (0, 1, 9)])
        return store

    with World(Random(0), plugins()).installed():
        store = begun()
        stages = [list(store.facts()), *(list(store.facts()) for one in CHANGES if store.commit([one]))]
    seen = set()
    for at in range(1, 40):
        for chance in range(4):
            world = World(Random(chance), plugins())
            with world.installed():
                store = begun()
                world.break_at(world.changes + at, way)
                with suppress(Dead, Unavailable):
                    store.commit(CHANGES)
                world.mend()
                if way == "cut":
                    world.cut_power()
                world.running = Process(2, timedelta())
                again = FileBackend(ROOT)
                left = list(again.facts())
                assert left in stages
                assert again.check(thorough=True) == Condition()
                seen.add(stages.index(left))
                again.commit(CHANGES)
                assert list(FileBackend(ROOT).facts()) == stages[-1]
                assert again.check(thorough=True) == Condition()
        if not world.hit:
            break
    assert {0, len(CHANGES)} <= seen
