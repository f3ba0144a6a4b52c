"""Failover to a standby, a full disk, a stricter isolation and skewed clocks."""

import contextlib
import os
import random
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.backends.postgres.cluster import Cluster

from holdfast.api import AddOutcome, HoldfastError, Unavailable, block_marker
from holdfast.testing.facts import make_fact
from holdfast_postgres.backend import PostgresBackend


def test_failover__primary_killed_and_standby_promoted__nothing_acknowledged_is_lost():
    first = Cluster(fsync=True)
    alone = PostgresBackend(".", server=first.url(), namespace="team")
    alone.write("MEMORY.md", "- Before.\n")
    alone.close()
    second = first.standby()
    both = f"postgresql://hf@127.0.0.1:{first.port},127.0.0.1:{second.port}/memory?target_session_attrs=read-write"
    acknowledged: list[str] = []
    blocks: list[str] = []
    stop = threading.Event()

    def write(worker: int) -> None:
        store = PostgresBackend(".", server=both, namespace="team", timeout_s=5)
        number = worker * 1000
        while not stop.is_set():
            fact, block = make_fact(number), f"b{number}"
            try:
                if store.add_fact(fact, 100_000).outcome is AddOutcome.ADDED:
                    acknowledged.append(fact.id)
                store.append("memory/2026-11-01.md", f"{block_marker(block)}\ntext\n", "", block)
                blocks.append(block)
                number += 1
            except HoldfastError:  # the same again: it may have been stored
                time.sleep(0.05)
        store.close()

    warm = PostgresBackend(".", server=both, namespace="team")
    standby = PostgresBackend(".", server=second.url(), namespace="team")
    assert standby.read("MEMORY.md") is not None
    with pytest.raises(Unavailable, match="read-only and may be a standby") as caught:
        standby.write("MEMORY.md", "- Two.\n")
    assert "target_session_attrs" in caught.value.next_step
    standby.close()
    workers = [threading.Thread(target=write, args=(worker,)) for worker in range(1, 4)]
    for worker in workers:
        worker.start()
    time.sleep(1)
    first.kill()
    before = len(acknowledged)
    second.promote()
    deadline = time.monotonic() + 30
    while len(acknowledged) < before + 10 and time.monotonic() < deadline:
        time.sleep(0.1)
    stop.set()
    for worker in workers:
        worker.join(60)

    stored = [fact.id for fact in warm.facts()]
    note = warm.read("memory/2026-11-01.md")
    warm.close()
    first.remove()
    second.remove()
    assert before > 5
    assert len(acknowledged) >= before + 10
    assert len(stored) == len(set(stored))
    assert set(acknowledged) <= set(stored)
    assert note is not None
    assert all(note.text.count(block_marker(block)) == 1 for block in blocks)


@contextlib.contextmanager
def small_disk(cluster: Cluster) -> Iterator[Path]:
    """A mounted file system of 12 MB that belongs to the server's user."""
    folder = cluster.folder / "small"
    folder.mkdir()
    options = f"size=12m,mode=0700,uid={os.stat(cluster.data).st_uid}"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=False)
    if mounted.returncode:
        pytest.skip("file systems cannot be mounted here")
    try:
        yield folder
    finally:
        cluster.remove()
        subprocess.run(["umount", "-l", str(folder)], check=False)


def test_disk__full_on_the_server__refused_and_every_acknowledged_write_is_there():
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    cluster = Cluster()
    with small_disk(cluster) as folder:
        cluster.sql(f"CREATE TABLESPACE small LOCATION '{folder}'", "GRANT CREATE ON TABLESPACE small TO hf")
        cluster.sql("CREATE DATABASE tight OWNER hf TABLESPACE small", database="postgres")
        store = PostgresBackend(".", server=cluster.url(database="tight"), namespace="full")
        written: dict[str, str] = {}
        noise = random.Random(18)

        def fill() -> None:
            for number in range(200):
                text = noise.randbytes(50_000).hex()
                store.write(f"memory/{number}.md", text)
                written[f"memory/{number}.md"] = text

        with pytest.raises(Unavailable, match="has no disk space left") as caught:
            fill()
        assert caught.value.next_step == "Free space on the server, then try again."
        found = dict(store.commit(names=[*written, f"memory/{len(written)}.md"]).documents)
        assert found.pop(f"memory/{len(written)}.md") is None
        assert {name: document.text for name, document in found.items() if document} == written
        subprocess.run(["mount", "-o", "remount,size=40m", str(folder)], check=True)
        store.write("memory/after.md", "x" * 100_000)
        store.close()


def test_isolation__serializable_by_default__eight_writers_lose_and_double_nothing(cluster, opened):
    cluster.sql("DROP ROLE IF EXISTS strict", "CREATE ROLE strict LOGIN IN ROLE hf")
    cluster.sql("ALTER ROLE strict SET default_transaction_isolation = 'serializable'")
    cluster.sql("ALTER ROLE strict SET role = 'hf'")
    opened(cluster, "strict").write("MEMORY.md", "x")

    def work(worker: int) -> None:
        store = opened(cluster, "strict", user="strict")
        for number in range(5):
            assert store.add_fact(make_fact(worker * 10 + number), 1000).outcome is AddOutcome.ADDED
            block = f"b{worker}-{number}"
            store.append("note.md", f"{block_marker(block)}\n", "", block)

    def rolled_back() -> object:
        opened.close()  # a server process reports its counts when it ends
        time.sleep(0.5)
        return cluster.sql("SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database()")

    before = rolled_back()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert rolled_back() == before  # nobody had to try again
    store = opened(cluster, "strict")
    note = store.read("note.md")
    assert len(list(store.facts())) == 40
    assert note is not None
    assert note.text.count("holdfast:block") == 40
