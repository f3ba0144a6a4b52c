"""``holdfast layers``: where memory lives; and ``holdfast route``: which layer a fact belongs to."""

from __future__ import annotations

from holdfast.config import resolved
from holdfast.models import Category
from holdfast_app.curated.layers import layers as all_layers
from holdfast_app.curated.routing import Horizon
from holdfast_app.curated.routing import route as surface_of
from holdfast_cli.command import Answer, Call, Command, argument, flag
from holdfast_cli.terminal import Term


@Command(
    "Manage",
    "show where each kind of memory lives, who owns it and who reads it",
    examples=("holdfast layers", "holdfast layers --json"),
)
def layers(call: Call) -> Answer:
    """Every layer of the project's layout."""
    rows = all_layers(resolved.load(call.root).layout)

    def show(out: Term) -> None:
        width = max(len(layer.surface) for layer in rows) + 4
        for at, layer in enumerate(rows):
            title = f"{out.style(layer.surface.ljust(width - 2), 'bold', 'cyan')}{out.plain(layer.name)}"
            out.say(f"\n  {title}" if at else f"  {title}")
            out.fill(f"{layer.role}.", " " * width)
            for line in out.wrapped(f"{layer.audience}; owner: {layer.owner}", first=" " * width).split("\n"):
                out.say(out.dim(line))

    return Answer({"layers": [layer._asdict() for layer in rows]}, show)


@Command(
    "Manage",
    "show which layer a fact belongs to",
    argument("--horizon", choices=[h.name.lower() for h in Horizon], required=True, help="how long it stays true"),
    argument(
        "--category",
        metavar="NAME",
        choices=[c.value for c in Category],
        default="knowledge",
        help=f"its kind: {', '.join(c.value for c in Category)}",
    ),
    flag("--validated", "the fact was checked; repetition is not a check"),
    examples=("holdfast route --horizon standing --category preference --validated", "holdfast route --horizon unsure"),
)
def route(call: Call) -> Answer:
    """The layer, and its document's name."""
    args, out = call.args, call.out
    surface = surface_of(Horizon[args.horizon.upper()], category=args.category, validated=args.validated)
    name = resolved.load(call.root).layout.pattern(surface)
    return Answer({"surface": str(surface), "name": name}, f"{out.bold(str(surface))}  {out.plain(name)}")
