"""A Gitea stand-in on loopback with one repository and one pull request, for ``holdfast demo --gitea``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from holdfast_gitea.standin import StandIn
from holdfast_gitea.wire.client import Gitea

_REPOSITORY: Final = "shop/payments"
_NUMBER: Final = 218  # the subject of the demo's session


class Practice:
    """The server. ``settings`` is the plugin's table, ``environment`` its variables, ``target`` the pull request."""

    def __init__(self, server: StandIn) -> None:
        self._server = server
        server.make_repo(_REPOSITORY)
        server.world.repo(_REPOSITORY).last_number = _NUMBER - 1
        self._number = server.make_issue(_REPOSITORY, "Nobody is charged twice for one order", poster="ines", pull=True)
        self.target = f"{_REPOSITORY}#{self._number}"
        self.settings = {"server": server.url, "repository": _REPOSITORY}
        self.environment = {"HOLDFAST_GITEA_TOKEN": server.token}

    def comments(self) -> list[str]:
        """The comments on ``target``, oldest first."""
        return self._server.bodies(_REPOSITORY, self._number)

    def down(self) -> None:
        """Stop answering."""
        self._server.down()

    def up(self) -> None:
        """Answer again, with everything still there."""
        self._server.up()


@contextmanager
def stand_in() -> Iterator[Practice]:
    """Run on a free port while the block lasts. Raises: PluginLoadFailed when the client's HTTP library is missing."""
    with StandIn() as server:
        with Gitea(server.url, server.token) as client:
            client.server_version()
        yield Practice(server)
