"""Content of a flush, extractions and dreams. Construction checks a caller's values and names the wrong field."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias, TypeVar

import attrs
from attrs import field, frozen
from attrs.validators import optional

from holdfast.errors import BadValue, must_be
from holdfast.models.records import strings

#: Lists that a payload may leave out.
OPTIONAL = ("needs_operator", "rejected", "rules")
#: Marks a field whose converter also reads JSON.
_RAW = {"raw": True}
_NO_LISTS = (str, bytes, Mapping)  # although they can be iterated over
_A = TypeVar("_A", bound=attrs.AttrsInstance)


# --- checks


def of_type(value: object) -> str:
    return f"cannot be of type {type(value).__name__}"


def must_be_text(_: object, attribute: attrs.Attribute[str], value: object) -> None:
    if not isinstance(value, str):
        raise BadValue(attribute.name, of_type(value), next_step="Give a string.")


def must_say(_: object, attribute: attrs.Attribute[str], value: object) -> None:
    must_be_text(_, attribute, value)
    if not str(value).strip():
        raise BadValue(attribute.name, "is blank", next_step="Give some words.")


def bool_or_none(_: object, attribute: attrs.Attribute[bool | None], value: object) -> None:
    if value is not None and not isinstance(value, bool):
        raise BadValue(attribute.name, of_type(value), next_step="Give True, False or nothing.")


def items(value: object, name: str) -> list[Any]:
    """Items from a caller's list. Raises: BadValue for a single string, a mapping, or a value without items."""
    if type(value) is not tuple and (isinstance(value, _NO_LISTS) or not isinstance(value, Iterable)):
        raise BadValue(name, f"must be a list and {of_type(value)}", next_step=f"Give a list, `{name}=[...]`.")
    return list(value)


def tuple_or_same(value: Iterable[str] | None) -> tuple[str, ...] | None:
    """A tuple where possible; :func:`must_be_texts` knows the field and checks the rest."""
    if type(value) is tuple or value is None or isinstance(value, _NO_LISTS) or not isinstance(value, Iterable):
        return value  # type: ignore[return-value]
    return tuple(value)


def must_be_texts(_: object, attribute: attrs.Attribute[tuple[str, ...] | None], value: object) -> None:
    if value is None:
        return
    for number, item in enumerate(items(value, attribute.name)):
        if not isinstance(item, str):
            raise BadValue(f"{attribute.name}[{number}]", of_type(item), next_step="Give strings.")


def made(cls: type[_A], value: object, path: str) -> _A:
    """``value``, a mapping of field names, as a ``cls``. Raises: BadValue with the field's path."""
    if isinstance(value, cls):
        return value
    if not isinstance(value, Mapping):
        raise BadValue(path, of_type(value), next_step=f"Give a mapping or a {cls.__name__}.")
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


# --- curated memory


@frozen(kw_only=True)
class CuratedEntry:
    """One permanent line for curated memory; ``replaces`` names the line that it corrects, if any."""

    text: str = field(validator=must_be_text)
    replaces: str = field(default="", validator=must_be_text)


CuratedLines: TypeAlias = Sequence[CuratedEntry | str | Mapping[str, str]]


