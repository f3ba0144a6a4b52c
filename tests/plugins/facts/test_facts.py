"""The life of a fact over every backend: coming in, changing, leaving, and what the trail tells of it."""

import logging
import os
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import pytest

from holdfast.api import BadValue, DuplicateFact, Holdfast, NotFound, StorageConfig, hookimpl
from holdfast.models import AddOutcome, FactCandidate, Finding
from holdfast_app.config import Config, FactsConfig
from holdfast_app.facts.store import lifecycle
from holdfast_app.facts.store.factfile import read_rows
from holdfast_app.facts.store.lifecycle import Facts

Open = Callable[..., Holdfast]


@pytest.fixture
def backend() -> str:
    """The conformance suite runs each store, so only a few tests of this file do."""
    return "file"


@pytest.fixture
def opened(project, backend, clock, closing) -> Open:
    """``opened(max_facts=3)`` opens the project with these ``[facts]`` settings."""

    def open_(*, plugins: Any = (), **rules: Any) -> Holdfast:
        config = Config(storage=StorageConfig(backend=backend), facts=FactsConfig(**rules))
        return closing(Holdfast.open(project, config=config, clock=clock, plugins=plugins))

    return open_


@pytest.fixture
def facts(opened) -> Facts:
    return opened().facts


def contents(facts: Facts) -> list[str]:
    return [f.content for f in facts.list()]


class Masker:
    """Masks the word ``hunter2`` and refuses the word ``forbidden``."""

    @hookimpl
    def on_validate(self, request: Any) -> list[Finding]:
        found = [
            Finding(rule="secret", message="a secret", span=m.span(), replacement="[SECRET]")
            for m in re.finditer(r"hunter\n?2", request.text)
        ]
        if "forbidden" in request.text:
            found.append(Finding(rule="no", message="not here"))
        return found


@pytest.mark.req("R042", "R043", "R044")
def test_create__plain_fact__has_id_utc_time_and_every_field(facts, clock):
    result = facts.create("  User prefers tabs\n", "preference", 0.9, "chat")
    assert result.outcome is AddOutcome.ADDED
    fact = result.fact
    assert re.fullmatch(r"fact_[0-9a-f]{8}", fact.id)
    said = (fact.content, fact.category, fact.confidence, fact.source)
    assert said == ("User prefers tabs", "preference", 0.9, "chat")
    assert fact.created_at == clock.now
    assert fact.created_at.utcoffset() == timedelta(0)
    assert facts.get(fact.id) == fact


@pytest.mark.req("R043")
def test_create__id_collides__another_is_drawn(opened, monkeypatch):
    ids = iter(["fact_00000001", "fact_00000001", "fact_00000001", "fact_00000002"])
    monkeypatch.setattr(lifecycle, "draw_id", lambda: next(ids))
    facts = opened().facts
    facts.create("one")
    second = facts.create("two").fact
    assert second.id == "fact_00000002"
    assert contents(facts) == ["one", "two"]


@pytest.mark.req("R036", "R038")
@pytest.mark.parametrize(
    ("content", "category", "confidence", "field"),
    [
        (" \n\t", "nope", 7, "content"),
        (3, "goal", 0.5, "content"),
        ("a", "workflow", 7, "category"),
        ("a", None, 0.5, "category"),
        ("a", "goal", 1.2, "confidence"),
        ("a", "goal", float("nan"), "confidence"),
        ("a", "goal", True, "confidence"),
        ("a", "goal", "0.9", "confidence"),
        ("a", "goal", 10**400, "confidence"),
    ],
)
def test_create__bad_value__value_error_names_the_first_bad_field(facts, content, category, confidence, field):
    with pytest.raises(ValueError, match=f"^{field} ") as caught:
        facts.create(content, category, confidence)
    assert isinstance(caught.value, BadValue)
    assert caught.value.field == field
    assert facts.count() == 0


@pytest.mark.req("R053", "R054", "R055", "R056", "R057")
def test_create__same_content_in_other_case__skipped_logged_and_unchanged(facts, caplog):
    first = facts.create("Straße in Köln", "knowledge", 0.6).fact
    with caplog.at_level(logging.INFO, "holdfast"):
        second = facts.create(" STRASSE IN KO\u0308LN ", "goal", 1.0, "elsewhere")
    assert (second.outcome, second.duplicate_of, second.fact) == (AddOutcome.DUPLICATE, first.id, first)
    assert list(facts.list()) == [first]
    assert f"duplicate of {first.id}" in caplog.text
    assert "Straße" not in caplog.text


