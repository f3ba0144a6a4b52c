"""The daily note: operator-facing first, append-only, one block per flush."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime

from holdfast import models
from holdfast.config.serde import stamp
from holdfast.storage import block_marker
from holdfast.text import ownlines
from holdfast.text.plain import is_none, is_open, one_line

#: A purge puts this in place of removed text in a kept record.
PURGED = "[purged]"

#: A block's parts: headings with their lines' labels, for one item and for many.
PARTS: tuple[tuple[str, Mapping[str, str]], ...] = (
    (ownlines.RULES, {"Rule": "Rules"}),
    (ownlines.WHAT_HAPPENED, {"Fact": "Facts"}),
    (ownlines.WHAT_CHANGED, {"Decision": "Decisions", "State": "State changes"}),
    (ownlines.GIVEN_UP, {"Rejected": "Rejected"}),
    (ownlines.WHAT_IS_BLOCKED, {"Blocker": "Blockers"}),
    (ownlines.WHAT_IS_NEEDED, {"Needed": "Needed"}),
    (ownlines.WHAT_NEXT, {"Next step": "Next step", "Promised": "Promised follow-ups"}),
    (ownlines.PROOF, {"Artifact": "Artifacts"}),
)


def header(day: date) -> str:
    return ownlines.line(ownlines.NOTE_HEADER, day.isoformat()) + "\n"


def framed(
    text: str, *, block_id: str, session: str, reason: str, at: datetime, overrides: Iterable[str] = (), by: str = ""
) -> str:
    """A block around the output of :func:`body`, beginning with a blank line. ``by`` is its origin, if recorded."""
    about = f" session={comment(session)} reason={comment(reason)}"
    title, origin = ownlines.TITLES.get(reason, ownlines.OTHER_TITLE), [f"<!-- by={comment(by)} -->"] if by else []
    overridden = [f"\n**Operator override:** {one_line(o)}" for o in overrides]
    return block(title, block_id, at, about, *origin, "", text, *overridden)


def of_receipt(receipt: models.Receipt, *, at: datetime | None = None, overrides: Iterable[str] = ()) -> str:
    """The block that the flush of ``receipt`` wrote; ``at`` is its time in the zone to show."""
    return framed(
        receipt.summary,
        block_id=receipt.flush_id,
        session=receipt.session_id,
        reason=receipt.reason,
        at=at or receipt.at,
        overrides=overrides,
        by=receipt.by,
    )


def summary_header(day: date) -> str:
    return ownlines.line(ownlines.SUMMARY_HEADER, day.isoformat()) + "\n"


def summary_block(payload: models.Payload, *, block_id: str, flush_id: str, note: str, at: datetime) -> str:
    """The state mutations of one flush, for the daily summary, with a pointer to the full note."""
    changes = [f"- **{m.kind}** {one_line(m.target)}: {one_line(m.summary)}" for m in payload.state_mutations or ()]
    source = ownlines.line(ownlines.SOURCE, note, flush_id)
    return block(ownlines.STATE_TITLE, block_id, at, "", "", *changes, "", source)


def block(title: str, block_id: str, at: datetime, about: str, *lines: str) -> str:
    """A block: a blank line, its heading with the local time as 24 h ``HH:MM``, its marker, its time followed by
    ``about``, and ``lines``."""
    heading = ownlines.line(ownlines.BLOCK, title, f"{at:%H:%M}")
    head = ("", heading, block_marker(block_id), f"<!-- at={stamp(at.astimezone(UTC))}{about} -->")
    return "\n".join([*head, *lines]) + "\n"


def body(payload: models.Payload, summary: str = "", before: Iterable[str] = ()) -> str:
    """A block's text without heading and markers: for people to read, and the input of ``on_summary``.

    ``before`` are lines of refused payloads, see :func:`holdfast.flush.refused_payloads.beyond`.
    """
    stated = by_label(payload)
    carried = [f"- {one_line(line)}" for line in before]
    parts = [
        f"**Objective:** {one_line(payload.objective or '')}",
        ownlines.OPEN if is_open(payload) else ownlines.CLOSED,
        *(part(heading, stated, labels) for heading, labels in PARTS if _is_shown(stated, labels)),
        _curated(payload.curated),
    ]
    if carried:
        parts.append("\n".join([ownlines.BEFORE, "", *carried]))
    filled, empty = found_and_not(payload)
    if filled:
        shown = (f"{name}{_ids(payload, name)}" for name in filled)
        parts.append(ownlines.line(ownlines.DERIVED, ", ".join(shown)))
    if empty:
        parts.append(ownlines.line(ownlines.NOTHING_STATED, ", ".join(empty)))
    if summary.strip():
        parts.append(f"{ownlines.SUMMARY}\n\n{escape(summary.strip())}")
    return "\n\n".join(parts)


def _ids(payload: models.Payload, name: str) -> str:
    """The messages that a derived field quotes, in brackets."""
    ids = [source.partition(" ")[2] for source in payload.sources if source.partition(" ")[0] == name]
    return f" ({one_line(' '.join(ids))})" if ids else ""


def found_and_not(payload: models.Payload) -> tuple[list[str], list[str]]:
    """The derived fields that have content, and those for which nothing was found, in contract order. The
    curated decision and the work's state are not findings, and most sessions change no state."""
    others = ("curated", "work_open", "handoff", "" if payload.state_mutations else "state_mutations")
    looked = [n for n in payload.derived if n not in others]
    empty = [n for n in looked if not getattr(payload, n) or getattr(payload, n) in (("none",), ownlines.NOT_STATED)]
    return [n for n in looked if n not in empty], empty


