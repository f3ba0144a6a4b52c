"""``holdfast explain``: what an agent reads at its next start, and why."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from holdfast.cli.args import add_json, examples, positive
from holdfast.cli.term import Term
from holdfast.cli.words import count

if TYPE_CHECKING:
    from holdfast_view.loaded import Loaded, Start

#: The help section that lists the command, and its line there.
HEADING = "See it"
SUMMARY = "what an agent reads at its next start: each line with source, date and cost"


def configure(parser: ArgumentParser) -> None:
    from holdfast_view.loaded import MAX_CHARS

    parser.add_argument(
        "--max-chars",
        metavar="N",
        type=positive("max-chars"),
        default=MAX_CHARS,
        help=f"size of the brief in characters (default: {MAX_CHARS:,}, the clients' limit)",
    )
    add_json(parser)
    parser.epilog = (
        examples("holdfast explain", "holdfast explain --max-chars 2000", "holdfast explain --json")
        + "\n\nThe clients' hooks put this text before a session. `holdfast why LINE` shows where a line comes from."
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast
    from holdfast_view.loaded import start
    from holdfast_web.project import Project

    out = Term()
    with Holdfast.open(args.root) as memory:
        found = start(Project(memory), max_chars=args.max_chars)
    if args.json:
        parts = [
            {
                "name": part.name,
                "why": part.why,
                "tokens": part.tokens,
                "cut": part.cut,
                "lines": [_table(line) for line in part.lines],
            }
            for part in found.parts
        ]
        out.json({"ok": True, "tokens": found.tokens, "text": found.text, "withheld": found.withheld, "parts": parts})
        return 0
    _show(out, found)
    return 0


def _table(line: Loaded) -> dict[str, object]:
    return {
        "text": line.text,
        "tokens": line.tokens,
        "source": line.source,
        "at": line.at.isoformat() if line.at else None,
    }


def _show(out: Term, found: Start) -> None:
    out.say(f"{out.bold('The next session starts with')} {count(found.tokens, 'token')}")
    for part in found.parts:
        if not any(line.source for line in part.lines) and not part.name:
            continue
        head = out.bold(out.plain(part.name)) if part.name else out.bold("Where to go on")
        cost = count(part.tokens, "token")
        out.say(f"\n{head}  {out.dim(f'{cost}; {part.why}')}")
        rows = [
            (
                f"{line.at:%m-%d}" if line.at else "",
                str(line.tokens),
                line.source.rpartition(":")[2] if ":" in line.source else "",
                line.text.strip(),
            )
            for line in part.lines
            if line.text.strip() and not line.text.startswith("<")
        ]
        if rows:
            out.say(out.table(rows, head=("date", "tokens", "line", "text"), right=(1, 2)))
        if part.cut:
            out.say(f"  {out.mark('warn')} {count(part.cut, 'line')} left out: holdfast show {out.plain(part.name)}")
    if found.withheld:
        out.say(out.wrapped(found.withheld, first=f"\n{out.mark('warn')} ", rest="  "))
