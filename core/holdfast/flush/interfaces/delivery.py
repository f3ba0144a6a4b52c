"""Data that a flush could not deliver yet. It waits in the private folder, and a package delivers it later.

An application offers an :class:`Outbox` and a :class:`Spool` (:mod:`holdfast.session.collaborators`). It is asked only
when something waits, or when a setting says so. If no package then offers it, a flush is refused, because what waits
would be forgotten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from contextlib import AbstractContextManager
    from datetime import datetime

    from holdfast.errors import HoldfastError
    from holdfast.flush.handoff import Work
    from holdfast.models import Payload, Receipt
    from holdfast.session.session import Session


class Waiting(Protocol):
    """An item that waits. ``error`` and ``next_step`` describe the last failure. A damaged item represents
    an unreadable line."""

    @property
    def at(self) -> datetime: ...
    @property
    def error(self) -> str: ...
    @property
    def next_step(self) -> str: ...
    @property
    def is_damaged(self) -> bool: ...


class Outbox(Protocol):
    """Items that plugins could not publish, in ``outbox.jsonl`` of the private folder: ``services.outbox``."""

    def waiting(self) -> Sequence[Waiting]:
        """The waiting items, oldest first. Raises: Unavailable."""

    def send_due(self, *, limit_s: float | None = None) -> int:
        """Publish due items, for ``limit_s`` seconds at most, and return how many still wait. Never raises."""

    def restore(self, flushes: Iterable[tuple[Receipt, Payload]]) -> int:
        """Put back items of ``flushes`` not removed by a call; returns their number. Raises:
        HoldfastError."""


class KeptFlush(Waiting, Protocol):
    """A flush that the store's server did not take, of ``session`` for ``server``."""

    @property
    def id(self) -> str: ...
    @property
    def session(self) -> str: ...
    @property
    def server(self) -> str: ...


class Shipped(Protocol):
    """The outcome of sending. ``left`` still wait, in order; ``down`` is the server's error when it did not answer."""

    @property
    def left(self) -> Sequence[KeptFlush]: ...
    @property
    def down(self) -> HoldfastError | None: ...


class Unshipped(Protocol):
    """The kept flushes for a brief, and one sentence about them."""

    @property
    def sentence(self) -> str: ...

    def work(self, entries: tuple[Work, ...]) -> tuple[Work, ...]:
        """The handoff's entries as they will be once the kept flushes are stored."""

    def notes(self, days: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        """The notes, name and text, with the kept flushes' blocks."""


class Copy(Protocol):
    """A brief read from the store earlier, and when."""

    @property
    def text(self) -> str: ...
    @property
    def at(self) -> datetime: ...


class Spool(Protocol):
    """Flushes that the store's server did not take, in ``spool.jsonl`` of the private folder: ``services.spool``.
    With ``[storage] spool = true`` a flush is kept there when the server does not answer within :meth:`patience`."""

    @property
    def server(self) -> str:
        """The store's server, for people."""

    @property
    def sentence(self) -> str:
        """How many flushes wait, since when and for which server; empty when none waits. Raises: Unavailable."""

    def items(self) -> Sequence[KeptFlush]:
        """The waiting flushes, in order. Raises: Unavailable."""

    def text(self) -> str:
        """The note blocks of the waiting flushes, oldest first, redacted. Raises: Unavailable, PluginError."""

    def unshipped(self) -> Unshipped:
        """The waiting flushes as they are now. Raises: Unavailable."""

    def keeping_brief(self) -> AbstractContextManager[Callable[[str], None]]:
        """A function that keeps a brief read inside of the block."""

    def last_brief(self) -> Copy | None:
        """The brief kept last; None if there is none."""

    def patience(self) -> AbstractContextManager[None]:
        """A limit for the server's answers to one flush."""

    def send(self, *, limit_s: float = 60.0) -> Shipped:
        """Write the waiting flushes to the store, for ``limit_s`` seconds at most. Never raises."""

    def send_before(self, session: Session) -> Shipped:
        """:meth:`send`, before a flush of ``session``, whose last flush must not be lost. Raises: HoldfastError."""

    def keep(self, receipt: Receipt, flushed: dict[str, Any], why: HoldfastError | None) -> None:
        """Keep a flush, durably on return. ``flushed`` is the journal's record of it, ``why`` the server's error.
        Raises: FlushRefused."""

    def waits_for(self, receipt: Receipt) -> str:
        """The server that the flush still waits for; empty when it is stored. Raises: Unavailable."""

    def restore(self, flushes: Iterable[tuple[Receipt, dict[str, Any]]]) -> tuple[int, int]:
        """Keep again those of ``flushes`` that are not kept, and set damaged lines aside; returns the number of both.
        Raises: HoldfastError."""
