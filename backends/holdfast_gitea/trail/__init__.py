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

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Final

from holdfast.api import hookimpl
from holdfast.errors import ConfigError, NotFound, StorageError, TryLater
from holdfast_app.outbox.forge import INCOMPLETE, Activity, Forge, Post

if TYPE_CHECKING:
    from datetime import datetime

    from holdfast.api import PluginContext
    from holdfast.models import Evidence, Payload, Receipt, StateMutation
    from holdfast_app.outbox.forge import Ask, Item
    from holdfast_gitea.trail.references import Target
    from holdfast_gitea.wire.client import Gitea

#: Seconds for one wait, and for one call with its tries. A flush must not be delayed, and the outbox loses nothing.
TIMEOUT_S: Final = 5.0
PATIENCE_S: Final = 3.0
_KEYS: Final = frozenset({"server", "repository", "repositories", "operator", "timeout_s", "insecure_http"})


class GiteaTrail(Forge):
    """The plugin ``gitea_trail``. Makes no request before a flush has something to publish."""

    title: ClassVar[str] = "Gitea"
    known_settings: ClassVar[frozenset[str]] = _KEYS

    def __init__(self, context: PluginContext) -> None:
        super().__init__(context)
        given = context.settings
        if unknown := sorted(set(given) - _KEYS):
            raise _bad(f"{unknown[0]} is not known", f"Use one of: {', '.join(sorted(_KEYS))}.")
        self._server = _text(given, "server").rstrip("/")
        if not self._server.startswith(("https://", "http://")):
            raise _bad("server is missing or no address", 'Write it like server = "https://git.example.org".')
        self._repository = _text(given, "repository")
        self._operator = _text(given, "operator").removeprefix("@")
        others = given.get("repositories", [])
        if not isinstance(others, list) or not all(isinstance(name, str) for name in others):
            raise _bad("repositories is not a list of strings", 'Write it like repositories = ["owner/name"].')
        self._repositories = tuple(dict.fromkeys(filter(None, (self._repository, *others))))
        for name in self._repositories:
            if name.count("/") != 1:
                raise _bad(f"{name!r} is not a repository", 'Write it like "owner/name".')
        timeout_s = given.get("timeout_s", TIMEOUT_S)
        if not isinstance(timeout_s, int | float) or isinstance(timeout_s, bool) or not timeout_s > 0:
            raise _bad("timeout_s is not a number above 0", "It is in seconds.")
        self._timeout_s = float(timeout_s)
        self._insecure_http = given.get("insecure_http") is True

    @hookimpl
    def on_flush(self, payload: Payload, receipt: Receipt) -> Sequence[Evidence] | None:
        """A comment for each piece of work whose state changed."""
        if not payload.state_mutations:
            return None
        from holdfast.models import Evidence

        by_target: dict[Target, list[StateMutation]] = {}
        elsewhere: dict[str, None] = {}
        for mutation in payload.state_mutations:
            target = self._target(mutation.target)
            if target is None:
                elsewhere[mutation.target] = None
            else:
                by_target.setdefault(target, []).append(mutation)
        posts = [
            Post(str(target), self._body(target, said, [*by_target], receipt)) for target, said in by_target.items()
        ]
        note = f"It names no issue on {self._server}, so only the daily summary records it; `owner/repo#12` names one."
        return [
            *self.publish(posts, receipt),
            *(Evidence(target=name, pointer="", published="", read_back="", note=note) for name in elsewhere),
        ]

    def send(self, item: Item) -> Evidence:
        """Add the comment unless it is there, and read it back. See :meth:`holdfast_app.outbox.forge.Forge.send`."""
        from holdfast.models import Evidence
        from holdfast_gitea.wire.faults import Absent, Closed, Passing

        target = self._target(item.target)
        if target is None:
            raise StorageError(
                f"{item.target!r} names no issue on {self._server}.", next_step="Drop it, or correct the settings."
            )
        try:
            with self._gitea() as gitea:
                comment = gitea.repo(target.repository).publish(target.number, item.body, item.id)
        except Passing as error:
            raise TryLater(error.message, next_step=error.next_step, after_s=error.retry_after_s or 0.0) from error
        except (Absent, Closed) as error:  # another try changes nothing, and other targets may well be open
            raise StorageError(error.message, next_step=error.next_step) from error
        except NotFound as error:
            step = "correct it with `holdfast outbox retarget`, or give the comment up with `holdfast outbox drop`."
            raise NotFound(error.message, next_step=f"{error.next_step.rstrip('.')}: {step}") from error
        return Evidence(
            target=item.target,
            pointer=comment.url or f"{self._server}/{target.repository}/issues/{target.number}",
            published=item.body,
            read_back=comment.body,
        )

    def activity(self, since: datetime, until: datetime) -> list[Activity]:
        """Opened, closed and merged issues and pull requests, and comments. See :class:`Forge`."""
        from holdfast_gitea.trail import admins, events

        if not self._repositories:
            raise _bad("repository is missing, so there is nothing to read", 'Set repository = "owner/name".')
        found: list[Activity] = []
        failed: list[StorageError] = []
        with self._gitea() as gitea:
            me = gitea.user()
            if not self._operator:
                whom = f"to {me}, the token's user, are found" if me else "are not found"
                text = f"No `operator` is set in the settings, so questions {whom}."
                found.append(Activity(INCOMPLETE, "", self._server, text, until))
            for name in self._repositories:
                try:
                    repo = gitea.repo(name)
                    found += events.of(repo, since, until, self._operator or me, me)
                    found += admins.of(repo, me, self._state, since, until)
                except StorageError as error:
                    failed.append(error)
                    text = f"could not be read: {error.message}"
                    found.append(Activity("repository", name, f"{self._server}/{name}", text, until))
            if failed and len(failed) == len(self._repositories):
                raise failed[0]
        return sorted(found, key=lambda one: (one.at, one.pointer, one.text))

    def facts(self, asks: Sequence[Ask], since: datetime) -> Mapping[Ask, Collection[str]]:
        """See :meth:`Forge.facts` and :mod:`holdfast_gitea.trail.facts`."""
        from holdfast_gitea.trail import facts

        works = {ask.target: target for ask in asks if (target := self._target(ask.target)) is not None}
        with self._gitea() as gitea:
            return facts.of(gitea, self._repositories, asks, works, since)

    def check(self) -> str:
        """The server's version, when it answers and shows the repositories to this token. Raises: HoldfastError."""
        with self._gitea() as gitea:
            for name in self._repositories:
                gitea.repo(name).check()
                gitea.repo(name).check_write()
            return f"{self._server} answers ({gitea.server_version()}); " + (
                f"{', '.join(self._repositories)} can be read" if self._repositories else "no repository is set"
            )

    def _target(self, text: str) -> Target | None:
        from holdfast_gitea.trail.references import target_of

        return target_of(text, server=self._server, repository=self._repository)

    def _body(self, target: Target, said: Sequence[StateMutation], targets: Sequence[Target], receipt: Receipt) -> str:
        """The comment for people, except for the last line."""
        from holdfast.config.layout import Surface
        from holdfast.text.plain import one_line
        from holdfast_gitea import marker
        from holdfast_gitea.trail.references import code, quiet

        keep = {str(one) for one in targets}
        lines = []
        for mutation in said:
            text = quiet(one_line(mutation.summary), server=self._server, repository=target.repository, keep=keep)
            lines.append(f"**{mutation.kind}**: {text}")
        told = lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines)
        note = next((w.name for w in receipt.written if w.surface == Surface.DAILY), "")
        story = f"The whole story: {code(note)}, block {code(receipt.flush_id)}." if note else ""
        by = f"Session {code(one_line(receipt.session_id))}, {receipt.at:%Y-%m-%d %H:%M %Z}."
        last = marker.line(id=self.item_id(receipt.flush_id, str(target)), kind="trail", flush=receipt.flush_id)
        return f"{told}\n\n{by} {story}".rstrip() + f"\n\n{last}"

    def _gitea(self) -> Gitea:
        """A client: between two flushes no connection is held. Raises: ConfigError without a token."""
        from holdfast_gitea.wire.client import Gitea
        from holdfast_gitea.wire.faults import GITEA
        from holdfast_keys.transport import find_token

        service, insecure = GITEA._replace(table="plugins.gitea_trail"), self._insecure_http
        token = find_token(service=service, server=self._server, root=self._root, insecure_http=insecure)
        return Gitea(
            self._server,
            token,
            service=service,
            timeout_s=self._timeout_s,
            patience_s=PATIENCE_S,
            insecure_http=insecure,
        )


def _text(given: Mapping[str, object], key: str) -> str:
    value = given.get(key, "")
    if not isinstance(value, str):
        raise _bad(f"{key} is not a string", "Put it in quotation marks.")
    return value.strip()


def _bad(problem: str, next_step: str) -> ConfigError:
    return ConfigError(f"In `[plugins.gitea_trail]` {problem}.", next_step=next_step)
