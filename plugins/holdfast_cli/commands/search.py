"""``holdfast search``: find statements, decisions and notes."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, Final

from holdfast.text.humanize import ago, count
from holdfast_cli.command import Answer, Call, Command, argument, positive, session_id
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from datetime import datetime

    from holdfast_app.search.hits import SearchHit
    from holdfast_app.search.searching import Hits

#: Maximum places shown for a line that occurs in several.
_ALSO: Final = 3
_KINDS: Final = ("turn", "note", "decision", "memory", "fact", "document")
_KEYS: Final = ("kind", "at", "name", "place", "where", "role", "score", "excerpt", "before", "after")


@Command(
    "Resume and search",
    "search turns, notes, decisions, memory, facts and documents of every session",
    argument("words", nargs="+", metavar="WORDS", help="words or a question, in any language"),
    argument("--kind", action="append", default=[], choices=_KINDS, help="only this kind; can be repeated"),
    argument("--since", metavar="WHEN", help="not older than 3d, 2w, 6m, 1y or a date like 2026-11-02"),
    argument("--until", metavar="WHEN", help="older than this"),
    argument("--session", metavar="ID", type=session_id, help="only turns of this session, by its id or its beginning"),
    argument("--limit", metavar="N", type=positive, default=10, help="at most N hits (default: 10)"),
    examples=(
        "holdfast search why did we choose sqlite",
        "holdfast search certificate --kind decision --kind note",
        "holdfast search 'what broke last Tuesday?' --json",
        "holdfast search deploy --since 3d --limit 3",
    ),
    notes="kinds: turn, note, decision, memory, fact, document. Turns are kept for 30 days after a session's last "
    "\nturn, unless `[retention] journal` or `turns` says otherwise: docs/retention.md."
    "\nRead on with `holdfast sessions show ID --around TURN` and `holdfast show NAME`.",
    progress=True,
)
def search(call: Call) -> Answer:
    """The hits, best first."""
    from holdfast_app.sessions.lookup import resolve, short, titles

    memory, args = call.memory, call.args
    question, now = " ".join(args.words), memory.services.now()
    found = memory.search(
        question,
        limit=args.limit,
        kinds=args.kind,
        session=resolve(memory, args.session) if args.session else "",
        since=_moment("since", args.since, now),
        until=_moment("until", args.until, now),
    )
    unnamed = {hit.name for hit in found if hit.kind == "turn" and short(hit.name) != hit.name}
    begun = {} if call.json else titles(memory, unnamed)
    hits = [as_table(hit) for hit in found]
    table = {"hits": hits, "searched": found.texts, "unread": found.unread, "corrected": found.corrected}
    kept = memory.config.retention.of_turns
    return Answer({**table, "warning": found.warning}, lambda out: _show(out, found, question, now, begun, kept))


def as_table(hit: SearchHit) -> dict[str, Any]:
    """A hit as JSON data. ``at`` is an ISO time, or null when no date is known."""
    table = {key: getattr(hit, key) for key in _KEYS}
    return {**table, "at": hit.at.isoformat() if hit.at else None, "also": [place.where for place in hit.also]}


def _moment(name: str, text: str | None, now: datetime) -> datetime | None:
    from holdfast_app.search import dates

    try:
        return None if text is None else dates.moment(text, now)
    except (ValueError, OverflowError):
        raise UsageError(
            f"--{name} takes a span or a date, not {text!a}.",
            next_step=f"Write it like `--{name} 3d` (days; h, w, m, y too) or `--{name} 2026-11-02`.",
        ) from None


def _show(out: Term, found: Hits, question: str, now: datetime, begun: dict[str, str], kept: str) -> None:
    from holdfast_app.search import words
    from holdfast_app.sessions.lookup import short

    searched, err = count(found.texts, "record"), Term(sys.stderr)
    if found.corrected:
        out.say(f"No exact match; showing results for {out.bold(out.plain(found.corrected))}.")
    question = found.corrected or question
    stems = words.stems(question) or {words.stem(word) for word in words.asked(question)}
    for hit in found:
        is_turn = hit.kind == "turn"
        # With short ids, which `holdfast sessions show` accepts.
        where = f"session {short(hit.name)}, turn {short(hit.place)}" if is_turn else hit.where
        what = hit.role if is_turn else f"{hit.kind} {hit.role}".strip()
        out.say(" ".join(filter(None, (out.bold(where), out.dim(what), out.dim(_when(hit, now))))))
        if title := begun.pop(hit.name, "") if is_turn else "":
            out.say(f"  {out.dim(out.clip(f'began with: {title}', out.width - 2))}")
        if hit.before:
            out.say(f"  {out.dim(out.clip(hit.before, out.width - 2))}")
        for line in out.wrapped(hit.excerpt, first="> ").split("\n"):
            out.say(_marked(out, line, stems))
        if hit.after:
            out.say(f"  {out.dim(out.clip(hit.after, out.width - 2))}")
        if hit.also:
            more = len(hit.also) - _ALSO
            places = ", ".join(place.where for place in hit.also[:_ALSO])
            out.fill(f"Also in {places} and {count(more, 'more place')}." if more > 0 else f"Also in {places}.")
    if found:
        out.say(out.dim(f"{count(len(found), 'hit')} in {searched}, best first. {kept}"))
    elif found.texts or found.unread:
        out.say(f"Nothing found in {searched}. {kept}")
    else:
        out.say("Nothing is stored yet, so nothing was searched.")
    if found.warning:
        err.note("warn", found.warning)
    if found.unread:
        damaged = ", ".join(found.unread)
        err.say(f"{err.mark('warn')} Searched only up to the damage in {damaged}. `holdfast doctor` checks it.")


def _when(hit: SearchHit, now: datetime) -> str:
    """When a turn or fact was recorded and how long ago; for a line, its document's day."""
    if hit.at is None:
        return ""
    return f"{hit.at:%Y-%m-%d %H:%M} ({ago(hit.at, now)})" if hit.kind in ("turn", "fact") else f"{hit.at:%Y-%m-%d}"


def _marked(out: Term, line: str, stems: set[str]) -> str:
    """``line`` with the question's words in bold, where colour is on."""
    if not out.colour:
        return line
    from holdfast_app.search import words

    return re.sub(
        r"\w+", lambda match: out.style(match[0], "bold", "cyan") if words.stems(match[0]) & stems else match[0], line
    )