def _entries(value: CuratedLines, name: str) -> tuple[CuratedEntry, ...]:
    return tuple(
        CuratedEntry(text=v) if isinstance(v, str) else made(CuratedEntry, v, f"{name}[{number}]")
        for number, v in enumerate(items(value, name))
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

    def as_written(self) -> object:
        """As people write it: `none`, and an entry that replaces nothing as a string."""
        lines = (("memory", self.memory), ("user", self.user))
        return {key: [entry if entry.replaces else entry.text for entry in row] for key, row in lines if row} or "none"


# --- the payload


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
    target: str = field(validator=must_say)
    summary: str = field(validator=must_be_text)


@frozen(kw_only=True)
class HandoffFields:
    """The four fields that another agent needs to continue. ``none`` is allowed, blank is not."""

    active_task: str = field(validator=must_be_text)
    branch: str = field(validator=must_be_text)
    blocker: str = field(validator=must_be_text)
    next_action: str = field(validator=must_be_text)


CuratedInput: TypeAlias = "CuratedDecision | str | Mapping[str, CuratedLines] | None"


def _curated(value: CuratedInput) -> CuratedDecision | None:
    if value is None or isinstance(value, CuratedDecision):
        return value
    if isinstance(value, str) and value.strip().casefold() == "none":
        return CuratedDecision()
    if not isinstance(value, Mapping):
        problem = f"cannot be {value!r}" if isinstance(value, str) else of_type(value)
        raise BadValue("curated", problem, next_step='Give "none", or {"memory": [...], "user": [...]}.')
    return made(CuratedDecision, value, "curated")


def _handoff(value: HandoffFields | Mapping[str, str] | None) -> HandoffFields | None:
    return None if value is None else made(HandoffFields, value, "handoff")


def _mutations(value: Sequence[StateMutation | Mapping[str, str]] | None) -> tuple[StateMutation, ...] | None:
    if value is None:
        return None
    rows = enumerate(items(value, "state_mutations"))
    return tuple(made(StateMutation, v, f"state_mutations[{number}]") for number, v in rows)


def _rejected(value: Iterable[str | Mapping[str, str]] | None) -> tuple[str, ...] | None:
    """``{"what", "why"}`` as the line ``WHAT: WHY``."""
    attempts: Any = tuple_or_same(value)  # type: ignore[arg-type]
    if not isinstance(attempts, tuple):
        return attempts  # type: ignore[no-any-return]
    return tuple(_attempt(v, number) if isinstance(v, Mapping) else v for number, v in enumerate(attempts))


def _attempt(value: Mapping[str, str], number: int) -> str:
    attempt = made(_Attempt, value, f"rejected[{number}]")
    return ": ".join(filter(None, (attempt.what, attempt.why)))


@frozen(kw_only=True)
class _Attempt:
    what: str = field(validator=must_be_text)
    why: str = field(default="", validator=must_be_text)


@frozen(kw_only=True)
class Payload:
    """Content that must be durable before context is dropped. ``None`` means *not given*; an empty list is an answer.

    ``derived`` names the fields that core filled in from drafts or messages, and in an extractor's draft those that
    follow from the turns without being stated; ``sources`` has ``FIELD ID`` for each of those and the messages that
    they quote (:mod:`holdfast_app.authorship.sources`). The contract does not require :data:`OPTIONAL`:
    ``needs_operator`` lists tasks and decisions that need the operator, ``rejected`` the approaches given up, each as
    ``WHAT: WHY`` or ``{"what", "why"}``, and ``rules`` the user's standing rules in their words.
    Raises: BadValue naming the field, at construction and not during a flush.
    """

    objective: str | None = field(default=None, validator=optional(must_be_text))
    facts: tuple[str, ...] | None = field(default=None, converter=tuple_or_same, validator=must_be_texts)
    decisions: tuple[str, ...] | None = field(default=None, converter=tuple_or_same, validator=must_be_texts)
    blockers: tuple[str, ...] | None = field(default=None, converter=tuple_or_same, validator=must_be_texts)
    next_step: str | None = field(default=None, validator=optional(must_be_text))
    artifacts: tuple[str, ...] | None = field(default=None, converter=tuple_or_same, validator=must_be_texts)
    follow_ups: tuple[str, ...] | None = field(default=None, converter=tuple_or_same, validator=must_be_texts)
    needs_operator: tuple[str, ...] | None = field(default=None, converter=tuple_or_same, validator=must_be_texts)
    rejected: tuple[str, ...] | None = field(default=None, converter=_rejected, validator=must_be_texts, metadata=_RAW)
    rules: tuple[str, ...] | None = field(default=None, converter=tuple_or_same, validator=must_be_texts)
    state_mutations: tuple[StateMutation, ...] | None = field(default=None, converter=_mutations)
    work_open: bool | None = field(default=None, validator=bool_or_none)
    handoff: HandoffFields | None = field(default=None, converter=_handoff)
    curated: CuratedDecision | None = field(default=None, converter=_curated, metadata=_RAW)
    derived: tuple[str, ...] = field(default=(), converter=strings)
    sources: tuple[str, ...] = field(default=(), converter=strings)

    def evolve(self, **changes: Any) -> Payload:
        """A copy with the given fields changed."""
        return attrs.evolve(self, **changes)


def payload_of(value: object) -> Payload | None:
    """A payload from a caller's value, which may be a mapping of field names. Raises: BadValue naming the field."""
    if value is None or isinstance(value, Payload):
        return value
    if not isinstance(value, Mapping):
        raise BadValue("payload", of_type(value), next_step="Give a Payload, or a mapping of its fields.")
    known = [a.name for a in attrs.fields(Payload) if a.name not in ("derived", "sources")]
    for key in value:
        if key not in known:
            raise BadValue(str(key), "is not a field of the payload", next_step=f"Fields are: {', '.join(known)}.")
    return Payload(**value)


# --- extractions and dreams


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


def _candidates(value: Iterable[FactCandidate | Mapping[str, Any]]) -> tuple[FactCandidate, ...]:
    return tuple(made(FactCandidate, v, f"facts[{number}]") for number, v in enumerate(items(value, "facts")))


def _profile(value: Profile | Mapping[str, str]) -> Profile:
    return made(Profile, value, "profile")


def _retired(value: Iterable[str]) -> tuple[str, ...]:
    for number, fact_id in enumerate(retired := items(value, "retire")):
        must_be(str, fact_id, f"retire[{number}]")
    return tuple(retired)


def _draft(value: Payload | Mapping[str, Any]) -> Payload:
    return payload_of(value) or Payload()


@frozen(kw_only=True)
class Extraction:
    """The result of ``on_extract``: a summary, candidate facts, and the payload fields it found (others None).

    ``profile`` holds new information about the user; core merges it into the stored profile. ``retire`` lists the ids
    of facts shown to the extractor that the turns make obsolete. Mappings of field names count as their values.
    Raises: BadValue naming the field.
    """

    summary: str = field(default="", validator=must_be_text)
    facts: tuple[FactCandidate, ...] = field(default=(), converter=_candidates)
    draft: Payload = field(factory=Payload, converter=_draft)
    profile: Profile = field(factory=Profile, converter=_profile)
    retire: tuple[str, ...] = field(default=(), converter=_retired)


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

    memory: str = field(validator=must_be_text)
    diary: str = field(default="", validator=must_be_text)
