"""``holdfast work``: the open work of all sessions; show, close or reopen one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from holdfast.config.layout import Surface
from holdfast.config.provenance import NEXT_STEP, sentence
from holdfast.text.humanize import ago, count
from holdfast_cli.args import add_json, examples
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from holdfast import Holdfast
    from holdfast.flush.handoff import Work

#: The command's help heading, and its summary line.
HEADING = "Resume and search"
SUMMARY = "list the open work of all sessions; show, close or reopen an entry"

#: Ids up to this length are names and stay whole. Of a longer one at least ``_ID_CHARS`` characters are listed: a
#: client's name and its session id's first characters.
_NAME_CHARS = 24
_ID_CHARS = 16
_MARKS = {"open": "dirty", "finished": "ok", "answered": "ok", "closed": "ok"}


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action", nargs="?", choices=("list", "show", "close", "reopen"), default="list", help="default: list"
    )
    parser.add_argument("id", nargs="?", metavar="ID", help="a session's id, or its first characters")
    parser.add_argument("--because", metavar="TEXT", help="reason for closing or reopening, for the daily note")
    parser.add_argument("--all", action="store_true", help="with list: include ended work")
    add_json(parser)
    parser.epilog = (
        examples(
            "holdfast work",
            "holdfast work --all",
            "holdfast work show fix-login",
            'holdfast work close fix-login --because "merged in #12"',
            "holdfast work reopen fix-login",
        )
        + "\n\nopen: work remains.  finished: the work is done.  answered: a question was answered without any"
        "\nchange.  closed: by this command. Closing changes no session and drops nothing. The session's next flush"
        "\ndecides again whether its work is open."
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast

    if args.action != "list" and not (args.id or "").strip():
        raise UsageError(f"`holdfast work {args.action}` takes one ID.", next_step="`holdfast work` lists them.")
    if args.action == "list" and args.id:
        raise UsageError("`holdfast work list` takes no ID.", next_step="Use `holdfast work show ID`.")
    if args.all and args.action != "list":
        raise UsageError(f"`holdfast work {args.action}` takes no --all.", next_step="See `holdfast work --help`.")
    if args.because is not None and args.action not in ("close", "reopen"):
        raise UsageError("--because goes with close and reopen.", next_step="See `holdfast work --help`.")
    with Holdfast.open(args.root) as memory:
        if args.action == "list":
            return _list(memory, args, Term())
        if args.action == "show":
            return _show(memory, args, Term())
        return _decide(memory, args, Term())


def as_table(work: Work) -> dict[str, Any]:
    """An entry for programs; ``state`` is open, finished, answered or closed."""
    from holdfast.config.serde import unstructure

    row = unstructure(work)
    del row["ended"]
    return {"id": work.session, **row, "state": work.status}


def _list(memory: Holdfast, args: Namespace, out: Term) -> int:
    entries = memory.work.list(everything=args.all)
    name = memory.services.layout.name(Surface.HANDOFF)
    number = memory.store.withheld_in(name)
    withheld = sentence({name: number} if number else {})
    number = sum(w.is_open for w in entries)
    if args.json:
        out.json({"ok": True, "open": number, "work": [as_table(w) for w in entries], "withheld": withheld})
        return 0
    if withheld:
        out.say(out.wrapped(f"{withheld} {NEXT_STEP}", first=f"{out.mark('warn')} ", rest="  "))
    if not entries:
        out.say(f"{out.mark('ok')} no work is open")
        return 0
    now = memory.services.now()
    ids = _short([w.session for w in entries])
    rows = [
        (out.mark_cell(_MARKS[w.status]), shown, w.status, _ago(w, now), _title_and_step(w))
        for w, shown in zip(entries, ids, strict=True)
    ]
    out.say(out.table(rows, head=("", "id", "state", "flushed", "work")))
    ended = f", {len(entries) - number:,} ended" if args.all else ""
    out.say(f"\n  {out.dim(f'{number:,} open{ended}; `holdfast work show ID` prints one')}")
    return 0


def _short(sessions: Sequence[str]) -> list[str]:
    """The beginning of each id that no other listed id shares, to pass to the other actions."""
    ids = sorted({*sessions})
    least = dict.fromkeys(ids, _ID_CHARS)
    for one, other in pairwise(ids):
        own = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one)) + 1
        least[one], least[other] = max(least[one], own), max(least[other], own)
    return [one if len(one) <= _NAME_CHARS else one[: least[one] + (one[least[one] - 1] == "-")] for one in sessions]


def _title_and_step(work: Work) -> str:
    step = work.next_action if work.next_action.casefold() != "none" else ""
    if not step or step == work.title:
        return work.title
    end = "" if work.title.endswith((".", "!", "?", "…")) else "."
    return f"{work.title}{end} {step if step.casefold().startswith('next') else f'Next: {step}'}"


def _ago(work: Work, now: datetime) -> str:
    return ago(work.when, now) if work.when else "unknown"


def _show(memory: Holdfast, args: Namespace, out: Term) -> int:
    work = memory.work.get(args.id)
    if args.json:
        out.json({"ok": True, "work": as_table(work)})
        return 0
    out.say(f"{out.mark(_MARKS[work.status])} {out.bold(out.plain(work.title))}")
    for label, value in (
        ("session", work.session),
        ("state", work.status),
        ("because", work.because),
        ("flushed", _ago(work, memory.services.now())),
        ("next action", work.next_action),
        ("objective", work.objective),
        ("branch", work.branch),
        ("blocker", work.blocker),
        ("handed to", work.agent),
        ("whole story", f"{work.note}, block {work.flush}"),
    ):
        if value and value.casefold() != "none":
            out.say(out.wrapped(value, first=f"  {label + ':':<13} ", rest=" " * 16))
    for label, values in (
        ("facts", work.facts),
        ("blockers", work.blockers if len(work.blockers) > 1 else ()),
        ("promised", work.follow_ups),
        ("needed from the operator", work.needs_operator),
        ("artifacts", work.artifacts),
    ):
        if values:
            out.say(f"  {label}:")
            for value in values:
                out.say(out.wrapped(value, first="    - ", rest="      "))
    if work.short:
        out.say(f"  {out.dim(f'shortened; `holdfast show {work.note}` has the rest')}")
    return 0


def _decide(memory: Holdfast, args: Namespace, out: Term) -> int:
    there = memory.work
    before = there.get(args.id)
    work = (there.close if args.action == "close" else there.reopen)(before.session, args.because or "")
    changed = before.is_open is not work.is_open
    if args.json:
        out.json({"ok": True, "changed": changed, "work": as_table(work)})
        return 0
    name, done = out.bold(out.plain(work.session)), "open again" if work.is_open else "closed"
    if not changed:
        out.say(f"{out.mark('ok')} the work of {name} is {work.status} already. Nothing was changed")
        return 0
    out.say(f"{out.mark('ok')} the work of {name} is {done}; the daily note says so")
    left = count(len(there.list()), "session")
    back = "close" if work.is_open else "reopen"
    out.say(f"  {out.dim(f'{left} with open work; `holdfast work {back} ID` takes it back')}")
    return 0
