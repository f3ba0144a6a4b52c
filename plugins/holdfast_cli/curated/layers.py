"""``holdfast layers``: the doctrine's table of where memory lives."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from holdfast_cli.args import add_json, examples
from holdfast_cli.terminal import Term

HEADING = "Manage"
SUMMARY = "show where each kind of memory lives, who owns it and who reads it"


def configure(parser: ArgumentParser) -> None:
    add_json(parser)
    parser.epilog = examples("holdfast layers", "holdfast layers --json")


def run(args: Namespace) -> int:
    from holdfast.config import resolved, settings
    from holdfast_app.curated.layers import layers

    rows = layers(resolved.load(settings.find_root(args.root)).layout)
    out = Term()
    if args.json:
        out.json({"ok": True, "layers": [layer._asdict() for layer in rows]})
        return 0
    width = max(len(layer.surface) for layer in rows) + 4
    for at, layer in enumerate(rows):
        if at:
            out.say()
        out.say(f"  {out.style(layer.surface.ljust(width - 2), 'bold', 'cyan')}{out.plain(layer.name)}")
        out.say(out.wrapped(f"{layer.role}.", first=" " * width))
        for line in out.wrapped(f"{layer.audience}; owner: {layer.owner}", first=" " * width).split("\n"):
            out.say(out.dim(line))
    return 0
