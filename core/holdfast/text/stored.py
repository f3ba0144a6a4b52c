"""A fact's categories and defaults, the test for duplicates, and rules that all stores share."""

from __future__ import annotations

import heapq
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple

from attrs import evolve

from holdfast.errors import Conflict, Corrupt, DuplicateFact, NotFound, Refused
from holdfast.models import AddOutcome, AddResult, Fact
from holdfast.text.digests import sha256
from holdfast.text.lazy import Lazy
from holdfast.text.plain import normalized

CATEGORIES = ("preference", "knowledge", "context", "behavior", "goal", "correction")
#: Confidence of an explicit statement: nearly certain; only a correction should rank higher.
DEFAULT_CATEGORY, DEFAULT_CONFIDENCE = "context", 0.9


def duplicate_key(content: str) -> str:
    """The key for duplicates, ``casefold(NFC(strip(content)))``.

    NFC, not NFKC: compatibility forms (a superscript, a full-width letter) make strings differ. Inner spaces are kept.
    Source: R052, R056, reading A06.
    """
    return normalized("NFC", content.strip()).casefold()


class FactOrder(StrEnum):
    """CREATED: insertion order. CONFIDENCE: highest first, ties in insertion order. STRONGEST: highest first, ties by
    latest insertion first."""

    CREATED = "created"
    CONFIDENCE = "confidence"
    STRONGEST = "strongest"


class Add(NamedTuple):
    """A change for :meth:`StorageBackend.commit`: the arguments of :meth:`StorageBackend.add_fact`."""

    fact: Fact
    limit: int


class Update(NamedTuple):
    """A change for :meth:`StorageBackend.commit`: change the given fields of a fact; ``created_at`` and the position
    stay. A function as ``source`` gets the stored source and returns the new one, in one step where the backend can."""

    fact_id: str
    content: str | None = None
    category: str | None = None
    confidence: float | None = None
    source: str | Callable[[str], str] | None = None


class Remove(NamedTuple):
    """A change for :meth:`StorageBackend.commit`: delete the fact if it is still stored, and with ``source`` only if
    that is its source."""

    fact_id: str
    source: str | None = None


# --- for the stores


def storable(fact: Fact, limit: int) -> Fact:
    """The new ``fact`` as every store keeps it: with its time in UTC, and a time without a zone taken as UTC (reading
    A13). Raises: ValueError for a limit below 1, and for a confidence that is not a finite number."""
    if limit < 1:
        raise ValueError("limit must be at least 1")
    at = fact.created_at
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return evolve(fact, created_at=at, confidence=finite(fact.confidence))


def leaving(fact: Fact, change: Remove) -> Fact:
    """The stored ``fact``, which the change removes. Raises: NotFound when it has another source."""
    if change.source not in (None, fact.source):
        raise no_fact(fact.id)
    return fact


def finite(confidence: float) -> float:
    """``confidence`` as a float. Raises: ValueError when it is not a finite number."""
    if not isfinite(confidence):
        raise ValueError("confidence is not a finite number")
    return float(confidence)


def updated(fact: Fact, change: Update) -> Fact:
    """``fact`` after the change. Raises: ValueError when the confidence is not a finite number."""
    values = change._asdict()
    del values["fact_id"]
    if callable(change.source):
        values["source"] = change.source(fact.source)
    if change.confidence is not None:
        values["confidence"] = finite(change.confidence)
    return evolve(fact, **{key: value for key, value in values.items() if value is not None})


def duplicate_of(twin_id: str, fact_id: str) -> DuplicateFact:
    """The error for giving ``fact_id`` the same content as the fact ``twin_id``."""
    return DuplicateFact(
        f"Fact {twin_id} already says the same as the new content of {fact_id}.",
        next_step=f"Delete either fact, or update {twin_id} instead.",
    )


def no_fact(fact_id: str) -> NotFound:
    """The error for an unknown fact."""
    return NotFound(f"There is no fact {fact_id!r}.", next_step="`holdfast facts list` shows ids.")


def id_taken(fact_id: str) -> Conflict:
    """The error for a new fact with another fact's id."""
    return Conflict(f"The id {fact_id} is taken by another fact.", next_step="Draw a new id and try again.")


