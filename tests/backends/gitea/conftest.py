"""A stand-in server with an empty repository, and machines that keep a store on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast_gitea.backend import GiteaBackend
from holdfast_gitea.standin import StandIn

REPO = "agent/memory"


@pytest.fixture
def standin() -> Iterator[StandIn]:
    with StandIn() as running:
        running.make_repo(REPO)
        yield running


@pytest.fixture
def machine(standin: StandIn, tmp_path: Path) -> Iterator[Callable[..., GiteaBackend]]:
    """Make a machine: a backend with a folder of its own, which has never seen the store."""
    made: list[GiteaBackend] = []

    def make(server: str = "", patience_s: float = 5.0, authors: tuple[str, ...] = ()) -> GiteaBackend:
        folder = tmp_path / f"machine{len(made)}"
        folder.mkdir()
        address = server or standin.url
        options = {"patience_s": patience_s, "authors": authors}
        made.append(GiteaBackend(folder, server=address, repository=REPO, token=standin.token, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for backend in made:
        backend.close()
