"""``holdfast prompt``: profile and facts as a block for a system prompt."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from holdfast.storage import snapshot
from holdfast_cli.args import add_json, examples, positive
from holdfast_cli.terminal import Term

#: The command's help heading, and its summary line.
HEADING = "Resume and search"
SUMMARY = "print the profile and facts as a block for a system prompt"


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--max-tokens", metavar="N", type=positive("max-tokens"), help="the budget (default: 2000, or as configured)"
    )
    parser.add_argument("--fenced", action="store_true", help="mark it as recalled data, with < > & escaped")
    add_json(parser)
    parser.epilog = examples("holdfast prompt --max-tokens 2000", "holdfast prompt --fenced --json")


def run(args: Namespace) -> int:
    from holdfast import Holdfast
    from holdfast_app.facts.counters import counter

    out = Term()
    with Holdfast.open(args.root) as memory, snapshot():  # one round trip
        text = memory.prompt(args.max_tokens, fenced=args.fenced)
        settled = memory.config.prompt
        shown = sum(line.startswith("- [") for line in text.rpartition("Facts:\n")[2].splitlines())
        left_out = memory.facts.count() - shown
    budget = settled.max_tokens if args.max_tokens is None else args.max_tokens
    if args.json:
        told = {"text": text, "tokens": counter(settled.counter)(text), "max_tokens": budget}
        out.json({"ok": True, **told, "facts": shown, "left_out": left_out})
    elif text:
        out.exact(text + "\n")
    elif out.is_tty and not left_out:
        out.say("There is nothing to put into a prompt yet.")
    if left_out and not shown and not args.json:
        err = Term(sys.stderr)
        none = (
            f"The block has no fact, because the strongest of {left_out:,} exceeds the {budget:,} tokens, or a"
            " validator refuses it now. `holdfast facts list --order confidence --limit 1` shows it."
        )
        err.say(err.wrapped(none, first=f"{err.mark('warn')} ", rest="  "))
    return 0
