"""One flush's content, complete and redacted, and its id.

The UNSAFE marker holds the content until the flush is durable, then the journal does. So a retry, or a repair of lost
documents, writes the same blocks again.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from attrs import evolve, frozen

from holdfast.config.serde import flushed_payload, moment, stamp, unstructure
from holdfast.flush import notes, payloads
from holdfast.models.value import Value
from holdfast.storage import sha256

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import tzinfo

    from holdfast.models import Payload, Receipt


@frozen(kw_only=True, eq=False, repr=False)
class Content(Value):
    """``key`` identifies the messages and the stated payload from which the content was collected. ``before`` are lines
    of earlier, refused payloads that ``payload`` does not have; ``overrides`` reasons of operators; ``by`` the recorded
    origin."""

    key: str
    payload: Payload
    summary: str
    at: datetime
    reason: str
    agent: str = ""
    by: str = ""
    before: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()

    @classmethod
    def from_record(
        cls, record: Mapping[str, Any], *, key: str, zone: tzinfo | None, overrides: tuple[str, ...] = ()
    ) -> Self:
        """Content from a marker or a journal; ``overrides`` if the record has none. Raises: KeyError, TypeError,
        ValueError, ConfigError for a record that cannot be read."""
        return cls(
            key=key,
            payload=flushed_payload(record),
            summary=str(record["summary"]),
            at=moment(record["at"]).astimezone(zone),
            reason=str(record["reason"]),
            agent=str(record["agent"]),
            by=str(record.get("by", "")),
            before=tuple(record.get("before", ())),
            overrides=tuple(record.get("overrides", overrides)),
        )

    def pending(self) -> dict[str, Any]:
        """The record in the marker. It has no overrides, because an operator may add one before the retry."""
        return {
            "payload": unstructure(evolve(self.payload, derived=(), sources=())),
            "derived": list(self.payload.derived),
            "sources": list(self.payload.sources),
            "summary": self.summary,
            "before": list(self.before),
            "at": stamp(self.at),
            "reason": self.reason,
            "agent": self.agent,
            **({"by": self.by} if self.by else {}),
        }

    def flushed(self) -> dict[str, Any]:
        """The record in the journal, once the flush is durable."""
        return {**self.pending(), "key": self.key, "overrides": self.overrides}

    def again(self, receipt: Receipt, flushed: Mapping[str, Any]) -> Self:
        """As the flush of ``receipt`` wrote it, whose record in the journal is ``flushed``."""
        return evolve(
            self,
            at=receipt.at,
            summary=self.summary or str(flushed.get("summary", "")),
            before=tuple(flushed.get("before", ())),
            overrides=tuple(flushed.get("overrides", self.overrides)),
        )

    def was_flushed_by(self, receipt: Receipt) -> bool:
        """Whether the flush of ``receipt`` had the same content, apart from its time. Lines of refused payloads are
        always new."""
        same = receipt.flush_id.partition("-")[0] == evolve(self, at=receipt.at).flush_id(receipt.session_id)
        return same and not self.before

    def flush_id(self, session_id: str) -> str:
        """The time is part of the id, because the same words may be flushed again on another day."""
        parts = [session_id, self.key, payloads.form(self.payload), stamp(self.at.astimezone(UTC))]
        return "flush_" + sha256(json.dumps(parts, sort_keys=True))[:16]

    def block(self, session_id: str, block_id: str) -> str:
        """The block for the daily note."""
        return notes.render(
            self.payload,
            block_id=block_id,
            session=session_id,
            reason=self.reason,
            at=self.at,
            summary=self.summary,
            before=self.before,
            overrides=self.overrides,
            by=self.by,
        )
