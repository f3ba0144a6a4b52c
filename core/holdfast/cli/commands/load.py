"""``holdfast load``: the brief that lets another agent, provider or day go on."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from holdfast.cli.args import add_json, examples, positive, session_id
from holdfast.cli.terminal import Term

if TYPE_CHECKING:
    from holdfast.session.bootstrap import Brief


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--max-chars", metavar="N", type=positive("max-chars"), help="at most so many characters (default: all)"
    )
    parser.add_argument(
        "--session",
        metavar="ID",
        type=session_id,
        help="the session that reads it: its own work comes first",
    )
    add_json(parser)
    parser.epilog = (
        examples("holdfast load --max-chars 9000", "holdfast load --session fix-login", "holdfast load --json")
        + "\n\nIt needs only the files: no transcript, no pasted context and no provider with a memory."
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast

    out = Term()
    with Holdfast.open(args.root) as memory:
        brief = memory.load(max_chars=args.max_chars, session=args.session or "")
    if args.json:
        out.json(as_table(brief))
    else:
        out.exact(str(brief) + "\n")
    return 0


def as_table(brief: Brief) -> dict[str, Any]:
    """The brief for programs."""
    from holdfast.config.serde import unstructure

    return {
        "ok": True,
        "objective": brief.objective,
        "next_step": brief.next_step,
        "blockers": list(brief.blockers),
        "work": [unstructure(work) for work in brief.work],
        "unsafe": [
            {"session": m.session, "error": m.error, "next_step": m.next_step, "at": m.at} for m in brief.unsafe
        ],
        "memory": brief.memory,
        "user": brief.user,
        "files": [{"name": name, "text": text} for name, text in brief.files],
        "notes": [{"name": name, "text": text} for name, text in brief.notes],
        "pointers": list(brief.pointers),
        "withheld": brief.withheld,
        "text": str(brief),
    }
