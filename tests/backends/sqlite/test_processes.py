"""Several processes and threads at one SQLite store: forked, waiting for one another."""

import contextlib
import os
import sqlite3
import time

import pytest

from holdfast.api import AddOutcome, Unavailable
from holdfast.storage import get_fact
from holdfast.testing.base import make_fact
from holdfast_sqlite.backend import SqliteBackend


@pytest.mark.req("R096")
def test_write__locked_by_another__unavailable_after_the_wait(project):
    with contextlib.closing(SqliteBackend(project, lock_timeout_s=0.2)) as store:
        store.add_fact(make_fact(1), 10)
        with contextlib.closing(sqlite3.connect(project / ".holdfast" / "holdfast.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            start = time.monotonic()
            with pytest.raises(Unavailable, match=r"still locked .* after 0\.2 s") as caught:
                store.add_fact(make_fact(2), 10)
            assert 0.2 <= time.monotonic() - start < 20
            assert caught.value.next_step
            assert get_fact(store, "fact_00000001") == make_fact(1), "a reader does not wait"
            other.execute("ROLLBACK")
        assert store.add_fact(make_fact(2), 10).outcome is AddOutcome.ADDED


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_fork__child_ends_and_closes__the_parents_connection_keeps_its_locks_and_its_log(project):
    with contextlib.closing(SqliteBackend(project)) as store:
        store.add_fact(make_fact(1), 100)
        child = os.fork()
        if child == 0:
            failed = 1
            try:
                inherited = store._database._connection
                len(list(store.facts()))  # opens a connection of its own, and must not close the parent's
                assert inherited is not store._database._connection
                assert inherited.execute("SELECT 1").fetchone() == (1,)
                store.close()
                assert inherited.execute("SELECT 1").fetchone() == (1,)
                failed = 0
            finally:
                os._exit(failed)
        assert os.waitpid(child, 0)[1] == 0
        assert store.add_fact(make_fact(2), 100).outcome is AddOutcome.ADDED
