"""A memory with far too many items: a dream compares a bounded number, and the others are archived."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast_app.offline
from holdfast import Holdfast
from holdfast.config.values import DreamConfig
from holdfast.facts.factrules import duplicate_key
from holdfast_app.dream import confirmed, memorytext, overflow, review
from holdfast_app.dream.dreamlog import Status


def memory(*items: str) -> str:
    return "# Ours\n\n## Facts\n\n" + "".join(f"- {item}\n" for item in items)


def texts(markdown: str) -> list[str]:
    return [item.text for item in memorytext.read(markdown).items]


def test_considered__few_items__returns_the_text_unchanged():
    text = memory("one", "two") + "\n<!-- kept -->\n"
    assert overflow.considered(text, {}, 2) == (text, "", 0)


def test_considered__many_items__keeps_the_first_and_lists_the_rest():
    found = overflow.considered(memory("one", "two", "three", "four"), {}, 2)
    assert texts(found.text) == ["one", "two"]
    assert (found.rest, found.further) == ("- three\n- four\n", 2)
    assert found.text.startswith("# Ours\n\n## Facts\n")


def test_considered__a_confirmed_item_at_the_end__is_kept_before_others():
    record = {confirmed.key_of("Four")}
    found = overflow.considered(memory("one", "two", "three", "four"), record, 2)
    assert texts(found.text) == ["one", "four"]
    assert found.rest == "- two\n- three\n"


def test_considered__repetitions_of_a_kept_item__are_left_out():
    found = overflow.considered(memory("one", "One", "one", "two"), {}, 2)
    assert (texts(found.text), found.rest) == (["one", "two"], "")


def test_considered__any_item__is_kept_or_in_the_rest():
    items = [f"item {n}" for n in range(50)]
    found = overflow.considered(memory(*items), {confirmed.key_of("item 40")}, 7)
    rest = [line.removeprefix("- ") for line in found.rest.splitlines()]
    assert sorted(map(duplicate_key, [*texts(found.text), *rest])) == sorted(map(duplicate_key, items))
    assert len(texts(found.text)) == 7


@pytest.fixture
def items(project: Path) -> list[str]:
    """The items of a project's memory, more than a dream compares, with a note of today that says something new."""
    found = [f"Service {n} listens on port {n}" for n in range(2_300)]
    folder = project / ".holdfast"
    Holdfast.open(project).close()  # what is typed from now on is the user's own
    (folder / "memory").mkdir(parents=True, exist_ok=True)
    (folder / "MEMORY.md").write_text(memory(*found), encoding="utf-8")
    note = "# Daily Memory: 2026-11-21\n\n## Session Notes (09:00)\n\n- Fact: The queue runs on Postgres 16\n"
    (folder / "memory" / "2026-11-21.md").write_text(note, encoding="utf-8")
    return found


def _is_kept_or_archived(project: Path, items: list[str]) -> bool:
    folder = project / ".holdfast"
    archive = (folder / "memory" / "dreams" / "archive.md").read_text(encoding="utf-8")
    kept = set(texts((folder / "MEMORY.md").read_text(encoding="utf-8")))
    return all(item in kept or f"- {item}" in archive for item in items)


def test_dream__a_memory_of_thousands_of_items__archives_those_it_does_not_compare(opened, project, items):
    result = opened(holdfast_app.offline).deep_dream(force=True)

    assert result.status is Status.DONE, result.reason
    assert result.overflow == 2_300 - overflow.bound(200)
    assert any("compares at most 2,000" in warning for warning in result.warnings)
    assert _is_kept_or_archived(project, items)


def test_dream__a_waiting_result_of_such_a_memory__archives_the_rest_when_accepted(opened, project, items):
    found = opened(holdfast_app.offline, dream=DreamConfig(apply="propose"))
    assert found.deep_dream(force=True).status is Status.PROPOSED
    assert not (project / ".holdfast" / "memory" / "dreams" / "archive.md").exists()

    review.accept(found.services)

    assert _is_kept_or_archived(project, items)
