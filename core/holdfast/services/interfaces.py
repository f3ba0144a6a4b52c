"""The application's services for a flush: keep facts, deliver waiting items, and know authors and dreams.

An application gives its own in its :class:`holdfast.services.services.Services`. The kernel alone keeps no facts,
delivers nothing, takes all text as the user's own, and knows of no dream. Its classes say so, and may be extended.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from holdfast.errors import HoldfastError
from holdfast.plugin.manager import PluginManager

if TYPE_CHECKING:
    from holdfast.models import CuratedEntry, Extraction, Fact, Message, Payload, Receipt, Turn


#: Newest messages that an extractor within a flush reads, because it has only a few seconds.
AT_ONCE_MESSAGES: Final = 25_000


class Room(NamedTuple):
    """The entries to add to a curated document, the items to remove for them, and warnings for the receipt."""

    entries: Sequence[CuratedEntry]
    gone: Sequence[str] = ()
    warnings: Sequence[str] = ()


class Decided(NamedTuple):
    """A decision by command that left work open or closed it."""

    is_open: bool
    because: str


class Gathered(NamedTuple):
    """The extractors' results for some turns, by plugin. ``failed`` maps a plugin to its error and the next step."""

    results: Sequence[tuple[str, Extraction]] = ()
    failed: Mapping[str, str] = MappingProxyType({})


class FactService:
    """Stores facts of one project's flushes, and runs the extractors that a flush does not wait for. The kernel's own
    keeps nothing and reports that.

    Facts never make a flush fail, so only the methods that say so raise errors.
    """

    WARNING = "No facts were stored or queued: the kernel alone keeps none."

    def __init__(self, plugins: PluginManager) -> None:
        self._plugins = plugins

    def at_once(self, turns: Sequence[Turn], before: Payload | None = None) -> Gathered:
        """Call the extractors that a flush may wait for. ``before`` is the session's state before the turns."""
        return Gathered()

    def settle(
        self,
        found: Gathered | None,
        said: Sequence[Message],
        *,
        session: str,
        flush: str,
        payload: Payload | None,
        at: datetime,
        late: bool,
        stored: Sequence[Fact] | None,
    ) -> tuple[list[str], tuple[str, ...]]:
        """Store the facts that ``payload`` states and that extractors ``found`` in the messages ``said``, and queue the
        messages for the other extractors. Called when the flush's documents are verified. The facts are newer than all
        stored ones, whatever ``at`` says, unless ``late``: then an earlier attempt collected them.

        ``found`` is None when the extractors' results were lost with the process. ``stored`` are all stored facts, read
        just before; None if they were not read. Returns the queued items' ids, and warnings for the receipt, which name
        each unstored stated fact, with the reason.
        """
        states = payload is not None and bool(payload.facts) and "facts" not in payload.derived
        return [], (self.WARNING,) if states or self._plugins.extractors() else ()

    def queue(self, said: Sequence[Message], *, session: str, flush: str) -> tuple[list[str], tuple[str, ...]]:
        """Queue the messages for every extractor, because the store's server did not take the flush. Returns as
        :meth:`settle`. Raises: Unavailable."""
        return [], (self.WARNING,) if self._plugins.extractors() else ()

    def complete(self, receipt: Receipt, queued: Collection[str], found: Gathered | None) -> Receipt:
        """Run the extractors that wait for this flush's messages. Called when the flush is durable and holds no lock.
        Returns the receipt with their summaries and warnings."""
        return receipt


class Outbox(Protocol):
    """Items that plugins could not publish, in ``outbox.jsonl`` of the private folder."""

    def send_due(self, *, limit_s: float | None = None) -> int:
        """Publish due items, for ``limit_s`` seconds at most, and return how many still wait. Never raises."""


class Spool(Protocol):
    """Flushes that the store's server did not take, in ``spool.jsonl`` of the private folder. With ``[storage] spool =
    true`` a flush is kept there when the server does not answer within :meth:`patience`."""

    @property
    def server(self) -> str:
        """The store's server, for people."""

    def patience(self) -> AbstractContextManager[None]:
        """A limit for the server's answers to one flush."""

    def send_before(
        self, session: str, last: Receipt | None, flushed: dict[str, Any] | None
    ) -> tuple[HoldfastError | None, bool]:
        """Write the waiting flushes to the store, before a flush of ``session``, whose last flush, with the journal's
        record of it, must not be lost. Returns the server's error if it did not answer, and whether a flush of the
        session still waits. Raises: HoldfastError."""

    def keep(self, receipt: Receipt, flushed: dict[str, Any], why: HoldfastError | None) -> None:
        """Keep a flush, durably on return. ``flushed`` is the journal's record of it, ``why`` the server's error.
        Raises: FlushRefused."""

    def waits_for(self, receipt: Receipt) -> str:
        """The server that the flush still waits for; empty when it is stored. Raises: Unavailable."""


class Authorship:
    """Who wrote a passage: the user, or a tool, page or client that the agent read. The kernel's own takes all text as
    the user's."""

    def own_words(self, text: str) -> str:
        """A user message's text, without a client's additions; empty when nothing remains."""
        return text

    def sources(self, payload: Payload, messages: Sequence[Message]) -> tuple[str, ...]:
        """``FIELD ID`` for each derived field and each message that it quotes."""
        return ()

    def attributed(self, payload: Payload, summary: str, said: Iterable[Message]) -> tuple[Payload, str, Sequence[str]]:
        """A payload and a summary as a flush of the messages ``said`` may write them, and warnings. Sentences that
        instruct an agent are marked with their source, and kept out of curated memory."""
        return payload, summary, ()
