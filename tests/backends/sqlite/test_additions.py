"""Adding facts one by one: the same rows as in a batch, and what is written to the log."""

import contextlib

import pytest

from holdfast.errors import NotFound
from holdfast.models import AddOutcome
from holdfast.storage import delete_fact, get_fact, update_fact
from holdfast.testing.base import make_fact
from holdfast_sqlite.backend import SqliteBackend


@pytest.mark.req("R045", "R058")
def test_add__more_than_the_log_holds__merged_and_gone_on_with(project):
    database = project / ".holdfast" / "holdfast.db"
    with contextlib.closing(SqliteBackend(project)) as store:
        store.add_fact(make_fact(0), 5000)
        before = database.stat().st_size
        number = 0
        while database.stat().st_size == before:
            number += 1
            assert store.add_fact(make_fact(number), 5000).outcome is AddOutcome.ADDED
        assert store.add_fact(make_fact(number), 5000).outcome is AddOutcome.DUPLICATE
        assert store.add_fact(make_fact(number + 1), 5000).outcome is AddOutcome.ADDED
        assert len(list(store.facts())) == number + 2
        assert [fact.id for fact in store.facts()] == [make_fact(n).id for n in range(number + 2)]


@pytest.mark.req("R048")
def test_fact__id_with_half_of_a_character__is_unknown(project):
    with contextlib.closing(SqliteBackend(project)) as store:
        store.add_fact(make_fact(1), 10)
        for touch in (get_fact, update_fact, delete_fact):
            with pytest.raises(NotFound):
                touch(store, "\ud800")
