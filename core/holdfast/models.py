"""Values that cross a boundary. All are frozen. Construction checks the shape; nothing here touches a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias

import attrs
from attrs import field, frozen

from holdfast.errors import BadValue


def _strings(value: Iterable[str]) -> tuple[str, ...]:
    if isinstance(value, str):
        raise TypeError("expected a list of strings, got one string")
    return tuple(value)


def _type(value: object) -> str:
    return f"cannot be of type {type(value).__name__}"


def _must_be_text(_: object, attribute: attrs.Attribute[str], value: object) -> None:
    if not isinstance(value, str):
        raise BadValue(attribute.name, _type(value), next_step="Give a string.")


def _text_or_none(_: object, attribute: attrs.Attribute[str | None], value: object) -> None:
    if value is not None:
        _must_be_text(_, attribute, value)  # type: ignore[arg-type]


def _bool_or_none(_: object, attribute: attrs.Attribute[bool | None], value: object) -> None:
    if value is not None and not isinstance(value, bool):
        raise BadValue(attribute.name, _type(value), next_step="Give True, False or nothing.")


def _items(value: object, name: str) -> list[Any]:
    """Items from a caller's list. Raises: BadValue for a single string, a mapping, or a value without items."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise BadValue(name, f"must be a list and {_type(value)}", next_step=f"Give a list, `{name}=[...]`.")
    return list(value)


def _tuple(value: Iterable[str] | None) -> tuple[str, ...] | None:
    """A tuple where possible; :func:`_must_be_texts` knows the field and checks the rest."""
    if value is None or isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return value  # type: ignore[return-value]
    return tuple(value)


def _must_be_texts(_: object, attribute: attrs.Attribute[tuple[str, ...] | None], value: object) -> None:
    if value is None:
        return
    for number, item in enumerate(_items(value, attribute.name)):
        if not isinstance(item, str):
            raise BadValue(f"{attribute.name}[{number}]", _type(item), next_step="Give strings.")


def _made(cls: type[Any], value: object, path: str) -> Any:
    """``value``, a mapping of field names, as a ``cls``. Raises: BadValue with the field's path."""
    if isinstance(value, cls):
        return value
    if not isinstance(value, Mapping):
        raise BadValue(path, _type(value), next_step=f"Give a mapping or a {cls.__name__}.")
    known = {a.name: a for a in attrs.fields(cls)}
    for key in value:
        if key not in known:
            raise BadValue(f"{path}.{key}", "is not a known field", next_step=f"Fields are: {', '.join(known)}.")
    for name, attribute in known.items():
        if attribute.default is attrs.NOTHING and name not in value:
            raise BadValue(f"{path}.{name}", "is missing", next_step=f"Fields are: {', '.join(known)}.")
    try:
        return cls(**value)
    except BadValue as error:
        problem = error.message.removeprefix(error.field).strip().removesuffix(".")
        raise BadValue(f"{path}.{error.field}", problem, next_step=error.next_step) from error


# --- context tier ---------------------------------------------------------------------------------------------


@frozen(kw_only=True)
class Message:
    """One record of a conversation. ``role`` is user, assistant, system or tool; ``at`` is timezone-aware.

    ``tokens`` is the token count of ``text`` by the configured counter. ``tool`` names the tool of a call (role
    assistant) or of its result (role tool); ``failed`` is true for a result that reported an error.
    """

    role: str
    text: str
    at: datetime
    id: str
    tokens: int = 0
    tool: str = ""
    failed: bool = False


def _messages(value: Iterable[Message]) -> tuple[Message, ...]:
    return tuple(value)


@frozen(kw_only=True)
class Turn:
    """A user message with the replies of the assistant and its tools, in order."""

    messages: tuple[Message, ...] = field(converter=_messages)

    @property
    def user(self) -> str:
        """The user's text, empty when the turn has none."""
        return "\n".join(m.text for m in self.messages if m.role == "user")

    @property
    def assistant(self) -> str:
        """The assistant's words, without tool calls and their results."""
        return "\n".join(m.text for m in self.messages if m.role == "assistant" and not m.tool)


def turns_of(messages: Sequence[Message]) -> tuple[Turn, ...]:
    """Group messages into turns. Each user message opens a turn; other records before the first form their own."""
    groups: list[list[Message]] = []
    for message in messages:
        if message.role == "user" or not groups:
            groups.append([])
        groups[-1].append(message)
    return tuple(Turn(messages=tuple(group)) for group in groups)


# --- core tier ------------------------------------------------------------------------------------------------


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


@frozen(kw_only=True)
class FactCandidate:
    """An extractor's proposal; not yet checked, deduplicated or stored."""

    content: str
    category: str
    confidence: float
    source: str = ""


