"""``timeline``: flushes, blocked compactions and dreams, day by day. ``why``: where a line of memory comes from.
``audit``: what compactions cost before holdfast."""

from collections import Counter
from datetime import datetime, timedelta, tzinfo
from typing import Final

from holdfast.config.layout import Surface
from holdfast.errors import HoldfastError, must_be_whole
from holdfast.text.humanize import count
from holdfast_app.history.audit import Repeated, repeated
from holdfast_app.history.sessions import Past, found
from holdfast_app.message_formats.summaries import SUMMARY
from holdfast_app.printable import in_one_line
from holdfast_app.progress import each
from holdfast_app.view.origins import NOTES_SEARCHED, Trace, find
from holdfast_app.view.project import COUNTS, Project, history, interruptions, totals
from holdfast_cli.command import Answer, Call, Command, UsageError, argument, picked, positive
from holdfast_cli.terminal import Term

_DAYS: Final = 60
#: Columns of the timeline: attribute, label.
_COLUMNS: Final = (
    ("sessions", "sessions"), ("flushes", "flushes"), ("blocked", "blocked"), ("compactions", "compacted"),
    ("dreams", "dreams"), ("added", "facts new"), ("left", "facts left"),
)  # fmt: skip
#: Maximum interruptions to list.
_LISTED: Final = 5


@Command(
    "Inspect",
    "list the sessions, flushes, blocked compactions and dreams of each day",
    argument("--days", metavar="N", type=positive, help=f"days up to today (default: {_DAYS})"),
    examples=("holdfast timeline", "holdfast timeline --days 7", "holdfast timeline --days 365 --json"),
    notes="`blocked` counts refused flushes, after which nothing left the context. `compacted` counts flushes made for"
    "\na compaction. Days without events are left out.",
)
def timeline(call: Call) -> Answer:
    project, out = Project(call.memory), call.out
    days = history(project, min(call.args.days or _DAYS, 3_660))
    stopped = interruptions(project, project.status(), days[0].day)
    whole = totals(days)
    rows = [
        (name, *(f"{number:,}" if (number := getattr(day, at)) else "" for at, _ in _COLUMNS))
        for name, day in (*((f"{day.day}", day) for day in days if not day.is_quiet), ("in all", whole))
    ]
    out.say(out.table(rows, head=("", *(label for _, label in _COLUMNS)), right=range(1, len(_COLUMNS))))
    titles = project.titles({stop.session for stop in stopped[:_LISTED]})
    if stopped:
        out.say()
    for stop in stopped[:_LISTED]:
        if stop.overridden:
            out.note("warn", f"{stop.day}: an operator let context go unsaved: {stop.why}")
        else:
            where = f" at the {stop.why}" if stop.why else ""
            out.note("fail", f"{stop.day}: flush refused {count(stop.times, 'time')}{where}, nothing was dropped")
        out.say(f"  {out.dim(out.clip('  '.join((stop.session, titles.get(stop.session, ''))), out.width - 2))}")
    if len(stopped) > _LISTED:
        out.say(f"  and {count(len(stopped) - _LISTED, 'earlier entry')}: --json lists all")
    if whole.failed:
        out.note("warn", f"{count(whole.failed, 'dream')} failed: `holdfast dream --log`")
    if project.facts_withheld:
        out.note("warn", "Facts are withheld, because they came with a clone: `holdfast trust`")
    table = [{"day": str(day.day), **picked(day, *COUNTS, "note")} for day in days]
    return Answer({"days": table, "interruptions": [{**stop._asdict(), "day": str(stop.day)} for stop in stopped]})


@Command(
    "Inspect",
    "show where a line of memory or a fact comes from, down to the turn that said it",
    argument("what", nargs="+", metavar="LINE|FACT", help="a place like MEMORY.md:12, a fact's id, or words in it"),
    examples=("holdfast why outbox instead of redis", "holdfast why memory/2026-11-02.md:31"),
    notes="If the words match several lines, it lists them. Turns are shown while the journals keep them.",
)
def why(call: Call) -> Answer:
    what = " ".join(call.args.what).strip()
    if not what:
        raise UsageError("`holdfast why` needs a line, a fact or words.", next_step="Write it like `MEMORY.md:12`.")
    project, out = Project(call.memory), call.out
    traces = find(project, what)
    if len(traces) > 1 and not any(trace.sources or trace.history or trace.first for trace in traces):
        out.say(out.table([(trace.place, trace.text) for trace in traces]))
        out.next_step(f"holdfast why {traces[0].place}")
    else:
        for trace in traces:
            _show(out, trace, project.zone)
    return Answer({"found": traces})


