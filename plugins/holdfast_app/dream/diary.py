"""The dream diary for users, with one document per day and one block per dream that changed or proposed something."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date
from itertools import zip_longest
from typing import TYPE_CHECKING

from holdfast.config.serde import stamp
from holdfast.flush.notes import comment
from holdfast.storage import block_marker
from holdfast.text import ownlines
from holdfast.text.plain import one_line

if TYPE_CHECKING:
    from holdfast_app.dream.dreamlog import DreamResult, Gone


def header(day: date) -> str:
    """The first line of a new diary."""
    return ownlines.line(ownlines.DIARY_HEADER, day.isoformat()) + "\n"


def render(result: DreamResult, block_id: str, told: str) -> str:
    """One block. A blank line, the dreamer's account, then the counts from core, each part with its lines.

    Without ``told`` the counts are the account. Source: reading A28.
    """
    return _block(
        result,
        block_id,
        _heading(ownlines.DREAM_TITLE, result),
        [
            _quoted(told) if told.strip() else generated(result),
            _part(ownlines.READ, _read(result)),
            _part(ownlines.KEPT, _kept(len(result.kept))),
            _part(ownlines.ADDED, (f"{line.text}{_from(line.sources)}" for line in result.lines if not line.kept)),
            _part(ownlines.JUDGED, _reasons(result.judged)),
            _part(ownlines.FROM_NOTES, _reasons(result.quoted)),
            _part(ownlines.MERGED, _reasons(result.merged)),
            _part(
                ownlines.REPLACED,
                _reasons(result.replaced),
                (gone.said for gone in result.replaced),
            ),
            _part(ownlines.ARCHIVED, _reasons(result.archived)),
            _part(ownlines.DROPPED, _reasons(result.dropped)),
            _part(ownlines.REFUSED, _reasons(result.refused)),
            _part(ownlines.WARNINGS, result.warnings),
        ],
    )


def _reasons(lines: Iterable[Gone]) -> Iterable[str]:
    return (f"{gone.text} ({gone.reason})" for gone in lines)


def _heading(title: str, result: DreamResult) -> str:
    return ownlines.line(ownlines.BLOCK, title, f"{result.at:%H:%M}")


def not_applied(result: DreamResult, block_id: str, reason: str) -> str:
    """The block for a dream whose diary entry was written but whose result was not."""
    return _block(
        result,
        block_id,
        _heading(ownlines.NOT_APPLIED_TITLE, result),
        [f"MEMORY.md stayed as it was: {one_line(reason)}"],
    )


def undone(result: DreamResult, block_id: str) -> str:
    """The diary block for an undo."""
    return _block(result, block_id, _heading(ownlines.UNDONE_TITLE, result), [one_line(result.reason)])


def generated(result: DreamResult) -> str:
    """The dream's counts."""
    parts = [f"{len(result.kept)} kept", f"{len(result.added)} added", f"{len(result.merged)} merged"]
    parts += [f"{len(result.dropped)} dropped", f"{len(result.refused)} refused"]
    moved = ((result.replaced, "replaced"), (result.archived, "archived"))
    parts += [f"{len(gone)} {what}" for gone, what in moved if gone]
    return ownlines.line(ownlines.COUNTS, ", ".join(parts))


def archived(result: DreamResult, block_id: str) -> str:
    """The archive block with a run's items that no longer fit into MEMORY.md."""
    lines = "\n".join(f"- {one_line(gone.text)} ({one_line(gone.reason)})" for gone in result.archived)
    title = ownlines.line(ownlines.ARCHIVED_BLOCK, ownlines.ARCHIVED_TITLE, *f"{result.at:%Y-%m-%d %H:%M}".split())
    return _block(result, block_id, title, [lines])


def _block(result: DreamResult, block_id: str, title: str, parts: list[str]) -> str:
    lines = ["", title, block_marker(block_id)]
    lines.append(f"<!-- at={stamp(result.at.astimezone(UTC))} plugin={comment(result.plugin or 'none')} -->")
    return "\n".join(lines) + "\n\n" + "\n\n".join(part for part in parts if part) + "\n"


def _read(result: DreamResult) -> list[str]:
    return [*result.read, *(ownlines.line(ownlines.NOT_READ, name) for name in result.left_out)]


def _kept(number: int) -> list[str]:
    return [ownlines.ONE_STAYS if number == 1 else ownlines.line(ownlines.ITEMS_STAY, str(number))] if number else []


def _part(title: str, lines: Iterable[str], said: Iterable[str] = ()) -> str:
    """``lines`` as a list under a title, with the days on which they were last ``said``, where known."""
    pairs = zip_longest(map(one_line, lines), said, fillvalue="")
    found = [f"- {line}\n  {ownlines.line(ownlines.LAST_SAID, day)}" if day else f"- {line}" for line, day in pairs]
    return "\n".join([ownlines.line(ownlines.PART, title), "", *found]) if found else ""


def _from(sources: tuple[str, ...]) -> str:
    """The best source. The record lists all sources."""
    return f" [{sources[0]}]" if sources else ""


def _quoted(text: str) -> str:
    """The dreamer's account as a quotation, so it cannot forge a heading, a part or a holdfast marker."""
    lines = text.strip().replace("<!--", "&lt;!--").splitlines()
    return "\n".join(f"> {line}".rstrip() for line in lines)
