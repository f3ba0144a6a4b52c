"""``holdfast capture``: an issue or a pattern noticed in the middle of work."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from holdfast.cli.args import add_json, examples
from holdfast.cli.term import Term

#: The heading of the help under which the command is listed, and its line there.
HEADING = "The three files"
SUMMARY = "count an issue or pattern; what recurs is written down"


def configure(parser: ArgumentParser) -> None:
    from holdfast_workflow.three import WORKFLOWS

    parser.add_argument("kind", choices=("issue", "pattern"), help="an issue becomes a gotcha, a pattern a convention")
    parser.add_argument("text", metavar="TEXT", help="what was noticed, in one sentence")
    parser.add_argument("--critical", action="store_true", help="a critical violation: write it at once")
    parser.add_argument("--workflow", choices=WORKFLOWS, default="", help="where (default: the one that is open)")
    add_json(parser)
    parser.epilog = (
        examples(
            'holdfast capture issue "the fixture leaks its port"',
            'holdfast capture pattern "handlers are named on_EVENT" --workflow review',
            'holdfast capture issue "secrets.py imports os.environ directly" --critical',
        )
        + "\n\nIt is counted, and written to patterns.md once a trigger fires: seen three times, critical, or seen in"
        "\ntwo workflows. Writes are throttled; what waits goes out with the next update and is never lost."
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast

    out = Term()
    with Holdfast.open(args.root) as memory:
        done = memory.capture(args.kind, args.text, workflow=args.workflow, critical=args.critical)
    if args.json:
        from holdfast.config.serde import unstructure

        out.json({"ok": True, **unstructure(done)})
        return 0
    seen = done.sighting
    times = "once" if seen.count == 1 else f"{seen.count} times"
    if seen.written:
        state = f"it is in patterns.md ({seen.trigger})"
    elif seen.trigger:
        state = f"it waits to be written ({seen.trigger}); the next update takes it along"
    else:
        state = "counted"
    out.say(out.wrapped(f"seen {times}: {state}", first=f"{out.mark('ok')} ", rest="  "))
    return 0
