"""The storage contract. The normative text, with numbered clauses, is docs/storage-contract.md. The suite that
checks each clause is :mod:`holdfast.testing`. Names that reach a backend have passed :func:`check_name`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from enum import StrEnum
from math import inf
from typing import ClassVar, Final, NamedTuple, TypeAlias

from holdfast.errors import Conflict, Corrupt, NotFound, Unsupported
from holdfast.models import AddResult, Fact
from holdfast.text.digests import sha256, sha256_of
from holdfast.text.stored import *
from holdfast.text.stored import Add, FactOrder, Remove, Update

__all__ = [
    "ABSENT", "CATEGORIES", "FACT_COLUMNS", "SQL_ORDERS", "Add", "Append", "Capability", "Change", "Committed",
    "ComposedBackend", "Condition", "Damage", "Document", "FactOrder", "FactTable",
    "Hit", "HitKind", "Remove", "StorageBackend", "Update", "Write", "appended", "block_ids", "block_marker",
    "changed_between", "check_block", "check_name", "check_text", "columns_of", "current_snapshot", "deadline",
    "delete_fact", "duplicate_digest", "duplicate_key", "duplicate_of", "fact_in", "finite", "get_fact", "id_taken",
    "leaving", "no_document", "no_fact", "sha256", "sha256_of", "snapshot", "storable", "time_left", "tombstone",
    "update_fact", "updated",
]  # fmt: skip

#: A missing document's revision: ``write(name, text, expected=ABSENT)`` creates the document or conflicts.
ABSENT: Final = "absent"


class Capability(StrEnum):
    """Optional features of a backend beyond the contract. An absent capability means no; hasattr is never used."""

    SEARCH = "search"
    TRANSACTIONS = "transactions"  # several changes in one step, see StorageBackend.commit
    LOCAL_FILES = "local-files"
    REMOTE = "remote"  # all data is on a server, so none of it can come with a clone


class HitKind(StrEnum):
    """The type of object that a search found."""

    FACT = "fact"
    DOCUMENT = "document"


class Hit(NamedTuple):
    """One search result. ``name`` is the fact's id or the document's name; ``text`` the fact's content or the
    matching part of the document."""

    kind: HitKind
    name: str
    text: str


class Document(NamedTuple):
    """A document as stored. ``revision`` is opaque; equal revisions mean equal text."""

    name: str
    text: str
    revision: str


class Append(NamedTuple):
    """A change for :meth:`StorageBackend.commit`: the arguments of :meth:`StorageBackend.append`."""

    name: str
    block: str
    header: str
    block_id: str


class Write(NamedTuple):
    """A change for :meth:`StorageBackend.commit`: the arguments of :meth:`StorageBackend.write`."""

    name: str
    text: str
    expected: str | None = None


Change: TypeAlias = Append | Write | Add | Update | Remove


class Committed(NamedTuple):
    """The store after :meth:`StorageBackend.commit`: the documents by name, all facts in order of insertion (only for
    ``listing``), and the results in order. An :class:`Add` has None where another fact has its id, an :class:`Update`
    the new fact, and a :class:`Remove` the removed one, None when there was none."""

    documents: Mapping[str, Document | None]
    facts: list[Fact]
    added: list[AddResult | None]
    updated: list[Fact]
    removed: list[Fact | None]


_UNTIL: Final = ContextVar("storage deadline", default=inf)  # monotonic
_SNAPSHOT: ContextVar[ExitStack | None] = ContextVar("storage snapshot", default=None)


@contextmanager
def deadline(limit_s: float) -> Iterator[None]:
    """This thread's calls to a server give up ``limit_s`` seconds after the block began. Of nested limits the earlier
    counts."""
    token = _UNTIL.set(min(_UNTIL.get(), time.monotonic() + limit_s))
    try:
        yield
    finally:
        _UNTIL.reset(token)


def time_left() -> float:
    """Seconds until this thread's :func:`deadline`, infinite without one. Servers' backends ask before each request."""
    return _UNTIL.get() - time.monotonic()


@contextmanager
def snapshot() -> Iterator[None]:
    """This thread's reads inside the block may share one view of the store, so that a backend on a server need not ask
    twice for the same thing. The view is at most 15 seconds old when the block begins; writes show at once."""
    if _SNAPSHOT.get() is not None:
        yield
        return
    with ExitStack() as shared:
        token = _SNAPSHOT.set(shared)
        try:
            yield
        finally:
            _SNAPSHOT.reset(token)


def current_snapshot() -> ExitStack | None:
    """What ends with this thread's :func:`snapshot`, None outside of one. A backend enters its shared view there."""
    return _SNAPSHOT.get()


