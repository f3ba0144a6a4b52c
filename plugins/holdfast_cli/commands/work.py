"""``work``: the open work of all sessions. ``outbox`` and ``spool``: what waits to leave this machine."""

from collections.abc import Sequence
from typing import Any

from holdfast import Holdfast
from holdfast.config.layout import Surface
from holdfast.config.serde import unstructure
from holdfast.flush import handoff
from holdfast.text.humanize import ago, count
from holdfast.text.plain import is_none
from holdfast_app.facts.restated import RULE
from holdfast_app.outbox.outbox import Item
from holdfast_app.sessions.lookup import shorts
from holdfast_app.spool import Kept
from holdfast_app.trust.provenance import NEXT_STEP, sentence
from holdfast_cli import state
from holdfast_cli.command import Answer, Call, Command, argument, flag

_MARKS = {"open": "dirty", "finished": "ok", "answered": "ok", "closed": "ok"}

work = Command(
    "Resume and search",
    "list the open work of all sessions, and the user's rules; show, close or reopen an entry",
    argument("--because", metavar="TEXT", help="reason for closing or reopening, for the daily note"),
    flag("--all", "with list: include ended work"),
    examples=('holdfast work close fix-login --because "merged in #12"', "holdfast work close rule_1a2b3c4d"),
    notes="open: work remains.  finished: the work is done.  answered: a question was answered, and the last flush"
    "\nsaved no change.  closed: by this command, or taken up by a later session. Closing changes no session and"
    "\ndrops nothing. The session's next flush decides again. An id's first characters are enough.",
)


@work.action("list", "all", default=True)
def _list(call: Call) -> Answer:
    memory = call.memory
    entries = memory.work.list(everything=call.args.all)
    rules = memory.work.rules()
    name = memory.services.layout.name(Surface.HANDOFF)
    number = memory.store.withheld_in(name)
    withheld = sentence({name: number} if number else {})
    number, out = sum(w.is_open for w in entries), call.out
    if withheld:
        out.note("warn", f"{withheld} {NEXT_STEP}")
    if entries:
        names = shorts([*memory.sessions(), *(w.session for w in entries)])
        rows = [
            (out.mark_cell(_MARKS[w.status]), names[w.session], w.status, _flushed(memory, w), _title_and_step(w))
            for w in entries
        ]
        out.say(out.table(rows, head=("", "id", "state", "flushed", "work")) + "\n")
    ended = f", {len(entries) - number:,} ended" if call.args.all else ""
    out.say(f"  {out.dim(f'{number:,} open{ended}; `holdfast work show ID` prints one')}")
    if not call.args.all and handoff.is_full(entries):
        out.say(f"  {out.dim(handoff.OLDER)}")
    if rules:
        out.say(f"\n  {out.bold('Rules of the user')}  {out.dim('`holdfast work close RULE` removes one')}")
    for rule_id, text in rules.items():
        out.fill(text, f"  {rule_id}  ")
    listed = [{"id": rule_id, "text": text} for rule_id, text in rules.items()]
    return Answer({"open": number, "work": [_table(w) for w in entries], "rules": listed, "withheld": withheld})


def _flushed(memory: Holdfast, entry: handoff.Work) -> str:
    return ago(entry.when, memory.services.now()) if entry.when else "unknown"


@work.action("show ID")
def _show(call: Call) -> Answer:
    entry, out = call.memory.work.get(call.names[0]), call.out
    out.say(f"{out.mark(_MARKS[entry.status])} {out.bold(out.plain(entry.title))}")
    for label, value in (
        ("session", entry.session),
        ("state", entry.status),
        ("because", entry.because),
        ("flushed", _flushed(call.memory, entry)),
        ("next action", entry.next_action),
        ("objective", entry.objective),
        ("branch", entry.branch),
        ("blocker", entry.blocker),
        ("handed to", entry.agent),
        ("whole story", f"{entry.note}, block {entry.flush}"),
    ):
        if not is_none(value):
            out.fill(value, f"  {label + ':':<13} ")
    for label, values in (
        ("facts", entry.facts),
        ("blockers", entry.blockers if len(entry.blockers) > 1 else ()),
        ("promised", entry.follow_ups),
        ("needed from the operator", entry.needs_operator),
        ("given up", entry.rejected),
        ("rules of the user", entry.rules),
        ("artifacts", entry.artifacts),
    ):
        if values:
            out.say(f"  {label}:")
        for value in values:
            out.fill(value, "    - ")
    if entry.short:
        out.say(f"  {out.dim(f'shortened; `holdfast show {entry.note}` has the rest')}")
    return Answer({"work": _table(entry)})


