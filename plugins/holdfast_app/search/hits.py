"""The found entries as hits: each line and turn once, masked, with the matching part."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.text.lazy import Lazy
from holdfast_app.search import dates, index, masking, records
from holdfast_app.search.excerpts import excerpt

if TYPE_CHECKING:
    import sqlite3

    from holdfast import Holdfast
    from holdfast_app.search.rank import Ranked

#: Entries looked through for repeated lines, for each hit.
_REPEATED: Final = 4
#: What differs between two places of a line: list mark and label, the message it quotes, the source a dream names.
_FRAME: Final = Lazy(
    r"^- (?:Fact|Decision|State|Blocker|Needed|Next step|Promised|Artifact): |^- \(\w{8}\) |^[-*] |\*\*"
    r"| \[\S+:\d+\]$"
)


class Place(NamedTuple):
    """A line's place, with fields as in :class:`SearchHit`."""

    name: str
    place: str
    where: str


class SearchHit(NamedTuple):
    """A possible answer.

    ``kind`` is turn, note, decision, memory, fact or document. ``name`` is the session, the document or empty, and
    ``place`` the message id, the line or the fact's id in it. ``where`` shows both to people. ``at`` is None when no
    date is known. ``score`` is at most 1. ``text`` is the whole content, ``excerpt`` the matching part. ``before`` and
    ``after`` are a line each from around that part, possibly from the neighbouring message or line, or empty.
    ``also`` are other places of the same line in entries of the same kind, best first; turns are never joined.
    ``corrected`` is the question searched instead when nothing matched the question as written.
    """

    kind: str
    name: str
    place: str
    where: str
    at: datetime | None
    role: str
    score: float
    excerpt: str
    text: str
    before: str = ""
    after: str = ""
    also: tuple[Place, ...] = ()
    corrected: str = ""


def once_each(db: sqlite3.Connection, ranked: list[Ranked], limit: int) -> dict[Ranked, list[Ranked]]:
    """The best entries, each with those that repeat its line."""
    line_of = _lines(db, ranked[: limit * _REPEATED])
    first: dict[object, Ranked] = {}
    groups: dict[Ranked, list[Ranked]] = {}
    for one in ranked:
        best = first.setdefault(line_of.get(one.id, one.id), one)
        if best is not one:
            groups[best].append(one)
        elif len(groups) < limit:
            groups[one] = []
        else:
            break
    return groups


def _lines(db: sqlite3.Connection, ranked: list[Ranked]) -> dict[int, tuple[str, str]]:
    """Kind and words of the entries that are lines of documents, without list marks, labels and sources."""
    rows = db.execute(
        f"SELECT id, kind FROM entry WHERE id IN ({','.join('?' * len(ranked))}) AND kind NOT IN (?, ?)",  # noqa: S608
        (*(one.id for one in ranked), records.TURN, records.FACT),
    ).fetchall()
    bodies = index.bodies(db, (one for one, _ in rows))
    return {one: (kind, " ".join(_FRAME.sub(" ", bodies[one]).split())) for one, kind in rows}


class _Row(NamedTuple):
    """An entry of the index and its source's name and origin."""

    kind: str
    place: str
    at: float
    role: str
    clean: int
    name: str
    origin: str


def shown(
    memory: Holdfast, db: sqlite3.Connection, found: dict[Ranked, list[Ranked]], question: str
) -> list[SearchHit]:
    """The groups of :func:`once_each` as hits, masked for output with a few validator calls."""
    near = {one.id + offset for one in found for offset in (-1, 0, 1)}
    rows = _rows(db, near.union(other.id for others in found.values() for other in others))
    near_by = [one.id + offset for one in found for offset in (-1, 0, 1) if one.id + offset in rows]
    bodies = index.bodies(db, near_by)
    rules = masking.rules(memory)
    unmasked = [one for one in near_by if not rules or rows[one].clean != rules]
    if unmasked:
        masked = memory.services.gate.outgoing_all([bodies[one] for one in unmasked], surface="journal")
        bodies.update(zip(unmasked, masked, strict=True))
    sessions: dict[str, str] = {}

    def place_of(one: int) -> Place:
        row = rows[one]
        if row.kind != records.TURN:
            return Place(row.name, row.place, f"{row.name}:{row.place}" if row.name else row.place)
        if row.name not in sessions:
            sessions[row.name] = records.session_of(memory, row.name, row.origin)
        return Place(sessions[row.name], row.place, f"session {sessions[row.name]}, turn {row.place}")

    def neighbour(one: int) -> str:
        if one not in bodies or rows[one].kind == records.FACT:
            return ""
        return f"{rows[one].role}: {bodies[one]}" if rows[one].kind == records.TURN else bodies[one]

    hits = []
    for one, others in found.items():
        row, body = rows[one.id], bodies[one.id]
        part = excerpt(body, question, neighbour(one.id - 1), neighbour(one.id + 1))
        hits.append(
            SearchHit(
                row.kind,
                *place_of(one.id),
                at=dates.local(row.at, memory.config.tz) if row.at else None,
                role=row.role,
                score=round(one.score, 4),
                excerpt=part.match,
                text=body,
                before=part.before,
                after=part.after,
                also=tuple(place_of(other.id) for other in others),
            )
        )
    return hits


def _rows(db: sqlite3.Connection, ids: set[int]) -> dict[int, _Row]:
    """The existing ones of these entries, by id."""
    rows = db.execute(
        "SELECT e.id, e.kind, e.place, e.at, e.role, e.clean, s.name, s.origin FROM entry e JOIN source s "  # noqa: S608
        f"ON s.id = e.id >> {index.SOURCE} WHERE e.id IN ({','.join('?' * len(ids))})",
        tuple(ids),
    )
    return {row[0]: _Row(*row[1:]) for row in rows}
