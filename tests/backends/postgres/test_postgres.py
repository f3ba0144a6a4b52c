"""PostgreSQL: servers that die, connections that are cut, other roles, PgBouncer, and errors with a next step."""

import itertools
import os
import shutil
import socket
import subprocess
import time

import pytest
from tests.backends.postgres.cluster import DATABASE

from holdfast.api import AddOutcome, Refused, Unavailable
from holdfast.storage import (
    ABSENT,
    Add,
    Append,
    Document,
    Remove,
    Write,
    block_marker,
    delete_fact,
    get_fact,
    update_fact,
)
from holdfast.testing.base import make_block, make_fact
from holdfast_postgres.backend import PostgresBackend


@pytest.mark.parametrize("answers", [False, True], ids=["calls", "answers"])
def test_calls__connection_cut_at_every_protocol_message__made_once_and_acknowledged(answers, cluster, opened, proxy):
    """Before every second message of a call, and every third one of its answers. The second try of a change finds its
    own work, and does not take it for another process's."""
    store = opened(cluster, f"messages/{answers}", port=proxy.port)
    wanted = [make_fact(number) for number in range(60)]
    store.commit([Add(fact, 1000) for fact in wanted])
    numbers, blocks = itertools.count(len(wanted)), list[int]()

    def add() -> None:
        wanted.append(make_fact(next(numbers)))
        assert getattr(store.commit([Add(wanted[-1], 1000)]).added[0], "outcome", None) is AddOutcome.ADDED

    def replace() -> None:
        old, wanted[-1] = wanted[-1], make_fact(next(numbers))
        (result,) = store.commit([Add(wanted[-1], 1000), Remove(old.id)]).added
        assert result.outcome is AddOutcome.ADDED

    def delete() -> None:
        fact = wanted.pop()
        assert delete_fact(store, fact.id) == fact

    def apply() -> None:
        number = next(numbers)
        blocks.append(number)
        block = f"{block_marker(f'b{number}')}\ntext\n"
        found = store.commit(
            [Append(name="a.md", block=block, header="", block_id=f"b{number}"), Write(name="b.md", text=str(number))]
        ).documents
        assert found["b.md"] == store.read("b.md")

    def write() -> None:
        nonlocal revision
        revision = store.write("c.md", f"text {next(numbers)}", revision)

    def remove() -> None:
        nonlocal revision
        store.delete("c.md")
        revision = store.write("c.md", "-", ABSENT)

    def read() -> None:
        assert store.read("b.md") is not None

    store.write("b.md", "-")
    revision = store.write("c.md", "-", None)
    calls = (add, replace, delete, apply, write, remove, read)
    cuts = dict.fromkeys(calls, 0)
    for call in calls:
        for message in range(0, 60, 2 + answers):
            before = proxy.cut
            len(list(store.facts()))  # connects
            proxy.cut_at(message, answers=answers)
            call()
            if proxy.cut == before:  # the call has fewer messages
                break
            cuts[call] += 1
        proxy.cut_at(-1, answers=answers)
    assert min(cuts.values()) >= 4
    direct = opened(cluster, f"messages/{answers}")
    assert list(direct.facts()) == wanted
    counted = cluster.sql("SELECT facts FROM holdfast.namespaces WHERE namespace = %s", values=(f"messages/{answers}",))
    assert counted == [(len(wanted),)]
    assert direct.read("a.md").text.count("holdfast:block") == len(blocks)
    assert direct.read("c.md") == Document(name="c.md", text="-", revision=revision)


def test_namespace__of_another_role__cannot_be_read_or_written(cluster, opened):
    cluster.sql("DROP ROLE IF EXISTS other", "CREATE ROLE other LOGIN")
    own = opened(cluster, "team/secret")
    own.write("MEMORY.md", "- The plan.\n")
    own.add_fact(make_fact(1), 10)

    other = opened(cluster, "team/secret", user="other")

    for call in (
        lambda: other.read("MEMORY.md"),
        lambda: other.names(),
        lambda: list(other.facts()),
        lambda: other.search(["plan"]),
        lambda: get_fact(other, make_fact(1).id),
        lambda: other.write("MEMORY.md", "mine"),
        lambda: other.append("x.md", make_block("one"), "", "one"),
        lambda: other.add_fact(make_fact(2), 10),
        lambda: update_fact(other, make_fact(1).id, content="x"),
        lambda: delete_fact(other, make_fact(1).id),
        lambda: other.delete("MEMORY.md"),
        lambda: other.compact(),
    ):
        with pytest.raises(Refused, match=r"not allowed .*'team/secret' .* belongs to another role"):
            call()
    cluster.sql("GRANT hf TO other")
    found = opened(cluster, "team/secret", user="other").read("MEMORY.md")
    assert found.text == "- The plan.\n"


