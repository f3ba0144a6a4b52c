"""The forge plugin interface (a place where people work), in addition to its hooks.

A plugin whose object is a :class:`Forge` needs no other entry point. Its ``on_flush`` passes the posts to
:meth:`Forge.publish`, which keeps them in the outbox (:mod:`holdfast_app.outbox.outbox`) until
:meth:`Forge.send` has read them back. Core calls :meth:`Forge.send` again for waiting items. The morning report
calls :meth:`Forge.activity` and :meth:`Forge.facts`. :meth:`Forge.connect` is a connection to a server.
``holdfast plugin new NAME --kind forge`` writes a complete plugin, whose tests are the class
:class:`holdfast.testing.ForgeContract`.

Every process that opens a project imports this, so it imports neither attrs nor a network library.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from holdfast.errors import Unsupported
from holdfast.plugin.discovery import PluginContext
from holdfast.text.digests import sha256

if TYPE_CHECKING:
    from holdfast.models import Evidence, Receipt
    from holdfast_app.outbox.outbox import Item as Item  # noqa: PLC0414  # forges import it from here
    from holdfast_keys.transport import Transport

#: Maximum wait of a flush for a forge, in seconds. Items not published by then wait in the outbox.
FLUSH_LIMIT_S: Final = 10.0
#: An :class:`Activity`'s kind when something is missing.
INCOMPLETE: Final = "incomplete"


class Post(NamedTuple):
    """A flush's content for one target."""

    target: str
    body: str


class Activity(NamedTuple):
    """One event on a forge: ``kind`` is issue, pull, comment, review, checks, push, tag, release or repository, or
    :data:`INCOMPLETE` for a sentence about what could not be read, shown first; ``pointer`` is its URL;
    ``text`` is one line; ``at`` is aware. ``waits`` is ``operator`` for an event that asks the operator for something,
    ``blocked`` for an event that blocks its target. ``own`` marks a comment that holdfast published for a flush."""

    kind: str
    target: str
    pointer: str
    text: str
    at: datetime
    author: str = ""
    waits: str = ""
    own: bool = False


class Ask(NamedTuple):
    """A subject of claims in the notes, for :meth:`Forge.facts`.

    ``about`` and ``target`` -> the values. For work (``#12``, ``owner/repo#12``, its URL) ``state`` -> open, closed,
    merged, or absent where the number does not exist; ``merged by``, ``approved by``, ``changes by``, ``reviewed by``,
    ``assigned to`` -> logins, none when unassigned; ``labels`` -> names. ``checks`` of work, of a branch, or of an
    empty target (any of these) -> success, failure, pending. For a name ``release``, ``tag``, ``branch``, ``commit``,
    ``user`` -> present or absent, and unmerged for a branch that is certainly not merged.
    """

    about: str
    target: str


class Forge(ABC):
    """A forge that a plugin publishes to. ``name`` is the plugin's."""

    #: What people call it.
    title: ClassVar[str] = "the forge"
    #: Whether it takes posts. A forge that only reads has no :meth:`send`.
    publishes: ClassVar[bool] = True

    def __init__(self, context: PluginContext) -> None:
        self.name = context.name
        self._root, self._state = context.root, context.state

    @property
    def is_on(self) -> bool:
        """Whether there is something to read in this project."""
        return True

    def send(self, item: Item) -> Evidence:
        """Publish ``item`` once. An item that is already there, found by its id, is only read back.

        Raises: Unavailable when nothing can be published there now (the others wait, too); any other HoldfastError
        when this item needs a person.
        """
        raise Unsupported(f"{self.title} takes no posts.", next_step="Drop the item with `holdfast outbox drop`.")

    @abstractmethod
    def activity(self, since: datetime, until: datetime) -> Sequence[Activity]:
        """What happened from ``since`` to ``until``, oldest first. Raises: HoldfastError."""

    def facts(self, asks: Sequence[Ask], since: datetime) -> Mapping[Ask, Collection[str]]:
        """Values that were true at any time from ``since`` on, for each :class:`Ask` that this forge can answer with
        certainty. The morning report compares them with claims. By default nothing is known. Raises: HoldfastError."""
        return {}

    def connect(
        self,
        server: str,
        *,
        path: str = "",
        timeout_s: float = 5.0,
        patience_s: float = 3.0,
        insecure_http: bool = False,
        **service: str,
    ) -> Transport:
        """A connection, as a context, to ``server``, which the setting ``server`` of this plugin names: with its token
        from the environment or the keyring (``holdfast auth set NAME``), without redirects, over HTTPS or to this
        machine, with retries. ``path`` begins all paths; ``service`` are further fields of
        :class:`holdfast_keys.faults.Service`. Raises: ConfigError; KeyringUnusable; PluginLoadFailed.
        """
        from holdfast_keys.faults import Service
        from holdfast_keys.transport import Transport, find_token

        fields = {"title": self.title, "key": self.name, "table": f"plugins.{self.name}", "path": path, **service}
        kind = Service(**fields)
        token = find_token(kind, server, self._root, insecure_http=insecure_http)
        return Transport(
            server, token, service=kind, timeout_s=timeout_s, patience_s=patience_s, insecure_http=insecure_http
        )

    def check(self) -> str:
        """Check whether it can be used, for ``holdfast doctor``; a line, empty if unchecked. Raises: HoldfastError."""
        return ""

    def item_id(self, flush: str, target: str) -> str:
        """The id for a post by the flush ``flush`` on ``target``, 32 hex digits that are the same at every try."""
        return sha256(f"{self.name}\n{flush}\n{target}")[:32]

    def publish(self, posts: Sequence[Post], receipt: Receipt) -> list[Evidence]:
        """Publish a flush's changes, as far as possible now. Returns each target's evidence, in order. Posts on
        one target become one, a blank line between them.

        All of it is in the outbox before the first is sent. What cannot be sent now stays there: its evidence counts
        as pending, with the reason. Without posts no request is sent. Raises: Unavailable when the outbox cannot be
        written, because then the flush must fail.
        """
        if not posts:
            return []
        from holdfast_app.outbox.outbox import Item, Outbox

        bodies: dict[str, list[str]] = {}
        for post in posts:
            bodies.setdefault(post.target, []).append(post.body)
        flush, at = receipt.flush_id, receipt.at
        same: dict[str, Any] = {"plugin": self.name, "flush": flush, "at": at, "due": at}
        items = [
            Item(id=self.item_id(flush, target), target=target, body="\n\n".join(parts), **same)
            for target, parts in bodies.items()
        ]
        outbox = Outbox(self._state)
        outbox.put(items)
        ends = time.monotonic() + FLUSH_LIMIT_S
        proofs = outbox.send({self.name: self.send}, now=at, limit_s=FLUSH_LIMIT_S, even_if_not_due=True)
        untried = "Not tried yet, because earlier items failed."
        if time.monotonic() >= ends:
            untried = f"{self.title} had not answered after {FLUSH_LIMIT_S:g} s."
        waiting = {item.id: item for item in outbox.items()}
        return [proofs.get(item.id) or _unproved(item, waiting.get(item.id), untried) for item in items]


def _unproved(item: Item, waiting: Item | None, untried: str) -> Evidence:
    """Evidence for an item that this flush did not publish, with the reason for its ``waiting``."""
    from holdfast.models import Evidence

    note = "Another process of this project has published it meanwhile."
    if waiting is not None:
        note = f"{waiting.error} {waiting.next_step}".strip() or untried
    pending = int(waiting is not None)
    return Evidence(target=item.target, pointer="", published="", read_back="", pending=pending, note=note)
