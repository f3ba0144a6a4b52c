"""The Gitea backend against every clause of docs/storage-contract.md, on the fake server server."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.backends.gitea.store_kit import FACTORY, address, server

from holdfast.testing import (
    DocumentContract,
    FactContract,
    OptionalContract,
    ProcessContract,
)


class OnGitea:
    """How to spoil a repository: as people do in their browsers."""

    factory = FACTORY

    def _edit(self, root: Path, title: str, old: str, new: str) -> None:
        repository = address(root)["repository"]
        number = next(n for n, found in server().titles(repository).items() if found == title)
        comment, body = server().comments(repository, number)[-1]
        assert old in body
        server().edit_comment(repository, comment, body.replace(old, new))

    def corrupt_document(self, root: Path, name: str) -> None:
        self._edit(root, f"holdfast:doc:{name}", "something was decided", "nothing was decided")

    def corrupt_facts(self, root: Path) -> None:
        self._edit(root, "holdfast:facts", "step", "stop")

    @contextlib.contextmanager
    def unwritable(self, root: Path) -> Iterator[None]:
        repository = address(root)["repository"]
        server().archive(repository)
        try:
            yield
        finally:
            server().archive(repository, on=False)


@pytest.mark.req("R013", "R014", "R015", "R016", "R096", "R142")
class TestDocuments(OnGitea, DocumentContract):
    """D1-D9, A1-A6, E1-E3."""


@pytest.mark.req(
    "R042", "R043", "R044", "R045", "R046", "R047", "R048", "R049", "R050", "R051", "R052", "R053", "R054", "R056",
    "R057", "R058", "R059", "R060", "R061",
)  # fmt: skip
class TestFacts(OnGitea, FactContract):
    """F1-F14, C9, E1-E3."""

    machine_examples = 10


class TestOptional(OnGitea, OptionalContract):
    """D10, F13-F17, T1-T4, S1, S2."""


@pytest.mark.req("R015", "R016", "R045", "R047", "R051", "R052", "R058", "R096")
class TestProcesses(OnGitea, ProcessContract):
    """C1-C8."""
