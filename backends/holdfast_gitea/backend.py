"""The storage contract on a repository's issues (docs/storage-contract.md, docs/forges.md)."""

import os
from collections.abc import Mapping
from typing import Any, ClassVar

from attrs import asdict, fields_dict, frozen

from holdfast.api import Capability, Condition, check_name
from holdfast.config import serde
from holdfast_gitea import invitations
from holdfast_gitea.authors import Authors, Member
from holdfast_gitea.compaction import compact, take_over
from holdfast_gitea.documents import Documents
from holdfast_gitea.facts import Facts
from holdfast_gitea.index import Index
from holdfast_gitea.log import Log
from holdfast_gitea.place import Place
from holdfast_gitea.wire.client import Gitea
from holdfast_gitea.wire.models import GITEA
from holdfast_keys.transport import find_token


@frozen(kw_only=True)
class Options:
    """The keys of ``[storage]`` for this backend.

    ``timeout_s`` limits one wait for the server, ``patience_s`` one call with its retries, and ``lock_timeout_s`` the
    wait for another process on this machine, all in seconds. ``authors`` are logins of further users whose records
    count, besides the token's user and the owner of ``repository`` (``owner/name``).
    """

    server: str
    repository: str
    timeout_s: float = 10.0
    patience_s: float = 20.0
    lock_timeout_s: float = 60.0
    insecure_http: bool = False
    authors: tuple[str, ...] = ()


class GiteaBackend(Documents, Facts):
    """Documents and facts as comments in a repository on a server, written as the token's user. ``options`` are those
    of :class:`Options`.

    ``path`` is the folder under ``root`` whose ``state/`` holds this machine's lock and index. No request is sent
    before the first call.
    """

    name: ClassVar[str] = "gitea"
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.REMOTE})

    def __init__(self, root: str | os.PathLike[str], *, token: str, path: str = ".holdfast", **options: Any) -> None:
        settings = Options(**options)
        same: dict[str, Any] = {name: getattr(settings, name) for name in ("timeout_s", "patience_s", "insecure_http")}
        self._gitea = Gitea(settings.server, token, **same)
        repo = self._gitea.repo(settings.repository)
        place = Place(root, path=path, timeout_s=settings.lock_timeout_s)
        whose = Authors(repo, settings.authors)
        self.log = Log(repo, whose, Index(repo, whose, place.index), place)
        invitations.attach(self.log)

    def check(self, *, thorough: bool = False) -> Condition:
        if not self.log.index.look() or not self.log.repo.is_public():
            return Condition()
        name = self.log.repo.name
        step = "Make the repository private in its settings there."
        return Condition(warnings=(f"This project's memory is public. Everyone can read {name} on the server. {step}",))

    def compact(self) -> None:
        with self.log.writing():
            compact(self.log, self)

    def revoke(self, login: str) -> tuple[Member, int]:
        """End a user's invitation: further records do not count, earlier ones still do, and the logs that hold them
        are repeated in issues of the token's user. Returns their number, too. Safe to repeat. Raises: NotFound;
        Refused when the token's user may not; Unavailable."""
        with self.log.writing():
            member = invitations.revoke(self.log, login)
            if member.state != "left":
                return member, 0
            count = take_over(self.log, self, member.id)
            return invitations.close(self.log, member.id), count

    def close(self) -> None:
        self._gitea.close()

    def where(self, name: str = "") -> str:
        if not name:
            return self.log.repo.url
        number = self.number_of(check_name(name))
        return f"{self.log.repo.url}/issues/{number}" if number else f"{self.log.repo.url}/issues"


def from_options(root: str | os.PathLike[str], path: str, options: Mapping[str, object]) -> GiteaBackend:
    """The backend as ``[storage]`` describes it; keys of other backends are left alone. Raises: ConfigError."""
    own = {key: options[key] for key in fields_dict(Options) if key in options}
    made = serde.structure(own, Options, what="`[storage]`", next_step="See docs/forges.md.")
    token = find_token(GITEA, made.server, root, insecure_http=made.insecure_http)
    return GiteaBackend(root, token=token, path=path, **asdict(made))