def test_rows__of_another_role__cannot_be_counted_changed_or_added_with_plain_sql(cluster, opened):
    import psycopg

    cluster.sql("DROP ROLE IF EXISTS two", "CREATE ROLE two LOGIN")
    own = opened(cluster, "rows/one")
    own.write("MEMORY.md", "- The plan.\n")
    own.write("MEMORY.md", "- The second plan.\n")
    own.add_fact(make_fact(1, "The plan is secret"), 10)
    other = opened(cluster, "rows/two", user="two")
    other.write("MEMORY.md", "- Mine.\n")
    other.add_fact(make_fact(1, "Mine alone"), 10)

    assert [hit.text for hit in other.search(["plan"])] == []
    assert (len(list(other.facts())), len(other.search(["mine"]))) == (1, 2)
    for table, rows in (("namespaces", 1), ("documents", 1), ("facts", 1)):
        assert cluster.sql(f"SELECT count(*) FROM holdfast.{table}", user="two") == [(rows,)]
        assert cluster.sql(f"DELETE FROM holdfast.{table} WHERE namespace = 'rows/one' RETURNING 1", user="two") == []
    assert (
        cluster.sql("UPDATE holdfast.namespaces SET owner = 'two' WHERE namespace = 'rows/one' RETURNING 1", user="two")
        == []
    )
    insert = "INSERT INTO holdfast.documents (namespace, name, revision, body) VALUES ('rows/one', 'x.md', '', '')"
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        cluster.sql(insert, user="two")
    assert (len(list(own.facts())), own.names()) == (1, ["MEMORY.md"])


def test_pgbouncer__in_transaction_mode__every_call_works(cluster, opened):
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("no pgbouncer on this machine")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = cluster.folder / "bouncer"
    folder.mkdir()
    (folder / "users.txt").write_text('"hf" ""\n')
    (folder / "bouncer.ini").write_text(
        f"[databases]\n{DATABASE} = host=127.0.0.1 port={cluster.port}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n"
        f"listen_port = {port}\nauth_type = trust\nauth_file = {folder}/users.txt\npool_mode = transaction\n"
        "default_pool_size = 2\nunix_socket_dir =\n"
    )
    user = ["-u", "nobody"] if os.geteuid() == 0 else []
    for path in (folder, *folder.iterdir()):
        path.chmod(0o755)
    cluster.folder.chmod(0o755)
    process = subprocess.Popen([program, *user, str(folder / "bouncer.ini")], stderr=subprocess.DEVNULL)
    try:
        _wait_for(port)
        stores = [opened(cluster, "bounced", port=port) for _ in range(6)]
        for number, store in enumerate(stores * 5):
            assert store.add_fact(make_fact(number), 20).outcome is AddOutcome.ADDED
            store.append("a.md", f"{block_marker(f'b{number}')}\n", "", f"b{number}")
        assert len(list(stores[0].facts())) == 20
        assert update_fact(stores[1], make_fact(29).id, content="changed").content == "changed"
        found = stores[2].read("a.md")
        assert found.text.count("holdfast:block") == 30
    finally:
        process.kill()
        process.wait(10)


def _wait_for(port: int) -> None:
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("pgbouncer did not start")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("postgresql://hf@127.0.0.1:1/memory", "does not answer"),
        ("postgresql://hf@127.0.0.1:{port}/nothing", "has no database of this name"),
        ("postgresql://nobody@127.0.0.1:{port}/memory", "refuses this user"),
    ],
)
def test_call__server_that_cannot_be_used__unavailable_with_a_next_step(cluster, address, words):
    store = PostgresBackend(".", server=address.format(port=cluster.port), namespace="a", timeout_s=2)
    with pytest.raises(Unavailable, match=words) as caught:
        store.write("MEMORY.md", "x")
    assert caught.value.next_step