class Damage(NamedTuple):
    """Damage that can be repaired, with the bytes as they are."""

    message: str
    next_step: str
    data: bytes


class Condition(NamedTuple):
    """What :meth:`StorageBackend.check` found.

    ``lost`` is the number of durably stored facts that are missing although no call removed them, because the file was
    cut, replaced or deleted. ``warnings`` are sentences for the user, like who can read the store, each once per
    machine. With ``thorough``, ``damage`` is to stored facts, like both sides of a git merge, or a cut end, and
    ``version`` the stored form's, 0 when there is none, and the one this code needs.
    """

    lost: int = 0
    warnings: tuple[str, ...] = ()
    damage: Damage | None = None
    version: tuple[int, int] = (1, 1)


class StorageBackend(ABC):
    """Documents and facts, durable on return. See docs/storage-contract.md.

    All methods may raise :class:`~holdfast.errors.Unavailable` (try later) and
    :class:`~holdfast.errors.Corrupt` (unreadable, never "empty"). A failed call leaves the store unchanged.
    """

    name: ClassVar[str] = ""
    capabilities: ClassVar[frozenset[Capability]] = frozenset()

    @abstractmethod
    def read(self, name: str) -> Document | None:
        """The document as stored, or None when it does not exist."""

    @abstractmethod
    def write(self, name: str, text: str, expected: str | None = None) -> str:
        """Replace the document atomically; durable on return. Returns the new revision.

        ``expected`` is the revision that must be stored now (:data:`ABSENT`: none); None writes unconditionally.
        Raises: Conflict when the stored revision differs.
        """

    @abstractmethod
    def append(self, name: str, block: str, header: str, block_id: str) -> str:
        """Append ``block``, durable on return. A new document begins with ``header``. Returns the revision.

        ``block`` holds the line ``block_marker(block_id)``. If a block with that id already exists, nothing is
        written. Earlier bytes never change, but a last line without a newline gets one first.
        """

    @abstractmethod
    def delete(self, name: str) -> None:
        """Remove the document, durably. Raises: NotFound."""

    @abstractmethod
    def names(self, prefix: str = "") -> list[str]:
        """Names of all documents that start with ``prefix``, sorted by code point."""

    @abstractmethod
    def facts(self, order: FactOrder = FactOrder.CREATED, limit: int | None = None) -> Iterator[Fact]:
        """Facts in ``order``, as of the call."""

    @abstractmethod
    def add_fact(self, fact: Fact, limit: int) -> AddResult:
        """Store a fact; dedup, eviction and insert are one atomic step across processes.

        A fact with the same :func:`holdfast.text.stored.duplicate_key` makes the outcome DUPLICATE and changes
        nothing. Otherwise the weakest existing facts are evicted until ``limit - 1`` remain (lowest confidence; among
        equals the oldest by ``created_at``, then by insertion), and the fact is inserted. If another fact has its id,
        the call raises Conflict and the caller draws a new id.
        """

    @abstractmethod
    def commit(self, changes: Sequence[Change] = (), *, names: Iterable[str] = (), listing: bool = False) -> Committed:
        """Make ``changes`` in order, durable on return: all of them change documents, or all change facts. Then read
        the changed documents, those in ``names`` and, with ``listing``, all facts.

        With :attr:`Capability.TRANSACTIONS` all changes are one atomic step, and everything takes one round trip.
        Without it an error or a crash may keep some changes of facts or none. Raises: as the single calls; NotFound
        and DuplicateFact for an :class:`Update`; Unsupported for changes of documents without the capability.
        """

    def search(self, words: Sequence[str], limit: int = 20) -> list[Hit]:
        """Facts and documents with words that begin with any of ``words``, those that match more of them first.
        Raises: Unsupported without :attr:`Capability.SEARCH`."""
        raise Unsupported(f"The {self.name} backend cannot search.", next_step="Use `holdfast search`.")

    def check(self, *, thorough: bool = False) -> Condition:
        """The store's condition. A session's start asks; ``thorough`` may read everything."""
        return Condition()

    def repair(self) -> None:  # noqa: B027 - most backends have nothing to repair
        """Make or upgrade whatever the backend needs, like tables. Repair damage, keeping every complete line of both
        sides once. The caller has saved a copy. Then accept the current facts: later losses count. Raises:
        Unsupported when a newer holdfast made the store."""

    def compact(self) -> None:  # noqa: B027 - most backends keep no removed data
        """Erase all remains of deleted or overwritten data: dead records, free pages, log and index entries.

        Documents and facts read as before. May take as long as rewriting the whole store.
        """

    def where(self, name: str = "") -> str:
        """Where a person finds the document, as a path relative to the project or a URL; without ``name`` the store
        itself, without a password."""
        return name

    def close(self) -> None:  # noqa: B027 - most backends hold nothing
        """Release all resources. Using the backend afterwards is an error."""


