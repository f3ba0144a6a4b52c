"""A PostgreSQL store under load: ``python benchmarks/postgres_load.py agents|growth postgresql://user@host/db``.

``agents``: processes with several agents each flush for a minute into one namespace. It shows flushes per second, the
time of a flush, and whether anything is lost or doubled. ``growth``: a generator fills many namespaces with facts, and
the time of each call is taken at each size. The server is one that you started.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psycopg

from holdfast import Holdfast
from holdfast.testing.facts import make_fact
from holdfast_postgres.backend import PostgresBackend

AGENTS = """
import json, os, sys, threading, time
from holdfast import Holdfast
first, last, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
took, receipts, refused = [], [], 0
def work(agent):
    global refused
    folder = f"{sys.argv[4]}/{agent}"
    os.makedirs(folder, exist_ok=True)
    with Holdfast.open(folder) as memory:
        memory.load()
        opened.wait()
        until, number = time.monotonic() + seconds, 0
        while time.monotonic() < until:
            session = memory.session(f"a{agent}-{number}")
            session.add("user", f"Please do step {number} of task {agent}.")
            began = time.monotonic()
            try:
                receipt = session.flush({"work_open": False, "objective": f"Task {agent}", "facts": [], "decisions": [],
                    "blockers": [], "artifacts": [], "next_step": "none", "follow_ups": [], "curated": "none"})
                took.append(time.monotonic() - began)
                receipts.append(receipt.flush_id)
                number += 1
            except Exception as error:
                refused += 1
                print(error, file=sys.stderr)
