"""``holdfast route``: which layer a fact belongs to."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from holdfast_cli.args import add_json, examples
from holdfast_cli.terminal import Term

#: The help section that lists the command, and its line there.
HEADING = "Manage"
SUMMARY = "show which layer a fact belongs to"


def configure(parser: ArgumentParser) -> None:
    from holdfast.models import Category
    from holdfast_app.curated.routing import Horizon

    parser.add_argument(
        "--horizon", choices=[h.name.lower() for h in Horizon], required=True, help="how long it stays true"
    )
    kinds = [c.value for c in Category]
    parser.add_argument(
        "--category", metavar="NAME", choices=kinds, default="knowledge", help=f"its kind: {', '.join(kinds)}"
    )
    parser.add_argument("--validated", action="store_true", help="the fact was checked; repetition is not a check")
    add_json(parser)
    parser.epilog = examples(
        "holdfast route --horizon standing --category preference --validated", "holdfast route --horizon unsure"
    )


def run(args: Namespace) -> int:
    from holdfast.config import resolved, settings
    from holdfast_app.curated.routing import Horizon, route

    surface = route(Horizon[args.horizon.upper()], category=args.category, validated=args.validated)
    name = resolved.load(settings.find_root(args.root)).layout.pattern(surface)
    out = Term()
    if args.json:
        out.json({"ok": True, "surface": str(surface), "name": name})
    else:
        out.say(f"{out.bold(str(surface))}  {out.plain(name)}")
    return 0
