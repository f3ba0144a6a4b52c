"""One project's shared services: settings, gate, hooks, store, clock and private folder. And the kernel's questions to
an application (:mod:`holdfast.services.interfaces`), which gives its own answers in a class that extends this one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from typing import ClassVar, NoReturn, cast

from attrs import Factory, define, field

from holdfast import models
from holdfast.config import serde, settings
from holdfast.config.layout import Layout, Surface
from holdfast.config.values import Config
from holdfast.errors import ConfigError, Conflict, HoldfastError, PluginNotFound, Unavailable, must_be
from holdfast.fs import durable, private
from holdfast.gate import Gate
from holdfast.journal.journal import Journal, file_stem
from holdfast.plugin.manager import PluginManager
from holdfast.services.interfaces import Decided, FactService, Outbox, Room
from holdfast.storage import ABSENT, Capability, Committed, Document, StorageBackend, block_marker, check_name, sha256
from holdfast.text import log, same_key, tokens

logger = log(__name__)

#: Maximum wait for the lock on a document, in seconds, after which the write continues without it. Many sessions may
#: flush at once, and all of them write the handoff, so this machine's processes take turns.
_LINE_S = 60.0
#: Time limit, in seconds, for retrying a compare-and-swap against writers elsewhere. Each retry waits slightly longer,
#: for a random time, to get out of step with them.
PATIENCE_S = 30.0
_LONGEST_PAUSE_S = 0.5
#: Minimum number of tries, even when each is slow.
TRIES = 10


class _Closed:
    """Takes the backend's place when the project is closed, so that every store then says the same."""

    def __getattr__(self, name: str) -> NoReturn:
        raise Unavailable("The project was closed.", next_step="Open it again.")


class Store:
    """A :class:`StorageBackend` with checked names. A write counts only after it is read back.
    ``state`` is the project's private folder."""

    def __init__(self, backend: StorageBackend, layout: Layout, state: str) -> None:
        self.backend = backend
        self.layout = layout
        self.state = state

    def read(self, name: str) -> Document | None:
        """The document, or None. Raises: Refused for a bad name; Corrupt; Unavailable."""
        return self.backend.read(check_name(name))

    def fetch(self, names: Iterable[str], *, listing: bool = False) -> Committed:
        """The documents by name and, with ``listing``, all facts, in one round trip where the backend can. Raises: as
        :meth:`read`."""
        return self.backend.commit(names=[check_name(name) for name in dict.fromkeys(names)], listing=listing)

    def names(self) -> list[str]:
        """All documents of the layout's folders, sorted."""
        return sorted({n for prefix in self.layout.prefixes() for n in self.backend.names(prefix)})

    # replaceable by an application, which may withhold from agents what others brought. The kernel trusts its folder.

    def begin(self) -> None:
        """Called when the project is opened. Raises: Unavailable."""

    def for_agents(self, document: Document) -> str:
        """The document's text without withheld passages. Raises: Unavailable."""
        return document.text

    def record(self, name: str, before: str, after: str) -> None:
        """Called before a write of this machine. Raises: Unavailable."""

    def settle(self) -> None:
        """Make such records durable, before a flush counts as such. Raises: Unavailable."""

    # writing

    def append(self, surface: str, name: str, block: str, header: str, block_id: str) -> models.Written:
        """Append a block and read it back. Raises: Unavailable when the text read back lacks part of the block."""
        if block_marker(block_id) not in block:
            raise ValueError("the block does not hold its own marker")
        self.backend.append(check_name(name), block, header, block_id)
        document = self.read(name)
        if document is None or block.strip("\n") not in document.text:
            raise silent(name)
        return self.proved(surface, document, block.strip("\n"))

    def change(self, surface: str, name: str, change: Callable[[str | None], str]) -> models.Written:
        """Read, change and write a document by compare-and-swap, then read it back.

        ``change`` gets the stored text (None without a document) and returns the new text. It may be called again if
        another process wrote in between. Unchanged text is written too, because being readable does not prove that an
        earlier, killed try made it durable (storage contract, C1). Processes of this machine take turns. Raises:
        Conflict after half a minute of conflicts with writers elsewhere; Unavailable when the text read back differs
        from the text written, and no other process wrote.
        """
        check_name(name)
        with self.turn(name):
            for _ in tries(name):
                before = self.backend.read(name)
                text = change(before.text if before else None)
                with suppress(Conflict):
                    return self._replace(surface, name, text, before)
        raise AssertionError(name)

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """Wait for this machine's writers of the document, in order of arrival; without a name, for other flushes.
        Continue without the lock on failure, because the compare-and-swap already prevents lost changes."""
        with ExitStack() as held:
            try:
                folder = private.make(self.state, "locks")
                held.enter_context(durable.Line(os.path.join(folder, file_stem(name) if name else "flush"), _LINE_S))
            except Unavailable as error:
                logger.info("a document is changed without its lock: %s", error.message)
            yield

    def _replace(
        self, surface: str, name: str, text: str, before: Document | None, expected: str = ""
    ) -> models.Written:
        expected = expected or (before.revision if before else ABSENT)
        self.record(name, before.text if before else "", text)
        revision = self.backend.write(name, text, expected=expected)
        after = self.backend.read(name)
        if after is not None and after.text == text:
            return self.proved(surface, after, text)
        if after is None or after.revision in (revision, expected):
            raise silent(name)
        raise Conflict(
            f"{name} was changed by another process right after it was written.", next_step="Check it, then try again."
        )

    def proved(self, surface: str, document: Document, text: str) -> models.Written:
        """The proof that ``text`` is in ``document``, which was read back."""

        return models.Written(
            surface=surface,
            name=document.name,
            revision=document.revision,
            sha256=sha256(text),
            size=len(text.encode("utf-8")),
        )

    def close(self) -> None:
        """Release the backend. Each use of it afterwards raises Unavailable."""
        backend, self.backend = self.backend, cast("StorageBackend", _Closed())
        backend.close()


