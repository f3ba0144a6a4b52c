"""Updates of the three files from the command line, and their results."""

from __future__ import annotations

from argparse import Action
from typing import TYPE_CHECKING, Any

from holdfast.text import untrusted
from holdfast_cli.args import file_name
from holdfast_cli.problem import UsageError
from holdfast_cli.stdin import decode, read_text

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


def add_arguments(parser: ArgumentParser, *, no_change: bool) -> None:
    """Add the flags; list flags may be repeated. ``no_change`` adds the flag that leaves a file unchanged."""
    entries = parser.add_argument_group("entries (repeatable)")
    entries.add_argument(
        "--from", dest="source", metavar="FILE", type=file_name, help="the update as JSON, `-` for stdin"
    )
    for flag, (key, where) in LISTS.items():
        entries.add_argument(f"--{flag}", dest=key, metavar="TEXT", action="append", help=where)
    entries.add_argument(
        "--deliverable",
        dest="deliverables",
        metavar="TEXT",
        action=_Delivered,
        help="progress: Verified Deliverables; put its proof after it",
    )
    proof: dict[str, Any] = {"dest": "deliverables", "action": _Delivered}
    entries.add_argument("--evidence", metavar="LINK", help="proof as a URL, owner/repo#12, commit or path", **proof)
    entries.add_argument("--command", metavar="COMMAND", help="proof as a command already run", **proof)
    entries.add_argument("--exit-status", metavar="N", type=int, help="exit status of the command", **proof)
    if no_change:
        entries.add_argument(
            "--no-change",
            metavar="FILE",
            action="append",
            help="file without entries: active_context, patterns or progress",
        )


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


def given(args: Namespace) -> MemoryUpdate:
    """Combine flags and JSON into one update, flags after the JSON. Raises: UsageError; ConfigError."""
    from holdfast_app.workflow.three import update_from

    data = _json(args.source) if args.source else {}
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


def _json(source: str) -> Any:
    what = "The update on stdin" if source == "-" else f"The update {source}"
    try:
        if source == "-":
            text = read_text()
        else:
            with open(source, "rb") as file:
                text = decode(file.read(), what)
        return untrusted.from_json(text)
    except OSError as error:
        raise UsageError(
            f"{what} cannot be read: {error.strerror}.", next_step="Pass a JSON file's path, or `-` for stdin."
        ) from error
    except ValueError as error:
        raise UsageError(
            f"{what} is not valid JSON: {error}.", next_step='Start it with {"decisions": ["..."]}.'
        ) from error


def show(out: Term, done: Updated, what: str, *, as_json: bool) -> None:
    """Report per file."""
    if as_json:
        from holdfast.config.serde import unstructure

        out.json({"ok": True, **unstructure(done)})
        return
    said = "already applied, nothing to do" if done.repeated else "everything was read back"
    if not any(change.written for change in done.files):
        said = "nothing was changed"
    out.say(f"{out.mark('ok')} {what}; {said}")
    for change in done.files:
        state = f"{len(change.added)} added" if change.written else "not changed"
        known = f", {len(change.known)} already there" if change.known else ""
        out.say(f"  {out.bold(out.plain(change.name))}: {state}{known}")
        for anchor, text in change.added:
            out.say(out.wrapped(f"{anchor}: {text}", first="    + ", rest="      "))
    for text in done.deferred:
        out.say(out.wrapped(f"not verified, so deferred: {text}", first=f"  {out.mark('warn')} ", rest="    "))
    for text in done.warnings:
        out.say(out.wrapped(text, first=f"  {out.mark('warn')} ", rest="    "))
