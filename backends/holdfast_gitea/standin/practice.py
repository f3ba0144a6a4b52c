"""A stand-in server to try the trail on, for ``holdfast demo --gitea``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from holdfast.flush.publish.forge import Practice
from holdfast_gitea.client import Gitea
from holdfast_gitea.standin import StandIn

_REPOSITORY: Final = "shop/payments"
_NUMBER: Final = 218  # what the demo's session is about


class _OnLoopback(Practice):
    def __init__(self, server: StandIn) -> None:
        self._server = server
        server.make_repo(_REPOSITORY)
        server.world.repo(_REPOSITORY).last_number = _NUMBER - 1
        self._number = server.make_issue(_REPOSITORY, "Nobody is charged twice for one order", poster="ines", pull=True)
        self.target = f"{_REPOSITORY}#{self._number}"
        self.settings = {"server": server.url, "repository": _REPOSITORY}
        self.environment = {"HOLDFAST_GITEA_TOKEN": server.token}

    def comments(self) -> list[str]:
        return self._server.bodies(_REPOSITORY, self._number)

    def down(self) -> None:
        self._server.down()

    def up(self) -> None:
        self._server.up()


@contextmanager
def stand_in() -> Iterator[Practice]:
    """Running while the block lasts, on a free port of this machine. Raises: PluginLoadFailed without the library that
    the client needs: better before anything is played."""
    with StandIn() as server:
        with Gitea(server.url, server.token) as client:
            client.server_version()
        yield _OnLoopback(server)
