"""The PostgreSQL store against bare statements of the same run: ``python benchmarks/postgres.py postgresql://user@host/db``.

The server is one that you started, with fsync on; the database may be empty. An add is compared with a bare
``INSERT ... ON CONFLICT DO NOTHING`` and its commit, in turns. Round trips are counted by a proxy on the loopback: a
change of direction from the client to the server begins one. Nothing here fails on a figure.
"""

from __future__ import annotations

import argparse
import os
import random
import socket
import statistics
import tempfile
import threading
import time
from datetime import UTC, datetime
from urllib.parse import urlsplit, urlunsplit

import psycopg

from holdfast import Holdfast
from holdfast.models import Fact
from holdfast_postgres.backend import PostgresBackend


class Counter:
    """A proxy that counts round trips."""

    def __init__(self, server: str) -> None:
        parts = urlsplit(server)
        self.trips = 0
        self._waits = True
        self._target = (parts.hostname or "127.0.0.1", parts.port or 5432)
        self._listener = socket.create_server(("127.0.0.1", 0))
        user = f"{parts.username}@" if parts.username else ""
        place = f"{user}127.0.0.1:{self._listener.getsockname()[1]}"
        self.url = urlunsplit((parts.scheme, place, parts.path, parts.query, ""))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            client, _ = self._listener.accept()
            server = socket.create_connection(self._target)
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._pump, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self._pump, args=(server, client, False), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, asks: bool) -> None:
        while data := source.recv(1 << 20):
            if asks and self._waits:
                self.trips += 1
            self._waits = not asks
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def fact(number: int, space: str) -> Fact:
    return Fact(
        id=f"fact_{number:08x}",
        content=f"The user said {space} and {number} in a sentence of ordinary length.",
        category="knowledge",
        confidence=0.5 + random.Random(number).random() / 2,
        created_at=datetime.now(UTC),
        source="benchmark",
    )


def adds(server: str, space: str, rounds: int) -> None:
    store = PostgresBackend(".", server=server, namespace=space)
    store.add_fact(fact(0, space), 10**6)
    bare = psycopg.connect(server, autocommit=True)
    bare.execute("DROP TABLE IF EXISTS holdfast_bare")
    bare.execute("CREATE TABLE holdfast_bare (space text, id text, content text, PRIMARY KEY (space, id))")
    own, raw = [], []
    for number in range(1, rounds + 1):
        began = time.perf_counter()
        given = (space, f"fact_{number:08x}", fact(number, space).content)
        bare.execute("INSERT INTO holdfast_bare VALUES (%s, %s, %s) ON CONFLICT DO NOTHING", given)
        middle = time.perf_counter()
        store.add_fact(fact(number, space), 10**6)
        raw.append(middle - began)
        own.append(time.perf_counter() - middle)
    bare.execute("DROP TABLE holdfast_bare")
    bare.close()
    store.close()
    ratio = statistics.median(one / other for one, other in zip(own, raw, strict=True))
    print(f"add: {statistics.median(own) * 1000:.2f} ms, bare insert {statistics.median(raw) * 1000:.2f} ms,"
          f" median of the ratios {ratio:.2f} (aim 2)")  # fmt: skip


def trips(server: str, space: str) -> None:
    counter = Counter(server)
    store = PostgresBackend(".", server=counter.url, namespace=space)
    len(list(store.facts()))
    for name, call in (
        ("add a fact", lambda: store.add_fact(fact(10**6, space), 10**6)),
        ("read a document", lambda: store.read("MEMORY.md")),
    ):
        before = counter.trips
        call()
        print(f"{name}: {counter.trips - before} round trips")
    store.close()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOLDFAST_STORAGE__BACKEND"] = "postgres"
        os.environ["HOLDFAST_STORAGE__SERVER"] = counter.url
        os.environ["HOLDFAST_STORAGE__NAMESPACE"] = f"{space}/flush"
        with Holdfast.open(folder) as memory:
            for number in range(2):
                session = memory.session(f"s{number}")
                session.add("user", f"Decision: use PostgreSQL, attempt {number}.")
                before = counter.trips
                session.flush()
                middle = counter.trips
                memory.load()
                print(
                    f"flush {number + 1}: {middle - before} round trips (aim 3), load: {counter.trips - middle} (aim 2)"
                )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("server")
    parser.add_argument("--rounds", type=int, default=500)
    given = parser.parse_args()
    space = f"benchmark/{os.getpid()}"
    adds(given.server, space, given.rounds)
    trips(given.server, space)


if __name__ == "__main__":
    main()
