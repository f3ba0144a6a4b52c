"""``status``: is anything about to be lost? ``sessions``: every session with a journal. ``holdfast`` alone shows the
project, data at risk and the next step."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from holdfast.api import Holdfast, HoldfastError
from holdfast.clock import local_now
from holdfast.config.serde import moment, unstructure
from holdfast.flush.handoff import Work
from holdfast.journal.safety import State
from holdfast.text.humanize import ago, count
from holdfast.text.plain import is_none
from holdfast_app import upkeep
from holdfast_app.project_settings import files
from holdfast_app.records import lastbrief
from holdfast_app.report import cost
from holdfast_app.sessions.lookup import messages, resolve, short, shorts, titles
from holdfast_app.sessions.status import Status
from holdfast_app.sessions.status import status as status_of
from holdfast_app.trust.provenance import NEXT_STEP, sentence
from holdfast_cli import state
from holdfast_cli.command import Answer, Call, Command, argument, flag, picked
from holdfast_cli.problem import show_error
from holdfast_cli.terminal import Cell, Term, home_short

_SHOWN = 20
#: Number of newest UUID-named sessions to list with their first words. Each costs a read of its journal.
_TITLED = 40
#: Messages shown before and after the message that --around names.
_AROUND = 5


@Command(
    "Manage",
    "show which sessions are safe; exit code 1 when one is not",
    argument("--cost", action="store_true", help="show the seconds and tokens that holdfast added, and its refusals"),
    examples=(
        "holdfast status", "holdfast status --cost",
        'holdfast status > /dev/null || echo "something is UNSAFE"'
    ),
    notes="safe: everything said is durable.  dirty: newer messages are only in the journal."
    "\nUNSAFE: a flush has begun and has not succeeded. Exit code 1 when a session is UNSAFE, or when"
    "\nstored data is missing. `holdfast doctor` checks all stored data.",
)  # fmt: skip
def status(call: Call) -> Answer:
    memory = call.memory
    if call.args.cost:
        spent = cost.cost(memory.services)
        _show_cost(call.out, spent)
        refused = [
            {"session": refusal.session, "at": refusal.at.isoformat(), "reason": refusal.reason, "target": refusal.why}
            for refusal in spent.refusals
        ]
        return Answer(unstructure(spent) | {"refusals": refused})
    now, sentences = _look(memory)
    _show(call.out, now, sentences)
    table = {
        **picked(now, "root", "layout", "backend", "sessions", "packed"),
        "unsafe": [s.id for s in now.unsafe],
        "pending": len(now.waiting),
        "spooled": state.kept_table(now.spooled),
        "withheld": sentences["withheld"],
        "lost": [picked(loss, "name", "message", "next_step") for loss in now.lost],
        "notices": now.notices,
        **{key: sentences[key] for key in ("copy", "background", "model")},
    }
    return Answer(table, ok=now.ok)


def _look(memory: Holdfast) -> tuple[Status, dict[str, str]]:
    """The project's state, and sentences about the rest of it, each empty where it has nothing to say."""
    services, now = memory.services, status_of(memory.services)
    sentences = dict.fromkeys(("withheld", "kept", "copy", "background", "model"), "")
    sentences["kept"] = services.spool.sentence if now.spooled else ""
    is_away = services.is_remote and any(loss.kind == "store" for loss in now.lost)
    if is_away or (services.is_remote and now.spooled):
        sentences["copy"] = state.copy_age(lastbrief.read(services), now.at)
    if is_away:  # each further call would wait for the server as long
        return now, sentences
    with suppress(HoldfastError):  # other commands report an unreadable store
        sentences["withheld"] = sentence(memory.store.withheld(), facts=len(memory.store.withheld_facts()))
    with suppress(HoldfastError):
        sentences |= {"background": upkeep.sentence(services), "model": upkeep.lacks_model(services)}
    return now, sentences


