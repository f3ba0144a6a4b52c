"""``holdfast search``: find rules, decisions and statements."""

import sys
from datetime import datetime
from typing import Any, Final

from holdfast.text.humanize import ago, count
from holdfast_app.printable import some
from holdfast_app.search import KINDS, index
from holdfast_app.search.answer import in_short, said, when
from holdfast_app.search.hits import Hits, SearchHit
from holdfast_app.sessions.lookup import short
from holdfast_cli.command import Answer, Call, Command, argument, flag, one_of, picked, positive, session_id
from holdfast_cli.terminal import Term, home_short

_KEYS: Final = (
    "kind", "at", "name", "place", "where", "role", "score", "excerpt", "before", "after", "holds", "replaced_by",
    "project",
)  # fmt: skip


@Command(
    "Resume and search",
    "search rules, decisions, facts, notes and turns of every session",
    argument("words", nargs="*", metavar="WORDS", help="words or a question, in any language"),
    argument("--kind", action="append", default=[], choices=KINDS, help="only this kind; can be repeated"),
    argument("--since", metavar="WHEN", help="not older than 3d, 2w, 6m, 1y or a date like 2026-11-02"),
    argument("--until", metavar="WHEN", help="older than this"),
    argument("--limit", metavar="N", type=positive, default=10, help="at most N hits (default: 10)"),
    *one_of(
        argument("--session", metavar="ID", type=session_id, help="only turns of this session"),
        flag("--everywhere", "all your projects on this machine whose settings you trust"),
    ),
    flag("--short", "at most 1,500 characters, for agents"),
    flag("--index", "only bring the index up to date, as holdfast does by itself when sessions end"),
    examples=("holdfast search why did we choose sqlite", "holdfast search deploy --since 3d --everywhere"),
    notes=f"kinds: {', '.join(KINDS)}. Turns are kept for 30 days after a"
    "\nsession's last turn, unless `[retention] journal` or `turns` says otherwise: docs/retention.md."
    "\nRead on with `holdfast sessions show ID --around TURN` and `holdfast show NAME`.",
    progress=True,
)
def search(call: Call) -> Answer:
    memory, args = call.memory, call.args
    if args.index:
        index.complete(memory)
        return Answer({}, "The index is up to date.")
    question, now = " ".join(args.words), memory.services.now()
    options: dict[str, Any] = {"limit": args.limit, "kinds": args.kind, "since": args.since, "until": args.until}
    if args.everywhere:
        from holdfast_app.search.searching import everywhere

        hits = everywhere(memory, question, **options)
    else:
        hits = memory.search(question, session=args.session or "", **options)
    table = picked(hits, "unread", "corrected", "warning", "days", "outside")
    table |= {"hits": [as_table(hit) for hit in hits], "searched": hits.entries}
    retention = memory.config.retention.of_turns
    if args.short:
        return Answer(table, in_short(hits, retention))
    if not call.json:
        _show(call.out, hits, now, retention)
    return Answer(table)


def as_table(hit: SearchHit) -> dict[str, Any]:
    """A hit as JSON data. ``at`` is an ISO time, or null when no date is known."""
    return {
        **picked(hit, *_KEYS),
        "at": hit.at.isoformat() if hit.at else None,
        "also": [place.where for place in hit.also],
    }


def _show(out: Term, hits: Hits, now: datetime, retention: str) -> None:
    searched, err = count(hits.entries, "record"), Term(sys.stderr)
    if hits.corrected:
        out.say(f"No exact match; showing results for {out.bold(out.plain(hits.corrected))}.")
    if hits.heading:
        out.say(hits.heading)
    for n, hit in enumerate(hits):
        if hits[0].holds and (n == 0 or hit.holds != hits[n - 1].holds):
            out.say(out.bold("Holds now" if hit.holds else "Where it was said"))
        _show_hit(out, hit, now)
    summary = f"{count(len(hits), 'hit')} in {searched}, best first" if hits else f"Nothing found in {searched}"
    out.say(out.dim(f"{summary}. {retention}"))
    for warning in filter(None, (hits.warning, hits.damage if hits.unread else "")):
        err.note("warn", warning)


def _show_hit(out: Term, hit: SearchHit, now: datetime) -> None:
    is_turn, at = hit.kind == "turn", when(hit)
    if hit.at and hit.kind in ("turn", "fact"):
        at += f" ({ago(hit.at, now)})"
    # With short ids, which `holdfast sessions show` accepts.
    where = f"session {short(hit.name)}, turn {short(hit.place)}" if is_turn else hit.where
    if hit.project:
        where = f"{home_short(hit.project)}: {where}"
    what = hit.role if is_turn else f"{hit.kind} {hit.role}".strip()
    out.say(" ".join(filter(None, (out.bold(where), out.dim(what), out.dim(at)))))
    if hit.before and not hit.holds:
        out.say(f"  {out.dim(out.clip(hit.before, out.width - 2))}")
    out.fill(said(hit), "> ", "  ")
    if hit.after and not hit.holds:
        out.say(f"  {out.dim(out.clip(hit.after, out.width - 2))}")
    if hit.replaced_by:
        out.fill(f"Replaced by: {hit.replaced_by}")
    if hit.also:
        out.fill(f"Also in {some([place.where for place in hit.also], 3)}.")
