"""The dream's pipeline, with a dreamer that answers what the test wants: what is read, written, kept and told."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.api import DreamDraft, DreamSources, Finding, Holdfast, Refused, hookimpl
from holdfast.config.values import PluginConfig
from holdfast.plugin import discovery
from holdfast_app.config import DreamConfig
from holdfast_app.dream import pipeline
from holdfast_app.dream.dreamlog import Status

NOTE = "# Daily Memory: {day}\n\n## Session Notes (09:00)\n\n- Fact: {text}\n"
OLD = "# Memory\n\n- The API lives in services/api\n- Deploys need two reviewers\n"
NEW = "- The API lives in services/api\n- The queue runs on Postgres 16\n"


class Dreamer:
    """Answers ``memory`` and ``diary``, or raises; remembers what it was given."""

    def __init__(self, memory: str = NEW, diary: str = "Tidied up.") -> None:
        self.memory, self.diary = memory, diary
        self.asked: list[DreamSources] = []
        self.meanwhile: Callable[[], object] = lambda: None

    @hookimpl
    def on_dream(self, sources: DreamSources) -> DreamDraft | None:
        self.asked.append(sources)
        self.meanwhile()
        return DreamDraft(memory=self.memory, diary=self.diary)


class Strict:
    """A validator that refuses lines of a memory which hold a word."""

    def __init__(self, word: str) -> None:
        self.word = word

    @hookimpl
    def on_validate(self, request: Any) -> list[Finding]:
        if request.surface != "memory":
            return []
        lines = enumerate(request.text.splitlines(), 1)
        return [Finding(rule="test/word", message="holds it", line=n) for n, line in lines if self.word in line]


class Store:
    """The project's files as they lie on disk."""

    def __init__(self, project: Path) -> None:
        self.folder = project / ".holdfast"

    def note(self, day: str, text: str = "The queue runs on Postgres 16") -> str:
        return self.write(f"memory/{day}.md", NOTE.format(day=day, text=text))

    def write(self, name: str, text: str) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return name

    def read(self, name: str = "MEMORY.md") -> str | None:
        path = self.folder / name
        return path.read_text() if path.exists() else None

    def all(self) -> dict[str, str]:
        found = (path for path in sorted(self.folder.rglob("*.md")) if "state" not in path.parts)
        return {str(path.relative_to(self.folder)): path.read_text() for path in found}


@pytest.fixture
def store(project) -> Store:
    with Holdfast.open(project):  # what is typed from now on is the user's own
        return Store(project)


@pytest.fixture
def dreamer() -> Dreamer:
    return Dreamer()


DIARY = "memory/dreams/2026-11-21.md"


@pytest.mark.req("R018", "R019", "R020", "R021")
@pytest.mark.parametrize(("days", "read"), [(1, ["21"]), (3, ["19", "21"]), (30, ["01", "18", "19", "21"])])
def test_dream__some_days__reads_those_calendar_days_oldest_first(opened, store, dreamer, days, read):
    store.write("MEMORY.md", OLD)
    for day in ("01", "18", "19", "21"):
        store.note(f"2026-11-{day}", f"day {day}")
    store.note("2026-11-22", "a clock that went back leaves notes of tomorrow")
    result = opened(dreamer).deep_dream(lookback_days=days)
    (asked,) = dreamer.asked
    assert asked.memory == OLD
    assert [name for name, _ in asked.notes] == [f"memory/2026-11-{day}.md" for day in read]
    assert all(f"day {day}" in text for day, (_, text) in zip(read, asked.notes, strict=True))
    assert result.read == ("MEMORY.md", *(f"memory/2026-11-{day}.md" for day in read))


@pytest.mark.req("R026", "R027")
@pytest.mark.parametrize(
    "notes", [{}, {"2026-11-21": ""}, {"2026-11-21": "# Daily Memory: 2026-11-21\n\n \n"}, {"2026-10-01": "old"}]
)
def test_dream__no_note_with_content__is_skipped_and_the_memory_is_untouched(opened, store, dreamer, notes):
    store.write("MEMORY.md", OLD)
    for day, text in notes.items():
        store.write(f"memory/{day}.md", text)
    before = os.stat(store.folder / "MEMORY.md").st_mtime_ns
    result = opened(dreamer).deep_dream()
    assert (result.status, result.reason) == (Status.SKIPPED, "No recent daily note has content.")
    assert dreamer.asked == []
    assert store.read() == OLD
    assert os.stat(store.folder / "MEMORY.md").st_mtime_ns == before
    assert DIARY not in store.all()


