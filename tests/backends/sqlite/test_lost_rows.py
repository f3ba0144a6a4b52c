"""Rows that were deleted in the database itself, and a database that was removed, are noticed and named."""

import sqlite3

import attrs
import pytest

from holdfast.api import Holdfast, Outcome
from holdfast_app import data_loss
from holdfast_app.checkup import examine as doctor


@pytest.fixture
def root(tmp_path):
    (tmp_path / "holdfast.toml").write_text('[storage]\nbackend = "sqlite"\n')
    (tmp_path / ".git").mkdir()
    with Holdfast.open(tmp_path) as memory:
        memory.session("one").add("user", "Fix the login test")
        memory.session("one").flush()
        for number in range(10):
            last = memory.facts.create(content=f"Fact {number} is stored", category="knowledge", confidence=0.9).fact
        more = attrs.evolve(last, id="fact_00000001", content="It evicts three", confidence=0.95)
        assert len(memory.services.store.backend.add_fact(more, 8).evicted) == 3
        memory.facts.delete(memory.facts.list()[-1].id)
        memory.facts.delete(memory.facts.list()[0].id)
    return tmp_path


def sql(root, statement):
    with sqlite3.connect(root / ".holdfast" / "holdfast.db") as connection:
        changed = connection.execute(statement).rowcount
        connection.commit()
    connection.close()
    return changed


def lost(root):
    with Holdfast.open(root) as memory:
        return memory.services.store.backend.check().lost


def named(root):
    with Holdfast.open(root) as memory:
        quick, full = data_loss.newest(memory.services), data_loss.every(memory.services)
        assert [one.message for one in quick] == [one.message for one in full]
        assert not quick or "MISSING" in str(memory.load()) or "missing" in str(memory.load())
        return "\n".join(one.message for one in quick)


@pytest.mark.parametrize(
    ("where", "number"), [("seq >= (SELECT max(seq) - 2 FROM facts)", 3), ("seq = (SELECT min(seq) FROM facts)", 1)]
)
def test_facts__rows_deleted_in_the_database__counted_and_accepted_on_request(root, where, number):
    assert sql(root, f"DELETE FROM facts WHERE {where}") == number
    assert lost(root) == number
    assert "missing from .holdfast/holdfast.db#facts" in named(root)
    with Holdfast.open(root) as memory:
        for more in range(number):  # what comes later hides nothing
            memory.facts.create(content=f"Later {more}", category="knowledge", confidence=0.9)
        assert memory.services.store.backend.check().lost == number
    assert lost(root) == number
    [told] = [c for c in doctor.examine(str(root)) if c.outcome is Outcome.FAIL]
    assert "missing" in told.message
    doctor.examine(str(root), repair=True)
    assert lost(root) == 0
    with Holdfast.open(root) as memory:
        memory.facts.create(content="After it", category="knowledge", confidence=0.9)
    assert lost(root) == 0


def test_documents__rows_deleted_in_the_database__named_and_written_again(root):
    sql(root, "DELETE FROM documents")
    assert "is missing" in named(root)
    doctor.examine(str(root), repair=True)
    with Holdfast.open(root) as memory:
        assert data_loss.every(memory.services) == []
        assert any("Fix the login test" in memory.services.store.read(n).text for n in memory.services.store.names())
