"""The fault proxy does what its table says: what the client gets, and what the server has afterwards."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator

import pytest
from tests.support.gitea.fake_server import FakeServer
from tests.support.gitea.faults import FAULTS, SLOW_S, FaultProxy
from tests.support.gitea.plain_client import call

REPO = "agent/memory"
COMMENTS = f"/repos/{REPO}/issues/1/comments"


@pytest.fixture
def gitea() -> Iterator[FakeServer]:
    with FakeServer() as running:
        running.make_repo(REPO)
        running.make_issue(REPO, "t")
        yield running


@pytest.fixture
def proxy(gitea: FakeServer) -> Iterator[FaultProxy]:
    with FaultProxy(gitea.url) as running:
        yield running


def post(gitea: FakeServer, proxy: FaultProxy, body: str = "b") -> str:
    """What the client saw: a status, or the name of what broke."""
    try:
        reply = call(proxy.url, "POST", COMMENTS, {"body": body}, token=gitea.token, timeout_s=SLOW_S / 2)
    except (OSError, http.client.HTTPException) as error:
        return type(error).__name__
    try:
        json.loads(reply.text)
    except ValueError:
        return f"{reply.status}, not JSON"
    return str(reply.status)


@pytest.mark.parametrize(
    ("name", "seen", "written"),
    [
        ("answer lost", "RemoteDisconnected", True),
        ("answer cut", "IncompleteRead", True),
        ("answer garbled", "UnicodeDecodeError", True),
        ("answer slow", "TimeoutError", True),
        ("page instead of the answer", "200, not JSON", True),
        ("500 after the write", "500, not JSON", True),
        ("502 after the write", "502, not JSON", True),
        ("reset after the write", "ConnectionResetError", True),
        ("request lost", "RemoteDisconnected", False),
        ("500 before the write", "500, not JSON", False),
        ("502 before the write", "502, not JSON", False),
        ("503 with Retry-After", "503, not JSON", False),
        ("429 with Retry-After", "429, not JSON", False),
        ("reset before the write", "ConnectionResetError", False),
        ("page instead of the server", "200, not JSON", False),
        ("504, never written", "504, not JSON", False),
        ("504, written at once", "504, not JSON", True),
    ],
)
def test_fault__each__shows_what_it_says_and_writes_or_not(
    gitea: FakeServer, proxy: FaultProxy, name: str, seen: str, written: bool
) -> None:
    proxy.spoil("POST", "/comments$", FAULTS[name])
    try:
        got = post(gitea, proxy)
    except UnicodeDecodeError as error:
        got = type(error).__name__
    assert (got, bool(gitea.bodies(REPO, 1)), proxy.spoilt) == (seen, written, [name])
    assert post(gitea, proxy) == "201"


@pytest.mark.parametrize(
    ("name", "later"),
    [
        ("504, written before the next request", 0),
        ("504, written one request later", 1),
        ("504, written two requests later", 2),
        ("504, written three requests later", 3),
    ],
)
def test_fault__late_write__comes_before_the_request_after_so_many(
    gitea: FakeServer, proxy: FaultProxy, name: str, later: int
) -> None:
    proxy.spoil("POST", "/comments$", FAULTS[name])
    assert post(gitea, proxy, "late") == "504, not JSON"
    for _ in range(later):
        assert call(proxy.url, "GET", COMMENTS, token=gitea.token).json == []
    assert len(call(proxy.url, "GET", COMMENTS, token=gitea.token).json) == 1
