"""Round trips of a flush, a load and an add, counted by a proxy; changes that meet another writer's; time limits."""

import threading
import time
from collections.abc import Callable

import pytest

from holdfast.api import Holdfast, Unavailable
from holdfast.storage import Capability, deadline
from holdfast.testing.facts import make_fact
from holdfast_postgres.backend import PostgresBackend

Memory = Callable[..., Holdfast]

PAYLOAD = {
    "objective": "Uploads survive a lost connection",
    "facts": ["Uploads go out through the gateway", "Retries are logged"],
    "decisions": ["Back off exponentially"],
    "blockers": [],
    "artifacts": ["src/upload.py"],
    "next_step": "Write docs/upload.md",
    "follow_ups": [],
    "handoff": {"active_task": "Uploads", "branch": "main", "blocker": "none", "next_action": "Write docs/upload.md"},
    "state_mutations": [{"kind": "status", "target": "#12", "summary": "done"}],
    "curated": {"memory": [{"text": "Uploads retry five times."}], "user": [{"text": "Prefers short names."}]},
}


@pytest.fixture
def memory(cluster, proxy, tmp_path, monkeypatch) -> Memory:
    """Opens a project whose store is behind the proxy; a second folder is a second machine."""
    monkeypatch.setenv("HOLDFAST_STORAGE__BACKEND", "postgres")
    monkeypatch.setenv("HOLDFAST_STORAGE__SERVER", cluster.url(port=proxy.port))
    monkeypatch.setenv("HOLDFAST_STORAGE__NAMESPACE", tmp_path.name)

    def opened(folder: str = "one") -> Holdfast:
        (tmp_path / folder).mkdir(exist_ok=True)
        return Holdfast.open(tmp_path / folder)

    return opened


def test_flush_and_load__after_connecting__at_most_three_and_two_round_trips(memory, proxy):
    with memory() as own:
        own.facts.create("The first fact connects")
        session = own.session("s1")
        session.add("user", "Decision: retry uploads. I prefer tabs over spaces.")
        session.add("assistant", "Done. Decision: the backoff is exponential. Next I will write docs/upload.md.")
        before = proxy.trips
        plain = session.flush()
        after_plain = proxy.trips
        whole = own.session("s2").flush(PAYLOAD)
        after_whole = proxy.trips
        brief = own.load()
        after_load = proxy.trips
        own.facts.create("One more")
        assert (after_plain - before, after_whole - after_plain) <= (3, 3)
        assert after_load - after_whole <= 2
        assert proxy.trips - after_load == 1
    assert len(plain.written) == 2
    assert [written.name.partition("/")[0] for written in whole.written] == [
        "memory", "memory", "continuity", "MEMORY.md", "USER.md"
    ]  # fmt: skip
    assert "Uploads retry five times." in brief.memory
    with memory("two") as other:
        for written in whole.written:
            document = other.services.store.read(written.name)
            assert document.revision == written.revision


def test_flush__each_kind__at_most_three_round_trips(memory, proxy):
    """And the first of a namespace: it reads, is refused, rolls back, makes the namespace, writes, and adds facts."""

    def trips(name: str, facts: list[str], **changes: object) -> int:
        before = proxy.trips
        own.session(name).flush({**PAYLOAD, "curated": "none", "facts": facts, **changes})
        return proxy.trips - before

    memory().close()
    with memory() as own:
        store = own.services.store.backend
        assert store.names() == []  # connects
        counted = {
            "first": trips("s1", ["The port is 8080", "The branch is main"]),
            "plain": trips("s2", []),
            "new facts": trips("s3", ["Uploads go out through the gateway", "Retries are logged"]),
            "replacing": trips("s4", ["The port is 9090", "The branch is develop", "Retries are counted"]),
            "curated": trips("s5", [], curated=PAYLOAD["curated"]),
        }
        before = [fact.content for fact in store.facts()]
        trail = [event.content for event in own.facts.trail.entries()]
    assert sorted(before) == [
        "Retries are counted", "Retries are logged", "The branch is develop", "The port is 9090",
        "Uploads go out through the gateway",
    ]  # fmt: skip
    assert trail == ["The port is 8080", "The branch is main"]
    assert counted.pop("first") <= 6
    assert max(counted.values()) <= 3, counted


def test_flush__at_the_cap__evicts_and_replaces_in_three_round_trips(memory, proxy, monkeypatch):
    monkeypatch.setenv("HOLDFAST_FACTS__MAX_FACTS", "3")
    with memory() as own:
        for text in ("The port is 8080", "Uploads are slow", "Retries are logged"):
            own.facts.create(text)
        before = proxy.trips
        own.session("s1").flush({**PAYLOAD, "curated": "none", "facts": ["The port is 9090", "Pumps are loud"]})
        assert proxy.trips - before <= 3
        store = own.services.store.backend
        assert len(list(store.facts())) <= 3
        assert "The port is 9090" in [fact.content for fact in store.facts()]
        assert {event.event for event in own.facts.trail.entries()} == {"evicted", "replaced"}


def test_load__newest_note_is_of_an_earlier_day__at_most_three_round_trips(memory, proxy):
    with memory() as own:
        backend = own.services.store.backend
        for name in ("2020-01-01.md", "2020-01-02.md", "dreams/2020-01-03.md"):
            backend.write(f"memory/{name}", f"# Daily Memory: {name}\n\nSomething happened.\n")
        before = proxy.trips
        brief = own.load()
        assert proxy.trips - before <= 3
    assert [name for name, _ in brief.notes] == ["memory/2020-01-02.md"]


def test_threads__more_than_connections__all_are_served(cluster):
    store = PostgresBackend(".", server=cluster.url(), namespace="pooled", connections=3)
    assert Capability.TRANSACTIONS in store.capabilities
    store.add_fact(make_fact(0), 1000)
    threads = [threading.Thread(target=store.add_fact, args=(make_fact(number), 1000)) for number in range(1, 20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(list(store.facts())) == 20
    store.close()


@pytest.mark.parametrize(("timeout_s", "limit_s"), [(1, 30), (30, 0.5)])
def test_call__server_takes_it_and_never_answers__unavailable_in_time(cluster, proxy, opened, timeout_s, limit_s):
    store = opened(cluster, "mute", port=proxy.port, timeout_s=timeout_s)
    store.write("MEMORY.md", "one")
    proxy.mute = True
    began = time.monotonic()
    with pytest.raises(Unavailable, match="did not answer in time") as caught, deadline(limit_s):
        store.read("MEMORY.md")
    assert time.monotonic() - began < 5
    assert "timeout_s" in caught.value.next_step
    proxy.mute = False
    found = store.read("MEMORY.md")
    assert found.text == "one"


def test_call__every_connection_is_in_use__the_setting_is_named(cluster):
    store = PostgresBackend(".", server=cluster.url(), namespace="waiting", connections=1, timeout_s=0.5)
    store.add_fact(make_fact(0), 1000)
    held = threading.Event()

    def hold(execute: Callable[..., object]) -> None:
        held.set()
        time.sleep(1.5)

    thread = threading.Thread(target=store.database.change, args=(hold,))
    thread.start()
    held.wait(10)
    with pytest.raises(Unavailable, match="all connections of this process are in use") as caught:
        len(list(store.facts()))
    assert "storage.connections" in caught.value.next_step
    thread.join(10)
    assert len(list(store.facts())) == 1
    store.close()
