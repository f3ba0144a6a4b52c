"""Updates of the three files from the command line, and their results."""

from __future__ import annotations

from argparse import Action
from typing import TYPE_CHECKING, Any

from holdfast_cli.command import Argument, argument
from holdfast_cli.problem import UsageError
from holdfast_cli.stdin import read_json

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from holdfast_app.workflow.three import MemoryUpdate
    from holdfast_app.workflow.update import Updated
    from holdfast_cli.terminal import Term

#: Flag -> (key of the update, target section).
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


_ENTRIES = "entries (repeatable)"


class _Delivered(Action):
    """Collects deliverables in order. Proof belongs to the deliverable before it, or to the first one."""

    def __call__(self, parser: ArgumentParser, args: Namespace, values: Any, flag: str | None = None) -> None:
        found: list[dict[str, Any]] = list(getattr(args, self.dest) or [])
        key = {"--deliverable": "text", "--command": "command", "--exit-status": "exit_status"}.get(
            self.option_strings[0], "evidence"
        )
        if not found or (key == "text" and "text" in found[-1]):
            found.append({})
        elif key in found[-1]:
            raise UsageError(
                f"{self.option_strings[0]} was passed twice for one deliverable.",
                next_step="Put each proof after its own --deliverable TEXT.",
            )
        found[-1] = {**found[-1], key: values}
        setattr(args, self.dest, found)


def _proof(name: str, text: str, **options: Any) -> Argument:
    return argument(name, dest="deliverables", action=_Delivered, help=text, group=_ENTRIES, **options)


#: Flags for an update.
ARGUMENTS = (
    argument(
        "--from",
        dest="source",
        metavar="FILE",
        help="the update as JSON, `-` for stdin",
        group=_ENTRIES,
    ),
    *(
        argument(f"--{name}", dest=key, metavar="TEXT", action="append", help=where, group=_ENTRIES)
        for name, (key, where) in LISTS.items()
    ),
    _proof("--deliverable", "progress: Verified Deliverables; put its proof after it", metavar="TEXT"),
    _proof("--evidence", "proof as a URL, owner/repo#12, commit or path", metavar="LINK"),
    _proof("--command", "proof as a command already run", metavar="COMMAND"),
    _proof("--exit-status", "exit status of the command", metavar="N", type=int),
)
NO_CHANGE = argument(
    "--no-change",
    metavar="FILE",
    action="append",
    help="file without entries: active_context, patterns or progress",
    group=_ENTRIES,
)


def given(args: Namespace) -> MemoryUpdate:
    """Combine flags and JSON into one update, flags after the JSON. Raises: UsageError; ConfigError."""
    from holdfast_app.workflow.three import update_from

    data = read_json(args.source, "The update", '{"decisions": ["..."]}') if args.source else {}
    if not isinstance(data, dict):
        return update_from(data)  # validates the data
    for key, _ in LISTS.values():
        _add(data, key, getattr(args, key) or [])
    delivered = args.deliverables or []
    if delivered and "text" not in delivered[0]:
        raise UsageError("Proof was given without a deliverable.", next_step="Add --deliverable TEXT.")
    _add(data, "verified_deliverables", delivered)
    _add(data, "no_change", getattr(args, "no_change", None) or [])
    return update_from(data)


def _add(data: dict[str, Any], key: str, more: list[Any]) -> None:
    if more:
        before = data.get(key, [])
        data[key] = [*before, *more] if isinstance(before, list) else before


def show(out: Term, done: Updated, what: str) -> None:
    """Report per file."""
    said = "already applied, nothing to do" if done.repeated else "everything was read back"
    if not any(change.written for change in done.files):
        said = "nothing was changed"
    out.say(f"{out.mark('ok')} {what}; {said}")
    for change in done.files:
        state = f"{len(change.added)} added" if change.written else "not changed"
        known = f", {len(change.known)} already there" if change.known else ""
        out.say(f"  {out.bold(out.plain(change.name))}: {state}{known}")
        for anchor, text in change.added:
            out.fill(f"{anchor}: {text}", "    + ", "      ")
    for text in done.deferred:
        out.note("warn", f"not verified, so deferred: {text}", indent="  ")
    for text in done.warnings:
        out.note("warn", text, indent="  ")