@work.action("reopen ID", "because")
@work.action("close ID", "because")
def _decided(call: Call) -> Answer:
    all_work, close = call.memory.work, call.args.action == "close"
    call.check_words(call.args.because)
    if close and call.names[0].startswith(RULE):
        rule = all_work.rules().get(call.names[0], "")
        all_work.remove_rule(call.names[0])
        return Answer({"removed": rule}, f"{call.out.mark('ok')} removed the rule: {call.out.plain(rule)}")
    before = all_work.get(call.names[0])
    now = (all_work.close if close else all_work.reopen)(before.session, call.args.because or "")
    changed = before.is_open is not now.is_open
    effect = "the daily note says so" if changed else "nothing was changed"
    call.out.note("ok", f"the work of {now.session} is {now.status}; {effect}")
    return Answer({"changed": changed, "work": _table(now)})


def _table(entry: handoff.Work) -> dict[str, Any]:
    """An entry for programs; ``state`` is open, finished, answered or closed."""
    row = unstructure(entry)
    del row["ended"]
    return {"id": entry.session, **row, "state": entry.status}


def _title_and_step(entry: handoff.Work) -> str:
    step = entry.next_action if entry.next_action.casefold() != "none" else ""
    if not step or step == entry.title:
        return entry.title
    end = "" if entry.title.endswith((".", "!", "?", "…", ")", "。")) else "."
    return f"{entry.title}{end} {step if step.casefold().startswith('next') else f'Next: {step}'}"


outbox = Command(
    "Manage",
    "list comments waiting to be published on a forge; send, drop or retarget them",
    argument("--reason", metavar="TEXT", help="why the item is dropped, for the daily note"),
    examples=('holdfast outbox drop ID --reason "the issue is gone"', "holdfast outbox retarget owner/old owner/new"),
    notes="Waiting items are sent automatically at the next flush and when a session starts."
    "\nExit code 1 when something still waits after `send`.",
)


@outbox.action("list", default=True)
def _waiting(call: Call) -> Answer:
    items = call.memory.outbox.items()
    _show_items(call, items, "waiting; `holdfast outbox send` tries now")
    return Answer({"pending": len(items), "items": items})


@outbox.action("send")
def _send(call: Call) -> Answer:
    results = call.memory.outbox.send()
    left = [result.item for result in results if result.evidence is None]
    rows = []
    for item, evidence in results:
        pointer, error, step = (evidence.pointer, "", "") if evidence else ("", item.error, item.next_step)
        row = {"id": item.id, "target": item.target, "sent": evidence is not None, "pointer": pointer}
        rows.append({**row, "error": error, "next_step": step})
        if evidence is not None:
            call.out.note("ok", f"{item.target}  {pointer}")
    _show_items(call, left, "still waiting")
    return Answer({"pending": len(left), "results": rows}, ok=not left)


@outbox.action("drop ID", "reason")
def _drop(call: Call) -> Answer:
    reason = call.args.reason or ""
    call.check_words(reason)
    item = call.memory.outbox.drop(call.names[0], reason)
    call.out.note("ok", f"{item.target or item.id} will not be published. The reason is in the daily note")
    return Answer({"id": item.id, "target": item.target, "reason": reason})


@outbox.action("retarget OLD NEW")
def _retarget(call: Call) -> Answer:
    moved = call.memory.outbox.retarget(*call.names)
    _show_items(call, moved, "retargeted; `holdfast outbox send` tries now")
    return Answer({"items": moved})


def _show_items(call: Call, items: Sequence[Item], end: str) -> None:
    for item in items:
        _show_one(call, item, f"{item.target or '?'}  {item.id[:16]}")
    call.out.note("warn" if items else "ok", f"{count(len(items), 'item')} {end}")


def _show_one(call: Call, item: Item | Kept, what: str) -> None:
    out = call.out
    since = "" if item.is_damaged else f"  {ago(item.at, call.memory.services.now())}"
    out.say(f"{out.mark('warn')} {out.bold(out.plain(what))}{out.dim(since)}")
    if item.error:
        out.fill(item.error, "    ")
    if item.next_step:
        out.next_step(item.next_step, indent="    ")


spool = Command(
    "Manage",
    "list flushes kept on this machine while the store's server was away; send them",
    examples=("holdfast spool", "holdfast spool send"),
    notes="With `[storage] spool = true` a flush that the server does not take is kept here. It is sent"
    "\nautomatically at the next flush and when a session starts."
    "\nExit code 1 when a flush still waits after `send`.",
)


@spool.action("send")
@spool.action("list", default=True)
def _spooled(call: Call) -> Answer:
    memory = call.memory
    sent = len(memory.spool.send().written) if call.args.action == "send" else 0
    items = memory.spool.items()
    for flush in items:
        _show_one(call, flush, f"{flush.session or '?'}  {flush.id}")
    call.out.note(
        "warn" if items else "ok", f"written and read back: {sent:,}; waiting on this machine: {len(items):,}"
    )
    state.say_kept(call.out, memory.spool.sentence if items else "")
    ok = not items or call.args.action != "send"
    return Answer({"sent": sent, "waiting": len(items), "items": state.kept_table(items)}, ok=ok)
