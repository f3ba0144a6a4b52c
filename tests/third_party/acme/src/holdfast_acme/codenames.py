"""``holdfast codenames``: the words that must not be stored."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--upper", action="store_true", help="in capitals")
    parser.epilog = "examples:\n  holdfast codenames --upper"


def run(args: Namespace) -> int:
    from holdfast import Holdfast

    with Holdfast.open(args.root) as memory:
        words = [str(w) for w in memory.config.plugin("acme").settings.get("codenames", [])]
    print("\n".join(w.upper() if args.upper else w for w in words))
    return 0
