"""A fake server server with an empty repository, and machines that keep a store on it."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

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
def machine(gitea, tmp_path, closing) -> Callable[..., GiteaBackend]:
    """Make a machine: a backend with a folder of its own, which has never seen the store; or ``name``'s again."""
    numbers = itertools.count()

    def make(
        server: str = "", *, name: str = "", token: str = "", patience_s: float = 5.0, **more: Any
    ) -> GiteaBackend:
        folder = tmp_path / (name or f"machine{next(numbers)}")
        folder.mkdir(exist_ok=True)
        place = {"server": server or gitea.url, "token": token or gitea.token, "repository": REPO}
        return closing(GiteaBackend(folder, **place, patience_s=patience_s, **more))

    return make
