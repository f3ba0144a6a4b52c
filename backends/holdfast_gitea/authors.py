"""Whose records count: everyone who can read the repository can comment there.

Records count from the token's own user, from the repository's owner (who can edit and delete everything anyway) and
from the users named in ``[storage] authors``, which a project's own file cannot set before the user trusts it. A
signature would need one more secret on each machine, and the server already proves who wrote a comment.
"""

from __future__ import annotations

from collections.abc import Iterable

from holdfast.errors import ConfigError
from holdfast_gitea import marker
from holdfast_gitea.folding import is_accept
from holdfast_gitea.wire.client import Repo
from holdfast_gitea.wire.models import Comment

#: The next step when another user's records are found.
NEXT_STEP = "If that user is yours, name it in `[storage] authors`; otherwise remove its access to the repository."


class Authors:
    """The users whose records count in one store. ``named`` are logins; case is ignored, as on the server."""

    def __init__(self, repo: Repo, named: Iterable[str] = ()) -> None:
        self._repo = repo
        self.named = frozenset(name.casefold() for name in named)
        self._always = self.named | {repo.name.partition("/")[0].casefold()}
        self.remembered = ""  # the token's user as an earlier process of this machine knew it
        self._asked = False

    @property
    def own(self) -> str:
        """The token user's login in lower case, if known."""
        return self._repo.user.casefold() or self.remembered

    def counts(self, login: str, number: int) -> bool:
        """Whether records by ``login`` count; ``number`` is the issue they are in.

        Costs a request or two when the answer depends on the token's user and that user is uncertain. An earlier
        answer may be out of date, because users can change their login. Raises: ConfigError when the server does
        not show whose token it is and no authors are named; Unavailable.
        """
        login = login.casefold()
        if login in self._always:
            return True
        if login and login == self.own:
            return True
        if not self._repo.user and not self._asked:
            self._asked = True
            self._repo.whoami(number)
            if not self._repo.user and not self.remembered and not self.named:
                self._asked = False
                raise ConfigError(
                    f"The server does not show whose token this is, so it is unknown whose records count in "
                    f"{self._repo.name}.",
                    next_step="Name the users in `[storage] authors`, or add `read:user` to the token's scopes.",
                )
        return bool(login) and login == self.own

    def split(self, comments: Iterable[Comment], number: int) -> tuple[tuple[Comment, ...], tuple[Comment, ...]]:
        """The comments that matter to a store (records and acceptances): those that count, and other users'."""
        counted: list[Comment] = []
        foreign: list[Comment] = []
        for one in comments:
            if marker.fields(one.body) is not None or is_accept(one):
                (counted if self.counts(one.author, number) else foreign).append(one)
        return tuple(counted), tuple(foreign)
