"""Several processes and threads at one SQLite store: killed, forked, waiting for one another."""

import contextlib
import os
import random
import sqlite3
import time

import pytest

from holdfast.errors import Unavailable
from holdfast.models import AddOutcome
from holdfast.storage import get_fact
from holdfast.testing.base import Workers, add_call, append_call, make_fact
from holdfast_sqlite.backend import SqliteBackend

FACTORY = "holdfast_sqlite.backend:SqliteBackend"
DAY = "memory/2026-03-01.md"
HEADER = "# Day\n"


@pytest.mark.req("R016", "R045", "R096")
def test_writers__killed_again_and_again__what_was_acknowledged_is_there(project):
    """The acknowledged set is the oracle; the limit makes evictions part of it, and each kill leaves a log behind."""
    acknowledged: set[str] = set()
    blocks: set[str] = set()
    for round_ in range(4):
        scripts = []
        for writer in range(2):
            start = round_ * 10_000 + writer * 1000
            pairs = [
                (add_call(make_fact(start + n)), append_call(DAY, f"r{round_}w{writer}n{n}", HEADER))
                for n in range(400)
            ]
            scripts.append([call for pair in pairs for call in pair])
        workers = Workers(FACTORY, project, scripts)
        workers.go()
        time.sleep(random.Random(round_).uniform(0.01, 0.12))
        for process in workers.processes:
            process.kill()
        for script, answers in zip(scripts, workers.finish(), strict=True):
            for call, answer in zip(script, answers, strict=False):
                assert "ok" in answer
                if call["call"] == "add_fact":
                    acknowledged.add(call["fact"]["id"])
                else:
                    blocks.add(call["block_id"])
        with contextlib.closing(SqliteBackend(project)) as store:
            facts = [fact.id for fact in store.facts()]
            assert acknowledged <= set(facts)
            assert len(facts) == len(set(facts)) == len(list(store.facts()))
            document = store.read(DAY)
            text = document.text if document else ""
            assert all(text.count(f"id={block} ") == 1 for block in blocks)
    assert acknowledged
    with contextlib.closing(sqlite3.connect(project / ".holdfast" / "holdfast.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.req("R096")
def test_write__locked_by_another__unavailable_after_the_wait(project):
    with contextlib.closing(SqliteBackend(project, lock_timeout_s=0.2)) as store:
        store.add_fact(make_fact(1), 10)
        with contextlib.closing(sqlite3.connect(project / ".holdfast" / "holdfast.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            start = time.monotonic()
            with pytest.raises(Unavailable, match=r"still locked .* after 0\.2 s") as caught:
                store.add_fact(make_fact(2), 10)
            assert 0.2 <= time.monotonic() - start < 5
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
