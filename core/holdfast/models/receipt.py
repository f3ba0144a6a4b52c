"""The proof that a flush is durable."""

from __future__ import annotations

from datetime import datetime

from attrs import field, frozen

from holdfast.models.checks import strings


@frozen(kw_only=True)
class Written:
    """Proof that one document was written and read back: hex digest of the bytes read, and size in bytes."""

    surface: str
    name: str
    revision: str
    sha256: str
    size: int


@frozen(kw_only=True)
class Evidence:
    """A publication by an ``on_flush`` implementation. Core compares ``published`` with ``read_back``, which the
    plugin must have fetched again from the place of publication; ``pointer`` is a URL or a relative path.

    ``pending`` counts the items waiting to be published. ``note`` gives the reason, or other facts a person must know.
    """

    target: str
    pointer: str
    published: str
    read_back: str
    pending: int = 0
    note: str = ""


@frozen(kw_only=True)
class Receipt:
    """The proof that context may be dropped. ``at`` is the flush's one clock reading, in the configured zone.

    ``summary`` is the daily block's text; ``repeated`` is true when an earlier, still valid flush's receipt is
    returned again; ``degraded`` when a trail waits to be published (``pending`` items, including earlier flushes).
    ``derived`` names the fields found in the conversation, ``not_found`` the fields that it does not mention.
    ``spooled`` names the server that has not stored the flush yet; until then it is kept on this machine alone.
    ``by`` is the recorded origin (``person@machine agent``), empty by default.
    """

    flush_id: str
    session_id: str
    reason: str
    at: datetime
    written: tuple[Written, ...] = field(default=(), converter=tuple[Written, ...])
    evidence: tuple[Evidence, ...] = field(default=(), converter=tuple[Evidence, ...])
    derived: tuple[str, ...] = field(default=(), converter=strings)
    not_found: tuple[str, ...] = field(default=(), converter=strings)
    warnings: tuple[str, ...] = field(default=(), converter=strings)
    summary: str = ""
    pending: int = 0
    repeated: bool = False
    overridden: str = ""
    spooled: str = ""
    by: str = ""

    @property
    def degraded(self) -> bool:
        return self.pending > 0

    def is_same(self, other: Receipt) -> bool:
        """Whether both are of one flush. A suffix of the id counts the copies next to edited blocks."""
        return self.flush_id.partition("-")[0] == other.flush_id.partition("-")[0]
