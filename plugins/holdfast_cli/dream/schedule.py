"""``holdfast schedule``: set up the nightly dream with the system's own scheduler."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from holdfast_cli.args import add_json, examples
from holdfast_cli.terminal import Term

#: The help heading for the command, and its summary line.
HEADING = "Consolidate"
SUMMARY = "set up the nightly dream with the system's scheduler"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=("install", "remove", "status"), help="the action")
    parser.add_argument(
        "--with",
        dest="kind",
        choices=("systemd", "cron", "launchd", "windows"),
        help="scheduler to use (default: detected)",
    )
    parser.add_argument("--print", dest="only_print", action="store_true", help="show the setup without installing it")
    add_json(parser)
    parser.epilog = (
        examples("holdfast schedule install --print", "holdfast schedule install", "holdfast schedule status")
        + "\n\nIt runs `holdfast dream --if-due` once a day, at the time of `[dream] at`, without a holdfast daemon."
        "\nThe run also stores the previous day's report."
    )


def run(args: Namespace) -> int:
    from holdfast.config import resolved, settings
    from holdfast_cli.dream import schedulers

    root = settings.find_root(args.root)
    kind = schedulers.Kind(args.kind) if args.kind else schedulers.detect()
    at = resolved.load(root).dream.at
    made = schedulers.plan(kind, root, at=at)
    out = Term()
    if args.only_print:
        if args.json:
            out.json(
                {"ok": True, "kind": str(kind), "name": made.name, "at": at, "installed": False, "plan": str(made)}
            )
        else:
            out.exact(str(made))
        return 0
    if args.action == "install":
        schedulers.install(made)
        installed, said = True, f"the dream runs daily at {at} ({kind}, {made.name})"
    elif args.action == "remove":
        said = "the nightly dream was removed" if schedulers.remove(made) else "there was no nightly dream"
        installed = False
    else:
        installed = schedulers.is_installed(made)
        said = f"the dream runs daily ({kind}, {made.name})" if installed else f"no nightly dream is set up ({kind})"
    if args.json:
        out.json(
            {"ok": True, "kind": str(kind), "name": made.name, "at": at, "installed": installed, "plan": str(made)}
        )
    else:
        out.say(out.wrapped(said, first=f"{out.mark('ok' if installed else 'dot')} ", rest="  "))
    return 0
