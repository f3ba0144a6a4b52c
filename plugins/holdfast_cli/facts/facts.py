"""``holdfast facts``: look through the stored facts, change them, let them go, carry them elsewhere."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from holdfast.config.provenance import NEXT_STEP, sentence
from holdfast.errors import HoldfastError
from holdfast.storage import snapshot
from holdfast.text.humanize import ago
from holdfast.text.plain import json_safe
from holdfast_app.facts.store import origins
from holdfast_cli.args import add_json, examples, positive
from holdfast_cli.facts.remember import add_confidence, kind
from holdfast_cli.problem import UsageError, as_table, caution, tell
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast.models import Fact

#: The command's help heading, and its summary line.
HEADING = "Manage"
SUMMARY = "list, show, edit, forget, import and export facts, and show the log of removed facts"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action",
        metavar="ACTION",
        nargs="?",
        default="list",
        choices=_ACTIONS,
        help="list (default), show ID, edit ID, forget ID ..., conflicts, keep ID, import FILE, export, log",
    )
    parser.add_argument("names", metavar="ID or FILE", nargs="*", help="the facts or the file; `-` is stdin")
    chosen = parser.add_argument_group("list")
    chosen.add_argument("--order", choices=("created", "confidence"), default="created", help="created, confidence")
    chosen.add_argument("--limit", metavar="N", type=positive("limit"), help="maximum number of facts to list")
    chosen.add_argument("--by", metavar="NAME", help="only facts of this person, machine or agent, where recorded")
    change = parser.add_argument_group("list and edit")
    change.add_argument("--category", metavar="NAME", help="list: only this category. edit: the new category")
    edit = parser.add_argument_group("edit")
    edit.add_argument("--content", metavar="TEXT", help="the new text; `-` reads it from stdin")
    add_confidence(edit)  # type: ignore[arg-type] # a group takes arguments as a parser does
    add_json(parser)
    parser.epilog = examples(
        "holdfast facts --order confidence --limit 20",
        "holdfast facts edit fact_0a1b2c3d --confidence 1.0",
        "holdfast facts forget fact_0a1b2c3d",
        "holdfast facts conflicts",
        "holdfast facts keep fact_0a1b2c3d",
        "holdfast facts export > facts.jsonl",
        "holdfast facts import facts.jsonl",
        "holdfast facts log",
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast

    _check(args)
    with Holdfast.open(args.root) as memory:
        caution(memory.services.notices)
        return _ACTIONS[args.action](memory, args, Term())


def _check(args: Namespace) -> None:
    """Refuse arguments that the action does not take."""
    some, one = "at least one ID", "one ID"
    wanted = {"show": some, "edit": one, "forget": some, "keep": one, "import": "one FILE"}
    given = len(args.names)
    right = {one: given == 1, "one FILE": given == 1, some: given >= 1}
    want = wanted.get(args.action)
    if (given and want is None) or (want is not None and not right[want]):
        raise UsageError(
            f"`holdfast facts {args.action}` takes {want or 'no name'}.", next_step="See `holdfast facts --help`."
        )
    if args.by and args.action != "list":
        raise UsageError("--by is for the list.", next_step="See `holdfast facts --help`.")
    changes = args.content is not None or args.confidence is not None
    if args.action == "edit" and not changes and args.category is None:
        raise UsageError(
            "There is nothing to change.", next_step="Give --content, --category or --confidence with the new value."
        )
    misplaced = changes and args.action != "edit"
    if misplaced or (args.category is not None and args.action not in ("edit", "list")):
        raise UsageError(f"`holdfast facts {args.action}` changes nothing.", next_step="Use `holdfast facts edit ID`.")


def _list(memory: Holdfast, args: Namespace, out: Term) -> int:
    limit = None if args.by else args.limit
    with snapshot():  # a single round trip to a server
        facts = memory.facts.list(order=args.order, limit=limit, category=args.category)
        if args.by:
            wanted = args.by.casefold()
            facts = [f for f in facts if wanted in origins.of(f.source).casefold()][: args.limit]
        facts = memory.facts.shown(facts)
        total = memory.facts.count()
        _say_provenance(memory)
    if args.json:
        out.json({"ok": True, "count": total, "facts": [_row(f) for f in facts]})
    elif facts:
        signed = any(origins.of(f.source) for f in facts)
        named = [(f, ((origins.of(f.source), "dim"),) if signed else ()) for f in facts]
        rows = [(f.id, (str(f.category), "dim"), f"{f.confidence:.2f}", *by, f.content) for f, by in named]
        out.say(out.table(rows, right=(2,)))
        most = f"{total:,} of at most {memory.config.facts.max_facts:,} facts"
        out.say(out.dim(f"  {most}" if len(facts) == total else f"  {len(facts):,} shown, {most} stored"))
    elif total:
        out.say("No stored fact matches.")
    else:
        out.say('No fact is stored yet. `holdfast remember "..."` stores one.')
    return 0


def _row(fact: Fact) -> dict[str, object]:
    """A fact for ``--json``, with its origin if recorded."""
    from holdfast.config.serde import fact_out

    by = origins.of(fact.source)
    return {**fact_out(fact), **({"by": by} if by else {})}


def _say_provenance(memory: Holdfast) -> None:
    """A line on stderr for facts that agents are not given."""
    if withheld := sentence({}, facts=len(memory.store.withheld_facts())):
        err = Term(sys.stderr)
        err.say(err.wrapped(f"{withheld} {NEXT_STEP}", first=f"{err.mark('warn')} ", rest="  "))


def _show(memory: Holdfast, args: Namespace, out: Term) -> int:
    from holdfast.config.serde import fact_out

    facts = memory.facts.shown([memory.facts.get(name) for name in args.names])
    _say_provenance(memory)
    if args.json:
        out.json({"ok": True, "facts": [fact_out(f) for f in facts]})
        return 0
    for fact in facts:
        _print(fact, memory, out)
    return 0


def _print(fact: Fact, memory: Holdfast, out: Term) -> None:
    out.say(f"{out.bold(fact.id)}  {out.dim(kind(fact))}")
    out.say(out.wrapped(fact.content, first="  "))
    said_in, by = origins.unsigned(fact.source), origins.of(fact.source)
    source = (f", from {out.plain(said_in)}" if said_in else "") + (f", by {out.plain(by)}" if by else "")
    out.say(out.dim(f"  stored {ago(fact.created_at, memory.services.now())}{source}"))


def _edit(memory: Holdfast, args: Namespace, out: Term) -> int:
    from holdfast.config.serde import fact_out

    content = args.content
    if content == "-":
        from holdfast_cli.stdin import read_text

        content = read_text()
    fact = memory.facts.update(args.names[0], content=content, category=args.category, confidence=args.confidence)
    (fact,) = memory.facts.shown([fact])
    if args.json:
        out.json({"ok": True, "fact": fact_out(fact)})
    else:
        out.say(f"{out.mark('ok')} changed")
        _print(fact, memory, out)
    return 0


def _forget(memory: Holdfast, args: Namespace, out: Term) -> int:
    for name in args.names:  # all of them are known before the first one goes
        memory.facts.get(name)
    gone = memory.facts.shown([memory.facts.delete(name) for name in dict.fromkeys(args.names)])
    left = _leave_nothing(memory)
    if args.json:
        error = {"error": as_table(left)} if left else {}
        out.json({"ok": left is None, "forgotten": [f.id for f in gone], **error})
    for fact in () if args.json else gone:
        out.say(f"{out.mark('ok')} forgotten: {out.bold(fact.id)}  {out.dim(out.clip(fact.content, 60))}")
    if left is None:
        return 0
    out.stream.flush()
    return tell(left, as_json=False)


def _conflicts(memory: Holdfast, args: Namespace, out: Term) -> int:
    found = [memory.facts.shown(one.facts) for one in memory.facts.conflicts()]
    _say_provenance(memory)
    if args.json:
        out.json({"ok": True, "conflicts": [[_row(fact) for fact in facts] for facts in found]})
    elif found:
        for facts in found:
            for fact in facts:
                _print(fact, memory, out)
            out.say()
        out.say(out.wrapped("`holdfast facts keep ID` decides; otherwise the next dream keeps the newest.", first="  "))
    else:
        out.say("No two machines disagree on a fact.")
    return 0


def _keep(memory: Holdfast, args: Namespace, out: Term) -> int:
    gone = memory.facts.shown(memory.facts.keep(args.names[0]))
    left = _leave_nothing(memory)
    if args.json:
        error = {"error": as_table(left)} if left else {}
        out.json({"ok": left is None, "kept": args.names[0], "replaced": [_row(fact) for fact in gone], **error})
        return 0 if left is None else tell(left, as_json=False)
    out.say(f"{out.mark('ok')} kept: {out.bold(out.plain(args.names[0]))}")
    for fact in gone:
        out.say(f"  replaced: {fact.id}  {out.dim(out.clip(fact.content, 60))}")
    return 0 if left is None else tell(left, as_json=False)


def _leave_nothing(memory: Holdfast) -> HoldfastError | None:
    """Make the backend remove deleted content from its files. Returns the error when it cannot do that now."""
    try:
        memory.services.store.backend.compact()
    except HoldfastError as error:
        error.message = f"The facts are forgotten, but their text is still in the store's files: {error.message}"
        error.next_step = f"{error.next_step} Then `holdfast scrub` clears the files.".lstrip()
        return error
    return None


def _import(memory: Holdfast, args: Namespace, out: Term) -> int:
    from holdfast_cli.facts.importing import import_file

    return import_file(memory, args, out)


def _export(memory: Holdfast, args: Namespace, out: Term) -> int:
    import json

    if args.json:
        out.json({"ok": True, "facts": list(memory.facts.export())})
        return 0
    for row in memory.facts.export():
        out.exact(json_safe(json.dumps(row, ensure_ascii=False)) + "\n")
    return 0


def _log(memory: Holdfast, args: Namespace, out: Term) -> int:
    from attrs import evolve

    from holdfast.config.serde import unstructure

    entries = list(memory.facts.trail.entries())
    texts = memory.services.gate.outgoing_all([e.content or "" for e in entries], surface="fact")
    entries = [evolve(e, content=text) if e.content else e for e, text in zip(entries, texts, strict=True)]
    if args.json:
        out.json({"ok": True, "events": [unstructure(e) for e in entries]})
    elif entries:
        now = memory.services.now()
        rows = []
        for e in entries:
            why = f"{e.why}, for {e.by}" if e.by else e.why
            what = f"{why}: {e.content}" if e.content else why
            rows.append(((ago(e.at, now), "dim"), e.event, e.id, what))
        out.say(out.table(rows))
    else:
        out.say("No fact has left the store or was changed.")
    return 0


_ACTIONS: Mapping[str, Callable[[Holdfast, Namespace, Term], int]] = {
    "list": _list,
    "show": _show,
    "edit": _edit,
    "forget": _forget,
    "conflicts": _conflicts,
    "keep": _keep,
    "import": _import,
    "export": _export,
    "log": _log,
}
