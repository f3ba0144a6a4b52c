"""What a person removed, purged or replaced does not come back by itself: real stores, real dreams, real journals."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.plugins.dream.test_consolidation import say

from holdfast.api import AddOutcome, Extraction, FactCandidate, Holdfast, Message, hookimpl
from holdfast_app.dream import write

PORT, NEWER = "The port is 8080", "The port is 9090"


class Proposing:
    """An extractor that finds the same fact in every conversation, as a model that reads an old context does."""

    @hookimpl
    def on_extract(self) -> Extraction:
        return Extraction(facts=[FactCandidate(content=PORT, category="knowledge", confidence=0.9)])


@pytest.fixture
def memory(project, clock) -> Iterator[Holdfast]:
    with Holdfast.open(project, clock=clock, plugins=[("proposing", Proposing())]) as opened:
        yield opened


def stored(memory: Holdfast) -> list[str]:
    return [fact.content for fact in memory.facts.list()]


def remove(memory: Holdfast) -> None:
    memory.facts.delete(next(fact.id for fact in memory.facts.list() if fact.content == PORT))


def purge(memory: Holdfast) -> None:
    assert memory.purge(subject="8080").clean


def replace(memory: Holdfast) -> None:
    memory.facts.remember(NEWER)


def correct(memory: Holdfast) -> None:
    memory.facts.update(memory.facts.list()[0].id, content=NEWER)


@pytest.mark.parametrize("leave", [remove, purge, replace, correct])
def test_rejected__proposed_or_imported_again__stays_out_until_it_is_stated(memory, project, clock, leave):
    assert memory.facts.remember(PORT).outcome is AddOutcome.ADDED
    path = project / ".holdfast" / "MEMORY.md"
    path.write_text(f"# Memory\n\n- {PORT.upper()}.\n- The port decides\n")
    rows = list(memory.facts.export())
    leave(memory)
    assert path.read_text() == "# Memory\n\n- The port decides\n"
    after = stored(memory)
    assert PORT not in after
    clock.tick(minutes=1)
    (judged,) = memory.extract([{"role": "user", "content": "Which port is it?"}]).judged
    assert (judged.result.outcome, "`holdfast remember`" in judged.result.reason) == (AddOutcome.REFUSED, True)
    report = memory.facts.import_(rows)
    assert (report.added, [bad.why for bad in report.bad]) == (0, [judged.result.reason])
    assert stored(memory) == after
    assert PORT not in (Path(memory.services.state) / "rejected").read_text()
    clock.tick(minutes=1)
    assert memory.facts.remember(PORT).outcome is AddOutcome.ADDED
    assert memory.facts.import_(rows).duplicates == 1


def test_rejected__the_user_says_it_again__an_extractor_may_bring_it_back(memory, clock):
    memory.facts.remember(PORT)
    remove(memory)
    clock.tick(minutes=1)
    text = f"We are back to the old one. {PORT}, as before."
    memory.extract([Message(role="user", text=text, at=clock(), id="m1")])
    assert PORT in stored(memory)


def test_rejected__line_that_a_person_took_out_of_memory__is_not_dreamt_again(memory, project, clock):
    say(memory, "work", PORT, "The API lives in services/api")
    memory.deep_dream()
    path = project / ".holdfast" / "MEMORY.md"
    path.write_text(path.read_text().replace(f"- {PORT}\n", ""))
    clock.tick(days=1)
    say(memory, "work", "Payments are processed by Stripe")
    result = memory.deep_dream()
    assert result.added == ("Payments are processed by Stripe",)
    assert result.warnings[0].startswith("Left out 1 line of the notes: ")
    assert PORT not in path.read_text()
    clock.tick(days=1)
    say(memory, "work", PORT)
    assert memory.deep_dream().added == (PORT,)


def test_rejected__fact_removed_during_a_dream__the_next_one_removes_its_line_and_undo_restores_it(memory, clock):
    say(memory, "work", PORT, "The API lives in services/api")
    memory.deep_dream()
    clock.tick(minutes=1)
    with write.lock(memory.services):
        remove(memory)
    clock.tick(days=1)
    assert [gone.text for gone in memory.deep_dream(force=True).dropped] == [PORT]
    assert f"- {PORT}\n" not in memory.load().memory
    memory.undo_dream()
    assert f"- {PORT}\n" in memory.load().memory


def test_rejected__fact_that_a_person_changed_back__is_dreamt_into_memory(memory, clock):
    say(memory, "work", PORT)
    [fact] = memory.facts.list()
    for text in ("The port is 9090", PORT):
        clock.tick(minutes=1)
        memory.facts.update(fact.id, text)
    assert memory.deep_dream().added == (PORT,)


def test_rejected__dream_that_was_undone_or_memory_lost_as_a_whole__is_dreamt_again(memory, project, clock):
    say(memory, "work", PORT)
    memory.deep_dream()
    clock.tick(minutes=1)
    memory.undo_dream()
    clock.tick(days=1)
    say(memory, "work", "Payments are processed by Stripe")
    both = (PORT, "Payments are processed by Stripe")
    assert memory.deep_dream().added == both
    (project / ".holdfast" / "MEMORY.md").unlink()
    assert memory.deep_dream(force=True).added == both


def test_rejected__list_with_damaged_lines__is_read_around_them(memory):
    memory.facts.remember(PORT)
    remove(memory)
    path = Path(memory.services.state) / "rejected"
    path.write_bytes(b"\xff\x00 garbage\n" + path.read_bytes() + b"0123 2026-13-77T")
    memory.facts.remember(NEWER)
    memory.facts.delete(memory.facts.list()[0].id)
    rows = [{"content": one, "category": "knowledge", "confidence": 0.9} for one in (PORT, NEWER)]
    assert memory.facts.import_(rows).added == 0
