"""An update of the three files from the command line, and what became of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from holdfast.cli.args import file_name
from holdfast.cli.problem import UsageError
from holdfast.cli.stdin import decode, read_text

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from holdfast.cli.term import Term
    from holdfast.three import MemoryUpdate
    from holdfast.update import Updated

#: Flag -> (key of the update, where it goes).
LISTS = {
    "focus": ("current_focus", "active_context: Current Focus"),
    "decision": ("decisions", "active_context: Decisions"),
    "question": ("open_questions", "active_context: Open Questions"),
    "next-step": ("next_steps", "active_context: Next Steps"),
    "convention": ("conventions", "patterns: Conventions"),
    "gotcha": ("gotchas", "patterns: Gotchas"),
    "practice": ("approved_practices", "patterns: Approved Practices"),
    "evidence-link": ("evidence_links", "progress: Evidence Links"),
    "deferred": ("deferred_items", "progress: Deferred Items"),
}


def add_arguments(parser: ArgumentParser, *, no_change: bool) -> None:
    """The flags; those for lists may be repeated. ``no_change`` adds the flag by which a workflow leaves a file out."""
    entries = parser.add_argument_group("entries (repeat a flag for more than one)")
    entries.add_argument(
        "--from", dest="source", metavar="FILE", type=file_name, help="the update as JSON, `-` for stdin"
    )
    for flag, (key, where) in LISTS.items():
        entries.add_argument(f"--{flag}", dest=key, metavar="TEXT", action="append", help=where)
    entries.add_argument("--deliverable", metavar="TEXT", help="progress: Verified Deliverables, with the proof below")
    entries.add_argument("--evidence", metavar="LINK", default="", help="proof: a URL, owner/repo#12, commit or path")
    entries.add_argument("--command", dest="proof", metavar="COMMAND", default="", help="proof: what was run")
    entries.add_argument("--exit-status", metavar="N", type=int, help="proof: what it ended with")
    if no_change:
        entries.add_argument(
            "--no-change",
            metavar="FILE",
            action="append",
            help="nothing to say in active_context, patterns or progress",
        )


def given(args: Namespace) -> MemoryUpdate:
    """The update that flags and JSON make together, flags after the JSON. Raises: UsageError; ConfigError."""
    from holdfast.three import update_from

    data = _json(args.source) if args.source else {}
    if not isinstance(data, dict):
        return update_from(data)  # says what is wrong with it
    for key, _ in LISTS.values():
        _add(data, key, getattr(args, key) or [])
    if args.deliverable is not None:
        deliverable = {"text": args.deliverable, "evidence": args.evidence, "command": args.proof}
        if args.exit_status is not None:
            deliverable["exit_status"] = args.exit_status
        _add(data, "verified_deliverables", [deliverable])
    elif args.evidence or args.proof or args.exit_status is not None:
        raise UsageError("Proof is given and nothing that it proves.", next_step="Add --deliverable TEXT.")
    _add(data, "no_change", getattr(args, "no_change", None) or [])
    return update_from(data)


def _add(data: dict[str, Any], key: str, more: list[Any]) -> None:
    if more:
        before = data.get(key, [])
        data[key] = [*before, *more] if isinstance(before, list) else before


def _json(source: str) -> Any:
    what = "The update on stdin" if source == "-" else f"The update {source}"
    try:
        if source == "-":
            text = read_text()
        else:
            with open(source, "rb") as file:
                text = decode(file.read(), what)
        return json.loads(text)
    except OSError as error:
        raise UsageError(
            f"{what} cannot be read: {error.strerror}.", next_step="Give the path of a JSON file, or `-` for stdin."
        ) from error
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"{what} is not valid JSON: {error}.", next_step='Begin it with {"decisions": ["..."]}.'
        ) from error


def show(out: Term, done: Updated, what: str, *, as_json: bool) -> None:
    """Report per file."""
    if as_json:
        from holdfast.serde import unstructure

        out.json({"ok": True, **unstructure(done)})
        return
    said = "was done before; nothing was left to do" if done.repeated else "all of it was read back"
    if not any(change.written for change in done.files):
        said = "nothing was changed"
    out.say(f"{out.mark('ok')} {what}; {said}")
    for change in done.files:
        state = f"{len(change.added)} added" if change.written else "not changed"
        known = f", {len(change.known)} there already" if change.known else ""
        out.say(f"  {out.bold(out.plain(change.name))}: {state}{known}")
        for anchor, text in change.added:
            out.say(out.wrapped(f"{anchor}: {text}", first="    + ", rest="      "))
    for text in done.deferred:
        out.say(out.wrapped(f"not verified, so deferred: {text}", first=f"  {out.mark('warn')} ", rest="    "))
    for text in done.warnings:
        out.say(out.wrapped(text, first=f"  {out.mark('warn')} ", rest="    "))
