"""``[storage] spool``: flushes that a server does not take wait on this machine, and reach it once, in order."""

import json
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.agents.hooking import Answered, Client
from tests.plugins.agents.test_hook_restore import STATED
from tests.support import processes
from tests.support.gitea.fake_server import FakeServer
from tests.support.gitea.faults import Fault, FaultProxy
from tests.support.trusting import trusted

from holdfast.api import FlushRefused, Holdfast, Receipt, block_marker
from holdfast.config.serde import unstructure

REPO = "agent/memory"


class Away:
    """A project whose store is behind a proxy that can take the server away."""

    def __init__(self, project: Path, gitea: FakeServer, proxy: FaultProxy) -> None:
        self.project, self.gitea, self.proxy = project, gitea, proxy
        self.state = project / ".holdfast" / "state"
        self.settings(spool=True)

    def settings(self, *, spool: bool) -> None:
        text = f'[storage]\nbackend = "gitea"\nserver = "{self.proxy.url}"\nrepository = "{REPO}"\n'
        (self.project / "holdfast.toml").write_text(f"{text}spool = true\n" if spool else text)
        trusted(self.project)

    def take_away(self) -> None:
        fault = Fault(name="away", reaches=False, answering="status", status=503, headers={"Retry-After": "60"})
        self.spoil(fault)

    def spoil(self, fault: Fault) -> None:
        for method in ("GET", "POST", "PATCH", "PUT", "DELETE"):
            self.proxy.spoil(method, "", fault, times=100_000)

    def give_back(self) -> None:
        self.proxy.heal()

    def flush(self, session: str, text: str = "", *, at: datetime | None = None, **more: object) -> Receipt:
        payload = STATED.evolve(**({"facts": (text,)} if text else {}), **more)
        with Holdfast.open(self.project, clock=(lambda: at) if at else None) as memory:
            one = memory.session(session)
            one.add("user", "Go on.")
            one.add("assistant", "I will.")
            return one.flush(payload)

    def waiting(self) -> list[str]:
        with Holdfast.open(self.project) as memory:
            return [one.id for one in memory.spool.items()]

    def notes(self) -> str:
        """All notes, as another machine sees them."""
        with Holdfast.open(self.project) as memory:
            names = [name for name in memory.store.names() if name.startswith("memory/")]
            return "\n".join(document.text for name in names if (document := memory.store.read(name)))

    def ship(self) -> int:
        """The number of flushes that still wait."""
        with Holdfast.open(self.project) as memory:
            return len(memory.spool.send().left)

    def command(self, *words: str, **more: Any) -> subprocess.CompletedProcess[str]:
        return processes.run("--root", str(self.project), *words, **more)

    def hook(self, event: str, native: str = "now", **fields: object) -> Answered:
        client = Client(self.project, native=native)
        return client.send(client.payload(event, **fields), HOLDFAST_GITEA_TOKEN=self.gitea.token)


@pytest.fixture
def away(project, gitea, monkeypatch) -> Iterator[Away]:
    monkeypatch.setenv("HOLDFAST_GITEA_TOKEN", gitea.token)
    with FaultProxy(gitea.url) as proxy:
        yield Away(project, gitea, proxy)


def test_flush__server_back__ships_what_waits_first_and_in_order(away):
    away.take_away()
    first, second = away.flush("one", "First words"), away.flush("two", "Second words")
    away.give_back()
    third = away.flush("three", "Third words")
    assert not third.spooled
    assert away.waiting() == []
    text = away.notes()
    order = [text.index(block_marker(one.flush_id)) for one in (first, second, third)]
    assert order == sorted(order)
    with Holdfast.open(away.project) as memory:
        assert {fact.content for fact in memory.facts.list()} == {"First words", "Second words", "Third words"}
        last = memory.session("one").last_receipt
        assert last.written
        assert not last.spooled
        again = memory.session("one").flush()
        assert again.repeated
        assert not again.spooled


@pytest.mark.parametrize(("back", "stated_again"), [(True, False), (False, True)], ids=["server back", "server away"])
def test_flush__the_spool_was_deleted_before_it_was_sent__the_flush_is_stored_or_kept_again(away, back, stated_again):
    away.take_away()
    first = away.flush("one", "The port is 8443")
    (away.state / "spool.jsonl").unlink()
    if back:
        away.give_back()
    with Holdfast.open(away.project) as memory:
        again = memory.session("one").flush(STATED.evolve(facts=("The port is 8443",)) if stated_again else None)
    assert bool(again.spooled) is not back
    assert away.waiting() == ([] if back else [first.flush_id])
    away.give_back()
    away.ship()
    assert away.notes().count(block_marker(first.flush_id)) == 1


@pytest.mark.req("R142", "R149")
def test_flush__server_away_without_a_spool__is_refused_names_the_setting_and_works_when_it_is_back(away):
    away.settings(spool=False)
    away.take_away()
    with pytest.raises(FlushRefused) as refused:
        away.flush("one", "The port is 8443")
    assert "`[storage] spool = true`" in refused.value.next_step
    away.give_back()
    assert away.flush("one", "The port is 8443").flush_id in away.notes()


