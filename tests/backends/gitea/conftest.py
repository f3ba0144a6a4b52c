"""A fake server server with an empty repository, and machines that keep a store on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.support.gitea.fake_server import FakeServer

from holdfast_gitea.backend import GiteaBackend

REPO = "agent/memory"


@pytest.fixture
def gitea() -> Iterator[FakeServer]:
    with FakeServer() as running:
        running.make_repo(REPO)
        yield running


@pytest.fixture
def machine(gitea, tmp_path) -> Iterator[Callable[..., GiteaBackend]]:
    """Make a machine: a backend with a folder of its own, which has never seen the store."""
    made: list[GiteaBackend] = []

    def make(server: str = "", patience_s: float = 5.0, authors: tuple[str, ...] = ()) -> GiteaBackend:
        folder = tmp_path / f"machine{len(made)}"
        folder.mkdir()
        address = server or gitea.url
        options = {"patience_s": patience_s, "authors": authors}
        made.append(GiteaBackend(folder, server=address, repository=REPO, token=gitea.token, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for backend in made:
        backend.close()