def test_dream__more_than_may_be_read__leaves_out_the_oldest_and_says_so(opened, store, dreamer):
    for day in ("2026-11-19", "2026-11-20", "2026-11-21"):
        store.note(day, "y" * 200)
    result = opened(dreamer, dream=DreamConfig(max_chars=600)).deep_dream()
    assert result.left_out == ("memory/2026-11-19.md",)
    assert [name for name, _ in dreamer.asked[0].notes] == ["memory/2026-11-20.md", "memory/2026-11-21.md"]
    assert "- memory/2026-11-19.md: not read, there was too much" in (store.read(DIARY) or "")
    too_little = opened(dreamer, dream=DreamConfig(max_chars=10)).deep_dream(force=True)
    assert (too_little.status, "max_chars" in too_little.next_step) == (Status.FAILED, True)


def test_dream__more_statements_and_items_than_are_compared__diary_and_warnings_count_the_others(
    opened, store, dreamer
):
    facts = "\n".join(f"- Fact: Server {n} is in room {n}" for n in range(2_100))
    store.note("2026-11-21", f"## Notes\n<!-- holdfast:block id=b1 -->\n\n### What happened\n\n{facts}")
    dreamer.memory = "# Memory\n\n" + "".join(f"- Host {n} is ok\n" for n in range(4_200))
    store.write("MEMORY.md", dreamer.memory)
    result = opened(dreamer).deep_dream()
    statements, items = "100 older statements were not read", "200 items of MEMORY.md were not compared"
    for wanted in (statements, items, "A brief compares the newest 200 of the 2,101 statements"):
        assert any(wanted in warning for warning in result.warnings), result
        assert f"- {wanted}" in (store.read(DIARY) or "")


@pytest.mark.req("R025")
def test_dream__same_notes__are_dreamt_of_once_also_after_a_restart(opened, store, dreamer):
    store.note("2026-11-21")
    assert opened(dreamer).deep_dream().status is Status.DONE
    before = store.all()
    second = opened(dreamer).deep_dream()
    assert (second.status, second.reason) == (Status.SKIPPED, "The notes have not changed since the last dream.")
    assert store.all() == before
    assert len(dreamer.asked) == 1
    assert opened(dreamer).deep_dream(force=True).status is Status.DONE
    store.note("2026-11-20")
    assert opened(dreamer).deep_dream().status is Status.DONE
    assert len(dreamer.asked) == 3


@pytest.mark.req("R017")
def test_dream__if_due__runs_once_a_period(opened, store, dreamer, clock):
    memory = opened(dreamer)
    for day, due in (("21", True), ("21", False), ("22", True)):
        store.note(f"2026-11-{day}", f"said at {clock.now}")
        assert memory.dream_due() is due
        assert memory.deep_dream(if_due=True).status is (Status.DONE if due else Status.SKIPPED)
        clock.tick(hours=12 if due else 13)
    assert len(dreamer.asked) == 2
    assert not memory.dream_due()


@pytest.mark.req("R017")
def test_dream__if_due_after_a_failure__waits_an_hour(opened, store, clock):
    store.note("2026-11-21")
    failing = Dreamer(memory="")
    memory = opened(failing)
    for _ in range(3):
        memory.deep_dream(if_due=True)
    assert len(failing.asked) == 1
    clock.tick(hours=1)
    assert memory.dream_due()
    memory.deep_dream(if_due=True)
    assert len(failing.asked) == 2


def test_dream__two_at_once__only_one_dreams(opened, store, dreamer, monkeypatch):
    monkeypatch.setattr(pipeline, "WAIT_S", 0.1)
    store.note("2026-11-21")
    begun, go_on = threading.Event(), threading.Event()
    dreamer.meanwhile = lambda: begun.set() or go_on.wait(20)
    first = opened(dreamer)
    results = []
    thread = threading.Thread(target=lambda: results.append(first.deep_dream(if_due=True)))
    thread.start()
    assert begun.wait(20)
    assert not opened(dreamer).dream_due()
    second = opened(dreamer).deep_dream()
    go_on.set()
    thread.join()
    assert (results[0].status, second.status) == (Status.DONE, Status.SKIPPED)
    assert "Another run is under way" in second.reason
    assert len(dreamer.asked) == 1


@pytest.mark.req("R010", "R011", "R012", "R023", "R024")
def test_dream__done__memory_is_the_normalised_section_and_the_diary_tells_it(opened, store, dreamer):
    store.write("MEMORY.md", OLD)
    note = store.note("2026-11-21")
    dreamer.memory = "* The API lives in services/api\n\n### Storage\n1. The queue runs on Postgres 16\n"
    result = opened(dreamer).deep_dream(lookback_days=3)
    assert result.status is Status.DONE
    new = "# Memory\n\n- The API lives in services/api\n\n## Storage\n\n- The queue runs on Postgres 16\n"
    assert store.read() == new
    assert store.read(note) == NOTE.format(day="2026-11-21", text="The queue runs on Postgres 16")
    assert result.kept == ("The API lives in services/api",)
    assert result.added == ("The queue runs on Postgres 16",)
    assert [g.text for g in result.dropped] == ["Deploys need two reviewers"]
    assert result.lines[1].sources[0] == "memory/2026-11-21.md:5"
    assert result.diary == DIARY
    diary = store.read(DIARY) or ""
    assert diary.startswith("# Dream Diary: 2026-11-21\n\n## Dream (14:30)\n")
    assert "> Tidied up." in diary
    assert "- MEMORY.md\n- memory/2026-11-21.md" in diary
    assert "- The queue runs on Postgres 16 [memory/2026-11-21.md:5]" in diary
    assert "- Deploys need two reviewers (left out by the dream)" in diary


