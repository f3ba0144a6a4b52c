"""``holdfast prompt``: profile and facts as a block for a system prompt."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from holdfast.cli.args import add_json, examples, positive
from holdfast.cli.term import Term


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--max-tokens", metavar="N", type=positive("max-tokens"), help="the budget (default: 2000, or as configured)"
    )
    parser.add_argument("--fenced", action="store_true", help="mark it as recalled data, with < > & escaped")
    add_json(parser)
    parser.epilog = examples("holdfast prompt --max-tokens 2000", "holdfast prompt --fenced --json")


def run(args: Namespace) -> int:
    from holdfast import Holdfast
    from holdfast.counters import counter

    out = Term()
    with Holdfast.open(args.root) as memory:
        text = memory.prompt(args.max_tokens, fenced=args.fenced)
        settled = memory.config.prompt
    if args.json:
        budget = settled.max_tokens if args.max_tokens is None else args.max_tokens
        out.json({"ok": True, "text": text, "tokens": counter(settled.counter)(text), "max_tokens": budget})
    elif text:
        out.exact(text + "\n")
    elif out.is_tty:
        out.say("There is nothing to put into a prompt yet.")
    return 0
