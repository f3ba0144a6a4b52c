"""A flush is durable before any model is asked: what models say comes later, once, and never holds a flush up."""

import time
from typing import Any

import pytest

from holdfast.api import Extraction, FactCandidate, Holdfast, Payload, hookimpl
from holdfast.fs import durable
from holdfast.journal.safety import State
from holdfast_app.checkup import mending
from holdfast_app.facts.extraction.queue import Queue


class Model:
    """Stands for a plugin that asks a model."""

    EXTRACTS_AT_ONCE = False

    def __init__(self, draft: Payload | None = None) -> None:
        self.draft = draft or Payload(objective="guessed")
        self.asked: list[list[str]] = []
        self.seen: list[tuple[Any, ...]] = []
        self.told: list[tuple[str, ...] | None] = []
        self.look: Any = None
        self.error: Exception | None = None
        self.category = "knowledge"

    @hookimpl
    def on_extract(self, turns, before):
        texts = [m.text for turn in turns for m in turn.messages]
        self.asked.append(texts)
        self.told.append(before.facts)
        if self.look:
            self.seen.append(self.look())
        if self.error:
            raise self.error
        fact = FactCandidate(content=f"They said {texts[0]}", category=self.category, confidence=0.9)
        return Extraction(summary=f"In short: {texts[0]}", facts=[fact], draft=self.draft)


@pytest.mark.req("R031", "R033")
def test_flush__a_model_is_asked__after_all_is_durable_and_without_the_lock(opened, project, note):
    model = Model()
    memory = opened(model)
    session = memory.session("s")
    session.add("user", "hello")

    def look() -> tuple[Any, ...]:
        with durable.lock(project / ".holdfast" / "state" / "sessions" / "s.flush.lock", timeout_s=0.1):
            return (session.state, memory.unsafe(), note().count("<!-- holdfast:block"), session.unflushed)

    model.look = look
    receipt = session.flush()
    assert model.seen == [(State.SAFE, [], 1, [])]
    assert "**Objective:** hello" in receipt.summary  # a draft that comes late fills no field
    assert [f.content for f in memory.facts.list()] == ["They said hello"]
    session.flush()
    assert len(model.asked) == 1


@pytest.mark.req("R007", "R004", "R030", "R031")
def test_flush__a_model_sums_up__summary_is_in_the_note_the_callback_and_the_running_summary(opened, note):
    model, heard = Model(), []
    session = opened(model).session("s")
    session.add("user", "hello")
    session.compact(0, on_summary=heard.append)
    assert "## Summary (14:30)\n" in note()
    assert "\nIn short: hello\n" in note()
    assert len(heard) == 1
    assert heard[0].endswith("In short: hello")
    assert session.summary == "In short: hello"  # and not the shortened lines that stood in for it
    assert opened().session("s").summary == "In short: hello"


def test_flush__somebody_waits_for_the_answer__turns_wait_durably_and_come_once(opened, note):
    model = Model()
    memory = opened(model)
    memory.services.hurried = True
    session = memory.session("s")
    for text in ("one", "two"):
        session.add("user", text)
        session.compact(0)
    assert model.asked == []
    assert "one" in session.summary
    later = opened(model)
    assert len(later.extract_queued().added) == 2
    assert later.extract_queued().added == ()
    assert note().count("In short:") == 2
    assert later.session("s").summary == "In short: one\n\nIn short: two"
    assert session.state is State.SAFE
    assert session.flush().repeated


def test_flush__model_fails__flush_stands_warns_and_the_turns_wait(opened, clock):
    model = Model()
    model.error = ConnectionError("no route")
    memory = opened(model)
    session = memory.session("s")
    session.add("user", "hello")
    receipt = session.flush()
    assert session.state is State.SAFE
    assert any("no route" in w for w in receipt.warnings)
    model.error = None
    clock.tick(minutes=10)
    session.add("user", "more")
    session.flush()
    assert {f.content for f in memory.facts.list()} == {"They said hello", "They said more"}


def test_flush__extractor_that_should_be_quick_hangs__flush_goes_on_without_it(opened, monkeypatch, note):
    monkeypatch.setattr("holdfast.plugin.calls.AT_ONCE_S", 0.05)

    class Hangs:
        EXTRACTS_AT_ONCE = True

        @hookimpl
        def on_extract(self, turns):
            time.sleep(1)

    session = opened(Hangs()).session("s")
    session.add("user", "hello")
    receipt = session.flush()
    assert ["longer than 0.05 s" in w for w in receipt.warnings] == [True]
    assert "**Objective:** hello" in note()


