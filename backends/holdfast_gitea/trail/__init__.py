"""The execution trail. Each flush that changed the state of work adds a readable comment to that work.

    [plugins.gitea_trail]
    server = "https://git.example.org"
    repository = "owner/name"           # where `#12` refers to; included in the morning report
    repositories = ["owner/other"]      # further repositories for the morning report
    operator = "ana"                    # its reader, by default the token's own user

The token is in ``HOLDFAST_GITEA_TOKEN`` or ``GITEA_TOKEN``, or in the system's keyring (``holdfast auth set gitea``),
stored for a single server.
Each flush leaves one comment per target, written once, identified by the hidden marker in its last line, and read back.
A flush costs three requests per target. Comments that the server cannot take now wait in the outbox.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from holdfast_app.outbox.forge import Activity, Ask
from holdfast_app.outbox.trail import PATIENCE_S, IssueForge, Target

if TYPE_CHECKING:
    from holdfast_app.outbox.forge import Item
    from holdfast_gitea.wire.client import Gitea


class GiteaTrail(IssueForge):
    """The plugin ``gitea_trail``. Makes no request before a flush has something to publish."""

    title: ClassVar[str] = "Gitea"

    def facts(self, asks: Sequence[Ask], since: datetime) -> Mapping[Ask, Collection[str]]:
        """See :meth:`Forge.facts` and :mod:`holdfast_gitea.trail.facts`."""
        from holdfast_gitea.trail import facts

        works = {ask.target: target for ask in asks if (target := self._target(ask.target)) is not None}
        with self._open() as gitea:
            return facts.of(gitea, self._repositories, asks, works, since)

    def check(self) -> str:
        """The server's version, when it answers and shows the repositories to this token. Raises: HoldfastError."""
        with self._open() as gitea:
            for name in self._repositories:
                gitea.repo(name).check()
                gitea.repo(name).check_write()
            return f"{self._server} answers ({gitea.server_version()}); " + (
                f"{', '.join(self._repositories)} can be read" if self._repositories else "no repository is set"
            )

    def _comment(self, server: Any, target: Target, item: Item) -> tuple[str, str]:
        comment = server.repo(target.repository).publish(target.number, item.body, item.id)
        return comment.url, comment.body

    def _login(self, server: Any) -> str:
        login: str = server.user()
        return login

    def _events(self, server: Any, name: str, since: datetime, until: datetime, me: str) -> Iterator[Activity]:
        from holdfast_gitea.trail import events

        repo = server.repo(name)
        yield from events.of(repo, since, until, self._operator or me, me)
        yield from events.administrators(repo, me, self._state, since, until)

    def _open(self) -> Gitea:
        from holdfast_gitea.wire.client import Gitea
        from holdfast_gitea.wire.models import GITEA
        from holdfast_keys.transport import find_token

        service, insecure = GITEA._replace(table=f"plugins.{self.name}"), self._insecure_http
        token = find_token(service, self._server, self._root, insecure_http=insecure)
        options = {"timeout_s": self._timeout_s, "patience_s": PATIENCE_S, "insecure_http": insecure}
        return Gitea(self._server, token, service=service, **options)