class FactTable:
    """Facts in memory, in order of insertion, by id and by duplicate key. For stores that keep all of them there."""

    def __init__(self, facts: Iterable[Fact] = ()) -> None:
        self._facts: dict[str, Fact] = {}
        self._ids: dict[str, list[str]] = {}  # only hand-edited files have several of one key
        for fact in facts:
            self.put(fact)

    def __len__(self) -> int:
        return len(self._facts)

    def __iter__(self) -> Iterator[Fact]:
        return iter(self._facts.values())

    def __contains__(self, fact_id: str) -> bool:
        return fact_id in self._facts

    def get(self, fact_id: str) -> Fact:
        """Raises: NotFound."""
        if fact_id not in self._facts:
            raise no_fact(fact_id)
        return self._facts[fact_id]

    def listed(self, order: FactOrder, limit: int | None) -> Iterator[Fact]:
        """The facts in ``order``, as of the call."""
        facts = list(self._facts.values())
        if order is FactOrder.STRONGEST:
            facts.reverse()
        if order is not FactOrder.CREATED:
            facts.sort(key=lambda fact: -fact.confidence)
        return iter(facts if limit is None else facts[: max(limit, 0)])

    def addition(self, fact: Fact, limit: int) -> AddResult:
        """The result of adding a :func:`storable` fact. Changes nothing. Raises: Conflict when its id is taken.

        Evicted are the facts with the lowest confidence, of these the oldest, then the first ones. Source: R059, R060,
        reading A02.
        """
        if twins := self._ids.get(duplicate_key(fact.content)):
            return AddResult(outcome=AddOutcome.DUPLICATE, fact=self._facts[twins[0]], duplicate_of=twins[0])
        if fact.id in self._facts:
            raise id_taken(fact.id)
        surplus = len(self._facts) + 1 - limit
        weakest = heapq.nsmallest(surplus, self._facts.values(), key=lambda old: (old.confidence, old.created_at))
        return AddResult(outcome=AddOutcome.ADDED, fact=fact, evicted=[old.id for old in weakest])

    def changed(self, change: Update) -> Fact:
        """The fact after the change. Changes nothing. Raises: NotFound, DuplicateFact."""
        new = updated(self.get(change.fact_id), change)
        twins = self._ids.get(duplicate_key(new.content), [new.id])
        if twins[0] != new.id and change.content is not None:
            raise duplicate_of(twins[0], new.id)
        return new

    def add(self, fact: Fact, limit: int) -> AddResult:
        """Make the :meth:`addition`. Raises: Conflict."""
        result = self.addition(fact, limit)
        if result.duplicate_of is None:
            for fact_id in result.evicted:
                self.remove(fact_id)
            self.put(fact)
        return result

    def update(self, change: Update) -> Fact:
        """Make the change. Raises: NotFound, DuplicateFact."""
        fact = self.changed(change)
        self.put(fact)
        return fact

    def take(self, change: Remove) -> Fact:
        """Make the change. Returns the removed fact. Raises: NotFound."""
        fact = leaving(self.get(change.fact_id), change)
        self.remove(fact.id)
        return fact

    def put(self, fact: Fact) -> None:
        """Insert the fact, or replace the fact with its id in its place."""
        if fact.id in self._facts:
            self._forget_key(self._facts[fact.id])
        self._facts[fact.id] = fact
        self._ids.setdefault(duplicate_key(fact.content), []).append(fact.id)

    def remove(self, fact_id: str) -> None:
        """A missing fact is not an error."""
        if fact_id in self._facts:
            self._forget_key(self._facts.pop(fact_id))

    def _forget_key(self, fact: Fact) -> None:
        key = duplicate_key(fact.content)
        self._ids[key].remove(fact.id)
        if not self._ids[key]:
            del self._ids[key]


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
#: What :func:`fact_in` reads, and each order, as SQL.
FACT_COLUMNS = "id, content, category, confidence, created_us, source"
SQL_ORDERS = {
    FactOrder.CREATED: "seq",
    FactOrder.CONFIDENCE: "confidence DESC, seq",
    FactOrder.STRONGEST: "confidence DESC, seq DESC",
}


