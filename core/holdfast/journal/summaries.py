"""The running summary of a session, put together from the records of its journal.

Each flush leaves one record with the summary of its messages. A model may be asked later. Its summary is a record of
the same flush then, and takes the place of one that was only derived.
"""

from __future__ import annotations

from typing import Any

from attrs import define, field

from holdfast.journal.journal import Entry

#: Who made a summary that nobody told: the lines of what was said, shortened.
DERIVED = "derived"
#: The extractors that were asked within the flush.
EXTRACTED = "extracted"


def record(flush_id: str, by: str, text: str, at: str) -> dict[str, Any]:
    """The journal's record of a summary of what flush ``flush_id`` covers; ``by`` names its author, ``at`` is the time
    of the flush, ISO-8601."""
    return {"kind": "summary", "flush": flush_id, "by": by, "text": text, "at": at}


@define
class Summaries:
    """The summaries of one journal, in order of their flushes."""

    _found: dict[str, tuple[int, dict[str, str]]] = field(factory=dict)  # by flush: where the first is, texts by author

    def take(self, entry: Entry) -> None:
        """Read a record of kind ``summary`` or ``checkpoint``, in the order of the journal."""
        said = entry.record
        if said["kind"] == "summary":
            self._found.setdefault(said["flush"], (entry.start, {}))[1][said["by"]] = said["text"]
        elif "summarised_to" not in said:  # an earlier holdfast repeated in each checkpoint what there was until then
            told = [(-1, said["summary"]), *((entry.start, text) for text in said["new_summaries"])]
            self._found = {f"\n{n}": (at, {EXTRACTED: text}) for n, (at, text) in enumerate(told) if text}

    def text(self, until: int) -> str:
        """The texts of the flushes whose first summary begins before offset ``until``."""
        parts: list[str] = []
        for start, by_author in self._found.values():
            told = [text for author, text in by_author.items() if author != DERIVED and text]
            if start < until:
                parts += told or by_author.values()
        return "\n\n".join(part for part in parts if part)
