"""``holdfast search``: find statements, decisions and notes."""

from __future__ import annotations

import re
from argparse import ArgumentParser, Namespace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from holdfast.text.humanize import ago, count
from holdfast_cli.args import add_json, examples, positive, session_id
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast_app.search.hits import SearchHit
    from holdfast_app.search.searching import Hits

#: The help section that lists the command, and its line there.
HEADING = "Resume and search"
SUMMARY = "search turns, notes, decisions, memory, facts and documents of every session"

#: Maximum places shown for a line that occurs in several.
_ALSO: Final = 3
_KINDS: Final = ("turn", "note", "decision", "memory", "fact", "document")


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="+", metavar="WORDS", help="words or a question, in any language")
    parser.add_argument("--kind", action="append", default=[], choices=_KINDS, help="only this kind; can be repeated")
    parser.add_argument("--since", metavar="WHEN", help="not older than 3d, 2w, 6m, 1y or a date like 2026-11-02")
    parser.add_argument("--until", metavar="WHEN", help="older than this")
    parser.add_argument(
        "--session",
        metavar="ID",
        type=session_id,
        help="only turns of this session, by its id or its beginning",
    )
    parser.add_argument("--limit", metavar="N", type=positive("limit"), default=10, help="at most N hits (default: 10)")
    add_json(parser)
    parser.epilog = (
        examples(
            "holdfast search why did we choose sqlite",
            "holdfast search certificate --kind decision --kind note",
            "holdfast search 'what broke last Tuesday?' --json",
            "holdfast search deploy --since 3d --limit 3",
        )
        + "\n\nkinds: turn, note, decision, memory, fact, document. Turns are kept for 30 days after a session's last "
        "\nturn, unless `[retention] journal` or `turns` says otherwise: docs/retention.md."
        "\nRead on with `holdfast sessions show ID --around TURN` and `holdfast show NAME`."
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast
    from holdfast_app.sessions.lookup import resolve, short, titles
    from holdfast_cli import progress

    out, errors = Term(), _stderr()
    question = " ".join(args.words)
    with Holdfast.open(args.root) as memory, progress.shown(quiet=args.json):
        session = resolve(memory, args.session) if args.session else ""
        since, until = (_moment(memory, name, text) for name, text in (("since", args.since), ("until", args.until)))
        found = memory.search(question, limit=args.limit, kinds=args.kind, session=session, since=since, until=until)
        now = memory.services.now()
        unnamed = {hit.name for hit in found if hit.kind == "turn" and short(hit.name) != hit.name}
        begun = {} if args.json else titles(memory, unnamed)
    if args.json:
        hits = [as_table(hit) for hit in found]
        out.json({"ok": True, "hits": hits, "searched": found.texts, "unread": list(found.unread),
                  "corrected": found.corrected, "warning": found.warning})  # fmt: skip
        return 0
    _show(out, found, question, now, begun, memory.config.retention.of_turns)
    if found.warning:
        errors.say(errors.wrapped(found.warning, first=f"{errors.mark('warn')} ", rest="  "))
    if found.unread:
        errors.say(f"{errors.mark('warn')} Searched only up to the damage in {', '.join(found.unread)}. "
                   "`holdfast doctor` checks it.")  # fmt: skip
    return 0


def as_table(hit: SearchHit) -> dict[str, Any]:
    """A hit as JSON data. ``at`` is an ISO time, or null when no date is known."""
    return {
        "kind": hit.kind,
        "at": hit.at.isoformat() if hit.at else None,
        "name": hit.name,
        "place": hit.place,
        "where": hit.where,
        "role": hit.role,
        "score": hit.score,
        "excerpt": hit.excerpt,
        "before": hit.before,
        "after": hit.after,
        "also": [place.where for place in hit.also],
    }


def _stderr() -> Term:
    import sys

    return Term(sys.stderr)


def _moment(memory: Holdfast, name: str, text: str | None) -> datetime | None:
    from holdfast_app.search import dates

    if text is None:
        return None
    try:
        return dates.moment(text, memory.services.now())
    except (ValueError, OverflowError):
        raise UsageError(
            f"--{name} takes a span or a date, not {text!a}.",
            next_step=f"Write it like `--{name} 3d` (days; h, w, m, y too) or `--{name} 2026-11-02`.",
        ) from None


def _show(out: Term, found: Hits, question: str, now: datetime, begun: dict[str, str], kept: str) -> None:
    from holdfast_app.search import words

    searched = count(found.texts, "record")
    if not found:
        out.say(
            f"Nothing found in {searched}. {kept}"
            if found.texts or found.unread
            else "Nothing is stored yet, so nothing was searched."
        )
        return
    if found.corrected:
        out.say(f"No exact match; showing results for {out.bold(out.plain(found.corrected))}.")
    question = found.corrected or question
    stems = words.stems(question) or {words.stem(word) for word in words.asked(question)}
    for hit in found:
        what = hit.role if hit.kind == "turn" else f"{hit.kind} {hit.role}".strip()
        out.say(" ".join(filter(None, (out.bold(_where(hit)), out.dim(what), out.dim(_when(hit, now))))))
        if title := begun.pop(hit.name, "") if hit.kind == "turn" else "":
            out.say(f"  {out.dim(out.clip(f'began with: {title}', out.width - 2))}")
        if hit.before:
            out.say(f"  {out.dim(out.clip(hit.before, out.width - 2))}")
        for line in out.wrapped(hit.excerpt, first="> ").split("\n"):
            out.say(_marked(out, line, stems))
        if hit.after:
            out.say(f"  {out.dim(out.clip(hit.after, out.width - 2))}")
        if hit.also:
            out.say(out.wrapped(_also(hit), first="  ", rest="  "))
    out.say(out.dim(f"{count(len(found), 'hit')} in {searched}, best first. {kept}"))


def _also(hit: SearchHit) -> str:
    """``Also in a.md:3, b.md:7 and 2 more places.``"""
    from holdfast.text.humanize import count

    shown, more = hit.also[:_ALSO], len(hit.also) - _ALSO
    places = ", ".join(place.where for place in shown)
    return f"Also in {places} and {count(more, 'more place')}." if more > 0 else f"Also in {places}."


def _where(hit: SearchHit) -> str:
    """The hit's place, with short ids, which `holdfast sessions show` accepts."""
    from holdfast_app.sessions.lookup import short

    return f"session {short(hit.name)}, turn {short(hit.place)}" if hit.kind == "turn" else hit.where


def _when(hit: SearchHit, now: datetime) -> str:
    """When a turn or fact was recorded and how long ago; for a line, its document's day."""
    if hit.at is None:
        return ""
    if hit.kind in ("turn", "fact"):
        return f"{hit.at:%Y-%m-%d %H:%M} ({ago(hit.at, now)})"
    return f"{hit.at:%Y-%m-%d}"


def _marked(out: Term, line: str, stems: set[str]) -> str:
    """``line`` with the question's words in bold, where colour is on."""
    if not out.colour:
        return line
    from holdfast_app.search import words

    return re.sub(
        r"\w+", lambda match: out.style(match[0], "bold", "cyan") if words.stems(match[0]) & stems else match[0], line
    )
