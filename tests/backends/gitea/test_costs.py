"""Requests of the ordinary commands, each in a process of its own, as docs/forges.md states them."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from tests.backends.gitea.test_starting import NEXT, Away
from tests.support.gitea.faults import FaultProxy

from holdfast import Holdfast
from holdfast_gitea.wire.client import Repo


@pytest.fixture
def away(project, gitea, monkeypatch) -> Iterator[Away]:
    monkeypatch.setenv("HOLDFAST_GITEA_TOKEN", gitea.token)
    with FaultProxy(gitea.url) as proxy:
        yield Away(project, gitea, proxy)


def test_flush__of_a_new_project_and_of_one_that_is_known__makes_the_stated_requests(away):
    for wanted in (17, 13, 13):
        away.gitea.requests.clear()
        away.flush("before")
        asked = [f"{one.method} {one.path}" for one in away.gitea.requests]
        assert len(asked) == wanted, asked
        # both records are read back by the backend, and both documents by the flush
        assert Counter(one.split()[0] for one in asked)["POST"] in (2, 5)
        assert sum(one.startswith("GET") and one.endswith("/comments") for one in asked) >= 4


def test_load__of_a_known_project__makes_at_most_four_requests(away):
    away.flush("before")
    away.gitea.requests.clear()
    with Holdfast.open(away.project) as memory:
        assert NEXT in str(memory.load())
    assert len(away.gitea.requests) <= 4, away.gitea.requests


def test_prompt__in_the_two_minutes_after_a_burst__is_not_sent_its_issues_again(away, monkeypatch):
    sent: list[int] = []
    ask = Repo.issues

    def counted(repo: Repo, **options: Any) -> Any:
        answer = ask(repo, **options)
        sent.append(len(answer[0]))
        return answer

    monkeypatch.setattr(Repo, "issues", counted)
    away.flush("before")
    away.gitea.world.skew_s += 2
    for _ in range(3):
        with Holdfast.open(away.project) as memory:
            away.gitea.requests.clear()
            memory.prompt()
            assert len(away.gitea.requests) <= 3, away.gitea.requests
    assert sent[-2:] == [0, 0], sent