def duplicate_digest(content: str) -> bytes:
    """A unique index's key: as selective as the duplicate key, and short at any length of it. Raises: Refused."""
    import hashlib

    return hashlib.blake2b(check_text(duplicate_key(content), "a fact", nul=True).encode(), digest_size=20).digest()


def columns_of(fact: Fact) -> tuple[str, bytes, str, str, float, int, str]:
    """A fact as a table's row has it, with its :func:`duplicate_digest` after its id."""
    created_us = (fact.created_at - _EPOCH) // _MICROSECOND
    digest = duplicate_digest(fact.content)
    return (fact.id, digest, fact.content, fact.category, fact.confidence, created_us, fact.source)


def fact_in(row: Sequence[Any], next_step: str) -> Fact:
    """The fact in a row of :data:`FACT_COLUMNS`. Raises: Corrupt, with the ``next_step``."""
    fact_id, content, category, confidence, created_us, source = row
    fits = type(fact_id) is type(content) is type(source) is str and type(confidence) is float
    if not fits or type(created_us) is not int or category not in CATEGORIES or not 0.0 <= confidence <= 1.0:
        raise Corrupt(f"The fact {fact_id!r} is stored with invalid values.", next_step=next_step)
    try:
        at = _EPOCH + created_us * _MICROSECOND
    except OverflowError as error:
        raise Corrupt(f"The fact {fact_id!r} has a time out of range.", next_step=next_step) from error
    return Fact(id=fact_id, content=content, category=category, confidence=confidence, created_at=at, source=source)


_RESERVED = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$", *(port + n for port in ("com", "lpt") for n in "123456789¹²³")}
)
_OF_DATABASES = (".db", ".db-wal", ".db-shm", ".db-journal")  # a database may share the documents' folder
_FORBIDDEN = frozenset('<>:"|?*\\')


def block_marker(block_id: str) -> str:
    """The line that identifies a block in a document. ``append`` requires it inside the block."""
    return f"<!-- holdfast:block id={block_id} -->"


_BEFORE_ID, _, _AFTER_ID = block_marker("@").partition("@")
_MARKER = Lazy(rf"^{re.escape(_BEFORE_ID)}(.*){re.escape(_AFTER_ID)}\r?$", re.MULTILINE)


def block_ids(text: str) -> list[str]:
    """Block ids in ``text``, from markers alone on their line. Only a newline ends a line, with or
    without a CR before it."""
    return _MARKER.findall(text)


def appended(before: str, block: str, header: str) -> str:
    """The text that an append adds after ``before``. A new document begins with ``header``, and a last line without a
    newline gets one first."""
    start = before or header
    return start[len(before) :] + ("" if not start or start.endswith("\n") else "\n") + block


def check_block(name: str, block: str, header: str, block_id: str) -> None:
    """Raises: Refused as :func:`check_text`; ValueError for a block without its marker line."""
    check_text(header + block, name)
    if block_id not in block_ids(block):
        raise ValueError(f"the block {block_id} lacks its marker line, which a validator may have masked")


def check_text(text: str, name: str, *, nul: bool = False) -> str:
    """Return ``text`` if a store can keep it in the document ``name``. Raises: Refused for a lone surrogate, and for a
    NUL character unless ``nul`` allows it."""
    problem = "a NUL character" if "\0" in text and not nul else ""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        problem = f"a lone surrogate at character {error.start}"
    if problem:
        raise Refused(f"The text for {name!r} holds {problem}.", next_step="Remove it.")
    return text


def tombstone(removed: str) -> str:
    """A removed fact's or block's mark, so that a merge does not bring it back. It is a digest of the id, because an
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
        if part.split(".", 1)[0].rstrip(" ").casefold() in _RESERVED:
            return f"{part!r} is reserved on Windows"
    first = name.split("/", 1)[0].casefold()
    if first == "state" or first.startswith("state.foreign-"):
        return "`state/` is private"
    return "such names are kept for databases" if name.casefold().endswith(_OF_DATABASES) else ""
