"""A question to hits: ``memory.search()``."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from holdfast.errors import BadValue
from holdfast.journal import journal
from holdfast_app.search import dates, index, rank, records, spelling, vectors, words
from holdfast_app.search.hits import SearchHit, once_each, shown
from holdfast_app.search.served import hits as served_hits
from holdfast_app.sessions import archive

if TYPE_CHECKING:
    from holdfast import Holdfast


#: Maximum question length, in characters. A pasted page's rest adds nothing.
_QUESTION: Final = 2_000
_CUT: Final = f"Only the first {_QUESTION:,} characters of the question were searched."


class Hits(list[SearchHit]):
    """Hits, best first.

    ``texts`` is the number of searched entries. ``unread`` names damaged sources, which were searched only up to the
    damage. ``corrected`` is as in the hits. ``warning`` is a sentence when a vector plugin failed, so only words were
    searched, or when the question was too long.
    """

    def __init__(
        self,
        found: Iterable[SearchHit],
        *,
        texts: int = 0,
        unread: tuple[str, ...] = (),
        corrected: str = "",
        warning: str = "",
    ) -> None:
        super().__init__(found)
        self.texts, self.unread, self.corrected, self.warning = texts, unread, corrected, warning


def search(
    memory: Holdfast,
    question: str,
    *,
    limit: int = 10,
    kinds: Iterable[str] = (),
    session: str = "",
    since: datetime | str | None = None,
    until: datetime | str | None = None,
) -> Hits:
    """Possible answers to ``question``, best first, and the search's extent.

    ``question`` is words or a sentence, in any language. ``kinds`` are turn, note, decision, memory, fact, document
    (none: all). ``since`` (inclusive) and ``until`` (exclusive) are aware times, spans like ``3d``, or dates; either
    leaves out undated content.
    Raises: BadValue for unusable arguments; Unavailable.
    """
    chosen = _checked(question, limit, kinds)
    question = " ".join(question.split())
    asked = question[:_QUESTION]
    if not words.asked(asked):
        raise _no_word()
    now = memory.services.now()
    first, end = _moment("since", since, now), _moment("until", until, now)
    where, given = _conditions(chosen, session, first, end)

    def found(open_index: index.Index) -> Hits:
        db, total, unread = open_index
        near, warning = vectors.similar(memory, db, asked)
        ranking = partial(rank.rank, db, where=where, given=given, now=now, similar=near)
        ranked = ranking(asked)
        corrected = "" if ranked else spelling.corrected(db, asked)
        ranked = ranked or (ranking(corrected) if corrected else ranking(asked, by_words=False))
        hits = shown(memory, db, once_each(db, ranked, limit), corrected or asked)
        return Hits(
            [hit._replace(corrected=corrected) for hit in hits],
            texts=total,
            unread=unread,
            corrected=corrected if hits else "",
            warning=" ".join(filter(None, (warning, _CUT if len(question) > _QUESTION else ""))),
        )

    hits = index.search(memory, found)
    served = [] if session else served_hits(memory, asked, limit, chosen, first, end)
    if served:
        hits[:] = sorted([*hits, *served], key=lambda hit: -hit.score)[:limit]
    return hits


def _conditions(
    kinds: tuple[str, ...], session: str, first: datetime | None, end: datetime | None
) -> tuple[str, tuple[object, ...]]:
    """An SQL condition on the table ``entry``, empty for all of it, and its values."""
    conditions: list[tuple[str, tuple[object, ...]]] = []
    if kinds:
        conditions.append((f"entry.kind IN ({','.join('?' * len(kinds))})", kinds))
    if session:
        stem = journal.file_stem(session)
        named = "SELECT id FROM source WHERE kind = ? AND (name = ? OR substr(name, -length(?)) = ?)"
        archived = f"/{stem}{archive.SUFFIX}"
        conditions.append(
            (f"entry.id >> {index.SOURCE} IN ({named})", (records.TURN, f"{stem}.jsonl", archived, archived))
        )
    if first is not None:
        # A line of a document is dated by the day's beginning and can be from any time of it.
        latest = f"entry.at + {records.REST_OF_DAY_S} * (entry.kind NOT IN ('{records.TURN}', '{records.FACT}'))"
        conditions.append((f"entry.at > 0 AND {latest} >= ?", (first.timestamp(),)))
    if end is not None:
        conditions.append(("entry.at > 0 AND entry.at < ?", (end.timestamp(),)))
    return (
        " AND ".join(condition for condition, _ in conditions),
        tuple(value for _, values in conditions for value in values),
    )


def _checked(question: str, limit: int, kinds: Iterable[str]) -> tuple[str, ...]:
    if not isinstance(question, str) or not words.asked(question):
        raise _no_word()
    if not isinstance(limit, int) or limit < 1:
        raise BadValue("limit", f"must be at least 1, not {limit}")
    chosen = tuple(kinds)
    for kind in chosen:
        if kind not in records.KINDS:
            raise BadValue("kinds", f"{kind!r} is not one of {', '.join(records.KINDS)}")
    return chosen


def _no_word() -> BadValue:
    return BadValue("question", "contains no word to search", next_step="Give at least one word, like `certificate`.")


def _moment(name: str, given: datetime | str | None, now: datetime) -> datetime | None:
    if not isinstance(given, str):
        return given
    try:
        return dates.moment(given, now)
    except (ValueError, OverflowError):
        raise BadValue(name, "is not a span or a date", next_step="Write it like `3d` or `2026-11-02`.") from None
