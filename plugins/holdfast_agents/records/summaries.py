"""The last compaction's summary, from a transcript, for clients that do not pass it to their hook."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from holdfast_agents.events import Event
from holdfast_app.message_formats.messages import text_of
from holdfast_app.message_formats.reading import mapping
from holdfast_app.transcripts.rows import elements, is_document, lines

_TAIL_BYTES = 4 * 1024 * 1024


def last_summary(event: Event) -> str:
    """The newest summary in ``event`` or its transcript. Empty when there is none."""
    found = _newest(event.messages)
    for path in event.transcripts if not found else ():
        try:
            with open(path, "rb") as stream:
                if is_document(stream):
                    found = _newest(row.value for row in elements(stream))
                else:
                    size = os.fstat(stream.fileno()).st_size
                    found = _newest(row.value for row in lines(stream, max(0, size - _TAIL_BYTES)))
        except (OSError, ValueError):
            continue
        if found:
            return found
    return found


def _newest(rows: Iterable[object]) -> str:
    found = ""
    for row in rows:
        if isinstance(row, dict):
            found = _summary(row) or found
    return found


def _summary(row: Mapping[str, Any]) -> str:
    if row.get("type") == "compacted":  # Codex
        told = mapping(row.get("payload")).get("message")
        return told if isinstance(told, str) else ""
    if mapping(row.get("info")).get("summary") is True:  # opencode
        return text_of(row.get("parts"))
    if row.get("isCompactSummary") is True:  # Claude Code
        return text_of(mapping(row.get("message")).get("content"))
    return ""