def _show(out: Term, now: Status, sentences: Mapping[str, str]) -> None:
    out.say(f"{out.bold(home_short(now.root))}  {out.dim(f'layout {now.layout}, backend {now.backend}')}")
    for notice in [*now.notices, *([f"{sentences['withheld']} {NEXT_STEP}"] if sentences["withheld"] else [])]:
        out.note("warn", notice)
    shown = [s for s in now.sessions if not (s.ended and s.state is State.SAFE)]
    if shown:
        head = ("", "session", "state", "since the last flush", "last flush")
        flushed = [ago(s.last_flush_at, now.at) if s.last_flush_at else "never" for s in shown[:_SHOWN]]
        names = shorts(s.id for s in now.sessions)
        rows = [(*state.cells(out, s, names[s.id]), state.since(s), at) for s, at in zip(shown, flushed, strict=False)]
        out.say()
        out.say(out.table(rows, head=head))
    hidden, ended = len(shown) - _SHOWN, len(now.sessions) - len(shown) + now.packed
    more = [f"{count(hidden, 'more session')}: `holdfast sessions`"] if hidden > 0 else []
    more += [f"{count(ended, 'session')} ended and safe"] if ended else []
    if more:
        out.say(f"  {out.dim('; '.join(more))}")
    state.say_alarms(out, now, sentences["kept"])
    step = sentences["model"] and f"{sentences['model']} {upkeep.model_step()}"
    for text in filter(None, (sentences["copy"], *((sentences["background"], step) if now.sessions else ()))):
        out.fill(text, f"\n{out.mark('dot')} ", "  ")
    if now.ok:
        dirty = any(s.state is State.DIRTY for s in now.sessions)
        warning = "dirty is journalled, so nothing is lost; flush before context is dropped"
        safe = "everything is durable" if now.sessions else "no session has begun, so nothing can be lost"
        out.say(f"\n{out.mark('dirty' if dirty else 'ok')} {warning if dirty else safe}")


def _show_cost(out: Term, spent: cost.Cost) -> None:
    rows = [
        (entry.client, entry.event, f"{entry.times:,}", f"{entry.seconds / entry.times:.2f} s", f"{entry.tokens:,}")
        for entry in spent.events
    ]
    out.say(out.table(rows, head=("client", "event", "times", "each", "tokens added")))
    tokens, seconds = (sum(getattr(entry, name) for entry in spent.events) for name in ("tokens", "seconds"))
    share = f", {tokens / spent.said:.1%} of" if spent.said > tokens else ", beside"
    share += f" about {spent.said:,} in the journals"
    since = f" since {spent.since:%Y-%m-%d}" if spent.since else ""
    out.fill(f"In all about {count(tokens, 'token')} added{share}, {seconds:,.1f} s{since}.", "\n", "")
    out.say(f"Calls to a model today: {spent.calls:,}. Refused flushes: {len(spent.refusals):,}.")
    for refusal in spent.refusals[-5:]:
        when = refusal.at.astimezone(local_now().tzinfo)
        out.fill(f"{when:%Y-%m-%d %H:%M} {refusal.session} ({refusal.reason}): {refusal.why}", "- ", "  ")


sessions = Command(
    "Manage",
    "list the sessions with a journal, or show one conversation",
    argument("--around", metavar="TURN", help=f"with show: only this message and the {_AROUND} before and after it"),
    flag("--dropped", "with show: only the messages that the last compaction dropped"),
    examples=("holdfast sessions show fix-login", "holdfast sessions show fix-login --around msg_0a1b2c3d"),
    notes="The first characters of an id are enough.",
)


@sessions.action("list", default=True)
def _list(call: Call) -> Answer:
    now = status_of(call.memory.services, packed=True)
    newest = sorted(now.sessions, key=lambda s: (s.last_turn_at is not None, s.last_turn_at), reverse=True)
    names = shorts(session.id for session in newest)
    begun = titles(call.memory, [session.id for session in newest if short(session.id) != session.id][:_TITLED])
    rows: list[tuple[Cell, ...]] = []
    for session in now.sessions:
        size = "ended" if session.ended else count(session.context_tokens, "token")
        last = ago(session.last_turn_at, now.at) if session.last_turn_at else "never"
        rows.append((*state.cells(call.out, session, names[session.id]), size, last, begun.get(session.id, "")))
    head = ("", "session", "state", "in context", "last turn", "began with")
    call.out.say(call.out.table(rows, head=head, clipped=5) or "No session has begun.")
    return Answer({"sessions": [unstructure(s) | {"title": begun.get(s.id, "")} for s in now.sessions]})