def unsummarised(payload: models.Payload, summary: str) -> str:
    """A payload's statements that ``summary`` does not have, a line each."""
    stated = {"Objective": (payload.objective or "",), **by_label(payload)}
    lines = ((label, one_line(text)) for label, texts in stated.items() for text in texts if not is_none(text))
    return "\n".join(f"- {label}: {text}" for label, text in lines if text not in summary)


def by_label(payload: models.Payload) -> dict[str, Sequence[str]]:
    return {
        "Fact": payload.facts or (),
        "Decision": payload.decisions or (),
        "State": [f"{m.kind} of {m.target}: {m.summary}" for m in payload.state_mutations or ()],
        "Blocker": payload.blockers or (),
        "Needed": [text for text in payload.needs_operator or () if not is_none(text)],
        "Rejected": [text for text in payload.rejected or () if not is_none(text)],
        "Rule": [text for text in payload.rules or () if not is_none(text)],
        "Next step": [payload.next_step or ""],
        "Promised": payload.follow_ups or (),
        "Artifact": payload.artifacts or (),
    }


def _is_shown(stated: Mapping[str, Sequence[str]], labels: Iterable[str]) -> bool:
    return all(stated[label] or label not in ("Needed", "Rejected", "Rule") for label in labels)


def part(heading: str, stated: Mapping[str, Sequence[str]], labels: Mapping[str, str]) -> str:
    lines = [ownlines.line(ownlines.PART, heading), ""]
    for label, many in labels.items():
        items = filter(None, map(one_line, stated[label]))
        lines += [f"- {label}: {item}" for item in items] or [ownlines.line(ownlines.NONE, many)]
    return "\n".join(lines)


def _curated(decision: models.CuratedDecision | None) -> str:
    if decision is None or decision.is_none:
        return ownlines.CURATED_NONE
    lines = [ownlines.CURATED, ""]
    for surface, entries in (("memory", decision.memory), ("user", decision.user)):
        for entry in entries:
            instead = f" (instead of: {one_line(entry.replaces)})" if entry.replaces else ""
            lines.append(f"- {surface}: {one_line(entry.text)}{instead}")
    return "\n".join(lines)


def escape(text: str) -> str:
    """Escape lines in a caller's text that look like our markers or headings."""
    text = text.replace("<!--", "&lt;!--")
    return re.sub(r"^(#{1,2} )", r"\\\1", text, flags=re.MULTILINE)


def comment(text: str) -> str:
    return one_line(text).replace("--", "- -")