def test_dream__trial__writes_nothing_but_its_record(opened, store, dreamer):
    store.write("MEMORY.md", OLD)
    store.note("2026-11-21")
    before = store.all()
    result = opened(dreamer).deep_dream(dry_run=True)
    assert (result.status, result.dry_run) == (Status.PROPOSED, True)
    assert "-- Deploys need two reviewers\n+- The queue runs on Postgres 16" in result.diff
    assert store.all() == before
    assert opened(dreamer).deep_dream().status is Status.DONE


@pytest.mark.req("R023", "R027")
@pytest.mark.parametrize(
    ("memory", "old", "reason"),
    [
        ("", OLD, "None of the draft's items"),
        ("Done.", OLD, "None of the draft's items"),
        ("- none\n- N/A", OLD, "None of the draft's items"),
        ("- Postgres", OLD, "None of the draft's items"),
        ("All is well and nothing has to be changed in the memory.", OLD, "None of the draft's items"),
        ("- The queue runs on Postgres 16\n" * 3 + "- The queue runs on Postgres " * 100, OLD, "more than"),
        (NEW, f"<<<<<<< HEAD\n{OLD}=======\n{NEW}>>>>>>> main\n", "MEMORY.md has git conflict markers"),
    ],
)
def test_dream__useless_draft_or_a_memory_in_conflict__changes_nothing(opened, store, memory, old, reason):
    store.write("MEMORY.md", old)
    store.note("2026-11-21")
    before = store.all()
    result = opened(Dreamer(memory=memory)).deep_dream()
    assert result.status is Status.FAILED
    assert reason in result.reason
    assert store.all() == before


@pytest.mark.req("R028", "R029")
def test_dream__line_that_is_refused__costs_the_line_and_is_told(opened, store, dreamer):
    store.write("MEMORY.md", OLD)
    store.note("2026-11-21")
    dreamer.memory = NEW + "- It was always gold and silver\nSome prose.\n"
    result = opened(dreamer, Strict("gold")).deep_dream()
    assert result.status is Status.DONE
    assert "gold" not in (store.read() or "")
    assert {(g.text, g.reason) for g in result.refused} == {
        ("It was always gold and silver Some prose.", "holds it (test/word)")
    }
    assert "It was always gold and silver Some prose. (holds it (test/word))" in (store.read(DIARY) or "")


def test_dream__line_that_a_person_wrote__stays_whatever_a_validator_says(opened, store, dreamer):
    store.write("MEMORY.md", "# Ours\n\nnot all gold glitters\n\n* all that is gold\n")
    store.note("2026-11-21")
    dreamer.memory = "- all that is gold\n- not all gold glitters\n- The queue runs on Postgres 16"
    result = opened(dreamer, Strict("gold")).deep_dream()
    assert result.refused == ()
    assert store.read() == "# Ours\n\n- all that is gold\n- not all gold glitters\n- The queue runs on Postgres 16\n"


def test_dream__secret__neither_reaches_the_dreamer_nor_any_file_and_the_dream_goes_on(opened, store, dreamer):
    """One of them in a line that no validator likes."""
    secret = "ghp_" + ("a1B2c3D4e5F6g7H8i9J0" * 2)[:36]
    store.write("MEMORY.md", f"- 2026-11-20: pushed with token={secret}\n")
    store.note("2026-11-21", f"by hand: token={secret}")
    dreamer.memory = f"- The token is {secret}\n- The queue runs by hand"
    dreamer.diary = f"I saw {secret}."
    plugins = {name: PluginConfig(enabled=name in ("curated", "redaction")) for name in discovery.defaults()}
    result = opened(dreamer, plugins=plugins).deep_dream()
    assert result.status is Status.DONE, result.reason
    assert "2026-11-20: pushed" in dreamer.asked[0].memory
    assert secret not in str(dreamer.asked) + str(result)
    found = [p for p in store.folder.rglob("*") if p.is_file() and secret.encode() in p.read_bytes()]
    assert [p.name for p in found] == ["2026-11-21.md"]  # by hand


