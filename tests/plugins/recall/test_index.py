"""The index: derived, brought up to date by what is new, made again when it is damaged, and without what was purged."""

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from tests.support import processes
from tests.support.dying import dies
from tests.support.forget import holding

from holdfast.api import Holdfast, Message
from holdfast_app.records import packs
from holdfast_app.search import index, words

FILE = Path(".holdfast/state") / index.FILE


@pytest.fixture
def memory(opened):
    made = opened()
    for number in range(30):
        made.session("talk").add("user", f"turn {number} about apples and topic{number}", message_id=f"m{number}")
    return made


def hits(memory, question: str = "apples topic7") -> list[tuple[str, float]]:
    return [(hit.place, hit.score) for hit in memory.search(question)]


@pytest.mark.parametrize("damage", ["deleted", "text", "cut", "middle", "version", "table", "value"])
def test_index__file_damaged__made_again_with_the_same_hits(memory, project, damage):
    before = hits(memory)
    path = project / FILE
    data = path.read_bytes()
    if damage == "deleted":
        path.unlink()
    elif damage == "text":
        path.write_bytes(b"this is no database\n" * 1000)
    elif damage == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "middle":
        path.write_bytes(data[:100] + b"\xff" * (len(data) - 100))
    else:
        changes = {"version": "PRAGMA user_version=99", "table": "DROP TABLE source"}
        with closing(sqlite3.connect(path)) as db, db:
            db.execute(changes.get(damage, "UPDATE text_content SET c0 = NULL"))
    assert hits(memory) == before


def test_index__a_turn_of_a_million_dots__is_split_in_a_moment():
    began = time.process_time()
    assert len(words.passages("." * 1_000_000, most=100)) == 1
    assert time.process_time() - began < 5


def test_dream__in_the_background__brings_what_is_derived_up_to_date(memory, project):
    memory.session("talk").end()
    processes.run("--root", str(project), "dream", "--if-due")
    [note] = (project / ".holdfast" / "memory").glob("*.md")
    assert f"memory/{note.name}" in (project / FILE).with_name("clean.json").read_text()
    with closing(sqlite3.connect(project / FILE)) as db:
        assert db.execute("SELECT texts FROM source WHERE kind = 'turn'").fetchone() == (30,)


SEARCH = """
import sys
from holdfast import Holdfast
from holdfast.models import Message
with Holdfast.open(sys.argv[1]) as memory:
    for _ in range(int(sys.argv[2])):
        found = memory.search("apples topic7")
        assert found[0].place == "m7", found
"""


def test_index__rebuild_killed_and_two_processes_at_once__goes_on_and_all_is_found(memory, project, monkeypatch):
    said = datetime(2026, 11, 20, tzinfo=UTC)
    memory.session("long").extend(Message(role="user", text=f"plum {n}", id=f"l{n}", at=said) for n in range(3_000))
    memory.close()
    path, add, steps = project / FILE, index._add, count()

    def step(*given) -> None:
        if next(steps) == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        add(*given)

    def killed() -> None:
        monkeypatch.setattr(index, "_add", step)
        with Holdfast.open(project) as other:
            other.search("apples topic7")

    assert dies(0, killed)
    before = _entries(path)
    running = [subprocess.Popen([sys.executable, "-c", SEARCH, str(project), "1"]) for _ in range(2)]
    assert [one.wait(timeout=120) for one in running] == [0, 0]
    processes.run("--root", str(project), "search", "--index")
    assert 0 < before < _entries(path) == 3_030


def _entries(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute("SELECT count(*) FROM entry").fetchone()[0])


@pytest.mark.parametrize("has_index", [True, False])
def test_search__nothing_can_be_written__works_from_the_journals(memory, project, has_index):
    if has_index:
        memory.search("apples")
        memory.session("talk").add("user", "and then came the quinces", message_id="q")
    memory.close()
    before = (project / FILE).read_bytes() if has_index else None
    script = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n" + SEARCH
    ran = subprocess.run([sys.executable, "-c", script, str(project), "2"], check=False, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ((project / FILE).read_bytes() if has_index else None) == before


def test_purge__after_a_search__no_byte_of_it_is_left_and_the_rest_is_found(memory, project):
    memory.session("talk").add("user", "Ask Xanthippe about apples", message_id="x")
    assert memory.search("Xanthippe")
    assert holding(project, "Xanthippe")
    file = (project / FILE).stat().st_ino
    assert memory.purge(subject="Xanthippe").clean
    assert (project / FILE).stat().st_ino == file  # by rows: no question waits until all of it is indexed again
    assert holding(project, "Xanthippe") == []
    assert hits(memory)[0][0] == "m7"
    assert not memory.search("Xanthippe")
    assert holding(project, "Xanthippe") == []


def test_purge__while_others_search__no_byte_of_it_is_left(memory, project):
    memory.session("talk").add("user", "Ask Xanthippe about apples", message_id="x")
    stop = threading.Event()

    def search() -> None:
        with Holdfast.open(project) as other:
            while not stop.is_set():
                other.search("Xanthippe apples")

    searching = [threading.Thread(target=search) for _ in range(2)]
    for one in searching:
        one.start()
    try:
        report = memory.purge(subject="Xanthippe")
    finally:
        stop.set()
        for one in searching:
            one.join()
    assert report.clean, report.left
    assert holding(project, "Xanthippe") == []


def test_index__documents_edited_and_facts_deleted__no_old_word_left_in_the_file(memory, project):
    path = project / ".holdfast" / "MEMORY.md"
    path.write_text("# Memory\n\n- The server is called quetzalcoatl\n")
    path.with_name("USER.md").write_text("# User\n\n- Prefers tlaloc\n")
    made = memory.facts.create("The proxy is called huitzilopochtli", "knowledge", 0.9)
    assert memory.search("quetzalcoatl")
    assert b"huitzilopochtli" in (project / FILE).read_bytes()
    path.write_text("# Memory\n\n- The server is called kestrel\n")
    assert memory.search("tlaloc")  # in a document that did not change
    memory.facts.delete(made.fact.id)
    assert memory.search("kestrel")
    left = (project / FILE).read_bytes()
    assert b"quetzal" not in left
    assert b"huitzil" not in left


def test_search__much_is_new__answers_from_the_newest_and_the_background_adds_the_rest(opened, monkeypatch):
    begun: list[tuple[str, ...]] = []
    monkeypatch.setattr("holdfast_app.background.start", lambda _, *words: begun.append(words))
    monkeypatch.setattr(index, "MOST", 20)
    monkeypatch.setattr(packs, "KEPT", 10)
    memory = opened()
    for number in range(50):
        with memory.session(f"talk-{number:02}") as session:
            session.add("user", f"turn about plum{number} and apples")
    assert set(begun) == {("search", "--index")}  # when sessions were packed
    before = len(begun)
    asked = partial(memory.search, "plum1", kinds=["turn"])
    assert memory.search("plum49")  # of the newest note
    found = asked()
    assert (list(found), "not searched yet" in found.warning) == ([], True)
    assert begun[before:] == [("search", "--index")] * 2
    index.complete(memory)
    found = asked()
    assert ([hit.name for hit in found], found.warning) == (["talk-01"], "")
    assert len(begun) == before + 2
