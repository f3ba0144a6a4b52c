"""A fake server server with an empty repository, and machines that keep a store on it."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.backends.gitea.store_kit import DAY, HEADER, REPO
from tests.support.gitea.fake_server import FakeServer
from tests.support.stated import only

from holdfast import Holdfast
from holdfast.testing.base import make_block, make_fact
from holdfast_gitea import trail
from holdfast_gitea.backend import GiteaBackend


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


@pytest.fixture
def store(machine) -> GiteaBackend:
    return machine(name="this")


@pytest.fixture
def filled(store) -> GiteaBackend:
    """A store with a document, a day and a fact."""
    store.write("MEMORY.md", "one\n")
    store.append(DAY, make_block("one"), HEADER, "one")
    store.add_fact(make_fact(1), 100)
    return store


@pytest.fixture
def with_trail(gitea, project, clock, monkeypatch, closing) -> Callable[..., Holdfast]:
    """``with_trail(*plugins, **settings)``: the project with a trail on acme/shop, as a new process would open it."""
    monkeypatch.setenv("HOLDFAST_GITEA_TOKEN", gitea.token)
    monkeypatch.setattr(trail, "PATIENCE_S", 0.5)

    def open_project(*plugins: object, **settings: object) -> Holdfast:
        table = {"server": gitea.url, "repository": "acme/shop", **settings}
        named = [(f"test{n}", plugin) for n, plugin in enumerate(plugins)]
        return closing(Holdfast.open(project, config=only("gitea_trail", table), clock=clock, plugins=named))

    return open_project
