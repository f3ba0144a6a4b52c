"""Work closed, reopened or restated after its flush, as the session's journal records it.

A flush records whether work is open. A person or an agent may change that later, and a model that has read the
messages. The decision names the flush that it is about, so the session's next flush counts again.
"""

from datetime import datetime
from typing import Any, NamedTuple

from holdfast.config.serde import moment, stamp, structure, unstructure
from holdfast.errors import Corrupt
from holdfast.flush.handoff import Work
from holdfast.storage import sha256
from holdfast_app.journal.journal import Journal

KIND = "work"


class Decision(NamedTuple):
    """``open`` is the new state, ``work`` the previous entry, or None after a purge. ``by`` names the plugin that read
    the messages, whose entry ``work`` is; empty for a person's or an agent's decision."""

    session: str
    flush: str
    open: bool
    because: str
    at: datetime
    work: Work | None
    by: str = ""


def record(decision: Decision) -> dict[str, Any]:
    return {
        "kind": KIND,
        "state": "open" if decision.open else "closed",
        "flush": decision.flush,
        "because": decision.because,
        "at": stamp(decision.at),
        "work": unstructure(decision.work),
        **({"by": decision.by} if decision.by else {}),
    }


def of_flush(state: str, session: str, flush: str) -> Decision | None:
    """The newest decision about the flush ``flush``; None without one. A later decision about an older flush, made by
    somebody who had not seen this one, does not hide it. Raises: Unavailable."""
    rows = [entry.record for entry in Journal(state, session).of_kinds(KIND) if entry.record["flush"] == flush]
    return _decision(session, rows[-1]) if rows else None


def block_ids(journal: Journal) -> set[str]:
    """The ids of the blocks that notes have for this journal's decisions. Raises: Unavailable."""
    return {block_id(_decision(journal.session_id, entry.record)) for entry in journal.of_kinds(KIND)}


def block_id(decision: Decision) -> str:
    return "work_" + sha256(f"{decision.session}\n{decision.flush}\n{decision.open}\n{stamp(decision.at)}")[:16]


def _decision(session: str, row: dict[str, Any]) -> Decision:
    return Decision(
        session=session,
        flush=row["flush"],
        open=row["state"] == "open",
        because=row["because"],
        at=moment(row["at"]),
        work=structure(row["work"], Work, what="work", error=Corrupt) if row.get("work") else None,
        by=row.get("by", ""),
    )
