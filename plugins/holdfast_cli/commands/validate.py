"""``holdfast validate`` checks every stored document with every validator."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from holdfast.text.humanize import count
from holdfast_cli.args import add_json, examples
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast import Holdfast
    from holdfast.models import Finding
    from holdfast_app.validation.validation import Repair, Validation


#: The help section that lists the command, and its line there.
HEADING = "Manage"
SUMMARY = "check every stored document; exit code 1 for errors"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("names", metavar="NAME", nargs="*", help="a document or its path (default: check all)")
    parser.add_argument("--strict", action="store_true", help="warnings count as errors")
    parser.add_argument("--fix", action="store_true", help="show and add missing anchors; change nothing else")
    parser.add_argument("--yes", action="store_true", help="with --fix: change files without asking")
    add_json(parser)
    parser.epilog = (
        examples("holdfast validate", "holdfast validate --strict --json", "holdfast validate --fix")
        + "\n\nExit code 1 when there is an error. --fix creates missing files of the three and adds missing"
        "\nanchors at the end. It never renames, moves or removes anything."
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast

    if args.yes and not args.fix:
        raise UsageError("--yes goes with --fix.")
    out = Term()
    with Holdfast.open(args.root) as memory:
        names = [_document(memory, name) for name in args.names]
        fixed = _fix(memory, names, args) if args.fix else []
        result = memory.validate(names)
        rows = [_row(memory, finding) for finding in result.findings]
    failed = not result.ok or (args.strict and bool(result.findings))
    if args.json:
        out.json(
            {"ok": not failed, "checked": list(result.checked), "findings": rows, "fixed": fixed, "strict": args.strict}
        )
    else:
        _show(out, result, rows)
    return 1 if failed else 0


def _document(memory: Holdfast, name: str) -> str:
    """The document's name. Hooks and editors pass its path instead, relative to ``where``."""
    name = name.replace("\\", "/").removeprefix("./")
    known = {memory.store.backend.where(n): n for n in memory.store.names()}
    prefix = memory.config.storage.path.strip("/") + "/"
    return known.get(name, name.removeprefix(prefix))


def _row(memory: Holdfast, finding: Finding) -> dict[str, Any]:
    return {
        "file": memory.store.backend.where(finding.name),
        "line": finding.line,
        "rule": finding.rule,
        "severity": str(finding.severity),
        "message": finding.message,
        "fix": finding.fix,
    }


def _show(out: Term, result: Validation, rows: Sequence[dict[str, Any]]) -> None:
    for row in rows:
        mark = out.mark("fail" if row["severity"] == "error" else "warn")
        place = f"{row['file']}:{row['line']}" if row["line"] else str(row["file"])
        out.say(out.wrapped(f"{place}: {row['message']} ({row['rule']})", first=f"{mark} ", rest="    "))
        if row["fix"]:
            out.say(out.wrapped(row["fix"], first=f"    {out.dim('next:')} ", rest="    "))
    errors, warnings = len(result.errors), len(result.warnings)
    mark = out.mark("fail" if errors else "warn" if warnings else "ok")
    checked = count(len(result.checked), "document")
    out.say(f"{mark} {checked} checked: {count(errors, 'error')}, {count(warnings, 'warning')}")


def _fix(memory: Holdfast, names: list[str], args: Namespace) -> list[str]:
    """Show the additions, ask, and write them. Returns the changed documents."""
    found = memory.repairs(names)
    err = Term(sys.stderr)
    for repair in found:
        _diff(err, memory, repair)
    if not found or not (args.yes or _agreed(err, len(found))):
        return []
    for repair in found:
        memory.apply_repair(repair)
    return [repair.name for repair in found]


def _diff(err: Term, memory: Holdfast, repair: Repair) -> None:
    import difflib

    name = memory.store.backend.where(repair.name)
    name_of = {"surface": "daily", "name": repair.name}
    before, after = (memory.services.gate.outgoing(text or "", **name_of) for text in (repair.before, repair.after))
    titles = f"{name} (now)", f"{name} (fixed)"
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), *titles, lineterm="")
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for line in lines:
        err.say(err.style(err.plain(line), styles.get(line[:1], "")))


def _agreed(err: Term, number: int) -> bool:
    """Ask the user. Raises: UsageError when stdin is not a terminal."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise UsageError(
            f"{count(number, 'document')} would change, but stdin is not a terminal to ask on. Nothing was changed.",
            next_step="Check the changes above, then add --yes.",
        )
    err.stream.write(f"Add this to {count(number, 'document')}? [y/N] ")
    err.stream.flush()
    return sys.stdin.readline().strip().casefold() in ("y", "yes")