def _show(out: Term, trace: Trace, zone: tzinfo | None) -> None:
    kind = "" if trace.confidence is None else f"  {out.dim(f'{trace.category}, confidence {trace.confidence:.2f}')}"
    out.say(f"{out.bold(out.plain(trace.place))}{kind}")
    out.fill(trace.text or "(its text is gone)")
    if trace.first and trace.last:
        first, last = (f"{at.astimezone(zone):%Y-%m-%d}" for at in (trace.first, trace.last))
        often = f", last {last}, on {count(trace.days, 'day')}" if trace.days else ""  # of a fact, unknown
        out.say(f"\n  first said {first}{often}{'; written by a dream' if trace.dream else ''}")
    for source in trace.sources:
        when = f", {source.at.astimezone(zone):%Y-%m-%d %H:%M}" if source.at else ""
        parts = [f"session {source.session}{when}"] if source.session else []
        parts += [f"by {out.plain(source.by)}"] if source.by else []
        out.say(f"\n  {out.style(out.plain(source.place), 'cyan')}  {out.dim(', '.join(parts))}".rstrip())
        if source.text:
            out.fill(source.text, "    ")
        for turn in source.turns:
            at = f"{turn.at.astimezone(zone):%Y-%m-%d %H:%M}"
            out.fill(turn.text, f"    {out.dim(f'{at} {turn.role}:')} ", "      ")
        for turn in source.turns[:1]:
            out.say(f"    {out.dim(f'holdfast sessions show {out.plain(turn.session)} --around {out.plain(turn.id)}')}")
    for event in trace.history:
        what = f"replaced {event.id}" if event.by == trace.place else f"{event.event}"
        because = f": {event.why}" if event.why else ""
        by = f", by {event.by}" if event.by and event.by != trace.place else ""
        out.fill(f"{event.at.astimezone(zone):%Y-%m-%d} {what}{by}{because}", "  · ", "    ")
    if not trace.sources and not trace.history:
        why = f"None of the newest {NOTES_SEARCHED} notes says it." if ":" in trace.place else "It was stored directly."
        out.say(f"\n  {out.mark('dot')} {why}")


_NEWEST: Final = 12
_REPEATED: Final = {"file": "files read again", "request": "requests repeated", "rule": "rules stated again"}


@Command(
    "Get started",
    "show what compactions cost in your clients' past sessions; writes nothing",
    argument("--days", metavar="N", type=positive, default=30, help="how far back (default: 30)"),
    examples=("holdfast audit", "holdfast audit --days 7 --json"),
    notes="It reads what Claude Code, Codex, opencode and pi recorded on this machine. No hooks are needed."
    "\nA file counts when it was read before a compaction and again after it. Tokens are estimates.",
    progress=True,
)
def audit(call: Call) -> Answer:
    must_be_whole(call.args.days, "--days", 1, 36_525)
    since = call.memory.services.now() - timedelta(days=call.args.days)
    sessions = [past for past in found() if past.at >= since]
    compactions = unread = 0
    by_place: dict[tuple[str, datetime, str], tuple[Past, str, Repeated]] = {}
    for past in each(sessions, "sessions read"):
        try:
            transcript = past.read()
        except HoldfastError:
            unread += 1
            continue
        compactions += sum(message.tool == SUMMARY and message.role == "system" for message in transcript.kept)
        session = transcript.session_id
        by_place |= {(session, repeat.at, repeat.text): (past, session, repeat) for repeat in repeated(transcript)}
    rows = [row for row in by_place.values() if row[2].at >= since]
    masked = call.memory.services.gate.outgoing_all([repeat.text for _, _, repeat in rows], surface=Surface.DAILY)
    clients = Counter(past.client for past in sessions)
    data = {
        "days": call.args.days,
        "sessions": clients,
        "unread": unread,
        "compactions": compactions,
        "repeated": [
            {"kind": repeat.kind, "text": text, "at": repeat.at, "tokens": repeat.tokens, "client": past.client,
             "session": session, "folder": past.folder}
            for (past, session, repeat), text in zip(rows, masked, strict=True)
        ],
    }  # fmt: skip

    out = call.out
    named = ", ".join(f"{client} {number}" for client, number in sorted(clients.items())) or "none"
    out.say(f"Sessions of the last {count(call.args.days, 'day')}: {named}; {count(compactions, 'compaction')}.")
    if unread:
        out.say(f"  {count(unread, 'session')} could not be read")
    tokens = {kind: [repeat.tokens for _, _, repeat in rows if repeat.kind == kind] for kind in _REPEATED}
    table = [(_REPEATED[kind], f"{len(some):,}", f"{sum(some):,}") for kind, some in tokens.items()]
    out.say("\n" + out.table(table, head=("after a compaction", "times", "tokens"), right=(1, 2)) + "\n")
    newest = sorted(zip(rows, masked, strict=True), key=lambda row: row[0][2].at, reverse=True)[:_NEWEST]
    shown = [
        (f"{repeat.at:%Y-%m-%d}", past.client, session[:8], repeat.kind, in_one_line(text)[:200])
        for (past, session, repeat), text in newest
    ]
    out.say(out.table(shown, head=("newest", "client", "session", "", "")))
    if not call.memory.sessions():  # a project without any is probably not guarded
        out.next_step("holdfast install")
    return Answer(data)