opened = threading.Barrier(last - first)
threads = [threading.Thread(target=work, args=(agent,)) for agent in range(first, last)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
json.dump([took, receipts, refused], sys.stdout)
"""


def agents(server: str, number: int, processes: int, seconds: float) -> None:
    space = f"load/{os.getpid()}"
    environment = os.environ | {
        "HOLDFAST_STORAGE__BACKEND": "postgres",
        "HOLDFAST_STORAGE__SERVER": server,
        "HOLDFAST_STORAGE__NAMESPACE": space,
    }
    each = number // processes
    with tempfile.TemporaryDirectory() as folder:
        running = []
        for one in range(processes):
            words = [str(one * each), str((one + 1) * each), str(seconds), folder]
            running.append(
                subprocess.Popen(
                    [sys.executable, "-c", AGENTS, *words],
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
        for process in running:
            assert process.stdout is not None
            process.stdout.readline()
        for process in running:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        answers = [json.loads(process.communicate()[0]) for process in running]
    took = sorted(seconds for answer in answers for seconds in answer[0])
    receipts = [receipt for answer in answers for receipt in answer[1]]
    with psycopg.connect(server) as connection:
        rows = connection.execute(
            "SELECT body FROM holdfast.documents WHERE namespace = %s AND name ~ '^memory/[0-9-]+[.]md$'",
            (space,),
        )
        text = "".join(body for (body,) in rows.fetchall())
    counts = [text.count(f"<!-- holdfast:block id={receipt} -->") for receipt in receipts]
    print(
        f"{number} agents in {processes} processes, one namespace: "
        f"{len(took)} flushes, {len(took) / seconds:.0f}/s, median {statistics.median(took) * 1000:.0f} ms, "
        f"p95 {took[int(len(took) * 0.95)] * 1000:.0f} ms, refused {sum(answer[2] for answer in answers)}, "
        f"lost {counts.count(0)}, doubled {sum(count > 1 for count in counts)}"
    )


GENERATE = """
    INSERT INTO holdfast.facts (namespace, id, duplicate, content, category, confidence, created_us, source, words)
    SELECT 'growth/' || n, 'fact_' || lpad(to_hex(i), 8, '0'), decode(md5(n || ':' || i), 'hex'),
        'The service ' || md5(i::text) || ' of team ' || n || ' listens on port ' || (1000 + i),
        'knowledge', 0.5 + (i %% 50) / 100.0, i, 'generator',
        array_to_tsvector(ARRAY['the', 'service', md5(i::text), 'of', 'team', n::text, 'listens', 'on', 'port',
            (1000 + i)::text])
    FROM generate_series(%s::int, %s::int) AS n, generate_series(1, %s) AS i"""


def timed(call: Callable[[int], object], rounds: int = 40) -> str:
    took = []
    for number in range(rounds):
        began = time.perf_counter()
        call(number)
        took.append(time.perf_counter() - began)
    return f"{statistics.median(took) * 1000:.2f}"


def measured(server: str, space: str, size: int, each: int) -> None:
    store = PostgresBackend(".", server=server, namespace=space)

    def add(number: int, limit: int) -> None:
        store.add_fact(make_fact(2 * 10**8 + size + limit % 97 * 1000 + number, f"{size} {limit} {number}"), limit)

    def again(number: int) -> None:
        store.add_fact(make_fact(3 * 10**8 + number, f"{size} {10**6} {number}"), 10**6)

    print(
        f"{size:,} facts: add {timed(lambda n: add(n, 10**6))} ms, duplicate {timed(again)} ms, add to a full "
        f"namespace {timed(lambda n: add(n, each))} ms, strongest 100 in "
        f"{timed(lambda n: list(store.strongest(100)))} ms, search "
        f"{timed(lambda n: store.search(f'port {1001 + n}'))} ms"
    )
    with tempfile.TemporaryDirectory() as folder, project(folder, server, space) as memory:
        print(f"  prompt {timed(lambda n: memory.prompt())} ms, load {timed(lambda n: memory.load())} ms")
    store.close()


@contextmanager
def project(folder: str, server: str, space: str) -> Iterator[Holdfast]:
    """A project in ``folder`` whose memory is the namespace."""
    options = {"BACKEND": "postgres", "SERVER": server, "NAMESPACE": space}
    os.environ.update({f"HOLDFAST_STORAGE__{name}": value for name, value in options.items()})
    with Holdfast.open(folder) as memory:
        yield memory


def growth(server: str, admin: str, most: int, each: int) -> None:
    """``admin`` is the address of a role that bypasses row security, to fill other namespaces."""
    store = PostgresBackend(".", server=server, namespace="growth/1")
    store.repair()
    store.write("MEMORY.md", "- The first line.\n")
    spaces = 0
    for size in (10_000, 100_000, 1_000_000, 10_000_000):
        if size > most:
            break
        wanted = size // each
        began = time.monotonic()
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute("SET synchronous_commit = off")
            user = store.database.address.user
            for start in range(spaces + 1, wanted + 1, 100):
                end = min(start + 99, wanted)
                connection.execute(
                    "INSERT INTO holdfast.namespaces SELECT 'growth/' || n, %s, %s"
                    " FROM generate_series(%s::int, %s::int) AS n"
                    " ON CONFLICT (namespace) DO UPDATE SET facts = EXCLUDED.facts",
                    (user, each, start, end),
                )
                connection.execute(GENERATE, (start, end, each))
            connection.execute("ANALYZE holdfast.facts")
            connection.execute("CHECKPOINT")
            found = connection.execute("SELECT pg_database_size(current_database())").fetchone()
        filled, spaces = time.monotonic() - began, wanted
        measured(server, f"growth/{max(2, wanted // 2)}", size, each)
        print(f"  {wanted:,} namespaces, filled in {filled:.0f} s, {found[0] / 1e9 if found else 0:.2f} GB", flush=True)
    store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["agents", "growth"])
    parser.add_argument("server")
    parser.add_argument("--admin", help="for growth: the address of a superuser")
    parser.add_argument("--agents", type=int, default=100)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--facts", type=int, default=1_000_000, help="most facts for growth")
    parser.add_argument("--each", type=int, default=1000, help="facts of one namespace")
    given = parser.parse_args()
    if given.what == "growth":
        growth(given.server, given.admin or given.server, given.facts, given.each)
        return
    agents(given.server, given.agents, given.processes, given.seconds)


if __name__ == "__main__":
    main()
