"""A namespace belongs to a role, not to its name: dropped, renamed, created again, and copied to another server."""

import subprocess
from collections.abc import Iterator

import pytest
from tests.backends.postgres.cluster import DATABASE, OWNER, Cluster, program
from tests.support.processes import finished

from holdfast.errors import Refused
from holdfast.testing.base import make_block, make_fact
from holdfast_postgres.backend import PostgresBackend
from holdfast_postgres.checks import inspect

READING = (["facts", "list"], ["load"], ["search", "plan"], ["prompt"], ["work"])


@pytest.fixture
def roles(cluster, opened) -> Iterator[None]:
    """alice and bob, and a namespace of each with a fact and a document."""
    names = ("alice", "bob", "eve", "team", "crew")
    opened(cluster, "tables").write("MEMORY.md", "x")  # by the database's owner
    gone = "DELETE FROM holdfast.namespaces WHERE namespace IN ('alice/one', 'bob/one', 'team/one')"
    rows = [f"DELETE FROM holdfast.{table} WHERE namespace <> 'tables'" for table in ("documents", "facts")]
    cluster.sql(gone, *rows, *(f"DROP ROLE IF EXISTS {name}" for name in names))
    cluster.sql(*(f"CREATE ROLE {name} LOGIN" for name in ("alice", "bob", "eve")))
    for name in ("alice", "bob"):
        store = opened(cluster, f"{name}/one", user=name)
        store.write("MEMORY.md", f"- The plan of {name}.\n")
        store.add_fact(make_fact(1, f"The plan of {name} is secret"), 10)
    yield
    cluster.sql(gone, *rows, *(f"DROP ROLE IF EXISTS {name}" for name in names))


def analyze(cluster: Cluster) -> None:
    """Give the planner statistics: those of a name once made it call the policy for other roles' rows."""
    cluster.sql("ANALYZE holdfast.namespaces", "ANALYZE holdfast.documents", "ANALYZE holdfast.facts")


def works(store: PostgresBackend, name: str) -> bool:
    """Whether every kind of call answers with that role's memory."""
    assert [fact.content for fact in store.facts()] == [f"The plan of {name} is secret"]
    assert len(store.search("plan")) == 2
    store.append("daily.md", make_block("one"), "", "one")
    document = store.read("MEMORY.md")
    return document is not None and document.text == f"- The plan of {name}.\n"


def is_closed(store: PostgresBackend) -> bool:
    for call in (store.names, store.facts, lambda: store.write("MEMORY.md", "mine"), store.compact):
        with pytest.raises(Refused, match="not allowed"):
            call()
    return True


def test_role__dropped__its_namespace_is_closed_and_every_other_one_works(roles, cluster, opened):
    cluster.sql("DROP ROLE bob")
    analyze(cluster)
    alice = opened(cluster, "alice/one", user="alice")
    assert works(alice, "alice")
    alice.add_fact(make_fact(2), 10)
    alice.compact()
    assert is_closed(opened(cluster, "bob/one", user="alice"))
    assert is_closed(opened(cluster, "bob/one"))  # nor the tables' owner, who can give it away
    cluster.sql("UPDATE holdfast.namespaces SET owner = 'alice' WHERE namespace = 'bob/one'", user="hf")
    assert works(opened(cluster, "bob/one", user="alice"), "bob")


def test_role__created_again_with_the_old_name__does_not_get_the_memory(roles, cluster, opened):
    cluster.sql("CREATE ROLE team", "GRANT team TO alice")
    cluster.sql("UPDATE holdfast.namespaces SET owner = 'team' WHERE namespace = 'alice/one'", user="alice")
    assert works(opened(cluster, "alice/one", user="alice"), "alice")
    cluster.sql("DROP ROLE team", "CREATE ROLE team", "GRANT team TO eve", "DROP ROLE bob", "CREATE ROLE bob LOGIN")
    analyze(cluster)
    for namespace in ("alice/one", "bob/one"):
        for user in ("eve", "bob", "alice"):
            assert is_closed(opened(cluster, namespace, user=user))


def test_role__renamed__keeps_the_memory_and_the_next_role_of_that_name_gets_none(roles, cluster, opened):
    cluster.sql("ALTER ROLE bob RENAME TO crew", "CREATE ROLE bob LOGIN")
    analyze(cluster)
    crew = opened(cluster, "bob/one", user="crew")
    assert works(crew, "bob")
    assert "belongs to the role 'crew'" in list(inspect(crew.database))[-1].message
    assert is_closed(opened(cluster, "bob/one", user="bob"))


def test_commands__role_that_is_not_in_the_owning_role__are_refused_and_say_so(roles, cluster, command):
    eve = cluster.url("eve"), "alice/one"
    assert command(*eve, "add", "user", "Ship it")[0] == 0
    for words in (*READING, ["show"], ["report"], ["remember", "x"], ["export", "out.zip"], ["flush"]):
        code, told = command(*eve, *words)
        assert code != 0, (words, told)
        assert "not allowed to use the namespace 'alice/one'" in told, words
        assert "The plan" not in told
        assert "No work" not in told
    code, told = command(*eve, "doctor")
    assert (code, "not allowed" in told) == (1, True)
    cluster.sql("DROP ROLE bob", "ANALYZE holdfast.namespaces")
    for words in READING:
        code, told = command(cluster.url("alice"), "alice/one", *words)
        assert code == 0, (words, told)


def test_copy__on_another_server_with_other_roles_of_these_ids__is_closed_until_it_is_given_again(
    roles, cluster, opened
):
    """The other server has roles with the same names, and some with the same ids."""
    cluster.sql("DROP ROLE bob")
    other = Cluster()
    other.sql(*(f"CREATE ROLE {name} LOGIN" for name in ("alice", "bob", *(f"r{n}" for n in range(40)))))
    ids = [row[0] for row in cluster.sql("SELECT oid::text FROM pg_roles WHERE rolname IN ('alice', 'hf')")]
    same = other.sql("SELECT rolname FROM pg_roles WHERE oid::text = ANY(%s)", values=(ids,))
    assert same
    dump = [program("pg_dump"), "--no-owner", "-n", "holdfast", "-d"]
    text = subprocess.run([*dump, cluster.url(OWNER)], capture_output=True, text=True, check=True).stdout
    restored = finished(["psql", "-q", "-d", other.url("hf", DATABASE)], input=text)
    assert other.sql("SELECT count(*) FROM holdfast.namespaces WHERE namespace = 'alice/one'") == [(1,)], restored
    for namespace in ("alice/one", "bob/one"):
        for name in {"alice", "bob", "hf", *(str(row[0]) for row in same)}:
            with pytest.raises(Refused, match="not allowed"):
                opened(other, namespace, user=name).names()
    other.sql("UPDATE holdfast.namespaces SET owner = 'alice' WHERE namespace = 'alice/one'", user="hf")
    assert works(opened(other, "alice/one", user="alice"), "alice")
    other.remove()
