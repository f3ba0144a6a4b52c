"""``holdfast plugin``: write a new plugin, check an installed one."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from holdfast_cli.args import add_json, examples, file_name
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Term

#: The help section that lists the command, and its line there.
HEADING = "Manage"
SUMMARY = "for authors: write a new plugin, or check an installed one"


def configure(parser: ArgumentParser) -> None:
    from holdfast_authoring.scaffold import KINDS

    parser.add_argument("action", choices=("new", "check"), help="new writes a distribution, check examines one")
    parser.add_argument("name", metavar="NAME", help="new: name of the plugin; check: name of the distribution")
    new = parser.add_argument_group("new")
    new.add_argument("--kind", metavar="KIND", choices=KINDS, help=f"its purpose: {', '.join(KINDS)}")
    new.add_argument("--dir", metavar="DIR", type=file_name, default="", help="new folder (default: holdfast-NAME)")
    check = parser.add_argument_group("check")
    check.add_argument(
        "--settings", metavar="FILE", type=file_name, default="", help="TOML file with keys for the plugin's table"
    )
    add_json(parser)
    parser.epilog = (
        examples(
            "holdfast plugin new acme-rules --kind validator",
            "holdfast plugin check holdfast-acme-rules",
            "holdfast plugin check holdfast-acme-rules --settings acme.toml --json",
        )
        + "\n\n`holdfast plugins` lists the installed plugins and the hooks of each."
    )


def run(args: Namespace) -> int:
    return _new(args) if args.action == "new" else _check(args)


def _new(args: Namespace) -> int:
    from holdfast_authoring.scaffold import KINDS, create

    if args.kind is None:
        raise UsageError(
            "`holdfast plugin new` needs a kind.", next_step=f"Add `--kind` and one of {', '.join(KINDS)}."
        )
    made = create(args.name, args.kind, args.dir)
    out = Term()
    if args.json:
        out.json({"ok": True, "distribution": made.distribution, "folder": made.folder, "files": list(made.files)})
        return 0
    out.say(f"{out.mark('ok')} {out.bold(made.distribution)} in {out.plain(made.folder)}")
    for file in made.files:
        out.say(f"    {file}")
    out.say()
    out.say("  Go there, install it and run its tests:")
    out.say("    python -m pip install -e '.[test]' && python -m pytest")
    return 0


def _check(args: Namespace) -> int:
    from holdfast_authoring.inspection import Outcome, inspect

    rows = inspect(args.name, settings_file=args.settings)
    failed = [row for row in rows if row.outcome == Outcome.FAIL]
    out = Term()
    if args.json:
        out.json({"ok": not failed, "distribution": args.name, "checks": [row.as_json() for row in rows]})
        return 1 if failed else 0
    marks = {Outcome.OK: "ok", Outcome.NOTE: "dot", Outcome.FAIL: "fail"}
    out.say(
        out.table(
            [
                (
                    (row.entry if before != row.entry else "", "bold"),
                    out.mark_cell(marks[row.outcome]),
                    row.check,
                    row.message,
                )
                for before, row in zip(["", *(row.entry for row in rows)], rows, strict=False)
            ],
            head=("entry point", "", "check", "result"),
        )
    )
    out.say()
    if failed:
        out.say(f"{out.mark('fail')} {len(failed)} of {len(rows)} checks failed")
    else:
        out.say(f"{out.mark('ok')} {args.name} follows the specifications")
    return 1 if failed else 0
