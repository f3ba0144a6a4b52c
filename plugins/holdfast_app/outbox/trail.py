"""Forges whose work is issues and pull requests: their settings, and a comment on each work that a flush changed.

In a comment, ``#12``, ``!12``, ``owner/repo#12``, ``@name`` and issue addresses cause events on that work, mentions
and mails, unless they are in a code span. So quoted references are put into a code span.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Final
from urllib.parse import urlsplit

from attrs import field, fields_dict, frozen, validators

from holdfast import models
from holdfast.api import PluginContext, hookimpl
from holdfast.config import serde
from holdfast.config.layout import Surface
from holdfast.errors import ConfigError, NotFound, StorageError, TryLater
from holdfast.text.plain import one_line
from holdfast_app.outbox.forge import INCOMPLETE, Activity, Forge, Post
from holdfast_app.printable import cut

if TYPE_CHECKING:
    from holdfast_app.outbox.forge import Item

#: Seconds for one wait. A flush must not be delayed, and the outbox loses nothing.
TIMEOUT_S: Final = 5.0
#: Seconds for one call with its tries.
PATIENCE_S: Final = 3.0
_NAME: Final = r"(?!\.+[/#!])[A-Za-z0-9._-]+"  # no name is made of dots alone
_TARGET: Final = re.compile(rf"(?:({_NAME}/{_NAME}))?[#!]([1-9][0-9]{{0,8}})")
_QUOTED: Final = re.compile(r"(?s)```.*?```|`[^`\n]*`|(?m:^>.*$)")
#: A question without a question mark.
_REQUEST: Final = re.compile(
    r"\b(please|(could|can|would) you|needs? your|your (call|decision|approval|review|turn)|decide|let (me|us) know)\b",
    re.IGNORECASE,
)
#: An event's ``waits`` while it waits for the operator's next comment or, when it is a review, the next review.
ANSWER: Final = "answer"
#: What the operator's comment answers, and what the operator's review does.
_ANSWERS: Final = {"comment": ("issue", "pull", "comment"), "review": ("issue", "pull", "comment", "review")}
#: Maximum number of comments shown individually for a piece of work. The rest are counted in one line.
MOST_COMMENTS: Final = 5
#: Labels that a report shows.
BLOCKED: Final = re.compile(r"\b(block(ed|er|ing)?|on[ -]?hold|stalled|waiting)\b", re.IGNORECASE)
PRIORITY: Final = re.compile(r"\b(priority|urgent|critical|p[0-2])\b", re.IGNORECASE)


@frozen(kw_only=True)
class Settings:
    """The settings table of an :class:`IssueForge`: ``repository`` is where ``#12`` refers to, ``repositories`` are
    further ones for the morning report, ``operator`` is its reader, by default the token's own user."""

    server: str = ""
    repository: str = ""
    repositories: tuple[str, ...] = ()
    operator: str = ""
    timeout_s: float = field(default=TIMEOUT_S, validator=validators.gt(0))
    insecure_http: bool = False


