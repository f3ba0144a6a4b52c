"""A session's running summary, assembled from its journal's records.

Each flush writes records with its payload's statements and its messages' summary. A model may be called later. Its
summary is then a record of the same flush and replaces the derived one.
"""

from collections.abc import Iterable
from typing import Any

from holdfast.journal.journal import Entry

#: Author of the statements that the summary lacks, because a note has them in other parts.
PAYLOAD = "payload"
#: Author of a derived summary: shortened lines of the messages.
DERIVED = "derived"
#: Author of a summary by extractors called within the flush.
EXTRACTED = "extracted"


def record(flush_id: str, by: str, text: str, at: str) -> dict[str, Any]:
    """The journal record for a summary of flush ``flush_id``; ``by`` names its author, ``at`` is ISO-8601."""
    return {"kind": "summary", "flush": flush_id, "by": by, "text": text, "at": at}


def text(records: Iterable[Entry], until: int) -> str:
    """The running summary from records of kind ``summary``, in journal order, for flushes whose first
    record starts before offset ``until``."""
    flushes: dict[str, tuple[int, dict[str, str]]] = {}  # offset of the first, summaries by author
    for entry in records:
        flushes.setdefault(entry.record["flush"], (entry.start, {}))[1][entry.record["by"]] = entry.record["text"]
    parts: list[str] = []
    for start, summaries in flushes.values():
        if start < until:
            summed = [summary for by, summary in summaries.items() if by not in (PAYLOAD, DERIVED)]
            parts += [summaries.get(PAYLOAD, ""), *(summed if any(summed) else [summaries.get(DERIVED, "")])]
    return "\n\n".join(part for part in parts if part)