def test_dream__loses_more_than_half__is_refused_unless_forced(opened, store, dreamer):
    store.write("MEMORY.md", "# Memory\n\n" + "".join(f"- Service {n} is at port {n}\n" for n in range(10)))
    store.note("2026-11-21")
    before = store.read()
    result = opened(dreamer).deep_dream()
    assert (result.status, "of the 10 items" in result.reason) == (Status.FAILED, True)
    assert result.diff
    assert store.read() == before
    assert opened(dreamer).deep_dream(force=True).status is Status.DONE


def test_dream__memory_edited_meanwhile__fails_and_keeps_the_edit(opened, store, dreamer):
    store.write("MEMORY.md", OLD)
    store.note("2026-11-21")
    dreamer.meanwhile = lambda: store.write("MEMORY.md", OLD + "- Added by hand\n")
    result = opened(dreamer).deep_dream()
    assert (result.status, "was edited since" in result.reason) == (Status.FAILED, True)
    assert result.next_step.startswith("Dream again: `holdfast dream`,"), "`--force` lifts the loss guard"
    assert store.read() == OLD + "- Added by hand\n"
    assert store.read(DIARY) is None


def test_dream__edited_at_the_last_moment__diary_takes_it_back(opened, store, dreamer, monkeypatch):
    store.write("MEMORY.md", OLD)
    store.note("2026-11-21")
    memory = opened(dreamer)
    backend = memory.store.backend
    append = backend.append

    def edit_after(name: str, *rest: Any) -> str:
        revision = append(name, *rest)
        store.write("MEMORY.md", OLD + f"- by hand {len(store.read(DIARY) or '')}\n")
        return revision

    monkeypatch.setattr(backend, "append", edit_after)
    assert memory.deep_dream().status is Status.FAILED
    assert (store.read() or "").startswith(OLD + "- by hand")
    diary = store.read(DIARY) or ""
    assert diary.count("## Dream (14:30)") == diary.count("## Dream not applied (14:30)") == 1


def test_undo__dream__brings_back_every_byte_unless_edited_since_and_not_forced(opened, store, dreamer, clock):
    store.write("MEMORY.md", OLD)
    store.note("2026-11-21")
    memory = opened(dreamer)
    with pytest.raises(Refused, match="No dream can be undone"):
        memory.undo_dream()
    memory.deep_dream()
    dreamt = store.read()
    assert memory.undo_dream().status is Status.UNDONE
    assert store.read() == OLD
    assert "## Dream undone (14:30)" in (store.read(DIARY) or "")
    assert opened(dreamer).deep_dream().status is Status.SKIPPED  # the same notes would lead to the same again
    clock.tick(seconds=1)
    memory.undo_dream()
    assert store.read() == dreamt
    store.write("MEMORY.md", "- by hand\n")
    with pytest.raises(Refused, match="edited since"):
        memory.undo_dream()
    clock.tick(seconds=1)
    memory.undo_dream(force=True)
    assert store.read() == OLD
    memory.undo_dream()
    assert store.read() == "- by hand\n"


def test_dreams__every_run__is_recorded(opened, store, dreamer, clock):
    memory = opened(dreamer)
    memory.deep_dream()
    store.note("2026-11-21")
    dreamer.memory = ""
    memory.deep_dream()
    dreamer.memory = NEW
    done = memory.deep_dream()
    memory.deep_dream(if_due=True)
    memory.undo_dream()
    runs = opened(dreamer).dreams()
    assert [r.status for r in runs] == ["skipped", "failed", "done", "skipped", "undone"]
    assert runs[2] == done
    assert all(r.reason for r in runs if r is not runs[2])
    log = store.folder / "state" / "dreams.jsonl"
    assert log.stat().st_mode & 0o777 == 0o600
    with log.open("a") as file:
        file.write('{"id": "cut off by a cra')
    memory.deep_dream()
    assert len(memory.dreams()) == 6


def test_dream__several_plugins__the_one_that_was_enabled_wins_and_config_decides(
    opened, store, dreamer, config, project, clock
):
    store.note("2026-11-21")
    offline = Dreamer(memory="- The queue runs offline")
    for named, asked in (("", dreamer), ("offline", offline)):
        plugins = [("offline", offline), ("a-model", dreamer)]
        settled = config(dream=DreamConfig(plugin=named))
        with Holdfast.open(project, config=settled, clock=clock, plugins=plugins) as memory:
            before = len(asked.asked)
            assert memory.services.plugins.implementing("on_dream") == ("a-model", "offline")
            assert memory.deep_dream(force=True).plugin == (named or "a-model")
            assert len(asked.asked) == before + 1
    failed = opened(dreamer, dream=DreamConfig(plugin="missing")).deep_dream(force=True)
    assert (failed.status, "'missing'" in failed.reason) == (Status.FAILED, True)
    assert opened().deep_dream(force=True).reason == "No plugin dreams."
