"""Step 1 of a flush: plan its documents, from the payload, the messages and the store. Writes nothing.

The UNSAFE marker holds the plan until the flush is durable, then the journal does. So a retry, or a repair of lost
documents, writes the same blocks again.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any, NamedTuple, Self, TypeAlias

from attrs import define, field

from holdfast.config.layout import Surface
from holdfast.config.serde import flushed_payload, moment, stamp, unstructure
from holdfast.errors import HoldfastError
from holdfast.flush import contract, notes, refused_payloads
from holdfast.flush.apply import Documents
from holdfast.flush.context import Context
from holdfast.journal import order
from holdfast.journal.safety import Marker, Stated
from holdfast.models import Message, Payload
from holdfast.services.interfaces import Completed, Gathered
from holdfast.services.services import Services
from holdfast.storage import block_marker, sha256
from holdfast.text.lazy import log

logger = log(__name__)

#: See :meth:`holdfast.session.Session._fill`.
Fill: TypeAlias = "Callable[[Attempt, Payload | None, Sequence[Message], bool], Completed]"


@define(kw_only=True, eq=False, repr=False)
class Attempt:
    """One try to flush ``session``, and what its steps found so far.

    ``fill`` is :meth:`holdfast.session.Session._fill`. ``given`` is the caller's payload, or a payload refused earlier
    (``taken_up``). ``stated`` identifies it. ``messages`` are those that no flush covers yet, up to the journal's
    offset ``upto``; ``position`` is the newest one's. ``failed_before`` are an earlier try's reason and target,
    ``settled`` the stated payloads, by digest, that this flush answers for, ``queued`` what waits for models.
    ``offline`` when it is kept on this machine.
    ``gathered`` is None when another process extracted and died, or there is nothing to extract.
    """

    services: Services
    session: Context
    reason: str
    agent: str
    given: Payload | None
    stated: Stated | None
    documents: Documents
    fill: Fill
    marker: Marker | None = None
    messages: Sequence[Message] = ()
    upto: int = 0
    position: int = 0
    step: str = "collect"
    offline: bool = False
    taken_up: bool = False
    gathered: Gathered | None = None
    failed_before: tuple[str, str] = ("", "")
    warnings: list[str] = field(factory=list)
    settled: set[str] = field(factory=set)
    queued: list[str] = field(factory=list)

    @property
    def is_idle(self) -> bool:
        """Whether nothing was given and nothing was said since the last flush."""
        return self.stated is None and not self.messages

    @property
    def key(self) -> str:
        return self.key_with(self.stated)

    def key_with(self, stated: Stated | None) -> str:
        return sha256(f"{self.position}\n{stated.digest if stated else ''}")

    @property
    def last_key(self) -> str:
        """The last successful flush's key. Empty without one."""
        return str((self.session.last_flush or {}).get("key", ""))

    @property
    def kept_marker(self) -> Marker:
        """The UNSAFE marker, which every attempt writes before it plans."""
        assert self.marker is not None
        return self.marker


class Plan(NamedTuple):
    """One flush's content. ``key`` identifies the messages and the stated payload from which it was collected.
    ``before`` are lines of earlier, refused payloads that ``payload`` does not have; ``instead`` the ids of flushes
    given up before; ``overrides`` reasons of operators; ``by`` the recorded origin. ``has_messages``: some were not
    flushed yet. ``is_resumed``: checked before."""

    key: str
    payload: Payload
    summary: str
    at: datetime
    reason: str
    agent: str = ""
    by: str = ""
    before: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    has_messages: bool = True
    is_resumed: bool = False

    @classmethod
    def from_record(
        cls, record: Mapping[str, Any], *, key: str, zone: tzinfo | None, overrides: tuple[str, ...] = ()
    ) -> Self:
        """A plan from a marker or a journal; ``overrides`` if the record has none. Raises: KeyError, TypeError,
        ValueError, ConfigError for a record that cannot be read."""
        return cls(
            key=key,
            payload=flushed_payload(record),
            summary=str(record["summary"]),
            at=moment(record["at"]).astimezone(zone),
            reason=record["reason"],
            agent=record["agent"],
            by=str(record.get("by", "")),
            before=tuple(record.get("before", ())),
            instead=tuple(record.get("instead", ())),
            overrides=tuple(record.get("overrides", overrides)),
            has_messages=record.get("has_messages", True),
            is_resumed=True,
        )

    def pending(self) -> dict[str, Any]:
        """The record in the marker. It has no overrides, because an operator may add one before the retry."""
        return {
            "payload": {**unstructure(self.payload), "derived": [], "sources": []},
            "derived": list(self.payload.derived),
            "sources": list(self.payload.sources),
            "summary": self.summary,
            "before": list(self.before),
            "at": stamp(self.at),
            "reason": self.reason,
            "agent": self.agent,
            **({"by": self.by} if self.by else {}),
            **({"instead": list(self.instead)} if self.instead else {}),
            **({} if self.has_messages else {"has_messages": False}),
        }

    def flushed(self) -> dict[str, Any]:
        return {**self.pending(), "key": self.key, "overrides": self.overrides}

    def flush_id(self, session_id: str) -> str:
        """The time is part of the id, because the same words may be flushed again on another day."""
        parts = [session_id, self.key, refused_payloads.form(self.payload), stamp(self.at.astimezone(UTC))]
        return "flush_" + sha256(json.dumps(parts, sort_keys=True))[:16]

    def block(self, session_id: str, block_id: str) -> str:
        return notes.framed(
            self.body(),
            block_id=block_id,
            session=session_id,
            reason=self.reason,
            at=self.at,
            overrides=self.overrides,
            by=self.by,
        )

    @property
    def lines(self) -> set[str]:
        return {*refused_payloads.lines(self.payload), *self.before}

    def body(self) -> str:
        return notes.body(self.payload, self.summary, self.before)