@sessions.action("show ID", "around", "dropped")
def _messages(call: Call) -> Answer:
    memory = call.memory
    session = resolve(memory, call.names[0])
    entries = messages(memory, session, around=call.args.around, span=_AROUND, dropped=call.args.dropped)
    masked = memory.services.gate.outgoing_all([entry["text"] for entry in entries], surface="journal")
    rows = [{k: entry[k] for k in ("id", "at", "role")} | {"text": t} for entry, t in zip(entries, masked, strict=True)]
    out = call.out
    for row in rows:
        at = moment(row["at"]).astimezone(memory.config.tz)
        out.say(f"{out.bold(row['role'])} {out.dim(f'{at:%Y-%m-%d %H:%M:%S}')} {out.dim(row['id'])}")
        for line in row["text"].split("\n"):
            out.say(f"  {out.plain(line)}".rstrip())
        out.say()
    return Answer({"session": session, "messages": rows})


#: Maximum number of due items, and of open tasks, to show.
_MOST = 5

_FIRST = (
    ("holdfast demo", "see the promise kept, in a few seconds"),
    ("holdfast install", "guard your agent here"),
    ("holdfast import --history", "import what it did here before"),
    ("holdfast --help", "the commands"),
)
_DAILY = (
    ("holdfast explain", "what your agent reads at its next start, and why"),
    ("holdfast timeline", "flushes, blocked compactions and dreams, day by day"),
    ("holdfast why WORDS", "where a line of memory comes from"),
    ("holdfast flush", "make a session durable before context goes"),
    ("holdfast --help", "the commands"),
)


def overview(root: str | None) -> int:
    out = Term()
    folder = files.find_root(root)
    out.say(f"{out.bold('holdfast')}  {out.dim('nothing is dropped until it is durable')}\n")
    open_work: Sequence[Work] = ()
    problem: HoldfastError | None = None
    with Holdfast.open(folder) as memory:
        now, sentences = _look(memory)
        begun = files.config_file(folder) is not None or bool(now.sessions)
        broken = [p for p in memory.plugin_statuses() if p.status in ("failed", "missing")]
        try:
            open_work = memory.load().work
        except HoldfastError as error:
            problem = error
        due = list(_due(memory, open_work)) if begun else []
    _show(out, now, sentences)
    for plugin in broken:
        reason = f"{plugin.reason} Until then nothing can be stored; `holdfast doctor` shows more."
        out.fill(reason, f"\n{out.mark('fail')} ", "  ")
    work = [(entry.active_task or entry.objective, entry.next_action) for entry in open_work]
    _say_list(out, "Where to resume", "dot", work)
    _say_list(out, "To do", "dirty", due)
    if problem is not None:
        show_error(problem, as_json=False)
    out.say()
    out.say(out.table([((command, "cyan"), text) for command, text in (_DAILY if begun else _FIRST)]))
    return 0 if now.ok and problem is None and not broken else 1


def _due(memory: Holdfast, open_work: Sequence[Work]) -> Iterator[tuple[str, str]]:
    """Tasks for the user, each a sentence and the command that settles it."""
    for work in open_work[:_MOST]:
        for needed in work.needs_operator:
            if not is_none(needed):
                yield f"needed from you: {needed}", f"holdfast work show {work.session}"
    with suppress(HoldfastError):
        if memory.dream_due():
            yield "A dream is due, because the notes have new blocks", "holdfast dream"


def _say_list(out: Term, title: str, mark: str, items: Sequence[tuple[str, str]]) -> None:
    if items:
        out.say(f"\n  {out.bold(title)}")
    for text, step in items[:_MOST]:
        out.say(f"  {out.mark(mark)} {out.clip(text, out.width - 4)}")
        out.say(f"    {out.dim('next:')} {out.clip(step, out.width - 10)}")
    if len(items) > _MOST:
        out.say(f"    {out.dim(f'and {len(items) - _MOST} more')}")
