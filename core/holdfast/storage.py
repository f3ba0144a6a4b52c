"""The storage contract. The normative text, with numbered clauses, is docs/storage-contract.md. The suite that
checks each clause is :mod:`holdfast.testing`. Names that reach a backend have passed :func:`check_name`.
"""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from enum import StrEnum
from functools import lru_cache
from math import inf
from typing import TYPE_CHECKING, ClassVar, Final, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from holdfast.errors import Conflict, NotFound, Refused, Unsupported
from holdfast.text.lazy import Lazy

try:  # hashlib.sha256 without the 5 ms of loading OpenSSL
    from _sha2 import sha256 as _sha256  # type: ignore[import-not-found,unused-ignore]  # Python 3.12 and later
except ImportError:
    try:
        from _sha256 import sha256 as _sha256  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        from hashlib import sha256 as _sha256

if TYPE_CHECKING:
    from holdfast.models import AddResult, Fact

#: A missing document's revision: ``write(name, text, expected=ABSENT)`` creates the document or conflicts.
ABSENT: Final = "absent"

_RESERVED = frozenset(
    {"con", "prn", "aux", "nul", *(f"com{i}" for i in range(1, 10)), *(f"lpt{i}" for i in range(1, 10))}
)
_OF_DATABASES = (".db", ".db-wal", ".db-shm", ".db-journal")  # a database may share the documents' folder
_FORBIDDEN = frozenset('<>:"|?*\\')


class Capability(StrEnum):
    """Optional features of a backend beyond the contract. An absent capability means no; hasattr is never used."""

    SEARCH = "search"
    CONCURRENT_WRITERS = "concurrent-writers"
    TRANSACTIONS = "transactions"  # several changes in one step, see StorageBackend.commit
    LOCAL_FILES = "local-files"
    REMOTE = "remote"  # all data is on a server, so none of it can come with a clone


class FactOrder(StrEnum):
    """CREATED: insertion order. CONFIDENCE: highest first, ties in insertion order. STRONGEST: highest first, ties by
    latest insertion first."""

    CREATED = "created"
    CONFIDENCE = "confidence"
    STRONGEST = "strongest"


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


class Add(NamedTuple):
    """A change for :meth:`StorageBackend.commit`: the arguments of :meth:`StorageBackend.add_fact`."""

    fact: Fact
    limit: int


class Remove(NamedTuple):
    """A change for :meth:`StorageBackend.commit`: delete the fact if it is still stored."""

    fact_id: str


Change: TypeAlias = Append | Write | Add | Remove


class Committed(NamedTuple):
    """The store after :meth:`StorageBackend.commit`: the documents by name, all facts in order of insertion (only for
    ``listing``), and the result of each :class:`Add`, None where another fact has its id."""

    documents: Mapping[str, Document | None]
    facts: list[Fact]
    added: list[AddResult | None]


def sha256(text: str) -> str:
    """Hex digest of the UTF-8 bytes of ``text``."""
    return sha256_of(text.encode("utf-8"))


def sha256_of(data: bytes) -> str:
    """Hex digest of ``data``."""
    digest: str = _sha256(data).hexdigest()
    return digest


def block_marker(block_id: str) -> str:
    """The line that identifies a block in a document. ``append`` requires it inside the block."""
    return f"<!-- holdfast:block id={block_id} -->"


_BEFORE_ID, _, _AFTER_ID = block_marker("@").partition("@")
_MARKER = Lazy(rf"^{re.escape(_BEFORE_ID)}(.*){re.escape(_AFTER_ID)}\r?$", re.MULTILINE)


def block_ids(text: str) -> list[str]:
    """The ids of the blocks in ``text``: those whose marker is alone on its line. Only a newline ends a line, with or
    without a CR before it."""
    return _MARKER.findall(text)


def check_text(text: str, name: str) -> str:
    """Return ``text`` if a store can keep it in the document ``name``. Raises: Refused for a NUL character or a lone
    surrogate."""
    problem = "a NUL character" if "\0" in text else ""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        problem = f"a lone surrogate at character {error.start}"
    if problem:
        raise Refused(f"The text for {name!r} holds {problem}.", next_step="Remove it.")
    return text


def tombstone(removed: str) -> str:
    """The mark of a removed fact or block, so that a merge does not bring it back. It is a digest of the id, because an
    id can hold purged text."""
    return sha256(removed)[:16]


def check_name(name: str) -> str:
    """Return ``name`` if it is a relative POSIX path that is safe on every system.

    Raises: Refused for absolute, empty, ``..``, backslash, control characters, reserved Windows names, trailing
    dots or spaces, the private ``state`` folder, files of databases and anything over 200 characters.
    """
    problem = _problem(name) if isinstance(name, str) and name else "it is empty or not a string"
    if problem:
        shown = repr(name) if len(repr(name)) < 80 else repr(name)[:77] + "..."
        raise Refused(
            f"The document name {shown} is not allowed: {problem}.",
            next_step="Use a relative path like `memory/note.md`.",
        )
    return name