def make(attempt: Attempt) -> Plan | None:
    """What to write: from the marker if this flush had already begun, from the journal if the last flush is written
    again, else from the payload and the messages. None if an operator overrode all there was.
    Raises: FlushRefused for a payload that lacks fields, or one refused earlier that could not be kept."""
    session, marker = attempt.session, attempt.kept_marker
    key_before, pending = marker.key, marker.pending
    if attempt.documents.proof.lost and session.last_flush is not None:
        key_before, pending = session.last_flush["key"], session.last_flush
    was_idle = attempt.is_idle
    _take_up_refused(attempt, marker)
    goes_on = key_before == attempt.key or (was_idle and not attempt.taken_up)
    plan = _recorded(attempt, pending, key_before) if attempt.documents.proof.lost or goes_on else None
    if plan is not None:
        others = refused_payloads.others(marker, attempt.stated)
        since = {entry.digest for entry in others}.difference(refused_payloads.covered(others, plan.lines))
        # No payload stated since is left behind, nor messages, when a power cut took back the flush that they were in.
        is_short = (since and not attempt.is_idle) or (attempt.messages and not plan.has_messages)
        if attempt.documents.proof.lost or not is_short:
            attempt.reason, attempt.agent = plan.reason, attempt.agent or plan.agent  # the heading has the reason
            attempt.settled -= since
            attempt.documents.is_later, attempt.documents.given_up = True, plan.instead
            return plan
    if attempt.given is None and not (attempt.messages or session.messages):
        return None
    return _new(attempt, marker)


def _recorded(attempt: Attempt, record: Mapping[str, Any] | None, key: str) -> Plan | None:
    """The plan in a marker or a journal. None without one, or for one that cannot be read."""
    if record is None:
        return None
    zone, overrides = attempt.services.config.tz, attempt.session.unrecorded_overrides
    try:
        return Plan.from_record(record, key=key, zone=zone, overrides=overrides)
    except (KeyError, TypeError, ValueError, HoldfastError):
        logger.warning("the pending flush in the UNSAFE marker cannot be read; starting over")
        return None


def noted(attempt: Attempt) -> set[str]:
    """The lines of the marker's flush, if its block is in its note. No other block repeats them."""
    marker, services, session = attempt.kept_marker, attempt.services, attempt.session.id
    plan = _recorded(attempt, marker.pending, marker.key)
    stored = services.store.read(services.layout.name(Surface.DAILY, plan.at.date())) if plan else None
    if plan is None or stored is None or block_marker(plan.flush_id(session)) not in stored.text:
        return set()
    return plan.lines if plan.body().strip("\n") in stored.text else set()


def _take_up_refused(attempt: Attempt, marker: Marker) -> None:
    """Take up the newest refused payload, unless a payload is given now or an operator overrode it. Raises:
    FlushRefused when such a payload could not be kept."""
    attempt.settled = {entry.digest for entry in marker.stated}
    if attempt.stated is None and not attempt.session.override_reason:
        newest = refused_payloads.newest([entry for entry in marker.stated if not entry.waived])
        if newest is not None:
            attempt.stated, attempt.given, attempt.taken_up = newest, refused_payloads.payload_of(newest), True


def _new(attempt: Attempt, marker: Marker) -> Plan:
    services, session = attempt.services, attempt.session
    at = services.now()
    enough = marker.blocked >= services.config.flush.strict_blocks
    payload = refused_payloads.completed(attempt.given, refused_payloads.others(marker, attempt.stated))
    unstated = contract.missing(contract.stated(payload or Payload()))
    if unstated and services.config.flush.policy == "strict" and not enough:
        raise contract.refusal(unstated)
    if payload is not None and attempt.taken_up and enough:
        blank = {name.partition(".")[0] for name in contract.missing(payload)}
        payload = payload.evolve(**dict.fromkeys(blank))  # so that they are derived
    messages = attempt.messages or order.as_said(session.messages)
    attempt.step = "on_extract"
    made = attempt.fill(attempt, payload, messages, attempt.taken_up and enough)
    attempt.gathered = made.gathered
    attempt.warnings += made.warnings
    begun = _recorded(attempt, marker.pending, marker.key)
    return Plan(
        key=attempt.key,
        payload=made.payload,
        summary=made.summary,
        at=at,
        reason=attempt.reason,
        agent=attempt.agent,
        by=services.origin(session.provider),
        instead=(*begun.instead, begun.flush_id(session.id)) if begun is not None else (),
        overrides=session.unrecorded_overrides,
        has_messages=bool(attempt.messages),
    )
