"""The index is derived: without it the next search finds the same, and nothing removed is left in it."""

import random
from pathlib import Path

import pytest
from tests.support.forget import holding

from holdfast import Holdfast
from holdfast_app.search import index

FILE = Path(".holdfast/state") / index.FILE
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
WORDS = "apple heron lock zebra river copper needle lantern marble otter".split()  # noqa: SIM905 - read as a text
SUBJECTS = "Xanthippe Aspasia Diotima".split()  # noqa: SIM905 - read as a text


class History:
    """Random turns, facts, documents, ended sessions, days, retention, purges and searches."""

    def __init__(self, memory: Holdfast, project: Path, clock, payload, seed: int) -> None:
        self.memory, self.project, self.clock, self.payload = memory, project, clock, payload
        self.random = random.Random(seed)
        self.session = 0

    def say(self) -> str:
        said = self.random.choices(WORDS, k=self.random.randint(2, 9))
        if self.random.random() < 0.2:
            said.append(self.random.choice(SUBJECTS))
        return " ".join(said) + self.random.choice("..?")

    def step(self) -> None:
        others = (self.fact, self.document, self.end, self.retention, self.purge, self.search)
        self.random.choice((self.turns, self.turns, self.turns, *others))()

    def turns(self) -> None:
        for _ in range(self.random.randint(1, 4)):
            self.memory.session(f"s{self.session}").add(self.random.choice(("user", "assistant")), self.say())
            self.clock.tick(minutes=1)

    def fact(self) -> None:
        self.memory.facts.create(self.say(), category="context", confidence=0.9)

    def document(self) -> None:
        path = self.project / f"notes-{self.random.randint(1, 2)}.md"
        path.write_text("\n".join(self.say() for _ in range(self.random.randint(1, 4))) + "\n", encoding="utf-8")

    def end(self) -> None:
        self.turns()
        self.memory.session(f"s{self.session}").end(self.payload())
        self.session += 1

    def retention(self) -> None:
        self.clock.tick(days=self.random.randint(1, 30))
        self.memory.retention()

    def purge(self) -> None:
        subject = self.random.choice(SUBJECTS)
        assert self.memory.purge(subject=subject).clean
        assert holding(self.project, subject) == []
        self.search()
        assert holding(self.project, subject) == []

    def search(self) -> list[object]:
        return [
            self.memory.search(question, limit=25)
            for question in ("apple heron", "where is the copper needle?", *WORDS[2:5], SUBJECTS[0])
        ]


@pytest.mark.parametrize("seed", range(2))
def test_index__deleted_after_any_history__the_same_hits_in_the_same_order(opened, clock, payload, project, seed):
    history = History(opened(), project, clock, payload, seed)
    for _ in range(12):
        history.step()
    history.turns()
    kept = history.search()
    (project / FILE).unlink()
    assert history.search() == kept


def test_scrub__secret_in_the_index__no_byte_of_it_is_left_there(opened, project):
    made = opened()
    made.session("talk").add("user", f"the key is {SECRET} and the lock is new")
    assert made.search("lock")
    assert any(name.endswith("search.sqlite") for name in map(str, holding(project, SECRET)))
    with Holdfast.open(project) as memory:  # with the validators of every project
        assert memory.scrub().clean
        assert holding(project, SECRET) == []
        assert memory.search("lock")
        assert holding(project, SECRET) == []
