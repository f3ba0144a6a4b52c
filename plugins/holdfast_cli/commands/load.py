"""``holdfast load`` prints the brief from which another agent or provider resumes work, even on another day."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from holdfast.errors import PluginNotFound, Unavailable
from holdfast_cli.args import add_json, examples, positive, session_id
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast_app.brief.brief import Brief

#: The command's help heading, and its summary line.
HEADING = "Resume and search"
SUMMARY = "print an agent's brief for resuming work, from files alone"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--max-chars", metavar="N", type=positive("max-chars"), help="maximum characters (default: no limit)"
    )
    parser.add_argument(
        "--session",
        metavar="ID",
        type=session_id,
        help="the session that reads the brief; its own work comes first",
    )
    add_json(parser)
    parser.epilog = (
        examples("holdfast load --max-chars 9000", "holdfast load --session fix-login", "holdfast load --json")
        + "\n\nIt needs only files, and no transcript, pasted context or provider that remembers."
        "\nIf the memory's server does not answer, it shows the part on this machine and exits with 3."
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast

    out = Term()
    with Holdfast.open(args.root) as memory:
        try:
            brief = memory.load(max_chars=args.max_chars, session=args.session or "")
        except Unavailable as error:
            if not memory.services.is_remote:
                raise
            return _without_store(out, memory, error, as_json=args.json)
    if not str(brief):
        raise UsageError(
            f"A brief does not fit into {args.max_chars} characters.", next_step="Allow more, such as --max-chars 4000."
        )
    if args.json:
        out.json(as_table(brief))
    else:
        out.exact(str(brief) + "\n")
    return 1 if brief.damaged else 0


def _without_store(out: Term, memory: Holdfast, error: Unavailable, *, as_json: bool) -> int:
    """Print the part that is on this machine: flushes kept for the server, and the last brief read from it. The error
    goes to stderr, and its exit code stays."""
    from holdfast_cli import problem, state

    try:
        spool = memory.services.spool
    except PluginNotFound:
        raise error from None
    items, kept = spool.items(), spool.last_brief()
    if as_json:
        copy = {"at": kept.at.isoformat(), "text": kept.text} if kept is not None else None
        table = {"ok": False, "error": problem.as_table(error), "spooled": state.kept_table(items), "copy": copy}
        out.json({**table, "text": spool.text()})
    else:
        parts = (
            spool.sentence,
            spool.text(),
            state.copy_age(kept, memory.services.now()),
            kept.text if kept is not None else "",
        )
        out.exact("\n\n".join(filter(None, parts)) + "\n")
    return problem.tell(error, as_json=False)


def as_table(brief: Brief) -> dict[str, Any]:
    """The brief for programs."""
    from holdfast.config.serde import unstructure

    return {
        "ok": not brief.damaged,
        "objective": brief.objective,
        "next_step": brief.next_step,
        "blockers": list(brief.blockers),
        "work": [unstructure(work) for work in brief.work],
        "unsafe": [
            {"session": m.session, "error": m.error, "next_step": m.next_step, "at": m.at} for m in brief.unsafe
        ],
        "facts": list(brief.facts),
        "memory": brief.memory,
        "user": brief.user,
        "files": [{"name": name, "text": text} for name, text in brief.files],
        "notes": [{"name": name, "text": text} for name, text in brief.notes],
        "pointers": list(brief.pointers),
        "withheld": brief.withheld,
        "damaged": [{"name": one.name, "message": one.message, "next_step": one.next_step} for one in brief.damaged],
        "text": str(brief),
    }
