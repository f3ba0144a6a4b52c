"""The tables of an earlier holdfast: read, refused with a next step, and upgraded by `holdfast migrate`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.backends.postgres.cluster import Cluster
from tests.backends.postgres.conftest import Opened
from tests.support import processes

from holdfast.errors import Unavailable, Unsupported
from holdfast.testing.facts import make_fact
from holdfast_postgres import schema
from holdfast_postgres.database import Database


def create(cluster: Cluster, name: str) -> str:
    cluster.sql(f"DROP DATABASE IF EXISTS {name}", f"CREATE DATABASE {name} OWNER hf", database="postgres")
    return cluster.url(database=name)


def old_tables(cluster: Cluster, opened: Opened, name: str) -> str:
    """A database as version 3 made it, with a document, its replaced text and a fact."""
    url = create(cluster, name)
    store = opened(cluster, "old", database=name)
    store.write("MEMORY.md", "- Old.\n")
    store.add_fact(make_fact(1, "An old fact"), 10)
    cluster.sql(
        "CREATE TABLE holdfast.versions (namespace text, name text, body text)",
        "INSERT INTO holdfast.versions VALUES ('old', 'MEMORY.md', 'replaced')",
        "DROP FUNCTION holdfast.put_document",
        "UPDATE holdfast.version SET version = 3",
        database=name,
        user="hf",
    )
    return url


def holdfast(folder: Path, url: str, *words: str) -> subprocess.CompletedProcess[str]:
    settings = {
        "HOLDFAST_STORAGE__BACKEND": "postgres",
        "HOLDFAST_STORAGE__SERVER": url,
        "HOLDFAST_STORAGE__NAMESPACE": "old",
    }
    return processes.run(*words, cwd=folder, env=os.environ | settings)


def test_migrate__tables_of_an_earlier_version__upgraded_once_and_nothing_is_lost(cluster, opened, tmp_path):
    url = old_tables(cluster, opened, "earlier")
    store = opened(cluster, "old", database="earlier")
    with pytest.raises(Unavailable, match="tables from an earlier holdfast") as caught:
        store.write("USER.md", "x")
    assert "holdfast migrate" in caught.value.next_step
    done = holdfast(tmp_path, url, "migrate", "--json")
    assert json.loads(done.stdout) == {"ok": True, "backend": "postgres", "before": 3, "after": schema.LATEST}
    assert "up to date" in holdfast(tmp_path, url, "migrate").stdout
    assert [fact.content for fact in store.facts()] == ["An old fact"]
    assert cluster.sql("SELECT to_regclass('holdfast.versions')", database="earlier") == [(None,)]
    store.write("USER.md", "- New.\n")
    store.add_fact(make_fact(2, "A new fact"), 10)
    assert [hit.name for hit in store.search("old")] == ["fact_00000001", "MEMORY.md"]
    assert [hit.name for hit in store.search("new")] == ["fact_00000002", "USER.md"]


def test_tables__of_a_later_version__left_alone(cluster, opened):
    create(cluster, "later")
    store = opened(cluster, "old", database="later")
    assert store.check(thorough=True).version == (0, schema.LATEST)
    store.repair()
    cluster.sql(f"INSERT INTO holdfast.version VALUES ({schema.LATEST + 1})", database="later", user="hf")
    with pytest.raises(Unsupported, match="knows only"):
        store.repair()


def test_prepare__two_processes_at_once__one_makes_the_tables(cluster):
    url = create(cluster, "twice")
    script = (
        "import sys; from holdfast_postgres.backend import PostgresBackend as P;"
        f" P('.', server={url!r}, namespace=sys.argv[1]).write('MEMORY.md', 'x')"
    )
    both = [subprocess.Popen([sys.executable, "-c", script, name]) for name in ("a", "b")]
    assert [process.wait(60) for process in both] == [0, 0]
    database = Database(url, "a")
    assert database.version() == schema.LATEST
    database.close()


def test_namespaces__reserved_by_the_owner_of_the_tables__others_cannot_claim_one(cluster, opened):
    create(cluster, "reserved")
    owner = opened(cluster, "team/known", database="reserved")
    owner.repair()
    cluster.sql("DROP ROLE IF EXISTS member", "CREATE ROLE member LOGIN")
    known = "INSERT INTO holdfast.namespaces (namespace, owner) VALUES ('team/known', 'member')"
    cluster.sql("REVOKE INSERT ON holdfast.namespaces FROM PUBLIC", known, database="reserved")
    opened(cluster, "team/known", user="member", database="reserved").write("MEMORY.md", "x")
    with pytest.raises(Unavailable, match="denies access") as caught:
        opened(cluster, "team/free", user="member", database="reserved").write("MEMORY.md", "x")
    assert caught.value.next_step