def get_fact(store: StorageBackend, fact_id: str) -> Fact:
    """The fact with this id. A damaged fact hides no other. Raises: NotFound (a KeyError) carrying the id; Corrupt."""
    facts, damage = store.facts(), None
    while True:
        try:
            fact = next(facts, None)
        except Corrupt as error:
            damage = damage or error
            continue
        if fact is None:
            raise damage or no_fact(fact_id)
        if fact.id == fact_id:
            return fact


def update_fact(
    store: StorageBackend,
    fact_id: str,
    *,
    content: str | None = None,
    category: str | None = None,
    confidence: float | None = None,
    source: str | Callable[[str], str] | None = None,
) -> Fact:
    """Make one :class:`Update`. Returns the new fact. Raises: NotFound; DuplicateFact when another fact has the new
    content's key."""
    return store.commit([Update(fact_id, content, category, confidence, source)]).updated[0]


def delete_fact(store: StorageBackend, fact_id: str) -> Fact:
    """Remove and return the fact. Raises: NotFound."""
    known = None
    with suppress(NotFound):  # a removal by a killed process may become durable only with the commit
        known = get_fact(store, fact_id)
    fact = store.commit([Remove(fact_id)]).removed[0] or known  # a try whose answer was lost may have removed it
    if fact is None:
        raise no_fact(fact_id)
    return fact


# --- for the stores


def no_document(name: str) -> NotFound:
    """The error for an unknown document."""
    return NotFound(f"There is no document {name!r}.", next_step="List the documents with `holdfast show`.")


def changed_between(name: str) -> Conflict:
    """The error for a document whose expected revision is not stored."""
    return Conflict(f"{name!r} was changed in between.", next_step="Read it again and redo the change.")


class ComposedBackend(StorageBackend):
    """A backend that makes one change at a time. It can extend a class for the documents and another for the facts,
    which extend this one."""

    @abstractmethod
    def _update(self, change: Update) -> Fact:
        """Raises: NotFound, DuplicateFact."""

    @abstractmethod
    def _remove(self, change: Remove) -> Fact:
        """Raises: NotFound."""

    @abstractmethod
    def _batch(self) -> AbstractContextManager[object]:
        """Changes of facts inside of the block are made durable together at its end. An error that leaves it keeps some
        or none."""

    def commit(self, changes: Sequence[Change] = (), *, names: Iterable[str] = (), listing: bool = False) -> Committed:
        made = Committed({}, [], [], [], [])
        with self._batch() if len(changes) > 1 else nullcontext():
            for change in changes:
                self._make(change, made)
        documents = {name: self.read(name) for name in names}
        return made._replace(documents=documents, facts=list(self.facts()) if listing else [])

    def _make(self, change: Change, made: Committed) -> None:
        if isinstance(change, Add):
            try:
                made.added.append(self.add_fact(change.fact, change.limit))
            except Conflict:
                made.added.append(None)
        elif isinstance(change, Update):
            made.updated.append(self._update(change))
        elif isinstance(change, Remove):
            try:
                made.removed.append(self._remove(change))
            except NotFound:
                made.removed.append(None)
        else:
            raise Unsupported(f"The {self.name} backend changes one document at a time.", next_step="Make each change.")
