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
    _check(role, text, message_id or "", tool, at, tokens or 0)
    text = gate.admit(paths.rewrite(_seen(role, text), root), surface="journal")
    if tool:
        tool = gate.admit(paths.rewrite(tool, root), surface="journal")
    message_id = gate.identifier(message_id) if message_id else os.urandom(8).hex()
    return _record(message_id, at, role, text, tool, failed, tokens)


def message_records(gate: Gate, root: str, messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The records of many messages, with as few validator calls as possible. Raises: as the function above."""
    for message in messages:
        _check(message.role, message.text, message.id, message.tool, message.at, message.tokens)
    rewritten = paths.rewriter(root)
    given = [rewritten(text) for message in messages for text in (_seen(message.role, message.text), message.tool)]
    strings = gate.admit_all(given, surface="journal")
    ids = gate.identifiers([message.id for message in messages])
    return [
        _record(message_id, m.at, m.role, text, tool, m.failed, m.tokens or None)
        for m, message_id, text, tool in zip(messages, ids, strings[::2], strings[1::2], strict=True)
    ]


def _seen(role: str, text: str) -> str:
    """What a model sees in a message. What hides in a result is evidence of who said it, and is kept."""
    return untagged(text) if role == "tool" else text


def _check(role: str, text: str, message_id: str, tool: str, at: datetime, tokens: int) -> None:
    if role not in ROLES:
        raise ValueError(f"role {role!r} is not one of {', '.join(ROLES)}")
    for name, value in (("text", text), ("message_id", message_id), ("tool", tool)):
        must_be(str, value, name)
    must_be_moment(at)
    must_be_whole(tokens, "tokens")


def _record(
    message_id: str, at: datetime, role: str, text: str, tool: str, failed: bool, tokens: int | None
) -> dict[str, Any]:
    """A message in its journal form, without empty fields."""
    record: dict[str, Any] = {"kind": "message", "id": message_id, "at": at.isoformat(), "role": role, "text": text}
    if tool:
        record["tool"] = tool
    if failed:
        record["failed"] = True
    if tokens is not None:
        record["tokens"] = tokens
    return record