@pytest.mark.req("R058")
@pytest.mark.parametrize("backend", ["file", "sqlite"])
def test_add__limit_lowered_by_many__comes_down_at_once_and_all_are_told(opened, clock):
    facts, made = opened(max_facts=40).facts, []
    for number in range(40):
        clock.tick(seconds=1)
        made.append(facts.create(f"fact {number}", "goal", 0.5).fact.id)
    facts = opened(max_facts=2).facts
    result = facts.create("no, tabs", "correction", 0.1)
    assert contents(facts) == ["fact 39", "no, tabs"]
    assert tuple(line.id for line in facts.trail.entries()) == tuple(made[:39]) == result.evicted


@pytest.mark.parametrize("backend", ["file", "sqlite"])
def test_remember__full_store_and_an_older_value_leaves__nothing_else_is_evicted(opened):
    facts = opened(max_facts=2).facts
    facts.remember("The port is 8080", "context", 0.9)
    facts.remember("Likes tea", "preference", 0.1)
    assert facts.remember("The port is 9090", "context", 0.9).evicted == ()
    assert sorted(contents(facts)) == ["Likes tea", "The port is 9090"]


def test_trail__line_cut_by_a_full_disk__the_next_one_is_whole(opened, project, clock):
    facts = opened(max_facts=1).facts
    facts.create("first")
    clock.tick(seconds=1)
    second = facts.create("second").fact
    trail = project / ".holdfast" / "state" / "facts.log.jsonl"
    os.truncate(trail, trail.stat().st_size - 9)
    clock.tick(seconds=1)
    facts.create("third")
    assert [line.id for line in facts.trail.entries()] == [second.id]


@pytest.mark.req("R038", "R039", "R040", "R041")
def test_offer__around_the_threshold__below_is_skipped_and_logged_equal_is_kept(opened, caplog):
    facts = opened(bad_category="context").facts
    with caplog.at_level(logging.INFO, "holdfast"):
        low = FactCandidate(content="secret content", category="goal", confidence=0.49)
        fine = FactCandidate(content="b", category="workflow", confidence=0.5)
        below, equal = facts.store([facts.proposed(low), facts.proposed(fine)])
    assert (below.outcome, equal.outcome) == (AddOutcome.BELOW_THRESHOLD, AddOutcome.ADDED)
    assert equal.fact.category == "context"
    assert facts.create("said by a person", "goal", 0.0).outcome is AddOutcome.ADDED
    assert "0.49 is below the threshold 0.50" in below.reason
    assert "below the threshold" in caplog.text
    assert "secret content" not in caplog.text


@pytest.mark.req("R052")
def test_update__secret__stored_masked_and_compared_after_masking(opened, project):
    facts = opened(plugins=[("masker", Masker())]).facts
    facts.create("the key is [SECRET]")
    second = facts.create("something else").fact
    assert facts.update(second.id, content="my key is hunter2").content == "my key is [SECRET]"
    assert contents(facts) == ["the key is [SECRET]", "my key is [SECRET]"]
    with pytest.raises(DuplicateFact):
        facts.update(second.id, content="The key is hunter2")
    assert contents(facts) == ["the key is [SECRET]", "my key is [SECRET]"]
    assert not [p for p in project.rglob("*") if p.is_file() and b"hunter2" in p.read_bytes()]


@pytest.mark.req("R048")
@pytest.mark.parametrize("fact_id", ["fact_deadbeef", None, "x" * 1000])
@pytest.mark.parametrize("call", ["get", "delete", "update"])
def test_unknown_id__any_call__key_error_carrying_it(facts, call, fact_id):
    facts.create("a")
    with pytest.raises(KeyError) as caught:
        getattr(facts, call)(fact_id)
    assert isinstance(caught.value, NotFound)
    assert repr(fact_id) in str(caught.value)
    assert contents(facts) == ["a"]


@pytest.mark.req("R058", "R059", "R060", "R061")
@pytest.mark.parametrize("backend", ["file", "sqlite"])
def test_create__store_full__weakest_leaves_newcomer_enters(opened, clock, caplog):
    facts = opened(max_facts=3).facts
    made = []
    for content, confidence in (("a", 0.9), ("b", 0.2), ("c", 0.5)):
        clock.tick(seconds=1)
        made.append(facts.create(content, "goal", confidence).fact)
    with caplog.at_level(logging.INFO, "holdfast"):
        result = facts.create("d", "goal", 0.1)
    assert result.evicted == (made[1].id,)
    assert contents(facts) == ["a", "c", "d"]
    assert f"evicted for {result.fact.id}: {made[1].id}" in caplog.text
    (left,) = facts.trail.entries()
    assert (left.event, left.id, left.by, left.content) == ("evicted", made[1].id, result.fact.id, None)