class IssueForge(Forge):
    """A forge on a server. Each flush leaves one comment per target, written once, and read back."""

    known_settings: ClassVar[frozenset[str]] = frozenset(fields_dict(Settings))
    #: The server when the settings name none.
    default_server: ClassVar[str] = ""

    def __init__(self, context: PluginContext) -> None:
        super().__init__(context)
        table = {key: value for key, value in context.settings.items() if key in self.known_settings}
        settings = serde.structure(table, Settings, what=f"`[plugins.{self.name}]`")
        self._server = (settings.server.strip() or self.default_server).rstrip("/")
        if not self._server.startswith(("https://", "http://")):
            raise self._bad("server is missing or no address", 'Write it like server = "https://git.example.org".')
        self._repository = settings.repository.strip()
        self._operator = settings.operator.strip().removeprefix("@")
        self._repositories = tuple(dict.fromkeys(filter(None, (self._repository, *settings.repositories))))
        for name in self._repositories:
            if name.count("/") != 1:
                raise self._bad(f"{name!r} is not a repository", 'Write it like "owner/name".')
        self._timeout_s, self._insecure_http = settings.timeout_s, settings.insecure_http

    @hookimpl
    def on_flush(self, payload: models.Payload, receipt: models.Receipt) -> Sequence[models.Evidence] | None:
        """A comment for each piece of work whose state changed."""
        if not payload.state_mutations:
            return None

        by_target: dict[Target, list[models.StateMutation]] = {}
        elsewhere: dict[str, None] = {}
        for mutation in payload.state_mutations:
            if target := self._target(mutation.target):
                by_target.setdefault(target, []).append(mutation)
            else:
                elsewhere[mutation.target] = None
        keep = set(map(str, by_target))
        posts = [Post(str(target), self._body(target, changes, keep, receipt)) for target, changes in by_target.items()]
        note = f"It names no issue on {self._server}, so only the daily summary records it; `owner/repo#12` names one."
        others = (models.Evidence(target=name, pointer="", published="", read_back="", note=note) for name in elsewhere)
        return [*self.publish(posts, receipt), *others]

    def send(self, item: Item) -> models.Evidence:
        """Add the comment unless it is there, and read it back. See :meth:`holdfast_app.outbox.forge.Forge.send`."""
        from holdfast_keys.faults import Absent, Closed, Passing

        target = self._target(item.target)
        if target is None:
            problem = f"{item.target!r} names no issue on {self._server}."
            raise StorageError(problem, next_step="Drop it, or correct the settings.")
        try:
            with self._open() as server:
                url, body = self._comment(server, target, item)
        except Passing as error:
            raise TryLater(error.message, next_step=error.next_step, after_s=error.retry_after_s or 0.0) from error
        except (Absent, Closed) as error:  # another try changes nothing, and other targets may well be open
            raise StorageError(error.message, next_step=error.next_step) from error
        except NotFound as error:
            step = "correct it with `holdfast outbox retarget`, or give the comment up with `holdfast outbox drop`."
            raise NotFound(error.message, next_step=f"{error.next_step.rstrip('.')}: {step}") from error
        url = url or f"{self._server}/{target.repository}/issues/{target.number}"
        return models.Evidence(target=item.target, pointer=url, published=item.body, read_back=body)

    def activity(self, since: datetime, until: datetime) -> list[Activity]:
        """What happened in the repositories. A repository that cannot be read costs its own lines only."""
        if not self._repositories:
            raise self._bad("repository is missing, so there is nothing to read", 'Set repository = "owner/name".')
        events: list[Activity] = []
        failed: list[StorageError] = []
        with self._open() as server:
            me = self._login(server)
            if not self._operator:
                whom = f"to {me}, the token's user, are found" if me else "are not found"
                text = f"No `operator` is set in the settings, so questions {whom}."
                events.append(Activity(INCOMPLETE, "", self._server, text, until))
            for name in self._repositories:
                try:
                    events += self._events(server, name, since, until, me)
                except StorageError as error:
                    failed.append(error)
                    text = f"could not be read: {error.message}"
                    events.append(Activity("repository", name, f"{self._server}/{name}", text, until))
            if failed and len(failed) == len(self._repositories):
                raise failed[0]
        events.sort(key=attrgetter("at"))
        return sorted(_settled(events, self._operator or me), key=attrgetter("at", "pointer", "text"))

    @abstractmethod
    def _open(self) -> AbstractContextManager[Any]:
        """A connection: between two flushes none is held. Raises: ConfigError without a token."""

    @abstractmethod
    def _comment(self, server: Any, target: Target, item: Item) -> tuple[str, str]:
        """Add the comment unless it is there. Returns its address and its body, read again."""

    @abstractmethod
    def _login(self, server: Any) -> str:
        """The token user's login; empty when it is not shown."""

    @abstractmethod
    def _events(self, server: Any, name: str, since: datetime, until: datetime, me: str) -> Iterable[Activity]:
        """The events in a repository, in any order."""

    def _target(self, text: str) -> Target | None:
        return target_of(text, server=self._server, repository=self._repository)

    def _body(
        self, target: Target, mutations: Sequence[models.StateMutation], keep: Collection[str], receipt: models.Receipt
    ) -> str:
        """The comment for people, except for the last line. ``keep`` are the flush's targets."""
        shown = partial(quiet, server=self._server, repository=target.repository, keep=keep)
        lines = [f"**{mutation.kind}**: {shown(one_line(mutation.summary))}" for mutation in mutations]
        body = lines[0] if len(lines) == 1 else "\n".join(f"- {line}" for line in lines)
        note = next((w.name for w in receipt.written if w.surface == Surface.DAILY), "")
        story = f"The whole story: {code(note)}, block {code(receipt.flush_id)}." if note else ""
        by = f"Session {code(one_line(receipt.session_id))}, {receipt.at:%Y-%m-%d %H:%M %Z}."
        last = f"id={self.item_id(receipt.flush_id, str(target))} kind=trail flush={receipt.flush_id}"
        return f"{body}\n\n{by} {story}".rstrip() + f"\n\n<!-- hf:rec {last} -->"

    def _bad(self, problem: str, next_step: str) -> ConfigError:
        return ConfigError(f"In `[plugins.{self.name}]` {problem}.", next_step=next_step)