@pytest.mark.parametrize("at_once", [True, False])
def test_flush__a_malformed_fact__is_counted_with_its_field(opened, at_once):
    model = Model()
    model.EXTRACTS_AT_ONCE, model.category = at_once, "infrastructure"
    session = opened(model).session("s")
    session.add("user", "hello")
    assert session.flush().warnings == ("1 fact left out, for a bad `category` by test0.",)


def test_queue__never_tried_for_a_month__is_not_given_up(opened, clock):
    model = Model()
    memory = opened(model)
    memory.services.hurried = True
    memory.session("s").add("user", "hello")
    memory.session("s").flush()
    clock.tick(days=30)
    done = opened(model).extract_queued()
    assert (len(done.added), done.given_up) == (1, ())
    services = memory.services
    assert Queue(services.state).items() == []


def test_flush__session_is_purged_before_the_model_is_asked__nothing_of_it_comes_back(opened, project, note):
    model = Model()
    memory = opened(model)
    memory.services.hurried = True
    session = memory.session("s")
    session.add("user", "hello")
    session.flush()
    memory.purge(session="s")
    opened(model).extract_queued()
    assert note() == "" or "hello" not in note()
    assert memory.sessions() == []


READ_AS_OPEN = Payload(objective="Fix the login page", next_step="Run the tests again.", work_open=True)
READ_AS_DONE = Payload(objective="Fix the login page", work_open=False)


@pytest.mark.req("R033", "R099")
@pytest.mark.parametrize("read", [READ_AS_OPEN, READ_AS_DONE])
def test_flush__a_model_reads_its_end__work_is_as_the_model_says_and_stays_when_the_handoff_is_repaired(
    opened, project, read
):
    memory = opened(Model(read))
    memory.session("s").add("user", "go on")
    memory.session("s").flush()
    for _ in range(2):
        (work,) = memory.work.list(everything=True)
        assert (work.objective, work.is_open) == ("Fix the login page", read.work_open)
        assert work.next_action == (read.next_step or "")
        handoff = project / ".holdfast" / "continuity" / "active.md"
        handoff.write_text(handoff.read_text(encoding="utf-8")[:30], encoding="utf-8")
        mending.mend_document(memory.services, "continuity/active.md")
    assert memory.session("s").flush().repeated


@pytest.mark.parametrize(
    ("said", "stated", "objective", "next_step"),
    [
        ("go on", {"next_step": "Ask Ana.", "work_open": True}, "go on", "Ask Ana."),
        ("go on", {"blockers": ["no key"]}, "Fix the login page", "go on"),
        ("go on", {"objective": "Ship 2.0", "work_open": True}, "Ship 2.0", "go on"),
    ],
)
def test_flush__a_model_reads_its_end__what_was_stated_stays(opened, said, stated, objective, next_step):
    memory = opened(Model(READ_AS_DONE))
    memory.session("s").add("user", said)
    memory.session("s").flush({"curated": "none", **stated})
    (work,) = memory.work.list()
    assert (work.objective, work.next_action) == (objective, next_step)


def test_flush__decided_or_flushed_again_before_the_model_reads__that_counts(opened):
    memory = opened(Model(READ_AS_OPEN))
    memory.services.hurried = True
    for name in ("closed", "goes on"):
        memory.session(name).add("user", "Look at the page.")
        memory.session(name).flush()
    memory.work.close("closed")
    memory.session("goes on").add("user", "Look at the footer.")
    memory.session("goes on").flush({"next_step": "Ask Ana.", "curated": "none"})
    opened(Model(READ_AS_OPEN)).extract_queued()
    (work,) = memory.work.list()
    assert (work.session, work.next_action) == ("goes on", "Ask Ana.")


def test_flush__a_model_says_that_all_kept_is_none__statements_with_a_label_stay(project, clock, closing):
    class Retires:
        @hookimpl
        def on_extract(self, known):
            return Extraction(retire=[one.id for one in known])

    memory = closing(Holdfast.open(project, clock=clock, plugins=[("model", Retires())]))
    session = memory.session("s")
    session.add("user", "Always run the linter before a commit.\nRULE: never push to main.")
    session.flush()
    assert list(memory.work.rules().values()) == ["never push to main."]
