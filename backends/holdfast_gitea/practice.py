"""A stand-in server to try the trail on, for ``holdfast demo --gitea``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from holdfast.forge import Practice
from holdfast_gitea.standin import StandIn

_REPOSITORY: Final = "shop/payments"


class _OnLoopback(Practice):
    def __init__(self, server: StandIn) -> None:
        self._server = server
        server.make_repo(_REPOSITORY)
        self._number = server.make_issue(_REPOSITORY, "Webhooks are delivered twice", poster="ana")
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
    """Running while the block lasts, on a free port of this machine."""
    with StandIn() as server:
        yield _OnLoopback(server)
