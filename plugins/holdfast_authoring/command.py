"""``holdfast plugin``: write a new plugin, check an installed one."""

from __future__ import annotations

from holdfast_authoring.scaffold import KINDS, create
from holdfast_cli.command import Answer, Call, Command, argument
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Cell, Term

plugin = Command(
    "Manage",
    "for authors: write a new plugin, or check an installed one",
    argument("--kind", metavar="KIND", choices=KINDS, help=f"its purpose: {', '.join(KINDS)}", group="new"),
    argument("--dir", metavar="DIR", default="", help="new folder (default: holdfast-NAME)", group="new"),
    argument(
        "--settings",
        metavar="FILE",
        default="",
        help="TOML file with keys for the plugin's table",
        group="check",
    ),
    examples=(
        "holdfast plugin new acme-rules --kind validator",
        "holdfast plugin check holdfast-acme-rules",
        "holdfast plugin check holdfast-acme-rules --settings acme.toml --json",
    ),
    notes="`holdfast plugins` lists the installed plugins and the hooks of each.",
)


@plugin.action("new NAME", "kind", "dir")
def _new(call: Call) -> Answer:
    if call.args.kind is None:
        raise UsageError(
            "`holdfast plugin new` needs a kind.", next_step=f"Add `--kind` and one of {', '.join(KINDS)}."
        )
    made = create(call.names[0], call.args.kind, call.args.dir)

    def show(out: Term) -> None:
        out.say(f"{out.mark('ok')} {out.bold(made.distribution)} in {out.plain(made.folder)}")
        for file in made.files:
            out.say(f"    {file}")
        out.say("\n  Go there, install it and run its tests:")
        out.say("    python -m pip install -e '.[test]' && python -m pytest")

    return Answer(made._asdict(), show)


@plugin.action("check DISTRIBUTION", "settings")
def _check(call: Call) -> Answer:
    from holdfast_authoring.inspection import Outcome, inspect

    name = call.names[0]
    rows = inspect(name, settings_file=call.args.settings)
    failed = sum(row.outcome == Outcome.FAIL for row in rows)

    def show(out: Term) -> None:
        marks = {Outcome.OK: "ok", Outcome.NOTE: "dot", Outcome.FAIL: "fail"}
        cells: list[tuple[Cell, ...]] = []
        for before, row in zip(["", *(row.entry for row in rows)], rows, strict=False):
            entry = (row.entry if before != row.entry else "", "bold")
            cells.append((entry, out.mark_cell(marks[row.outcome]), row.check, row.message))
        out.say(out.table(cells, head=("entry point", "", "check", "result")))
        if failed:
            out.say(f"\n{out.mark('fail')} {failed} of {len(rows)} checks failed")
        else:
            out.say(f"\n{out.mark('ok')} {name} follows the specifications")

    return Answer({"distribution": name, "checks": [row._asdict() for row in rows]}, show, ok=not failed)