@frozen(kw_only=True)
class Profile:
    """The user and recent activity, a few sentences each; empty where nothing is known. Source: R063, R064."""

    work: str = ""
    personal: str = ""
    top_of_mind: str = ""
    recent: str = ""
    earlier: str = ""
    background: str = ""


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
    evicted: tuple[str, ...] = field(default=(), converter=_strings)
    reason: str = ""
    replaced: tuple[str, ...] = field(default=(), converter=_strings)


# --- the flush ------------------------------------------------------------------------------------------------


class MutationKind(StrEnum):
    """Kinds of state that a forge shows. Source: R095."""

    STATUS = "status"
    REVIEW = "review"
    ASSIGNMENT = "assignment"
    MERGE = "merge"
    DECISION = "decision"


def _kind(value: str) -> MutationKind:
    try:
        return MutationKind(value)
    except ValueError as error:
        raise BadValue("kind", f"cannot be {value!r}", next_step=f"Use one of: {', '.join(MutationKind)}.") from error


@frozen(kw_only=True)
class StateMutation:
    """A change of queue, review or delivery state; ``target`` is like ``owner/repo#12``."""

    kind: MutationKind = field(converter=_kind)
    target: str = field(validator=_must_be_text)
    summary: str = field(validator=_must_be_text)


@frozen(kw_only=True)
class HandoffFields:
    """The four fields that another agent needs to continue. ``none`` is allowed, blank is not."""

    active_task: str = field(validator=_must_be_text)
    branch: str = field(validator=_must_be_text)
    blocker: str = field(validator=_must_be_text)
    next_action: str = field(validator=_must_be_text)


@frozen(kw_only=True)
class CuratedEntry:
    """One permanent line for curated memory; ``replaces`` names the line that it corrects, if any."""

    text: str = field(validator=_must_be_text)
    replaces: str = field(default="", validator=_must_be_text)


CuratedLines: TypeAlias = Sequence[CuratedEntry | str | Mapping[str, str]]


def _entries(value: object, name: str) -> tuple[CuratedEntry, ...]:
    return tuple(
        CuratedEntry(text=v) if isinstance(v, str) else _made(CuratedEntry, v, f"{name}[{number}]")
        for number, v in enumerate(_items(value, name))
    )


def _memory(value: CuratedLines) -> tuple[CuratedEntry, ...]:
    return _entries(value, "memory")


def _user(value: CuratedLines) -> tuple[CuratedEntry, ...]:
    return _entries(value, "user")


@frozen(kw_only=True)
class CuratedDecision:
    """The explicit decision about MEMORY.md and USER.md. Without entries it is ``none``. An entry may be given as a
    string or as a mapping with ``text`` and ``replaces``."""

    memory: tuple[CuratedEntry, ...] = field(default=(), converter=_memory)
    user: tuple[CuratedEntry, ...] = field(default=(), converter=_user)

    @property
    def is_none(self) -> bool:
        return not (self.memory or self.user)


CuratedInput: TypeAlias = "CuratedDecision | str | Mapping[str, CuratedLines] | None"


def _curated(value: CuratedInput) -> CuratedDecision | None:
    if value is None or isinstance(value, CuratedDecision):
        return value
    if isinstance(value, str) and value.strip().casefold() == "none":
        return CuratedDecision()
    if not isinstance(value, Mapping):
        problem = f"cannot be {value!r}" if isinstance(value, str) else _type(value)
        raise BadValue("curated", problem, next_step='Give "none", or {"memory": [...], "user": [...]}.')
    made: CuratedDecision = _made(CuratedDecision, value, "curated")
    return made


def _handoff(value: HandoffFields | Mapping[str, str] | None) -> HandoffFields | None:
    return None if value is None else _made(HandoffFields, value, "handoff")


def _mutations(
    value: Sequence[StateMutation | Mapping[str, str]] | None,
) -> tuple[StateMutation, ...] | None:
    if value is None:
        return None
    name = "state_mutations"
    return tuple(_made(StateMutation, v, f"{name}[{number}]") for number, v in enumerate(_items(value, name)))


@frozen(kw_only=True)
class Payload:
    """Content that must be durable before context is dropped. ``None`` means *not given*; an empty list is an answer.

    ``derived`` names the fields that core filled in from extraction or from the journal; ``sources`` has ``FIELD ID``
    for each of those and the messages that they quote (:mod:`holdfast.text.sources`). ``needs_operator`` lists tasks
    and decisions that need the operator. The contract does not require it.
    Raises: BadValue naming the field, at construction and not in the middle of a flush.
    """

    objective: str | None = field(default=None, validator=_text_or_none)
    facts: tuple[str, ...] | None = field(default=None, converter=_tuple, validator=_must_be_texts)
    decisions: tuple[str, ...] | None = field(default=None, converter=_tuple, validator=_must_be_texts)
    blockers: tuple[str, ...] | None = field(default=None, converter=_tuple, validator=_must_be_texts)
    next_step: str | None = field(default=None, validator=_text_or_none)
    artifacts: tuple[str, ...] | None = field(default=None, converter=_tuple, validator=_must_be_texts)
    follow_ups: tuple[str, ...] | None = field(default=None, converter=_tuple, validator=_must_be_texts)
    needs_operator: tuple[str, ...] | None = field(default=None, converter=_tuple, validator=_must_be_texts)
    state_mutations: tuple[StateMutation, ...] | None = field(default=None, converter=_mutations)
    work_open: bool | None = field(default=None, validator=_bool_or_none)
    handoff: HandoffFields | None = field(default=None, converter=_handoff)
    curated: CuratedDecision | None = field(default=None, converter=_curated)
    derived: tuple[str, ...] = field(default=(), converter=_strings)
    sources: tuple[str, ...] = field(default=(), converter=_strings)

    def evolve(self, **changes: Any) -> Payload:
        """A copy with the given fields changed."""
        return attrs.evolve(self, **changes)


