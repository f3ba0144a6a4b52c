"""``holdfast validate`` checks every stored document with every validator."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from holdfast.text.humanize import count
from holdfast_cli.command import Answer, Call, Command, argument, flag
from holdfast_cli.problem import UsageError
from holdfast_cli.stdin import can_ask, confirmed
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast_app.validation.validation import Repair


@Command(
    "Manage",
    "check every stored document; exit code 1 for errors",
    argument("documents", metavar="NAME", nargs="*", help="a document or its path (default: check all)"),
    flag("--strict", "warnings count as errors"),
    flag("--fix", "show and add missing anchors; change nothing else"),
    flag("--yes", "with --fix: change files without asking"),
    examples=("holdfast validate", "holdfast validate --strict --json", "holdfast validate --fix"),
    notes="Exit code 1 when there is an error. --fix creates missing files of the three and adds missing"
    "\nanchors at the end. It never renames, moves or removes anything.",
)
def validate(call: Call) -> Answer:
    """The findings in the named documents, or in all."""
    args, memory = call.args, call.memory
    if args.yes and not args.fix:
        raise UsageError("--yes goes with --fix.")
    where = memory.store.backend.where
    names = [_document(memory, name) for name in args.documents]
    fixed = _fix(memory, names, yes=args.yes) if args.fix else []
    result = memory.validate(names)
    keys = ("line", "rule", "severity", "message", "fix")
    rows = [{"file": where(one.name), **{key: getattr(one, key) for key in keys}} for one in result.findings]

    def show(out: Term) -> None:
        for row in rows:
            place = f"{row['file']}:{row['line']}" if row["line"] else row["file"]
            mark = out.mark("fail" if row["severity"] == "error" else "warn")
            out.fill(f"{place}: {row['message']} ({row['rule']})", f"{mark} ", "    ")
            if row["fix"]:
                out.fill(str(row["fix"]), f"    {out.dim('next:')} ", "    ")
        errors, warnings = len(result.errors), len(result.warnings)
        mark = out.mark("fail" if errors else "warn" if warnings else "ok")
        checked = count(len(result.checked), "document")
        out.say(f"{mark} {checked} checked: {count(errors, 'error')}, {count(warnings, 'warning')}")

    ok = result.ok and not (args.strict and rows)
    return Answer({"checked": result.checked, "findings": rows, "fixed": fixed, "strict": args.strict}, show, ok=ok)


def _document(memory: Holdfast, name: str) -> str:
    """The document's name. Hooks and editors pass its path instead, relative to ``where``."""
    name = name.replace("\\", "/").removeprefix("./")
    known = {memory.store.backend.where(n): n for n in memory.store.names()}
    prefix = memory.config.storage.path.strip("/") + "/"
    return known.get(name, name.removeprefix(prefix))


def _fix(memory: Holdfast, names: list[str], *, yes: bool) -> list[str]:
    """Show the additions, ask, and write them. Returns the changed documents. Raises: UsageError."""
    repairs = memory.repairs(names)
    for repair in repairs:
        _diff(Term(sys.stderr), memory, repair)
    changes = count(len(repairs), "document")
    if repairs and not yes and not can_ask():
        raise UsageError(
            f"{changes} would change, but stdin is not a terminal to ask on. Nothing was changed.",
            next_step="Check the changes above, then add --yes.",
        )
    if not repairs or not (yes or confirmed(f"Add this to {changes}?")):
        return []
    for repair in repairs:
        memory.apply_repair(repair)
    return [repair.name for repair in repairs]


def _diff(err: Term, memory: Holdfast, repair: Repair) -> None:
    import difflib

    name = memory.store.backend.where(repair.name)
    name_of = {"surface": "daily", "name": repair.name}
    before, after = (memory.services.gate.outgoing(text or "", **name_of) for text in (repair.before, repair.after))
    titles = f"{name} (now)", f"{name} (fixed)"
    err.diff("\n".join(difflib.unified_diff(before.splitlines(), after.splitlines(), *titles, lineterm="")))
