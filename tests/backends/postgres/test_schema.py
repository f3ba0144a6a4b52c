"""The tables: made once, by `holdfast migrate` or by the first write, and left alone when another version made them."""

import json
import subprocess
import sys

import pytest
from tests.backends.postgres.cluster import Cluster

from holdfast.errors import Unavailable, Unsupported
from holdfast_postgres import schema
from holdfast_postgres.checks import inspect
from holdfast_postgres.database import Database


def create(cluster: Cluster, name: str) -> str:
    cluster.sql(f"DROP DATABASE IF EXISTS {name}", f"CREATE DATABASE {name} OWNER hf", database="postgres")
    return cluster.url(database=name)


def test_migrate__database_without_tables__makes_them_once(cluster, command):
    url = create(cluster, "fresh")
    assert json.loads(command(url, "a", "migrate", "--json")[1]) == {
        "ok": True,
        "backend": "postgres",
        "before": 0,
        "after": schema.LATEST,
    }
    assert "the postgres store is ready" in command(url, "a", "migrate")[1]


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
    database = Database(url, "a", password=None, timeout_s=10.0, connections=1)
    assert database.version() == schema.LATEST
    database.close()


def test_namespaces__reserved_by_the_owner_of_the_tables__others_cannot_claim_one(cluster, opened):
    create(cluster, "reserved")
    cluster.sql("DROP ROLE IF EXISTS member", "CREATE ROLE member LOGIN")
    member = opened(cluster, "team/known", user="member", database="reserved")
    with pytest.raises(Unavailable, match="no holdfast tables"):
        member.write("MEMORY.md", "x")
    assert [*inspect(member.database)][-1].message == "The role 'member' may not begin the namespace 'team/known'."
    opened(cluster, "team/known", database="reserved").repair()
    member.repair()  # makes nothing, and may
    known = "INSERT INTO holdfast.namespaces (namespace, owner) VALUES ('team/known', 'member')"
    cluster.sql("REVOKE INSERT ON holdfast.namespaces FROM PUBLIC", known, database="reserved")
    opened(cluster, "team/known", user="member", database="reserved").write("MEMORY.md", "x")
    with pytest.raises(Unavailable, match="denies access") as caught:
        opened(cluster, "team/free", user="member", database="reserved").write("MEMORY.md", "x")
    assert caught.value.next_step
