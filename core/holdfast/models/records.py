"""Records: messages, facts, findings, checks and receipts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum

from attrs import Attribute, field, frozen
from attrs.validators import optional


def strings(value: Iterable[str]) -> tuple[str, ...]:
    """A converter that refuses a single string. Raises: TypeError."""
    if isinstance(value, str):
        raise TypeError("expected a list of strings, got one string")
    return tuple(value)


def _text(_: object, attribute: Attribute[str], value: object) -> None:
    """An attrs validator, for what plugins make and a journal keeps. Raises: TypeError."""
    if not isinstance(value, str):
        raise TypeError(f"{attribute.name} must be a string, not {type(value).__name__}")


def _whole(_: object, attribute: Attribute[int], value: object) -> None:
    if type(value) is not int:
        raise TypeError(f"{attribute.name} must be a whole number, not {type(value).__name__}")


def _span(_: object, attribute: Attribute[tuple[int, int]], value: tuple[int, int]) -> None:
    if [type(bound) for bound in value] != [int, int]:
        raise TypeError(f"{attribute.name} must be (start, end), not {value!r}")


@frozen(kw_only=True)
class Message:
    """One record of a conversation. ``role`` is user, assistant, system or tool; ``at`` is timezone-aware.

    ``tokens`` is the configured counter's count for ``text``. ``tool`` names a call's tool (role
    assistant) or of its result (role tool); ``failed`` is true for a result that reported an error.
    """

    role: str
    text: str
    at: datetime
    id: str
    tokens: int = 0
    tool: str = ""
    failed: bool = False


@frozen(kw_only=True)
class Turn:
    """A user message with all replies by the assistant and its tools, in order."""

    messages: tuple[Message, ...] = field(converter=tuple[Message, ...])

    @property
    def user(self) -> str:
        """The user's text, empty when the turn has none."""
        return "\n".join(m.text for m in self.messages if m.role == "user")


def turns_of(messages: Sequence[Message]) -> tuple[Turn, ...]:
    """Group messages into turns. Each user message opens a turn; other records before the first form their own."""
    groups: list[list[Message]] = []
    for message in messages:
        if message.role == "user" or not groups:
            groups.append([])
        groups[-1].append(message)
    return tuple(Turn(messages=tuple(group)) for group in groups)


class Category(StrEnum):
    """The six kinds of fact. Source: R037."""

    PREFERENCE = "preference"
    KNOWLEDGE = "knowledge"
    CONTEXT = "context"
    BEHAVIOR = "behavior"
    GOAL = "goal"
    CORRECTION = "correction"


@frozen(kw_only=True)
class Fact:
    """A stored fact. ``id`` is ``fact_`` + 8 hex digits; ``created_at`` is UTC; ``confidence`` 0.0 to 1.0."""

    id: str
    content: str
    category: str
    confidence: float
    created_at: datetime
    source: str = ""


class AddOutcome(StrEnum):
    """The outcome of storing a fact."""

    ADDED = "added"
    DUPLICATE = "duplicate"
    BELOW_THRESHOLD = "below threshold"
    REFUSED = "refused"


@frozen(kw_only=True)
class AddResult:
    """``fact`` is the stored fact (added) or the existing one (duplicate); ``evicted`` the ids removed to make room;
    ``replaced`` the ids of older values of the same thing, now in the log."""

    outcome: AddOutcome
    fact: Fact | None = None
    duplicate_of: str | None = None
    evicted: tuple[str, ...] = field(default=(), converter=strings)
    reason: str = ""
    replaced: tuple[str, ...] = field(default=(), converter=strings)


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


def _encodable(_: object, attribute: Attribute[str], value: str) -> None:
    """An attrs validator. Raises: UnicodeEncodeError for a lone surrogate, which no store can keep."""
    _text(_, attribute, value)
    value.encode()


@frozen(kw_only=True)
class Finding:
    """A validator's finding.

    With ``span`` (start, end: character offsets into the request's text) and ``replacement``, core masks the span.
    An error without a replacement refuses the write. A warning is only reported. ``line`` is 1-based.
    """

    rule: str = field(validator=_text)
    message: str = field(validator=_text)
    severity: Severity = field(default=Severity.ERROR, converter=Severity)
    span: tuple[int, int] | None = field(default=None, validator=optional(_span))
    replacement: str | None = field(default=None, validator=optional(_encodable))
    line: int | None = None
    fix: str = field(default="", validator=_text)
    name: str = ""


class Outcome(StrEnum):
    """OK and WARN let work continue; FAIL does not."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@frozen(kw_only=True)
class Check:
    """One check's result. ``repaired`` is true when ``--repair`` has just repaired it. An empty name becomes the
    entry point's."""

    name: str = field(validator=_text)
    outcome: Outcome = field(converter=Outcome)
    message: str = field(validator=_text)
    next_step: str = field(default="", validator=_text)
    repaired: bool = False

    @classmethod
    def good(cls, message: str, name: str = "") -> Check:
        return cls(name=name, outcome=Outcome.OK, message=message)

    @classmethod
    def warn(cls, message: str, next_step: str, name: str = "") -> Check:
        return cls(name=name, outcome=Outcome.WARN, message=message, next_step=next_step)

    @classmethod
    def fail(cls, message: str, next_step: str, name: str = "") -> Check:
        return cls(name=name, outcome=Outcome.FAIL, message=message, next_step=next_step)


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

    target: str = field(validator=_text)
    pointer: str = field(validator=_text)
    published: str = field(validator=_text)
    read_back: str = field(validator=_text)
    pending: int = field(default=0, validator=_whole)
    note: str = field(default="", validator=_text)


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
