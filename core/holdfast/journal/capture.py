"""Messages as the journal records them, redacted. Agents start this at every event, so nothing here imports attrs."""

import os
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from holdfast.clock import must_be_moment
from holdfast.errors import BadValue, must_be, must_be_whole
from holdfast.fs import paths
from holdfast.gate import Gate
from holdfast.text.plain import untagged

ROLES = ("user", "assistant", "system", "tool")


def record(
    role: str,
    text: str,
    *,
    at: datetime,
    message_id: str | None = None,
    tool: str = "",
    failed: bool = False,
    tokens: int | None = None,
) -> dict[str, Any]:
    """A message in its journal form, without empty fields, as it was given. Raises: BadValue for an unusable value."""
    message_id = message_id or ""
    if role not in ROLES:
        raise BadValue("role", f"cannot be {role!r}", next_step=f"Use one of: {', '.join(ROLES)}.")
    for name, value in (("text", text), ("message_id", message_id), ("tool", tool)):
        must_be(str, value, name)
    must_be_moment(at)
    must_be_whole(tokens or 0, "tokens")
    # What a model sees. What hides in a result is evidence of who said it, and is kept.
    seen = untagged(text) if role == "tool" else text
    made: dict[str, Any] = {"kind": "message", "id": message_id, "at": at.isoformat(), "role": role, "text": seen}
    if tool:
        made["tool"] = tool
    if failed:
        made["failed"] = True
    if tokens is not None:
        made["tokens"] = tokens
    return made


def admitted(gate: Gate, root: str, records: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    """The records as they may be stored, redacted and without this machine's paths, those without an id with a new one,
    with as few validator calls as possible. Raises: Refused, PluginError from the gate."""
    rewritten = paths.rewriter(root)
    fields = [(record, key) for record in records for key in ("text", "tool") if key in record]
    strings = gate.admit_all([rewritten(record[key]) for record, key in fields], surface="journal")
    for (record, key), text in zip(fields, strings, strict=True):
        record[key] = text
    for record, message_id in zip(records, gate.identifiers([record["id"] for record in records]), strict=True):
        record["id"] = message_id or os.urandom(8).hex()
    return records
