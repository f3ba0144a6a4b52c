"""``[extract] when = "turn"``: each turn is extracted once it ended, once, whatever is killed in between."""

from typing import Any

import pytest
from tests.plugins.facts.test_ask_later import Model

from holdfast.api import Extraction, Holdfast, hookimpl
from holdfast_app import background
from holdfast_app.config import ExtractConfig
from holdfast_app.facts import flushing
from holdfast_app.facts.extraction.queue import Queue

TURN = ExtractConfig(when="turn")


@pytest.fixture(autouse=True)
def started(monkeypatch) -> list[str]:
    """The projects for which a process would have been started."""
    roots: list[str] = []
    monkeypatch.setattr(background, "start", lambda root, *words: roots.append(root))
    return roots


def say(memory: Holdfast, *texts: str, session: str = "s") -> None:
    for text in texts:
        memory.session(session).add("user", text)
        memory.session(session).add("assistant", f"Done: {text}")


def facts(memory: Holdfast) -> list[str]:
    return sorted(f.content for f in memory.facts.list())


def waiting(memory: Holdfast) -> int:
    return len(Queue(memory.services.state).items())


@pytest.mark.req("R033")
@pytest.mark.parametrize("quick", [False, True])
def test_run__again_then_flush_then_again__each_turn_is_extracted_once(opened, quick):
    model = Model()
    model.EXTRACTS_AT_ONCE = quick
    memory = opened(model, extract=TURN)
    say(memory, "one", "two")
    flushing.run(memory.services)
    flushing.run(memory.services)
    say(memory, "three")
    memory.session("s").flush()
    say(memory, "four")
    memory.session("s").end()
    flushing.run(memory.services)
    memory.extract_queued()
    read = [t for texts in model.asked for t in texts if t.startswith("Done")]
    # Within the flush the quick ones are asked for payload fields as well: their facts are not stored from there.
    assert set(read) == {"Done: one", "Done: two", "Done: three", "Done: four"}
    assert quick or len(read) == 4
    assert facts(memory) == ["They said four", "They said one", "They said three"]


def test_run__model_fails__turns_wait_and_come_once_when_it_answers(opened, clock):
    model = Model()
    model.error = ConnectionError("no route")
    memory = opened(model, extract=TURN)
    say(memory, "one")
    say(memory, "two", session="t")
    assert flushing.run(memory.services).failures
    assert len(model.asked) == 1, "a model that does not answer is not asked for the next turn at once"
    assert waiting(memory) == 2
    model.error = None
    clock.tick(minutes=10)
    say(memory, "three")
    flushing.run(memory.services)
    assert facts(memory) == ["They said one", "They said three", "They said two"]
    assert waiting(memory) == 0


@pytest.mark.parametrize(
    ("place", "asked"),
    [
        ("holdfast_app.facts.extraction.queue.note_extracted", 2),
        ("holdfast_app.facts.extraction.queue.Queue.remove", 1),
    ],
)
def test_run__killed_after_the_facts_were_stored__same_facts_are_not_stored_again(
    opened, clock, monkeypatch, place, asked
):
    class Killed(BaseException):
        pass

    def die(*_: object, **__: object) -> None:
        raise Killed

    model = Model()
    say(memory := opened(model, extract=TURN), "one")
    with monkeypatch.context() as dying:
        dying.setattr(place, die)
        with pytest.raises(Killed):
            flushing.run(memory.services)
    again = opened(model, extract=TURN)
    flushing.run(again.services)
    assert (waiting(again), len(model.asked)) == (1, 1), "its taker may still be at it"
    clock.tick(minutes=11)
    flushing.run(again.services)
    assert (waiting(again), len(model.asked)) == (0, asked)
    assert facts(again) == ["They said one"]


@pytest.mark.req("R004", "R007")
def test_flush__turns_were_summed_up_before__summaries_are_in_its_note_and_the_running_summary(opened, note):
    model = Model()
    memory = opened(model, extract=TURN)
    say(memory, "one", "two")
    flushing.run(memory.services)
    say(memory, "three")
    memory.services.hurried = True
    memory.session("s").compact(0)
    assert note().count("In short: one") == 1
    assert "In short: three" not in note()
    flushing.run(opened(model, extract=TURN).services)
    assert note().count("In short: three") == 1
    assert opened().session("s").summary == "In short: one\n\nIn short: three"


def test_run__session_is_purged__its_account_is_gone_and_nothing_comes_back(opened, project):
    memory = opened(Model(), extract=TURN)
    say(memory, "one")
    flushing.run(memory.services)
    memory.purge(subject="one")
    journal = (project / ".holdfast" / "state" / "sessions" / "s.jsonl").read_text()
    assert "In short: one" not in journal
    memory.purge(session="s")
    flushing.run(memory.services)
    assert memory.sessions() == []


def test_session__answer_is_added__extraction_is_started_only_with_the_setting(opened, started):
    say(opened(Model()), "one")
    assert started == []
    memory = opened(Model(), extract=TURN)
    memory.session("s").add("user", "two")
    assert started == []
    memory.session("s").add("assistant", "Done.")
    assert started == [memory.services.root]
    memory.services.hurried = True
    memory.session("s").add("assistant", "Really done.")
    assert len(started) == 1, "a client's hook starts it itself, at the end of its work"


def test_run__another_process_works__that_one_takes_the_new_turn_too(opened, monkeypatch):
    monkeypatch.setattr(flushing, "_PATIENCE_S", 0.1)
    model = Model()
    memory = opened(model, extract=TURN)
    say(memory, "one")
    other = opened(model, extract=TURN)
    ask = model.on_extract
    seen: list[int] = []

    class Slow:
        @hookimpl
        def on_extract(self, turns: Any, before: Any) -> Extraction:
            if not seen:
                seen.append(1)
                say(other, "two")
                assert flushing.run(other.services).retried == 0
            return ask(turns, before)

    first = opened(Slow(), extract=TURN)
    flushing.run(first.services)
    assert facts(memory) == ["They said one", "They said two"]
