"""``holdfast workflow``: LOAD at the start, UPDATE at the end, and the status of workflows."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from holdfast_cli.args import add_json, examples
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Term
from holdfast_cli.workflow import updating

if TYPE_CHECKING:
    from holdfast import Holdfast

#: The help heading for the command, and its summary line.
HEADING = "The three files"
SUMMARY = "read the memory at a workflow's start, update it at its end"

ACTIONS = ("start", "end", "status")


def configure(parser: ArgumentParser) -> None:
    from holdfast_app.workflow.three import CONDITIONS, WORKFLOWS

    parser.add_argument("action", choices=ACTIONS, help="start reads the memory, end updates it, status lists")
    parser.add_argument("name", metavar="NAME", nargs="?", choices=WORKFLOWS, help=", ".join(WORKFLOWS))
    conditions = parser.add_argument_group("conditions for end")
    for workflow, table in CONDITIONS.items():
        for flag, text in table.items():
            conditions.add_argument(
                f"--{flag}", dest="confirmed", action="append_const", const=flag, help=f"{workflow}: {text}"
            )
    updating.add_arguments(parser, no_change=True)
    add_json(parser)
    parser.epilog = (
        examples(
            "holdfast workflow start build",
            'holdfast workflow end build --tests-passed --focus "login is done" \\',
            '    --deliverable "login works" --command "pytest -q" --exit-status 0 \\',
            "    --no-change patterns",
            "holdfast workflow end review --review-complete --from update.json",
            "holdfast workflow status",
        )
        + "\n\nA workflow ends only after its start, with its condition stated and an entry or an explicit --no-change"
        "\nfor each of the three files. Otherwise nothing is written."
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast

    if (args.action == "status") is not (args.name is None):
        wanted = "no NAME" if args.action == "status" else "a workflow's NAME"
        raise UsageError(f"`workflow {args.action}` takes {wanted}.", next_step="See `holdfast workflow --help`.")
    given = updating.given(args) if args.action == "end" else None
    out = Term()
    with Holdfast.open(args.root) as memory:
        if args.action == "start":
            return _start(out, memory, args)
        if given is None:
            return _status(out, memory, as_json=args.json)
        done = memory.workflow(args.name).end(given, confirmed=args.confirmed or ())
        updating.show(out, done, f"workflow {args.name} has ended", as_json=args.json)
    return 0


def _start(out: Term, memory: Holdfast, args: Namespace) -> int:
    loaded = memory.workflow(args.name).start()
    if args.json:
        files = [{"file": one.surface, "name": one.name, "text": one.text} for one in loaded.files]
        out.json({"ok": True, "workflow": args.name, "files": files})
    else:
        out.exact(f"{loaded}\n")
    return 0


def _status(out: Term, memory: Holdfast, *, as_json: bool) -> int:
    from holdfast.config.serde import moment, unstructure
    from holdfast.text.humanize import ago, count
    from holdfast_app.workflow import observations
    from holdfast_app.workflow.workflow import records

    found = records(memory.services)
    waiting = observations.waiting(memory.services)
    if as_json:
        out.json({"ok": True, "workflows": unstructure(found), "waiting": unstructure(waiting)})
        return 0
    now = memory.services.now()
    if found:
        out.say(
            out.table(
                [(r.name, r.state, ago(moment(r.ended if r.state == "ended" else r.started), now)) for r in found]
            )
        )
    else:
        out.say("No workflow has been started. To start one, run `holdfast workflow start NAME`.")
    if waiting:
        out.say(
            f"\n  {count(len(waiting), 'entry') if len(waiting) == 1 else f'{len(waiting)} entries'} noticed on the way"
        )
        out.say("  wait for the next update")
    return 0