def test_trail__update_and_delete__told_without_content(facts, project, clock):
    fact = facts.create("private words", "goal", 0.5).fact
    facts.update(fact.id, confidence=0.5)  # nothing changes, nothing to tell
    facts.update(fact.id, content="other words")
    facts.delete(fact.id)
    assert [(e.event, e.id, e.category, e.confidence, e.at) for e in facts.trail.entries()] == [
        ("updated", fact.id, "goal", 0.5, clock.now),
        ("deleted", fact.id, "goal", 0.5, clock.now),
    ]
    assert [e.why for e in facts.trail.entries()] == ["content changed by hand", "deleted by hand"]
    path = project / ".holdfast" / "state" / "facts.log.jsonl"
    assert "words" not in path.read_text(encoding="utf-8")
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.req("R042")
def test_list__order_limit_and_category__as_asked(facts):
    for content, category, confidence in (("a", "goal", 0.5), ("b", "context", 0.9), ("c", "goal", 0.5)):
        facts.create(content, category, confidence)
    assert contents(facts) == ["a", "b", "c"]
    assert [f.content for f in facts.list(order="confidence")] == ["b", "a", "c"]
    assert [f.content for f in facts.list(order="confidence", limit=2)] == ["b", "a"]
    assert [f.content for f in facts.list(category=" GOAL", limit=1)] == ["a"]
    assert facts.list(limit=0) == []


def test_import__some_bad_rows__good_ones_in_bad_ones_by_number(opened):
    facts = opened(plugins=[("masker", Masker())]).facts
    good = '{"content": "a", "category": "goal", "confidence": 0.1, "createdAt": "2020-01-01T00:00:00"}'
    lines = [
        *(good, "", "{not json", "[]"),
        '{"content": " ", "category": "goal", "confidence": 0.5}',
        '{"content": "b", "category": "workflow", "confidence": 0.5}',
        '{"content": "c", "category": "goal", "confidence": "0.5"}',
        '{"content": "d", "category": "goal", "confidence": 0.5, "id": "7"}',
        '{"content": "e", "category": "goal", "confidence": 0.5, "createdAt": "yesterday"}',
        '{"content": "forbidden", "category": "goal", "confidence": 0.5}',
        '{"content": "the password is hunter2", "category": "goal", "confidence": 0.5}',
        '{"content": "A", "category": "goal", "confidence": 0.5}',
    ]
    report = facts.import_(read_rows("\n".join(lines)))
    assert contents(facts) == ["a", "the password is [SECRET]"]
    assert facts.list()[0].created_at == datetime(2020, 1, 1, tzinfo=UTC)
    assert (report.added, report.duplicates) == (2, 1)
    assert [row.number for row in report.bad] == [3, 4, 5, 6, 7, 8, 9, 10]
    words = [row.why for row in report.bad]
    assert words[0] == "the row cannot be read: it is not JSON"
    assert [w.split()[0] for w in words[2:7]] == ["content", "category", "confidence", "id", "createdAt"]
    for text in ('[{"content": "a"', '{"facts": 3}'):
        with pytest.raises(ValueError, match=r"JSON|list"):
            list(read_rows(text))


@pytest.mark.req("R043", "R058")
@pytest.mark.parametrize("backend", ["file", "sqlite"])
def test_import__taken_ids_and_more_rows_than_fit__new_ids_and_never_above_the_cap(opened):
    facts = opened(max_facts=3).facts
    first = facts.create("first", "goal", 1.0).fact
    rows = [{"id": first.id, "content": f"n{i}", "category": "goal", "confidence": 0.5} for i in range(10)]
    report = facts.import_(rows)
    assert (report.added, report.evicted) == (10, 8)
    assert contents(facts) == ["first", "n8", "n9"]
    assert len({f.id for f in facts.list()}) == 3
    assert first.id not in {line.by for line in facts.trail.entries()}


def test_import__rows_without_times__each_is_newer_than_the_one_before(project):
    times = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=n) for n in count())
    with Holdfast.open(project, clock=lambda: next(times)) as memory:
        memory.facts.import_({"content": f"n{i}", "category": "goal", "confidence": 0.5} for i in range(5))
        created = [fact.created_at for fact in memory.facts.list()]
    assert created == sorted(set(created))


def test_rank_union__among_stronger_facts__is_refused_replaces_nothing_and_a_duplicate_is_named(opened):
    facts = opened(max_facts=3, rank_union=True).facts
    port = facts.create("The port is 8080", "context", 0.8).fact
    for n in range(2):
        facts.create(f"strong {n}", "goal", 0.8)
    result = facts.remember("The port is 9090", "context", 0.6)
    assert (result.outcome, result.replaced) == (AddOutcome.REFUSED, ())
    assert result.reason == "the store is full of facts that are at least as strong"
    assert facts.get(port.id) == port
    assert facts.create(" STRONG 1 ", "goal", 0.1).outcome is AddOutcome.DUPLICATE
    assert len(facts.create("as strong", "goal", 0.8).evicted) == 1
    assert facts.count() == 3
