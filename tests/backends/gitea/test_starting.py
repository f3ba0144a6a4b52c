"""A session's start with a store on a server: few requests, and an honest answer when the server gives none."""

import shutil
from collections.abc import Iterator

import pytest
from tests.backends.gitea import test_spool as spool
from tests.plugins.agents.hooking import Answered
from tests.support.gitea.faults import Fault, FaultProxy

REPO = "agent/memory"
NEXT = "Run migrations/0042_invoices.sql on staging"


class Away(spool.Away):
    """A project whose store is behind a proxy, without a spool, with one flush in it."""

    def start(self, native: str = "now") -> Answered:
        return self.hook("SessionStart", native, source="startup")

    def requests(self, native: str = "now") -> list[str]:
        self.gitea.requests.clear()
        assert NEXT in self.start(native).context
        return [f"{one.method} {one.path.removeprefix('/api/v1')}" for one in self.gitea.requests]


@pytest.fixture
def away(project, gitea, monkeypatch) -> Iterator[Away]:
    monkeypatch.setenv("HOLDFAST_GITEA_TOKEN", gitea.token)
    with FaultProxy(gitea.url) as proxy:
        made = Away(project, gitea, proxy)
        made.settings(spool=False)
        made.flush("before")
        yield made


def test_start__index_cold_or_warm__asks_for_the_list_once_and_reads_each_log_once(away):
    cold_state = list(away.state.glob("gitea-index.json"))
    for path in cold_state:
        path.unlink()
    cold, warm = away.requests("one"), away.requests("two")
    for asked in (cold, warm):
        assert len(asked) <= 5, asked
        assert asked.count(f"GET /repos/{REPO}/issues") <= 2
        read = [one for one in asked if one.endswith("/comments")]
        assert len(set(read)) == len(read), asked
    assert sum("issues?" in one or one.endswith("/issues") for one in warm) == 1


def test_flush__of_a_known_project__makes_the_stated_requests(away):
    """docs/forges.md states them: both records are read back by the backend, and both documents by the flush."""
    for _ in range(2):
        away.gitea.requests.clear()
        away.flush("before")
        assert [one.method for one in away.gitea.requests].count("POST") == 2
        assert len(away.gitea.requests) == 13


def test_start__on_a_machine_that_only_reads__keeps_its_index(away, gitea):
    shutil.rmtree(away.state)
    away.start("one")
    assert (away.state / "gitea-index.json").exists()


@pytest.mark.parametrize("how", ["refused", "silent"])
def test_start__the_server_does_not_answer__says_so_with_the_last_brief(away, how):
    assert NEXT in away.start("one").context
    if how == "refused":
        away.gitea.down()
        away.proxy.__exit__(None, None, None)
    else:
        away.proxy.spoil("GET", "", Fault(name="hangs", reaches=False, answering="nothing", delay_s=30.0), times=99)
    answered = away.start("two")
    assert answered.code == 0
    assert "does not answer" in answered.context or "cannot be reached" in answered.context
    assert "Do not assume that it is empty" in answered.context
    assert NEXT in answered.context
    assert "from just now" in answered.context
    assert answered.context.index("<recalled-memory>") < answered.context.index(NEXT)
    assert len(answered.context) <= 10_000
    assert "holdfast" in answered.notice


def test_start__each_answer_takes_a_while__is_the_brief_and_no_complaint(away):
    (away.state / "gitea-index.json").unlink()
    slow = Fault(name="an answer after a while", reaches=True, answering="truth", delay_s=0.4)
    away.proxy.spoil("GET", "", slow, times=99)
    answered = away.start()
    assert NEXT in answered.context
    assert "took too long" not in answered.context + answered.notice


def test_start__the_store_is_public__the_first_start_says_so_and_the_second_does_not(away, gitea):
    gitea.world.repo(REPO).private = False
    (away.state / "gitea-index.json").unlink()
    first, second = away.start("one"), away.start("two")
    assert "Everyone can read" in first.notice
    assert REPO in first.notice
    assert "Everyone can read" not in second.notice