def asked(body: str, author: str, operator: str) -> str:
    """:data:`ANSWER` when ``body`` mentions the operator and asks for something, outside of code and quotations."""
    prose = _QUOTED.sub(" ", body)
    is_asked = operator and author.casefold() != operator.casefold() and ("?" in prose or _REQUEST.search(prose))
    mention = rf"(?i)(?<![\w@.-])@{re.escape(operator)}(?![\w-])"
    return ANSWER if is_asked and re.search(mention, prose) else ""


def row_text(text: str) -> str:
    """``text`` as a report's line of at most 200 characters."""
    return cut(one_line(text), 200)


def _settled(events: Sequence[Activity], operator: str) -> Iterator[Activity]:
    """``events``, oldest first, where nothing waits that the operator has answered. Of the questions, and of the other
    comments, on a piece of work up to :data:`MOST_COMMENTS` are shown one by one, more as a count."""
    person = operator.casefold()
    own = [event for event in events if event.author and event.author.casefold() == person and not event.own]
    answered = {(event.target, kind): event.at for event in own for kind in _ANSWERS.get(event.kind, ())}
    comments: dict[tuple[str, str], list[Activity]] = {}
    for event in events:
        if event.waits == ANSWER:
            answered_at = answered.get((event.target, event.kind), event.at)
            event = event._replace(waits="" if answered_at > event.at else "operator")
        if event.kind == "comment":
            comments.setdefault((event.target, event.waits), []).append(event)
        else:
            yield event
    for (_, waits), some in comments.items():
        if len(some) <= MOST_COMMENTS:
            yield from some
            continue
        counts = Counter(event.author for event in some).most_common()
        authors = ", ".join(f"{author} ({count})" for author, count in counts[:5])
        authors += f" and {len(counts) - 5} more" if counts[5:] else ""
        what = f"{len(some)} {'questions' if waits else 'comments'} by {authors}"
        yield some[-1]._replace(text=row_text(f"{what}; the last one: {some[-1].text}"), author="", own=False)


@frozen(kw_only=True)
class Target:
    """An issue or pull request of a repository, ``owner/name``."""

    repository: str
    number: int

    def __str__(self) -> str:
        return f"{self.repository}#{self.number}"


def target_of(text: str, *, server: str, repository: str) -> Target | None:
    """The work that ``owner/repo#12``, ``#12`` (in ``repository``) or an address on ``server`` names, else None."""
    text, address = text.strip(), rf"{re.escape(server)}/({_NAME}/{_NAME})/(?:issues|pulls?)/([1-9][0-9]{{0,8}})"
    match = _TARGET.fullmatch(text) or re.fullmatch(rf"{address}(?:[?#]\S*)?", text, re.IGNORECASE)
    if match is None:
        return None
    name = match[1] or repository
    return Target(repository=name, number=int(match[2])) if name else None


def quiet(text: str, *, server: str, repository: str, keep: Collection[str] = ()) -> str:
    """``text`` (one line) without references, except for the targets in ``keep``, written like ``owner/repo#12``."""
    pattern = _pattern(server)
    if not pattern.search(text):
        return text
    text = text.replace("`", "'")  # a reference next to code could end up outside of its code span

    def covered(match: re.Match[str]) -> str:
        reference = match[0].lstrip("\\")  # a backslash would break the code span, where it is not needed
        named = target_of(reference, server=server, repository=repository)
        if named is not None and str(named) in keep:
            return reference
        # Two adjacent code spans would be parsed as a single span with different borders.
        before = " " if match.start() == 0 else ""
        after = " " if match.end() == len(match.string) else ""
        return f"{before}`{reference}`{after}"

    return pattern.sub(covered, text).strip()


def code(text: str) -> str:
    return "`" + text.replace("`", "'") + "`"


def _pattern(server: str) -> re.Pattern[str]:
    """A wider pattern than the server's, extending to the word's end, because covering too much does no harm.

    Addresses may have a name before the host or an extra slash, and in ``_#1_`` the first character is not a letter.
    """
    host = re.escape(urlsplit(server).netloc)
    address = rf"https?://(?:[^\s`/]*@)?{host}/[^\s`]*?(?:issues|pulls?)/[0-9]"
    reference = rf"{address}|(?<![^\W_])(?<!`)(?:(?:{_NAME}/{_NAME})?[#!][0-9]|@[\w-])"
    return re.compile(rf"\\*(?:{reference})(?:[^\s`]*[\w/])?", re.IGNORECASE)