@lru_cache(maxsize=256)  # a project has few documents, and each access checks its name
def _problem(name: str) -> str:
    if len(name) > 200:
        return "it is longer than 200 characters"
    if name.startswith("/") or name.endswith("/"):
        return "it must be relative and name a file"
    if not name.isprintable() or not _FORBIDDEN.isdisjoint(name):
        return "it has a character that some systems do not allow in file names"
    for part in name.split("/"):
        if part in ("", ".", ".."):
            return "it has an empty, `.` or `..` part"
        if part[-1] in ". " or part[0] == " ":
            return "a part of it begins or ends with a space or ends with a dot"
        if part.split(".", 1)[0].casefold() in _RESERVED:
            return f"{part!r} is reserved on Windows"
    first = name.split("/", 1)[0].casefold()
    if first == "state" or first.startswith("state.foreign-"):
        return "`state/` is private"
    if name.casefold().endswith(_OF_DATABASES):
        return "such names are kept for databases"
    return ""


_UNTIL: Final = ContextVar("storage deadline", default=inf)  # monotonic


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


class Damage(NamedTuple):
    """Damage that can be repaired, with the bytes as they are."""

    message: str
    next_step: str
    data: bytes


class StorageBackend(ABC):
    """Documents and facts, durable on return. See docs/storage-contract.md.

    All methods may raise :class:`~holdfast.errors.Unavailable` (try later) and
    :class:`~holdfast.errors.Corrupt` (unreadable, never "empty"). A failed call leaves the store unchanged.
    """

    name: ClassVar[str] = ""
    capabilities: ClassVar[frozenset[Capability]] = frozenset()

    # documents

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

    # facts

    @abstractmethod
    def add_fact(self, fact: Fact, limit: int) -> AddResult:
        """Store a fact; dedup, eviction and insert are one atomic step across processes.

        A fact with the same :func:`holdfast.facts.factrules.duplicate_key` makes the outcome DUPLICATE and changes
        nothing. Otherwise the weakest existing facts are evicted until ``limit - 1`` remain (lowest confidence; among
        equals the oldest by ``created_at``, then by insertion), and the fact is inserted. If another fact has its id,
        the call raises Conflict and the caller draws a new id.
        """

    @abstractmethod
    def get_fact(self, fact_id: str) -> Fact:
        """Raises: NotFound (a KeyError) carrying the id."""

    @abstractmethod
    def update_fact(
        self,
        fact_id: str,
        *,
        content: str | None = None,
        category: str | None = None,
        confidence: float | None = None,
        source: str | Callable[[str], str] | None = None,
    ) -> Fact:
        """Change only the given fields; ``created_at`` and the position stay. Returns the new fact.

        A function as ``source`` gets the stored source and returns the new one. Where the backend can, reading and
        writing are one step, so that two changes at once both count.

        Raises: NotFound; DuplicateFact when another fact has the new content's key.
        """

    @abstractmethod
    def delete_fact(self, fact_id: str) -> Fact:
        """Remove and return the fact. Raises: NotFound."""

    @abstractmethod
    def facts(self, order: FactOrder = FactOrder.CREATED, limit: int | None = None) -> Iterator[Fact]:
        """Facts in ``order``, lazily if the backend can."""

    @abstractmethod
    def count_facts(self) -> int:
        """The number of stored facts."""

    # derived

    def commit(self, changes: Sequence[Change] = (), *, names: Iterable[str] = (), listing: bool = False) -> Committed:
        """Make ``changes`` in order, durable on return: all of them change documents, or all change facts. Then read
        the changed documents, those in ``names`` and, with ``listing``, all facts.

        With :attr:`Capability.TRANSACTIONS` all changes are one atomic step, and everything takes one round trip. By
        default facts are changed one by one. Raises: as the single calls, having changed nothing in the former case;
        Unsupported for changes of documents without the capability.
        """
        if any(isinstance(one, Append | Write) for one in changes):
            raise Unsupported(f"The {self.name} backend changes one document at a time.", next_step="Make each change.")
        added: list[AddResult | None] = []
        for one in changes:
            if isinstance(one, Add):
                try:
                    added.append(self.add_fact(one.fact, one.limit))
                except Conflict:
                    added.append(None)
            elif isinstance(one, Remove):
                with suppress(NotFound):
                    self.delete_fact(one.fact_id)
        return Committed({name: self.read(name) for name in names}, list(self.facts()) if listing else [], added)

    def last(self, prefix: str) -> Document | None:
        """The document directly in the folder ``prefix`` (which ends with a slash) whose name comes last, or None."""
        inside = [name for name in self.names(prefix) if "/" not in name[len(prefix) :]]
        return self.read(inside[-1]) if inside else None

    def upgrade(self) -> tuple[int, int]:
        """Make or upgrade whatever the backend needs, like database tables. Returns the stored form's version
        before and after; 0 if there was none. By default a backend needs nothing: (1, 1). Raises: Unsupported when a
        newer holdfast made it."""
        return 1, 1

    def batch(self) -> AbstractContextManager[None]:
        """Batch facts added inside the block. A backend may make them durable together at the end, if faster. An
        error inside, or a crash, may then undo all of them. Nothing else changes. By default each is durable at once.
        """
        return nullcontext()

    def snapshot(self) -> AbstractContextManager[None]:
        """Reads inside the block may share one view of the store, so a backend on a server need not ask twice for the
        same thing. The view is at most 15 seconds old when the block begins; writes through this backend show at
        once. By default each read asks the store."""
        return nullcontext()

    def warnings(self) -> list[str]:
        """Sentences for the user at a session's start, like who can read the store. Each comes once per machine."""
        return []

    def search(self, words: Sequence[str], limit: int = 20) -> list[Hit]:
        """Facts and documents with words that begin with any of ``words``, those that match more of them first.
        Raises: Unsupported without :attr:`Capability.SEARCH`."""
        raise Unsupported(f"The {self.name} backend cannot search.", next_step="Use `holdfast search`.")

    def lost_facts(self) -> int:
        """The number of durably stored facts that are missing although no call removed them, because the file was
        cut, replaced or deleted. 0 if the backend cannot know."""
        return 0

    def damage(self) -> Damage | None:
        """Damage to stored facts that :meth:`repair` can repair: both sides of a git merge, or a cut end."""
        return None

    def repair(self) -> None:  # noqa: B027 - most backends have nothing to repair
        """Repair that damage and keep every complete line of both sides once; the caller has saved a copy. Then accept
        the current facts: :meth:`lost_facts` is 0 from here on."""

    def compact(self) -> None:  # noqa: B027 - most backends keep no removed data
        """Erase all remains of deleted or overwritten data: dead records, free pages, log and index entries.

        Documents and facts read as before. May take as long as rewriting the whole store.
        """

    def close(self) -> None:  # noqa: B027 - most backends hold nothing
        """Release all resources. Using the backend afterwards is an error."""

    @property
    def address(self) -> str:
        """The server and the store on it, without a password, for people; empty for a local store."""
        return ""

    def where(self, name: str) -> str:
        """Where a person finds the document, as a path relative to the project or a URL."""
        return name


