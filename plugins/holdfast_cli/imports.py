"""``holdfast import`` of what others remember: shown first, and accepted once."""

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial

import attrs

from holdfast.config.layout import Surface
from holdfast.errors import Refused
from holdfast.text.humanize import count
from holdfast_app.authorship import strangers
from holdfast_app.history.files import Unread, read_all
from holdfast_app.history.importing import Taken, take_each
from holdfast_app.printable import in_one_line
from holdfast_app.privacy.transforms import is_database
from holdfast_app.transfer.archive import DOCUMENTS, FACTS, Archive, Database
from holdfast_app.transfer.portable import import_bundle
from holdfast_cli.command import Answer, Call
from holdfast_cli.stdin import can_ask
from holdfast_cli.terminal import Term

_LISTED = 20
#: Characters of the longest statement that need not be shown whole.
_WHOLE = 2_000


class NeedsYes(Refused):
    """Nothing was imported."""

    def __init__(self) -> None:
        super().__init__("Memory of another origin needs your yes.", next_step="Read it, then add --yes.")


def _agreed(call: Call, show: Callable[[Term], object]) -> bool:
    """Whether a person who sees it says yes."""
    if call.json or not can_ask():
        return False
    show(call.out)
    return call.agrees("Add this to the memory, as an agent's words?")


def bundle(call: Call) -> Answer:
    """Merge a bundle of Portable Memory, once the user accepts its statements."""
    args = call.args
    is_plan = args.dry_run or not args.yes
    done = import_bundle(call.memory, args.file, dry_run=is_plan)
    planned = done.statements if is_plan else []
    if not args.dry_run and is_plan and not (planned and not _agreed(call, lambda out: _say_statements(out, planned))):
        done, planned = import_bundle(call.memory, args.file), []

    def show(out: Term) -> None:
        _say_statements(out, planned)
        facts = f"{count(len(planned), 'fact')} would be" if planned else f"facts: {done.removed} removed, {done.added}"
        read = f"{count(sum(done.records.values()), 'record')} and {count(done.deletions, 'new deletion')} read"
        out.say(f"{out.mark('ok')} {facts} added; {read}")
        say_listed(out, "left out", done.left_out)

    return Answer(attrs.asdict(done), show, error=NeedsYes() if planned and not args.dry_run else None)


def content(call: Call) -> Answer | None:
    """The content of a store's file or another user's archive. None once the user agrees to import it, and for an own
    archive."""
    if is_database(call.args.file):
        with closing(Database(call.args.file)) as given:
            facts = [fact.content for fact in given.store.facts()]
            documents, journals = [name for name, _ in given.store.documents()], list[str]()
    else:
        with closing(Archive(call.args.file)) as opened:
            opened.check()
            if opened.is_own:
                return None
            facts = [str(row.get("content", "")) for row in opened.rows(FACTS)]
            documents, journals = (
                [str(row["name"]) for row in opened.rows(DOCUMENTS)],
                [name for name, _ in opened.journals()],
            )
    table = {"facts": facts, "documents": documents, "journals": journals}

    def show(out: Term) -> None:
        sizes = (count(len(found), name[:-1]) for name, found in table.items())
        out.say(f"{out.plain(call.args.file)} holds {', '.join(sizes)}:")
        for name, found in table.items():
            say_listed(out, name[:-1], found)

    return None if call.args.yes or _agreed(call, show) else Answer(table, show, error=NeedsYes())


def foreign(call: Call) -> Answer:
    """Import another program's memory, once the user accepts it."""
    args = call.args
    services = call.memory.services
    masked = partial(services.gate.outgoing, surface=Surface.JOURNAL)
    given, unread = read_all(args.file, os.path.basename(services.root), masked)
    done = list(take_each(call.memory, given, dry_run=args.dry_run or not args.yes))
    is_new = not args.dry_run and any(one.outcome == "new" for one in done)
    if is_new and _agreed(call, lambda out: _say_taken(out, done)):
        done = list(take_each(call.memory, given, dry_run=False))
    return taken(call, done, unread, args.file)


def _say_taken(out: Term, taken: Sequence[Taken]) -> None:
    """Show the newest sessions and a memory's new statements, imported or planned."""
    shown = taken[-_LISTED:]
    rows = [(one.at, one.client, one.session[:36], f"{one.messages:,}", one.outcome, one.why) for one in shown]
    if rows:
        out.say(out.table(rows, head=("ended", "client", "session", "new messages", "", ""), right=(3,)))
    _say_statements(out, [line for one in taken if one.outcome == "new" for line in one.statements])
    if len(taken) > len(shown):
        messages = sum(one.messages for one in taken)
        out.say(f"  {count(len(taken), 'session')} with {count(messages, 'new message')} in all; --json lists them")


def _say_statements(out: Term, statements: Sequence[str]) -> None:
    """Show what may direct an agent first and whole, because a yes accepts it, and some of the rest."""
    lines = [" ".join(line.split()) for line in statements]
    orders = dict.fromkeys(line for line in lines if len(line) > _WHOLE or strangers.directs(line))
    for line in orders:
        out.note("warn", in_one_line(line))
    say_listed(out, "", [line for line in lines if line not in orders])


def say_listed(out: Term, title: str, lines: Sequence[str]) -> None:
    for line in lines[:_LISTED]:
        out.say(f"  {out.dim(title)}  {out.clip(in_one_line(line), out.width - 12)}")
    if len(lines) > _LISTED:
        out.say(f"  {out.dim(f'and {len(lines) - _LISTED:,} more')}")


def taken(call: Call, taken: Sequence[Taken], unread: Sequence[Unread], source: str) -> Answer:
    failed = [one for one in taken if one.outcome == "failed"]
    waiting = any(one.outcome == "new" for one in taken)

    def show(out: Term) -> None:
        _say_taken(out, taken)
        if not taken and source == "--history":
            out.say("No client recorded a session in this project.")
        for one in unread:
            out.note("fail", f"skipped {one.name}: {one.why}")
        if waiting:
            out.next_step(f"`holdfast import {source}{'' if source == '--history' else ' --yes'}` imports the new ones")
        elif any(one.outcome == "imported" for one in taken):
            out.next_step("`holdfast dream` adds the notes' content to MEMORY.md")

    problem = None
    if failed or unread:
        what = " and ".join(count(len(some), word) for some, word in ((failed, "session"), (unread, "file")) if some)
        problem = Refused(f"{what} could not be imported.", next_step="See the reasons above, then run it again.")
    elif waiting and not call.args.dry_run:
        problem = NeedsYes()
    table = {"sessions": [attrs.asdict(one) for one in taken], "skipped": [one._asdict() for one in unread]}
    return Answer(table, show, error=problem)
