"""A session's running summary, assembled from its journal's records.

Each flush writes one record with its messages' summary. A model may be called later. Its summary is then a record of
the same flush and replaces the derived one.
"""

from __future__ import annotations

from typing import Any

from holdfast.journal.journal import Entry

#: Author of a derived summary: shortened lines of the messages.
DERIVED = "derived"
#: Author of a summary by extractors called within the flush.
EXTRACTED = "extracted"


def record(flush_id: str, by: str, text: str, at: str) -> dict[str, Any]:
    """The journal record for a summary of flush ``flush_id``; ``by`` names its author, ``at`` is the flush's time,
    ISO-8601."""
    return {"kind": "summary", "flush": flush_id, "by": by, "text": text, "at": at}


class Summaries:
    """One journal's summaries, in flush order."""

    def __init__(self) -> None:
        # By flush: offset of the first, summaries by author.
        self._found: dict[str, tuple[int, dict[str, str]]] = {}

    def take(self, entry: Entry) -> None:
        """Read a record of kind ``summary`` or ``checkpoint``, in journal order."""
        said = entry.record
        if said["kind"] == "summary":
            self._found.setdefault(said["flush"], (entry.start, {}))[1][said["by"]] = said["text"]

    def text(self, until: int) -> str:
        """The summaries of flushes whose first summary starts before offset ``until``."""
        parts: list[str] = []
        for start, by_author in self._found.values():
            texts = [text for author, text in by_author.items() if author != DERIVED and text]
            if start < until:
                parts += texts or by_author.values()
        return "\n\n".join(part for part in parts if part)
