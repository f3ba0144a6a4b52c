"""``holdfast facts``: look through the stored facts, change them, let them go, carry them elsewhere."""

import json
import shlex
import sys
from collections.abc import Iterable
from typing import Final

from holdfast.api import Fact, Holdfast, HoldfastError
from holdfast.config.serde import fact_out
from holdfast.storage import snapshot
from holdfast.text.humanize import ago, count
from holdfast_app.facts.store import origins
from holdfast_app.facts.store.factfile import read_rows
from holdfast_app.printable import json_safe, some
from holdfast_app.trust.provenance import NEXT_STEP, sentence
from holdfast_app.view.project import Project
from holdfast_cli.command import Answer, Call, Command, UsageError, argument, picked, positive
from holdfast_cli.commands.remember import confidence, kind
from holdfast_cli.stdin import read_file, text_of
from holdfast_cli.terminal import Term

#: Bad rows that a person is shown; ``--json`` lists all.
_SHOWN: Final = 20


class RowsLeftOut(HoldfastError):
    """Some rows of the file could not be stored. The others are stored."""


facts = Command(
    "Manage",
    "list, show, edit, forget, import and export facts, and show the log of removed facts",
    argument("--order", choices=("created", "confidence"), default="created", help="created, confidence", group="list"),
    argument("--limit", metavar="N", type=positive, help="maximum number of facts to list", group="list"),
    argument("--by", metavar="NAME", help="only facts of this person, machine or agent, where recorded", group="list"),
    argument("--category", metavar="NAME", help="only this category, or the new one", group="list and edit"),
    argument("--content", metavar="TEXT", help="the new text; `-` reads it from stdin", group="edit"),
    argument("--confidence", metavar="N", type=confidence, help="the fact's confidence, 0.0 to 1.0", group="edit"),
    examples=(
        "holdfast facts --order confidence --limit 20",
        "holdfast facts edit fact_0a1b2c3d --confidence 1.0",
        "holdfast facts export > facts.jsonl",
    ),
    notes="As FILE, `-` is stdin.",
    caution=True,
    progress=True,
)


@facts.action("list", "order", "limit", "by", "category", default=True)
def _list(call: Call) -> Answer:
    memory, args = call.memory, call.args
    with snapshot():  # a single round trip to a server
        facts = memory.facts.list(order=args.order, limit=None if args.by else args.limit, category=args.category)
        if args.by:
            wanted = args.by.casefold()
            facts = [f for f in facts if wanted in origins.of(f.source).casefold()][: args.limit]
        facts = memory.facts.shown(facts)
        total = memory.facts.count()
        _say_provenance(memory)
    out = call.out
    if not total:
        out.say('No fact is stored yet. `holdfast remember "..."` stores one.')
    by = {fact.id: (origins.of(fact.source), "dim") for fact in facts}
    rows = [(f.id, (str(f.category), "dim"), f"{f.confidence:.2f}", by[f.id], f.content) for f in facts]
    out.say(out.table(rows, right=(2,)))
    most = f"{total:,} of at most {memory.config.facts.max_facts:,} facts stored"
    out.say(out.dim(f"  {len(facts):,} shown, {most}"))
    return Answer({"count": total, "facts": [_row(f) for f in facts]})


def _row(fact: Fact) -> dict[str, object]:
    by = origins.of(fact.source)
    return {**fact_out(fact), **({"by": by} if by else {})}


def _say_provenance(memory: Holdfast) -> None:
    """A line on stderr for facts that agents are not given."""
    if withheld := sentence({}, facts=len(memory.store.withheld_facts())):
        Term(sys.stderr).note("warn", f"{withheld} {NEXT_STEP}")


@facts.action("show ID ...")
def _show(call: Call) -> Answer:
    memory = call.memory
    facts = memory.facts.shown([memory.facts.get(name) for name in call.names])
    _say_provenance(memory)
    _print(call.out, facts, memory)
    return Answer({"facts": [fact_out(f) for f in facts]})


def _print(out: Term, facts: Iterable[Fact], memory: Holdfast) -> None:
    for fact in facts:
        out.say(f"{out.bold(fact.id)}  {out.dim(kind(fact))}")
        out.fill(fact.content)
        said_in, by = origins.unsigned(fact.source), origins.of(fact.source)
        source = (f", from {out.plain(said_in)}" if said_in else "") + (f", by {out.plain(by)}" if by else "")
        out.say(out.dim(f"  stored {ago(fact.created_at, memory.services.now())}{source}"))


