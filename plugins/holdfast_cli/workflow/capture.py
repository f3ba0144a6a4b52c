"""``holdfast capture``: record an issue or a pattern noticed during work."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from holdfast_cli.args import add_json, examples
from holdfast_cli.terminal import Term

#: The help heading for the command, and its summary line.
HEADING = "The three files"
SUMMARY = "count an issue or pattern; recurring ones are written to patterns.md"


def configure(parser: ArgumentParser) -> None:
    from holdfast_app.workflow.three import WORKFLOWS

    parser.add_argument("kind", choices=("issue", "pattern"), help="an issue becomes a gotcha, a pattern a convention")
    parser.add_argument("text", metavar="TEXT", help="the observation, in one sentence")
    parser.add_argument("--critical", action="store_true", help="critical violation; write it immediately")
    parser.add_argument("--workflow", choices=WORKFLOWS, default="", help="its workflow (by default the open workflow)")
    add_json(parser)
    parser.epilog = (
        examples(
            'holdfast capture issue "the fixture leaks its port"',
            'holdfast capture pattern "handlers are named on_EVENT" --workflow review',
            'holdfast capture issue "secrets.py imports os.environ directly" --critical',
        )
        + "\n\nThe entry is counted, and written to patterns.md once it is critical or seen three times or in"
        "\ntwo workflows. Writes are throttled. Waiting entries are kept and written with the next update."
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
        state = f"written to patterns.md ({seen.trigger})"
    elif seen.trigger:
        state = f"waiting to be written ({seen.trigger}) with the next update"
    else:
        state = "counted"
    out.say(out.wrapped(f"seen {times}: {state}", first=f"{out.mark('ok')} ", rest="  "))
    return 0
