"""``holdfast work``: the open work of all sessions; show, close or reopen one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from holdfast.config.layout import Surface
from holdfast.config.serde import unstructure
from holdfast.text.humanize import ago, count
from holdfast_app.sessions.lookup import short
from holdfast_app.trust.provenance import NEXT_STEP, sentence
from holdfast_cli.command import Answer, Call, Command, argument, flag
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from holdfast.flush.handoff import Work

_MARKS = {"open": "dirty", "finished": "ok", "answered": "ok", "closed": "ok"}

work = Command(
    "Resume and search",
    "list the open work of all sessions, and the user's rules; show, close or reopen an entry",
    argument("--because", metavar="TEXT", help="reason for closing or reopening, for the daily note"),
    flag("--all", "with list: include ended work"),
    examples=(
        "holdfast work",
        "holdfast work --all",
        "holdfast work show fix-login",
        'holdfast work close fix-login --because "merged in #12"',
        "holdfast work reopen fix-login",
        "holdfast work close rule_1a2b3c4d",
    ),
    notes="open: work remains.  finished: the work is done.  answered: a question was answered without any"
    "\nchange.  closed: by this command. Closing changes no session and drops nothing. The session's next flush"
    "\ndecides again whether its work is open. An id's first characters are enough.",
)


@work.action("list", "all", default=True)
def _list(call: Call) -> Answer:
    memory = call.memory
    entries = memory.work.list(everything=call.args.all)
    rules = memory.work.rules()
    name = memory.services.layout.name(Surface.HANDOFF)
    number = memory.store.withheld_in(name)
    withheld = sentence({name: number} if number else {})
    number = sum(w.is_open for w in entries)

    def show(out: Term) -> None:
        if withheld:
            out.note("warn", f"{withheld} {NEXT_STEP}")
        if not entries:
            out.say(f"{out.mark('ok')} no work is open")
            _say_rules(out, rules)
            return
        now = memory.services.now()
        rows = [
            (out.mark_cell(_MARKS[w.status]), short(w.session), w.status, _ago(w, now), _title_and_step(w))
            for w in entries
        ]
        out.say(out.table(rows, head=("", "id", "state", "flushed", "work")))
        ended = f", {len(entries) - number:,} ended" if call.args.all else ""
        out.say(f"\n  {out.dim(f'{number:,} open{ended}; `holdfast work show ID` prints one')}")
        _say_rules(out, rules)

    listed = [{"id": rule_id, "text": text} for rule_id, text in rules.items()]
    return Answer({"open": number, "work": [_table(w) for w in entries], "rules": listed, "withheld": withheld}, show)


def _say_rules(out: Term, rules: Mapping[str, str]) -> None:
    if rules:
        out.say(f"\n  {out.bold('Rules of the user')}")
        for rule_id, text in rules.items():
            out.fill(text, f"  {rule_id}  ")
        out.say(f"\n  {out.dim('`holdfast work close RULE` removes one')}")


@work.action("show ID")
def _show(call: Call) -> Answer:
    entry = call.memory.work.get(call.names[0])
    return Answer({"work": _table(entry)}, lambda out: _print(out, entry, call.memory.services.now()))


@work.action("close ID", "because")
def _close(call: Call) -> Answer:
    name = call.names[0]
    if name not in (rules := call.memory.work.rules()):
        return _decided(call, close=True)
    call.memory.work.remove_rule(name)
    text = rules[name]
    return Answer({"removed": text}, lambda out: out.say(f"{out.mark('ok')} removed the rule: {out.plain(text)}"))


@work.action("reopen ID", "because")
def _reopen(call: Call) -> Answer:
    return _decided(call, close=False)


def _decided(call: Call, *, close: bool) -> Answer:
    all_work = call.memory.work
    before = all_work.get(call.names[0])
    now = (all_work.close if close else all_work.reopen)(before.session, call.args.because or "")
    changed = before.is_open is not now.is_open

    def show(out: Term) -> None:
        name = out.bold(out.plain(now.session))
        if not changed:
            out.say(f"{out.mark('ok')} the work of {name} is {now.status} already. Nothing was changed")
            return
        done, back = ("open again", "close") if now.is_open else ("closed", "reopen")
        out.say(f"{out.mark('ok')} the work of {name} is {done}; the daily note says so")
        left = count(len(all_work.list()), "session")
        out.say(f"  {out.dim(f'{left} with open work; `holdfast work {back} ID` takes it back')}")

    return Answer({"changed": changed, "work": _table(now)}, show)


def _table(entry: Work) -> dict[str, Any]:
    """An entry for programs; ``state`` is open, finished, answered or closed."""
    row = unstructure(entry)
    del row["ended"]
    return {"id": entry.session, **row, "state": entry.status}


def _title_and_step(entry: Work) -> str:
    step = entry.next_action if entry.next_action.casefold() != "none" else ""
    if not step or step == entry.title:
        return entry.title
    end = "" if entry.title.endswith((".", "!", "?", "…")) else "."
    return f"{entry.title}{end} {step if step.casefold().startswith('next') else f'Next: {step}'}"


def _ago(entry: Work, now: datetime) -> str:
    return ago(entry.when, now) if entry.when else "unknown"


def _print(out: Term, entry: Work, now: datetime) -> None:
    out.say(f"{out.mark(_MARKS[entry.status])} {out.bold(out.plain(entry.title))}")
    for label, value in (
        ("session", entry.session),
        ("state", entry.status),
        ("because", entry.because),
        ("flushed", _ago(entry, now)),
        ("next action", entry.next_action),
        ("objective", entry.objective),
        ("branch", entry.branch),
        ("blocker", entry.blocker),
        ("handed to", entry.agent),
        ("whole story", f"{entry.note}, block {entry.flush}"),
    ):
        if value and value.casefold() != "none":
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
