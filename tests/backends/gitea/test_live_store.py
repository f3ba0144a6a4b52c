"""The Gitea backend against every clause of docs/storage-contract.md on a real server, where one is given.

The variables of test_live.py, with a token that may make repositories (write:issue, write:repository, write:user): each
test takes a new one of the token's user, and deletes it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.backends.gitea.live_kit import ADDRESS, FACTORY, URL, address, ask, may_make_repositories

from holdfast.testing import (
    DocumentContract,
    FactContract,
    OptionalContract,
    ProcessContract,
)

pytestmark = [
    pytest.mark.skipif(not URL, reason="no real server given: HOLDFAST_GITEA_URL, _TOKEN and _REPO are not set"),
    pytest.mark.skipif(bool(URL) and not may_make_repositories(), reason="the token may not make repositories"),
]


class OnServer:
    """How to spoil a repository: as people do in their browsers."""

    factory = FACTORY

    @pytest.fixture(autouse=True)
    def _removed(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
        before = {*tmp_path_factory.getbasetemp().rglob(ADDRESS)}
        yield
        for path in {*tmp_path_factory.getbasetemp().rglob(ADDRESS)} - before:
            assert ask("DELETE", f"/repos/{address(path.parent)['repository']}").status == 204

    def _edit(self, root: Path, title: str, old: str, new: str) -> None:
        repository = f"/repos/{address(root)['repository']}"
        issues = ask("GET", f"{repository}/issues?state=all&limit=50&page=1").json
        number = next(issue["number"] for issue in issues if issue["title"] == title)
        comment = ask("GET", f"{repository}/issues/{number}/comments").json[-1]
        assert old in comment["body"]
        body = comment["body"].replace(old, new)
        assert ask("PATCH", f"{repository}/issues/comments/{comment['id']}", {"body": body}).status == 200

    def corrupt_document(self, root: Path, name: str) -> None:
        self._edit(root, f"holdfast:doc:{name}", "something was decided", "nothing was decided")

    def corrupt_facts(self, root: Path) -> None:
        self._edit(root, "holdfast:facts", "step", "stop")

    @contextlib.contextmanager
    def unwritable(self, root: Path) -> Iterator[None]:
        repository = f"/repos/{address(root)['repository']}"
        assert ask("PATCH", repository, {"archived": True}).status == 200
        try:
            yield
        finally:
            assert ask("PATCH", repository, {"archived": False}).status == 200


class TestDocuments(OnServer, DocumentContract):
    """D1-D9, A1-A6, E1-E3."""


class TestFacts(OnServer, FactContract):
    """F1-F14, C9, E1-E3."""

    machine_examples = 3


class TestOptional(OnServer, OptionalContract):
    """D10, F13-F17, T1-T4, S1, S2."""


class TestProcesses(OnServer, ProcessContract):
    """C1-C8."""
