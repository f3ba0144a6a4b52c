"""Content of a flush: what must be durable before context is dropped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

import attrs
from attrs import field, frozen

from holdfast.errors import BadValue
from holdfast.models.checks import (
    bool_or_none,
    items,
    made,
    must_be_text,
    must_be_texts,
    of_type,
    strings,
    text_or_none,
    tuple_or_same,
)
from holdfast.models.curated import CuratedDecision, CuratedLines

#: Lists that a payload may leave out.
OPTIONAL = ("needs_operator", "rejected", "rules")


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
    target: str = field(validator=must_be_text)
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
    decision: CuratedDecision = made(CuratedDecision, value, "curated")
    return decision


def _handoff(value: HandoffFields | Mapping[str, str] | None) -> HandoffFields | None:
    return None if value is None else made(HandoffFields, value, "handoff")


def _mutations(
    value: Sequence[StateMutation | Mapping[str, str]] | None,
) -> tuple[StateMutation, ...] | None:
    if value is None:
        return None
    name = "state_mutations"
    return tuple(made(StateMutation, v, f"{name}[{number}]") for number, v in enumerate(items(value, name)))


def _rejected(value: Iterable[str | Mapping[str, str]] | None) -> tuple[str, ...] | None:
    """``{"what", "why"}`` as the line ``WHAT: WHY``."""
    found: Any = tuple_or_same(value)  # type: ignore[arg-type]
    if not isinstance(found, tuple):
        return found  # type: ignore[no-any-return]
    return tuple(_attempt(v, number) if isinstance(v, Mapping) else v for number, v in enumerate(found))


def _attempt(value: Mapping[str, str], number: int) -> str:
    one = made(_Attempt, value, f"rejected[{number}]")
    return ": ".join(filter(None, (one.what, one.why)))


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

    objective: str | None = field(default=None, validator=text_or_none)
    facts: tuple[str, ...] | None = field(default=None, converter=tuple_or_same, validator=must_be_texts)
    decisions: tuple[str, ...] | None = field(default=None, converter=tuple_or_same, validator=must_be_texts)
    blockers: tuple[str, ...] | None = field(default=None, converter=tuple_or_same, validator=must_be_texts)
    next_step: str | None = field(default=None, validator=text_or_none)
    artifacts: tuple[str, ...] | None = field(default=None, converter=tuple_or_same, validator=must_be_texts)
    follow_ups: tuple[str, ...] | None = field(default=None, converter=tuple_or_same, validator=must_be_texts)
    needs_operator: tuple[str, ...] | None = field(default=None, converter=tuple_or_same, validator=must_be_texts)
    rejected: tuple[str, ...] | None = field(default=None, converter=_rejected, validator=must_be_texts)
    rules: tuple[str, ...] | None = field(default=None, converter=tuple_or_same, validator=must_be_texts)
    state_mutations: tuple[StateMutation, ...] | None = field(default=None, converter=_mutations)
    work_open: bool | None = field(default=None, validator=bool_or_none)
    handoff: HandoffFields | None = field(default=None, converter=_handoff)
    curated: CuratedDecision | None = field(default=None, converter=_curated)
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
