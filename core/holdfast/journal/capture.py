"""Messages as the journal records them, redacted. Agents start this at every event, so nothing here imports attrs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from holdfast.clock import must_be_moment
from holdfast.errors import must_be, must_be_whole
from holdfast.fs import paths
from holdfast.gate import Gate
from holdfast.text.plain import untagged

if TYPE_CHECKING:
    from holdfast.models import Message

ROLES = ("user", "assistant", "system", "tool")


def message_record(
    gate: Gate,
    root: str,
    role: str,
    text: str,
    *,
    at: datetime,
    message_id: str | None = None,
    tool: str = "",
    failed: bool = False,
    tokens: int | None = None,
) -> dict[str, Any]:
    """The journal record of one message, redacted and without this machine's paths.

    Raises: ValueError for an unknown role; BadValue for another unusable value; Refused, PluginError from the gate.
    """
    return _admitted(gate, root, [_record(role, text, message_id or "", at, tool, failed, tokens)])[0]


def message_records(gate: Gate, root: str, messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The records of many messages, with as few validator calls as possible. Raises: as the function above."""
    return _admitted(
        gate, root, [_record(m.role, m.text, m.id, m.at, m.tool, m.failed, m.tokens or None) for m in messages]
    )


def _record(
    role: str, text: str, message_id: str, at: datetime, tool: str, failed: bool, tokens: int | None
) -> dict[str, Any]:
    """A message in its journal form, without empty fields, as it was given."""
    if role not in ROLES:
        raise ValueError(f"role {role!r} is not one of {', '.join(ROLES)}")
    for name, value in (("text", text), ("message_id", message_id), ("tool", tool)):
        must_be(str, value, name)
    must_be_moment(at)
    must_be_whole(tokens or 0, "tokens")
    # What a model sees. What hides in a result is evidence of who said it, and is kept.
    seen = untagged(text) if role == "tool" else text
    record: dict[str, Any] = {"kind": "message", "id": message_id, "at": at.isoformat(), "role": role, "text": seen}
    if tool:
        record["tool"] = tool
    if failed:
        record["failed"] = True
    if tokens is not None:
        record["tokens"] = tokens
    return record


def _admitted(gate: Gate, root: str, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records as they may be stored, those without an id with a new one."""
    rewritten = paths.rewriter(root)
    fields = [(one, key) for one in records for key in ("text", "tool") if key in one]
    strings = gate.admit_all([rewritten(one[key]) for one, key in fields], surface="journal")
    for (one, key), text in zip(fields, strings, strict=True):
        one[key] = text
    for one, message_id in zip(records, gate.identifiers([one["id"] for one in records]), strict=True):
        one["id"] = message_id or os.urandom(8).hex()
    return records
