"""Requests of the ordinary commands, each in a process of its own, as docs/gitea.md states them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.backends.gitea.test_starting import Away
from tests.support.gitea.fake_server import FakeServer
from tests.support.gitea.fake_server.server import Seen
from tests.support.gitea.faults import FaultProxy

from holdfast import Holdfast


@pytest.fixture
def away(project: Path, gitea: FakeServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Away]:
    monkeypatch.setenv("HOLDFAST_GITEA_TOKEN", gitea.token)
    with FaultProxy(gitea.url) as proxy:
        yield Away(project, gitea, proxy)


def run(away: Away, *words: str) -> list[Seen]:
    """The requests of a command."""
    away.gitea.requests.clear()
    subprocess.run([sys.executable, "-m", "holdfast", *words], cwd=away.project, check=True, capture_output=True)
    return list(away.gitea.requests)


def kinds(requests: list[Seen]) -> str:
    """Each request as its method and last part, in order."""
    return " ".join(f"{one.method}:{one.path.rsplit('/', 1)[-1]}" for one in requests)


def remember(away: Away, count: int) -> None:
    rows = [{"content": f"The user said {number}: {'word ' * 60}", "category": "knowledge", "confidence": 0.9}
            for number in range(count)]  # fmt: skip
    with Holdfast.open(away.project) as memory:
        memory.facts.import_(rows)


def test_flush__of_a_new_project_and_of_one_that_is_known__makes_the_stated_requests(away: Away) -> None:
    for wanted in (16, 12, 12):
        away.gitea.requests.clear()
        away.flush()
        asked = [f"{one.method} {one.path}" for one in away.gitea.requests]
        assert len(asked) == wanted, asked
        # both records are read back by the backend, and both documents by the flush
        assert Counter(one.split()[0] for one in asked)["POST"] in (2, 5)
        assert sum(one.startswith("GET") and one.endswith("/comments") for one in asked) >= 4


def test_start__cold_and_warm__makes_at_most_five_requests(away: Away) -> None:
    away.flush()
    remember(away, 200)
    shutil.rmtree(away.state)
    for native in ("cold", "warm", "warm again"):
        assert len(away.requests(native)) <= 5


def test_prompt_and_remember__few_facts__make_the_stated_requests(away: Away) -> None:
    remember(away, 3)
    for _ in range(2):
        assert kinds(run(away, "prompt")) == "GET:issues GET:comments"
        assert kinds(run(away, "facts", "list")) == "GET:issues GET:comments"
    asked = run(away, "remember", "The port is 8443")
    assert kinds(asked) == "GET:issues GET:comments GET:comments POST:comments GET:comments"