class DocumentPart(Protocol):
    """The documents of a :class:`ComposedBackend`. Methods are as in :class:`StorageBackend`."""

    def read(self, name: str) -> Document | None: ...

    def write(self, name: str, text: str, expected: str | None) -> str: ...

    def append(self, name: str, block: str, header: str, block_id: str) -> str: ...

    def delete(self, name: str) -> None: ...

    def names(self, prefix: str) -> list[str]: ...


class FactPart(Protocol):
    """The facts of a :class:`ComposedBackend`. Methods are as those with ``fact`` in the name in
    :class:`StorageBackend`, ``all`` as ``facts``."""

    def add(self, fact: Fact, limit: int) -> AddResult: ...

    def get(self, fact_id: str) -> Fact: ...

    def update(
        self,
        fact_id: str,
        content: str | None,
        category: str | None,
        confidence: float | None,
        source: str | Callable[[str], str] | None,
    ) -> Fact: ...

    def delete(self, fact_id: str) -> Fact: ...

    def all(self, order: FactOrder, limit: int | None) -> Iterator[Fact]: ...

    def count(self) -> int: ...


_D = TypeVar("_D", bound=DocumentPart)
_F = TypeVar("_F", bound=FactPart)


class ComposedBackend(StorageBackend, Generic[_D, _F]):
    """A backend of two parts, one for the documents and one for the facts."""

    def __init__(self, documents: _D, facts: _F) -> None:
        self._documents = documents
        self._facts = facts

    def read(self, name: str) -> Document | None:
        return self._documents.read(name)

    def write(self, name: str, text: str, expected: str | None = None) -> str:
        return self._documents.write(name, text, expected)

    def append(self, name: str, block: str, header: str, block_id: str) -> str:
        return self._documents.append(name, block, header, block_id)

    def delete(self, name: str) -> None:
        self._documents.delete(name)

    def names(self, prefix: str = "") -> list[str]:
        return self._documents.names(prefix)

    def add_fact(self, fact: Fact, limit: int) -> AddResult:
        return self._facts.add(fact, limit)

    def get_fact(self, fact_id: str) -> Fact:
        return self._facts.get(fact_id)

    def update_fact(
        self,
        fact_id: str,
        *,
        content: str | None = None,
        category: str | None = None,
        confidence: float | None = None,
        source: str | Callable[[str], str] | None = None,
    ) -> Fact:
        return self._facts.update(fact_id, content, category, confidence, source)

    def delete_fact(self, fact_id: str) -> Fact:
        return self._facts.delete(fact_id)

    def facts(self, order: FactOrder = FactOrder.CREATED, limit: int | None = None) -> Iterator[Fact]:
        return self._facts.all(order, limit)

    def count_facts(self) -> int:
        return self._facts.count()
