"""``holdfast audit`` and ``holdfast import --history``: the sessions that clients recorded on this machine."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import attrs

from holdfast.config.layout import Surface
from holdfast.errors import HoldfastError, Refused
from holdfast.text.humanize import count
from holdfast.text.plain import in_one_line
from holdfast_cli import progress
from holdfast_cli.command import Answer, Call, Command, argument, positive
from holdfast_cli.terminal import Cell, Term

if TYPE_CHECKING:
    from datetime import datetime

    from holdfast_app.history.audit import Repeated
    from holdfast_app.history.sessions import Past

_DAYS: Final = 30
_SHOWN: Final = 12
_KINDS: Final = {"file": "files read again", "request": "requests repeated", "rule": "rules stated again"}


@Command(
    "Get started",
    "show what compactions cost in your clients' past sessions; writes nothing",
    argument("--days", metavar="N", type=positive, default=_DAYS, help=f"how far back (default: {_DAYS})"),
    examples=("holdfast audit", "holdfast audit --days 7 --json"),
    notes="It reads what Claude Code, Codex, opencode and pi recorded on this machine. No hooks are needed."
    "\nA file counts when it was read before a compaction and again after it. Tokens are estimates.",
    progress=True,
)
def audit(call: Call) -> Answer:
    """The repetitions after compactions, of all projects."""
    from holdfast_app.history.audit import repeated
    from holdfast_app.history.sessions import found
    from holdfast_app.progress import report

    since = call.memory.services.now() - timedelta(days=call.args.days)
    sessions = [one for one in found() if one.at >= since]
    compactions = unread = 0
    by_place: dict[tuple[str, datetime, str], tuple[Past, str, Repeated]] = {}
    with progress.shown(quiet=call.json):
        for number, past in enumerate(sessions, 1):
            report(number, len(sessions), "sessions read")
            try:
                transcript = past.read()
            except HoldfastError:
                unread += 1
                continue
            compactions += transcript.compactions
            session = transcript.session_id
            by_place |= {(session, one.at, one.text): (past, session, one) for one in repeated(transcript)}
    rows = [row for row in by_place.values() if row[2].at >= since]
    texts = [_admitted(call, one.text) for _, _, one in rows]
    clients = Counter(past.client for past in sessions)
    data = {
        "days": call.args.days,
        "sessions": clients,
        "unread": unread,
        "compactions": compactions,
        "repeated": [
            {"kind": one.kind, "text": text, "at": one.at, "tokens": one.tokens, "client": past.client,
             "session": session, "folder": past.folder}
            for (past, session, one), text in zip(rows, texts, strict=True)
        ],
    }  # fmt: skip

    def show(out: Term) -> None:
        named = ", ".join(f"{client} {number}" for client, number in sorted(clients.items())) or "none"
        out.say(f"Sessions of the last {count(call.args.days, 'day')}: {named}; {count(compactions, 'compaction')}.")
        if unread:
            out.say(f"  {count(unread, 'session')} could not be read")
        if not rows:
            out.say("\nNothing was read, requested or demanded again after a compaction.")
            return
        out.say()
        table: list[tuple[Cell, ...]] = []
        for kind, title in _KINDS.items():
            some = [one for _, _, one in rows if one.kind == kind]
            table.append((title, f"{len(some):,}", f"{sum(one.tokens for one in some):,}"))
        out.say(out.table(table, head=("after a compaction", "times", "tokens"), right=(1, 2)))
        out.say()
        newest = sorted(zip(rows, texts, strict=True), key=lambda row: row[0][2].at, reverse=True)[:_SHOWN]
        out.say(out.table([
            (f"{one.at:%Y-%m-%d}", past.client, session[:8], one.kind, in_one_line(text)[:200])
            for (past, session, one), text in newest
        ], head=("newest", "client", "session", "", "")))  # fmt: skip
        out.say(f"\n  {out.dim('next:')} holdfast install")

    return Answer(data, show)


def import_history(call: Call) -> Answer:
    """Import the project's past sessions, or list them. Exit code 1 when one was refused."""
    from holdfast_app.history.importing import take_all

    taken = list(take_all(call.memory, dry_run=call.args.dry_run))
    failed = [one for one in taken if one.outcome == "failed"]

    def show(out: Term) -> None:
        rows = [(one.at, one.client, one.session[:36], f"{one.messages:,}", one.outcome, one.why) for one in taken]
        out.say(
            out.table(rows, head=("ended", "client", "session", "new messages", "", ""), right=(3,))
            if rows
            else "No client recorded a session in this project."
        )
        if call.args.dry_run:
            out.next_step("`holdfast import --history` imports the new ones")
        elif any(one.outcome == "imported" for one in taken):
            out.next_step("`holdfast dream` adds what the notes have to MEMORY.md")

    problem = Refused(
        f"{count(len(failed), 'session')} could not be imported.",
        next_step="The reasons are above. Run it again to continue.",
    )
    return Answer({"sessions": [attrs.asdict(one) for one in taken]}, show, error=problem if failed else None)


def _admitted(call: Call, text: str) -> str:
    try:
        return call.memory.services.gate.admit(text, surface=Surface.DAILY)
    except Refused:
        return "(a validator refuses to show this)"