@facts.action("edit ID", "content", "category", "confidence")
def _edit(call: Call) -> Answer:
    args, memory = call.args, call.memory
    if args.content is None and args.category is None and args.confidence is None:
        raise UsageError(
            "There is nothing to change.", next_step="Give --content, --category or --confidence with the new value."
        )
    content = None if args.content is None else text_of(args.content)
    call.check_words(content)
    fact = memory.facts.update(call.names[0], content=content, category=args.category, confidence=args.confidence)
    facts = memory.facts.shown([fact])
    call.out.note("ok", "changed")
    _print(call.out, facts, memory)
    return Answer({"fact": fact_out(facts[0])})


@facts.action("forget ID ...")
def _forget(call: Call) -> Answer:
    memory = call.memory
    for name in call.names:  # all of them are known before the first one goes
        memory.facts.get(name)
    stored = [memory.facts.delete(name) for name in dict.fromkeys(call.names)]
    gone = memory.facts.shown(stored)
    _say_gone(call.out, "forgotten", gone)
    for fact, shown in zip(stored, gone, strict=True) if not call.json else ():
        if places := [place.name for place in memory.purge(subject=fact.content, dry_run=True).changed]:
            call.out.fill(f"Its words are still in {some(sorted(places, key=lambda name: name.startswith('.')))}.")
            call.out.next_step(f"`holdfast purge --subject {shlex.quote(shown.content)}` removes them there, too.")
    return Answer({"forgotten": [f.id for f in gone]}, error=_leave_nothing(memory))


def _say_gone(out: Term, done: str, gone: Iterable[Fact]) -> None:
    for fact in gone:
        out.say(f"{out.mark('ok')} {done}: {out.bold(fact.id)}  {out.dim(out.clip(fact.content, 60))}")


@facts.action("conflicts")
def _conflicts(call: Call) -> Answer:
    memory = call.memory
    conflicts = list(map(memory.facts.shown, memory.facts.conflicts()))
    _say_provenance(memory)
    for disputed in conflicts:
        _print(call.out, disputed, memory)
        call.out.next_step("`holdfast facts keep ID` decides; otherwise the next dream keeps the newest.")
    message = "" if conflicts else "No two machines disagree on a fact."
    return Answer({"conflicts": [[_row(fact) for fact in disputed] for disputed in conflicts]}, message)


@facts.action("keep ID")
def _keep(call: Call) -> Answer:
    fact_id, out, memory = call.names[0], call.out, call.memory
    gone = memory.facts.shown(memory.facts.keep(fact_id))
    out.say(f"{out.mark('ok')} kept: {out.bold(out.plain(fact_id))}")
    _say_gone(out, "replaced", gone)
    return Answer({"kept": fact_id, "replaced": [_row(fact) for fact in gone]}, error=_leave_nothing(memory))


def _leave_nothing(memory: Holdfast) -> HoldfastError | None:
    """Make the backend remove deleted content from its files. Returns the error when it cannot do that now."""
    try:
        memory.services.store.backend.compact()
    except HoldfastError as error:
        error.message = f"The facts are forgotten, but their text is still in the store's files: {error.message}"
        error.next_step = f"{error.next_step} Then `holdfast scrub` clears the files.".lstrip()
        return error
    return None


@facts.action("import FILE")
def _import(call: Call) -> Answer:
    name, out = call.names[0], call.out
    rows = list(read_rows(read_file(name), name))
    report = call.memory.facts.import_(rows)
    known = f", {report.duplicates:,} known already" if report.duplicates else ""
    left = f", {report.evicted:,} evicted because the store was full" if report.evicted else ""
    out.say(f"{out.mark('warn' if report.bad else 'ok')} {count(report.added, 'fact')} added{known}{left}")
    for row in report.bad[:_SHOWN]:
        out.fill(row.why, f"  {out.mark('fail')} row {row.number}: ", "      ")
    problem = RowsLeftOut(
        f"{len(report.bad):,} of {count(len(rows), 'row')} were left out.",
        next_step="Correct them (`--json` lists all), then import the file again. Stored facts count as known.",
    )
    table = picked(report, "added", "duplicates", "evicted")
    table["bad"] = [{"row": row.number, "why": row.why} for row in report.bad]
    return Answer(table, error=problem if report.bad else None)


@facts.action("export")
def _export(call: Call) -> Answer:
    rows = call.memory.facts.export()
    if call.json:
        return Answer({"facts": list(rows)})
    for row in rows:
        call.out.exact(json_safe(json.dumps(row, ensure_ascii=False)) + "\n")
    return Answer({})


@facts.action("log")
def _log(call: Call) -> Answer:
    memory = call.memory
    entries = Project(memory).masked_trail(memory.facts.trail.entries())
    rows = [((ago(e.at, memory.services.now()), "dim"), e.event, e.id, e.by, e.why, e.content or "") for e in entries]
    return Answer({"events": entries}, call.out.table(rows) or "No fact has left the store or was changed.")
