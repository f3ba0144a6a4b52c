"""Exit statuses of commands, which Codex writes to its transcript but does not send to its hooks.

A hook journals the command and its output when it runs. When the agent stops, the status that the transcript has for
the same call is added to the journal as ``{"kind": "exit", "call": ..., "exit": N}``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import datetime

from holdfast.config.serde import stamp
from holdfast.journal.journal import Journal
from holdfast_agents import events, turns
from holdfast_agents.events import Event
from holdfast_app.message_formats.reading import mapping
from holdfast_app.transcripts.rows import is_document, lines

#: Bytes to read at a transcript's end.
_TAIL_BYTES = 4 * 1024 * 1024
_OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")


def learn(state: str, event: Event) -> None:
    """Journal, once each, the exit statuses that ``event``'s transcript has for calls in the journal.

    An unreadable transcript has none. Raises: Unavailable, Corrupt.
    """
    found = {call: status for path in event.transcripts[:1] for call, status in _named(path)}
    if not found:
        return
    journal = Journal(state, event.session)
    waiting = _waiting(journal)
    at = stamp(datetime.now().astimezone())
    rows = [{"kind": "exit", "call": c, "exit": s, "at": at} for c, s in found.items() if c in waiting]
    if rows:
        journal.append(*rows)


def _named(path: str) -> Iterator[tuple[str, int]]:
    try:
        with open(path, "rb") as stream:
            if is_document(stream):
                return
            size = os.fstat(stream.fileno()).st_size
            for row in lines(stream, max(0, size - _TAIL_BYTES)):
                payload = mapping(mapping(row.value).get("payload"))
                call, output = payload.get("call_id"), payload.get("output")
                if payload.get("type") in _OUTPUTS and isinstance(call, str):
                    status = events.exit_status(output, _parsed(output))
                    if status is not None:
                        yield turns.call_digest(call), status
    except (OSError, ValueError):
        return


def _parsed(output: object) -> object:
    """The object that an output holds as JSON, or None."""
    from holdfast.text import untrusted

    if not isinstance(output, str) or not output.startswith("{"):
        return None
    try:
        return untrusted.from_json(output)
    except ValueError:
        return None


def _waiting(journal: Journal) -> set[str]:
    """The journalled calls without an exit status."""
    rows = [entry.record for entry in journal.entries() if "call" in entry.record]
    return {str(row["call"]) for row in rows} - {str(row["call"]) for row in rows if "exit" in row}
