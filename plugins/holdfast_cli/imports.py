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
from holdfast_app.transfer import archive
from holdfast_app.transfer.portable import import_bundle
from holdfast_cli.command import Answer, Call
from holdfast_cli.stdin import can_ask
from holdfast_cli.terminal import Term

_LISTED = 20
#: Characters of the longest statement that need not be shown whole.
_WHOLE = 2_000


class NeedsYes(Refused):
    def __init__(self) -> None:
        super().__init__("Memory of another origin needs your yes.", next_step="Read it, then add --yes.")


def _agreed(call: Call, show: Callable[[], object]) -> bool:
    """Whether the memory may be added: with ``--yes``, or when a person who sees it says so. Never in a dry run."""
    if call.args.dry_run or call.json or not can_ask():
        return call.args.yes and not call.args.dry_run
    show()
    return call.agrees("Add this to the memory, as an agent's words?")


def bundle(call: Call) -> Answer:
    """Merge a bundle of Portable Memory, once the user accepts its statements."""
    out, file = call.out, call.args.file
    done = import_bundle(call.memory, file, dry_run=True)
    waits = bool(done.statements) and not _agreed(call, lambda: _say_statements(out, done.statements))
    if waits:
        _say_statements(out, done.statements)
    elif not call.args.dry_run:
        done = import_bundle(call.memory, file)
    read = f"{count(sum(done.records.values()), 'record')} and {count(done.deletions, 'new deletion')} read"
    out.say(f"{out.mark('ok')} {read}; {count(done.added, 'fact')} added, {done.removed:,} removed")
    say_listed(out, "left out", done.left_out)
    return Answer(attrs.asdict(done), error=NeedsYes() if waits and not call.args.dry_run else None)


def content(call: Call) -> Answer | None:
    """The content of a store's file or an archive. None once it may be imported: the user agrees, or exported it."""
    file = call.args.file
    with closing(archive.opened(file)) as source:
        source.check()
        table = {
            "facts": [str(row.get("content", "")) for row in source.rows(archive.FACTS)],
            "documents": [str(row["name"]) for row in source.rows(archive.DOCUMENTS)],
            "journals": [name for name, _ in source.journals()],
        }
    if source.is_own and not call.args.dry_run:
        return None

    def show() -> None:
        for name, entries in table.items():
            call.out.say(f"{call.out.plain(file)} holds {count(len(entries), name[:-1])}")
            say_listed(call.out, name[:-1], entries)

    if _agreed(call, show):
        return None
    show()
    return Answer(table, error=None if call.args.dry_run else NeedsYes())


def foreign(call: Call) -> Answer:
    """Import another program's memory, once the user accepts it."""
    services = call.memory.services
    masked = partial(services.gate.outgoing, surface=Surface.JOURNAL)
    sessions, unread = read_all(call.args.file, os.path.basename(services.root), masked)
    done = list(take_each(call.memory, sessions, dry_run=call.args.dry_run or not call.args.yes))
    if any(entry.outcome == "new" for entry in done) and _agreed(call, lambda: _say_taken(call.out, done)):
        done = list(take_each(call.memory, sessions, dry_run=False))
    return taken(call, done, unread, f"{call.args.file} --yes")


def _say_taken(out: Term, taken: Sequence[Taken]) -> None:
    """Show the newest sessions and a memory's new statements, imported or planned."""
    shown = taken[-_LISTED:]
    rows = [(row.at, row.client, row.session[:36], f"{row.messages:,}", row.outcome, row.why) for row in shown]
    if rows:
        out.say(out.table(rows, head=("ended", "client", "session", "new messages", "", ""), right=(3,)))
    _say_statements(out, [line for entry in taken if entry.outcome == "new" for line in entry.statements])
    messages = count(sum(entry.messages for entry in taken), "new message")
    out.say(f"  {count(len(taken), 'session')} with {messages} in all; --json lists them")


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
    """The outcome of an import from ``source``, the words that repeat it. Exit code 1 when a part failed, or waits."""
    out, failed = call.out, [entry for entry in taken if entry.outcome == "failed"]
    _say_taken(out, taken)
    for file in unread:
        out.note("fail", f"skipped {file.name}: {file.why}")
    waiting = any(entry.outcome == "new" for entry in taken)
    if taken:
        out.next_step(f"`holdfast import {source}`" if waiting else "`holdfast dream` distils the notes into MEMORY.md")
    problem = None
    if failed or unread:
        what = f"{count(len(failed), 'session')} and {count(len(unread), 'file')} could not be imported."
        problem = Refused(what, next_step="See the reasons above, then run it again.")
    elif waiting and not call.args.dry_run:
        problem = NeedsYes()
    table = {"sessions": [attrs.asdict(entry) for entry in taken], "skipped": [entry._asdict() for entry in unread]}
    return Answer(table, error=problem)
