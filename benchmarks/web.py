"""First byte of every view of `holdfast web`, on a project with 10,000 facts, two years of notes and 400 sessions.

    python benchmarks/web.py [--facts N] [--days N] [--rounds N]

Prints the median and the slowest of the rounds for each view, in milliseconds, after one request that warms the caches,
and that first request.
"""

from __future__ import annotations

import argparse
import http.client
import statistics
import tempfile
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

from holdfast import Holdfast, Payload
from holdfast.config.layout import Surface
from holdfast.config.values import Config, FactsConfig, PluginConfig
from holdfast.flush import notes
from holdfast.plugin import discovery
from holdfast_web.server import Server
from holdfast_web.site import Site

END = datetime(2026, 11, 20, 18, 0, tzinfo=UTC)
BLOCKS = 6
SESSIONS = 400
CATEGORIES = ("knowledge", "context", "preference", "behavior", "goal", "correction")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=10_000)
    parser.add_argument("--days", type=int, default=730)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder), args.facts, args.days)
        with Holdfast.open(folder, config=Config(zone="UTC"), clock=lambda: END) as memory:
            print(f"{memory.facts.count():,} facts, {len(memory.services.store.names()):,} documents")
            for view, (first, times) in measure(memory, args.rounds).items():
                print(
                    f"{view:<45} median {statistics.median(times):6.1f}  slowest {max(times):6.1f}  first {first:6.1f}"
                )


def build(root: Path, facts: int, days: int) -> None:
    """Fill the project without plugins, which would only take time here."""
    off = {name: PluginConfig(enabled=False) for name in discovery.defaults()}
    now = [END - timedelta(days=days)]
    settings = Config(zone="UTC", plugins=off, facts=FactsConfig(max_facts=facts))
    with Holdfast.open(root, config=settings, clock=lambda: now[0]) as memory:
        memory.facts.import_(
            {"content": f"The service number {n} listens on port {n % 60_000} of host {n % 97}",
             "category": CATEGORIES[n % 6], "confidence": 0.5 + n % 50 / 100}
            for n in range(facts)
        )  # fmt: skip
        layout, store = memory.services.layout, memory.services.store
        for day in range(days):
            now[0] = END - timedelta(days=days - day)
            name = layout.name(Surface.DAILY, now[0].date())
            text = notes.header(now[0].date()) + "".join(block(day, n, now[0]) for n in range(BLOCKS))
            store.backend.write(name, text)
        for number in range(SESSIONS):
            now[0] = END - timedelta(days=min(days - 1, (SESSIONS - number) // 8))
            session = memory.session(f"session-{number:04d}")
            for turn in range(20):
                session.add("user", f"Message {turn} of session {number}: repair the service {turn * number}")
                session.add("assistant", f"The service {turn * number} runs again, because its port was taken")
            if number < SESSIONS - 3:
                session.end()
        lines = "".join(f"- The service number {n} listens on port {n}\n" for n in range(200))
        store.backend.write("MEMORY.md", f"# Memory\n\n{lines}")


def block(day: int, number: int, at: datetime) -> str:
    """One flush block of a note."""
    made = Payload(
        objective=f"Repair the service {day * number}",
        facts=[f"The service {day * number + n} listens on port {n}" for n in range(4)],
        decisions=[f"Restart the service {number} every night"],
        blockers=[], next_step="Watch it for a day", artifacts=[f"shop/backend#{day}"], follow_ups=[],
        state_mutations=[], work_open=False, curated="none",
    )  # fmt: skip
    at = at.replace(hour=8 + number)
    return notes.render(made, block_id=f"flush_{day:06d}{number:02d}", session=f"s{day}-{number}", reason="end", at=at)


def measure(memory: Holdfast, rounds: int) -> dict[str, tuple[float, list[float]]]:
    """For each view the first time and the others, in milliseconds."""
    fact = memory.facts.list(limit=1)[0].id
    views = ["", "timeline?days=90", "timeline?days=730", "sessions", "sessions/session-0399", "sessions/session-0100",
             "notes", "documents/memory/2026-11-19.md", "memory", "facts", "facts?category=goal&order=confidence",
             "facts?page=150", f"facts/{fact}", "departures", "dreams", "work", "outbox", "start",
             "search?q=service+4711", "search?q=why+is+the+port+of+service+12+closed"]  # fmt: skip
    with Server("127.0.0.1", 0, idle_s=600) as server:
        server.site = Site(memory, port=server.server_port)
        server.site.warm_up()
        memory.search("service")  # builds the index, which the page does in the background
        threading.Thread(target=server.run, daemon=True).start()
        link = urlsplit(server.site.access.link("127.0.0.1"))
        cookie = request(server.server_port, f"{link.path}?{link.query}", "")[1].partition(";")[0]
        times = {}
        for view in views:
            taken = [request(server.server_port, link.path + view, cookie)[0] for _ in range(rounds + 1)]
            times["/" + view] = (taken[0], taken[1:])
        server.stop()
    return times


def request(port: int, path: str, cookie: str) -> tuple[float, str]:
    """Milliseconds to the first byte of the answer, and the cookie that it sets."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    began = time.perf_counter()
    connection.request("GET", path, headers={"Cookie": cookie})
    answer = connection.getresponse()
    taken = (time.perf_counter() - began) * 1000
    if answer.status not in (200, 303):
        raise SystemExit(f"{path}: {answer.status}")
    answer.read()
    connection.close()
    return taken, answer.headers["Set-Cookie"] or ""


if __name__ == "__main__":
    main()