def payload_of(value: object) -> Payload | None:
    """A payload from a caller's value, which may be a mapping of field names. Raises: BadValue naming the field."""
    if value is None or isinstance(value, Payload):
        return value
    if not isinstance(value, Mapping):
        raise BadValue("payload", _type(value), next_step="Give a Payload, or a mapping of its fields.")
    known = [a.name for a in attrs.fields(Payload) if a.name not in ("derived", "sources")]
    for key in value:
        if key not in known:
            raise BadValue(str(key), "is not a field of the payload", next_step=f"Fields are: {', '.join(known)}.")
    return Payload(**value)


def _candidates(value: Iterable[FactCandidate]) -> tuple[FactCandidate, ...]:
    return tuple(value)


@frozen(kw_only=True)
class Extraction:
    """The result of ``on_extract``: a summary, candidate facts, and the payload fields it found (others None).

    ``profile`` holds new information about the user; core merges it into the stored profile. ``retire`` lists the ids
    of facts shown to the extractor that the turns make obsolete.
    """

    summary: str = ""
    facts: tuple[FactCandidate, ...] = field(default=(), converter=_candidates)
    draft: Payload = field(factory=Payload)
    profile: Profile = field(factory=Profile)
    retire: tuple[str, ...] = field(default=(), converter=_strings)


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


def _all_written(value: Iterable[Written]) -> tuple[Written, ...]:
    return tuple(value)


def _all_evidence(value: Iterable[Evidence]) -> tuple[Evidence, ...]:
    return tuple(value)


@frozen(kw_only=True)
class Receipt:
    """The proof that context may be dropped. ``at`` is the flush's one clock reading, in the configured zone.

    ``summary`` is the daily block's text; ``repeated`` is true when the receipt of an earlier, still valid flush is
    returned again; ``degraded`` when a trail waits to be published (``pending`` items, including earlier flushes).
    ``derived`` names the fields found in the conversation, ``not_found`` the fields that it does not mention.
    ``spooled`` names the server that has not stored the flush yet; until then it is kept on this machine alone.
    """

    flush_id: str
    session_id: str
    reason: str
    at: datetime
    written: tuple[Written, ...] = field(default=(), converter=_all_written)
    evidence: tuple[Evidence, ...] = field(default=(), converter=_all_evidence)
    derived: tuple[str, ...] = field(default=(), converter=_strings)
    not_found: tuple[str, ...] = field(default=(), converter=_strings)
    warnings: tuple[str, ...] = field(default=(), converter=_strings)
    summary: str = ""
    pending: int = 0
    repeated: bool = False
    overridden: str = ""
    spooled: str = ""

    @property
    def degraded(self) -> bool:
        return self.pending > 0

    def is_same(self, other: Receipt) -> bool:
        """Whether both are of one flush. A suffix of the id counts the copies next to edited blocks."""
        return self.flush_id.partition("-")[0] == other.flush_id.partition("-")[0]


# --- validation -----------------------------------------------------------------------------------------------


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


@frozen(kw_only=True)
class Finding:
    """A validator's finding.

    With ``span`` (start, end: character offsets into the subject's text) and ``replacement``, core masks the span.
    An error without a replacement refuses the write. A warning is only reported. ``line`` is 1-based.
    """

    rule: str
    message: str
    severity: Severity = field(default=Severity.ERROR, converter=Severity)
    span: tuple[int, int] | None = None
    replacement: str | None = None
    line: int | None = None
    fix: str = ""
    name: str = ""


# --- the dream ------------------------------------------------------------------------------------------------


@frozen(kw_only=True)
class DreamSources:
    """A dream's sources: current MEMORY.md and the daily notes, oldest first, as (name, text).

    ``confirmed`` lists when items of the memory were last confirmed, as (item, time). Items may be missing.
    """

    memory: str
    notes: tuple[tuple[str, str], ...]
    confirmed: tuple[tuple[str, datetime], ...] = ()


@frozen(kw_only=True)
class DreamDraft:
    """A proposed MEMORY.md and diary entry. Core gates both before anything changes."""

    memory: str
    diary: str = ""