def tries(name: str) -> Iterator[int]:
    """The numbers of the tries to change what others change too, from 0. Raises: Conflict after the last."""
    attempt, until = 0, time.monotonic() + PATIENCE_S
    while attempt < TRIES or time.monotonic() < until:
        if attempt:
            import random

            longest = min(_LONGEST_PAUSE_S, 0.002 * 2 ** min(attempt, 10))
            time.sleep(random.random() * longest)  # noqa: S311 - not a secret
        yield attempt
        attempt += 1
    raise Conflict(
        f"{name} was changed by another writer {attempt} times in a row.",
        next_step="Close the editor or stop the other writer, then try again.",
    )


def silent(name: str) -> Unavailable:
    """The error for a write that seemed to work."""
    return Unavailable(
        f"{name} was written without an error, but the stored text differs.",
        next_step="Check the disk or the backend. Nothing was dropped.",
    )


@define(kw_only=True, slots=False, eq=False, repr=False)
class Services:
    """One per opened project. ``root`` and ``state`` are absolute; ``clock`` returns an aware time. ``notices`` are
    sentences about project settings that are not in force. ``hurried`` is true while a client is waiting for an answer,
    as during a hook. Then no model is called, and extraction is deferred."""

    manager_type: ClassVar[type[PluginManager]] = PluginManager

    root: str
    state: str
    config: Config
    plugins: PluginManager
    store: Store
    clock: Callable[[], datetime]
    notices: tuple[str, ...] = ()
    hurried: bool = False
    count_tokens: Callable[[str], int] = tokens
    layout: Layout = field(init=False, default=Factory(lambda self: self.config.layout, takes_self=True))
    gate: Gate = field(init=False, default=Factory(lambda self: Gate(self.plugins), takes_self=True))

    # replaceable by an application

    @classmethod
    def root_of(cls, start: str | None) -> str:
        """The project's folder, absolute and without symbolic links. ``start`` is the one given. The kernel does not
        look above the working directory, where it would need trust. Raises: ConfigError for a missing folder."""
        named = os.environ.get("HOLDFAST_ROOT") or os.getcwd() if start is None else start
        if not os.path.isdir(os.path.expanduser(named)):
            raise ConfigError(f"The project folder {named!r} does not exist.", next_step="Name a folder that exists.")
        return os.path.realpath(os.path.expanduser(named))

    @classmethod
    def settled(cls, root: str, *, lenient: bool = False) -> tuple[Config, tuple[str, ...]]:
        """The settings in force, and a sentence for each kind of the project's that is not. ``lenient`` skips unusable
        ones of the project's file. The kernel reads no such file, because what is in it may need trust. Raises:
        ConfigError; NotTrusted."""
        data, source = settings.user_raw()
        settings.apply_overrides(data)
        return serde.config_from(data, source), ()

    @classmethod
    def check_state(cls, root: str, state: str) -> None:
        """Called before anything in the private folder is read. The kernel's own trusts what git brought into it."""

    @classmethod
    def store_of(cls, root: str, state: str, config: Config, backend: StorageBackend) -> Store:
        """The project's store."""
        return Store(backend, config.layout, state)

    def journal(self, session_id: str) -> Journal:
        """The session's journal, a file."""
        return Journal(self.state, session_id)

    @property
    def facts(self) -> FactService:
        """Stores and extracts facts for flushes."""
        return FactService(self.plugins)

    @property
    def outbox(self) -> Outbox:
        """Items that plugins could not publish yet. Raises: PluginNotFound when nothing delivers them."""
        raise undelivered("outbox.jsonl")

    def attributed(
        self, payload: models.Payload, summary: str, said: Iterable[models.Message]
    ) -> tuple[models.Payload, str, Sequence[str]]:
        """A payload and a summary as a flush of the messages ``said`` may write them, and warnings. Sentences that
        instruct an agent are marked with their source, and kept out of curated memory. The kernel takes all text as the
        user's own."""
        return payload, summary, ()

    def origin(self, agent: str = "") -> str:
        """Who and which machine make statements now, masked; empty if unknown. The kernel records none."""
        return ""

    def later(self, *, goes_on: bool = False) -> None:
        """Begin, in a process of its own, the work that no client waits for. ``goes_on``: the session does. The kernel
        has none. Never raises."""

    def ended(self) -> None:
        """Called after a session ended. The kernel keeps its journal where it is. Never raises."""

    def said(self, role: str, tool: str) -> None:
        """Called when a message is journalled in this process. The kernel does nothing more with it. Never raises."""

    def room(
        self,
        surface: Surface,
        stored: Document | None,
        entries: Sequence[models.CuratedEntry],
        flush_id: str,
        at: datetime,
    ) -> Room:
        """Called before a flush adds lines to a curated document, as it is ``stored``, which may need room. The kernel
        has no limit."""
        return Room(entries)

    def let_go(self, surface: str, items: Sequence[str], at: datetime) -> Iterable[str]:
        """Those of the items decided at ``at`` that were removed since. The kernel removes none."""
        return ()

    def standing(self, rules: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
        """The ``rules`` that still hold after ``new`` ones. The kernel only removes repeated rules."""
        keys = set(map(same_key, new))
        return tuple(rule for rule in rules if same_key(rule) not in keys)

    def decided(self, session: str, flush: str) -> Decided | None:
        """The newest decision by command about the flush's work, None without one. The kernel knows none."""
        return None

    def explain(self, error: HoldfastError) -> None:
        """Called with the error for a flush that the store did not take, to add what helps. The kernel adds nothing."""

    # the project

    @property
    def keeps_flushes(self) -> bool:
        """Whether flushes may be kept on this machine, because the setting is on and the store is on a server."""
        return self.config.storage.spool and self.is_remote

    @property
    def is_remote(self) -> bool:
        """Whether the store is on a server."""
        return Capability.REMOTE in self.store.backend.capabilities

    def is_expired(self, surface: str, at: datetime) -> bool:
        """Whether the surface's document of that day may be gone, because data is not kept for so long."""
        return False

    def waits(self, name: str) -> bool:
        """Whether a list of what waits, a file in the private folder, has lines."""
        try:
            return os.stat(self.private(name)).st_size > 0
        except FileNotFoundError:
            return False
        except OSError:
            return True  # its reader reports the error

    def now(self) -> datetime:
        """The current time in the configured zone."""
        now = self.clock()
        must_be(datetime, now, "clock")
        return now.astimezone(self.config.tz)

    def private(self, *parts: str) -> str:
        """A path in the private folder."""
        return os.path.join(self.state, *parts)


def undelivered(name: str) -> PluginNotFound:
    """The error for a file in which something waits that only an application can deliver."""
    return PluginNotFound(
        f"This application delivers nothing that waits in {name}.",
        next_step="Use `holdfast.Holdfast` with the whole distribution, or switch `[storage] spool` off.",
    )
