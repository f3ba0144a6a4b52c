"""A fact's categories and defaults, the test for duplicates, and rules that all stores share."""

from __future__ import annotations

import re
from datetime import UTC
from functools import lru_cache
from math import isfinite
from typing import TYPE_CHECKING

from holdfast.errors import Conflict, DuplicateFact, NotFound, Refused
from holdfast.text.lazy import Lazy
from holdfast.text.plain import normalized

if TYPE_CHECKING:
    from holdfast.models import Fact

CATEGORIES = ("preference", "knowledge", "context", "behavior", "goal", "correction")
#: Confidence of an explicit statement: nearly certain; only a correction should rank higher.
DEFAULT_CATEGORY, DEFAULT_CONFIDENCE = "context", 0.9


def duplicate_key(content: str) -> str:
    """The key for duplicates, ``casefold(NFC(strip(content)))``.

    NFC, not NFKC: compatibility forms (a superscript, a full-width letter) make strings differ. Inner spaces are kept.
    Source: R052, R056, reading A06.
    """
    return normalized("NFC", content.strip()).casefold()


# --- for the stores


def storable(fact: Fact, limit: int) -> Fact:
    """The new ``fact`` as every store keeps it: with its time in UTC, and a time without a zone taken as UTC (reading
    A13). Raises: ValueError for a limit below 1, and for a confidence that is not a finite number."""
    from attrs import evolve

    if limit < 1:
        raise ValueError("limit must be at least 1")
    at = fact.created_at
    at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    return evolve(fact, created_at=at, confidence=finite(fact.confidence))


def finite(confidence: float) -> float:
    """``confidence`` as a float. Raises: ValueError when it is not a finite number."""
    if not isfinite(confidence):
        raise ValueError("confidence is not a finite number")
    return float(confidence)


def duplicate_of(twin_id: str, fact_id: str) -> DuplicateFact:
    """The error for giving ``fact_id`` the same content as the fact ``twin_id``."""
    return DuplicateFact(
        f"Fact {twin_id} already says the same as the new content of {fact_id}.",
        next_step=f"Delete either fact, or update {twin_id} instead.",
    )


def no_fact(fact_id: str) -> NotFound:
    """The error for an unknown fact."""
    return NotFound(f"There is no fact {fact_id!r}.", next_step="List the facts with `holdfast facts list`.")


def id_taken(fact_id: str) -> Conflict:
    """The error for a new fact with another fact's id."""
    return Conflict(f"The id {fact_id} is taken by another fact.", next_step="Draw a new id and try again.")


try:  # hashlib.sha256 without the 5 ms of loading OpenSSL
    from _sha2 import sha256 as _sha256  # type: ignore[import-not-found,unused-ignore]  # Python 3.12 and later
except ImportError:
    try:
        from _sha256 import sha256 as _sha256  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        from hashlib import sha256 as _sha256

_RESERVED = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$", *(port + n for port in ("com", "lpt") for n in "123456789¹²³")}
)
_OF_DATABASES = (".db", ".db-wal", ".db-shm", ".db-journal")  # a database may share the documents' folder
_FORBIDDEN = frozenset('<>:"|?*\\')


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
    """Block ids in ``text``, from markers alone on their line. Only a newline ends a line, with or
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
    if name.casefold().endswith(_OF_DATABASES):
        return "such names are kept for databases"
    return ""
