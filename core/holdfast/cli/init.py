"""``holdfast init``: set the project up."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from holdfast.cli.args import add_json, examples
from holdfast.cli.term import Term, home_short


def configure(parser: ArgumentParser) -> None:
    from holdfast.layout import PRESETS

    parser.add_argument("--layout", choices=sorted(PRESETS), default="default", help="where each kind of memory lives")
    parser.add_argument("--zone", default="local", help="time zone of file names and headers, like Europe/Berlin")
    parser.add_argument("--strict", action="store_true", help="a flush without a complete payload blocks, a few times")
    add_json(parser)
    parser.epilog = (
        examples("holdfast init", "holdfast init --layout timmy --zone UTC", "holdfast init --strict")
        + "\n\nDoing it again changes nothing."
    )


def run(args: Namespace) -> int:
    from holdfast import project

    done = project.set_up(project.place(args.root), layout=args.layout, zone=args.zone, strict=args.strict)
    out = Term()
    if args.json:
        out.json({"ok": True, "root": done.root, "made": list(done.made), "kept": list(done.kept)})
        return 0
    what = "holdfast is set up in" if done.made else "nothing was changed: holdfast is set up in"
    out.say(f"{out.mark('ok')} {what} {out.bold(home_short(done.root))}")
    notes = {"holdfast.toml": "the settings", "state/": "private to this machine, ignored by git"}
    rows = [(name, "made", next((t for n, t in notes.items() if name.endswith(n)), "")) for name in done.made]
    rows += [(name, "kept", "") for name in done.kept]
    out.say(out.table(rows))
    if done.made:
        out.say(f"\n  next: {out.style('holdfast doctor', 'cyan')}")
    return 0