def test_compaction__server_answers_in_two_seconds__is_refused_in_time_by_name_or_kept(away):
    slow = Fault(name="slow", reaches=True, answering="truth", delay_s=2.0)
    away.spoil(slow)
    away.settings(spool=False)
    client = Client(away.project, native="slow")
    event = client.payload("PreCompact", trigger="auto")
    client.hook("UserPromptSubmit", prompt="Remember the port 8443")
    client.say("user", "Remember the port 8443")
    answered = client.send(event, "--deadline", "3", HOLDFAST_GITEA_TOKEN=away.gitea.token)
    assert answered.code == 2
    assert away.proxy.url in answered.stderr
    assert "something hangs" not in answered.stderr
    away.settings(spool=True)
    answered = client.send(event, "--deadline", "3", HOLDFAST_GITEA_TOKEN=away.gitea.token)
    assert answered.code == 0
    assert len(away.waiting()) == 1


def test_status_doctor_overview_and_spool__say_what_waits_for_which_server(away):
    away.flush("zero")
    away.take_away()
    away.flush("one", "Words")
    for words in (["status"], ["doctor"], [], ["spool"]):
        told = away.command(*words)
        shown = " ".join(told.stdout.split())
        assert "not yet on" in shown, (words, told)
        assert away.proxy.url in shown, words
    away.proxy.spoilt.clear()
    assert json.loads(away.command("status", "--json").stdout)["spooled"][0]["session"] == "one"
    assert len(away.proxy.spoilt) == 1  # it waits for the server once
    assert away.ship() == 1
    away.give_back()
    assert away.command("doctor", "--fix").returncode == 0
    assert away.waiting() == []


def test_ship__two_processes_at_once__nothing_is_stored_twice(away):
    away.take_away()
    receipts = [away.flush(f"s{n}", f"Fact number {n}") for n in range(3)]
    away.give_back()
    with ThreadPoolExecutor(3) as pool:
        assert [done.returncode for done in pool.map(lambda _: away.command("spool", "send"), range(3))] == [0, 0, 0]
    text = away.notes()
    assert [text.count(block_marker(one.flush_id)) for one in receipts] == [1, 1, 1]
    assert away.waiting() == []


_STATED = json.dumps(unstructure(STATED))


def _dies(away: Away, n: int, *words: str, data: str = "") -> bool:
    """Whether the command was killed, instead of its call number ``n`` that changes the disk."""
    return away.command(*words, data=data, dies_at=n).returncode == -signal.SIGKILL


@pytest.mark.parametrize("n", [10, 24])
def test_flush__killed_while_it_is_kept__the_next_one_completes_it_once(away, n):
    away.take_away()
    with Holdfast.open(away.project) as memory:
        memory.session("one").add("user", "Go on")
    assert _dies(away, n, "flush", "--session", "one", data=_STATED)
    with Holdfast.open(away.project) as memory:
        session = memory.session("one")
        receipt = session.flush(STATED if session.unflushed else None)
        assert session.state == "safe"
    assert away.waiting() == [receipt.flush_id]
    away.give_back()
    assert away.ship() == 0
    assert away.notes().count("**Objective:** ") == 1


@pytest.mark.parametrize("n", [6, 16])
def test_ship__killed_at_a_step__the_next_one_completes_it_once(away, n):
    away.take_away()
    receipt = away.flush("one", "The port is 8443")
    away.give_back()
    assert _dies(away, n, "spool", "send")
    assert away.ship() == 0
    assert away.waiting() == []
    assert away.notes().count(block_marker(receipt.flush_id)) == 1
    with Holdfast.open(away.project) as memory:
        assert [fact.content for fact in memory.facts.list()] == ["The port is 8443"]


def test_doctor__spool_is_damaged__says_so_and_restores_it_from_the_journal(away):
    away.flush("zero", "The disk is sdb")  # its receipt is checked on the server, which is away
    away.take_away()
    receipt = away.flush("one", "The port is 8443")
    path = away.state / "spool.jsonl"
    path.write_bytes(path.read_bytes().replace(b"8443", b"8444", 1))
    told = away.command("doctor").stdout
    assert "spool.jsonl" in told
    assert away.command("status").returncode == 1
    away.give_back()
    away.command("doctor", "--fix")
    assert away.ship() == 0
    assert away.notes().count(block_marker(receipt.flush_id)) == 1
    assert "8443" in away.notes()


def test_purge__of_a_session_that_waits__leaves_nothing_to_ship(away):
    away.flush("kept", "Other words")
    away.take_away()
    away.flush("one", "The port is 8443")
    away.give_back()
    at = datetime.now(UTC)
    with Holdfast.open(away.project, clock=lambda: at) as memory:
        assert memory.search("Other words")
        memory.purge(session="one")
        assert memory.purge(subject="Other words").clean  # although the index has the server's content of this minute
    assert away.waiting() == []
    assert "8443" not in away.notes()


def test_ship__the_clock_stepped_back_before_the_kept_flush__the_later_statement_and_handoff_win(away):
    noon = datetime(2026, 11, 21, 12, tzinfo=UTC)
    away.flush("one", "The port is 8080", at=noon)
    away.take_away()
    away.flush("one", "The port is 9090", at=noon - timedelta(hours=2))
    away.give_back()
    assert away.ship() == 0
    with Holdfast.open(away.project) as memory:
        assert [fact.content for fact in memory.facts.list()] == ["The port is 9090"]
        assert memory.load().work[0].facts == ("The port is 9090",)
