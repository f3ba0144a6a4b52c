"""``holdfast remember``: store one fact."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from holdfast.text.humanize import some
from holdfast_cli.args import add_json, examples
from holdfast_cli.problem import UsageError, caution
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from holdfast.models import AddResult, Fact

#: The command's help heading, and its summary line.
HEADING = "Save"
SUMMARY = "store one fact"


def configure(parser: ArgumentParser) -> None:
    from holdfast.facts.factrules import CATEGORIES, DEFAULT_CATEGORY, DEFAULT_CONFIDENCE

    parser.add_argument("content", metavar="TEXT", help="the fact; `-` reads it from stdin")
    parser.add_argument(
        "--category",
        metavar="NAME",
        default=DEFAULT_CATEGORY,
        help=f"{', '.join(CATEGORIES[:-1])} or {CATEGORIES[-1]} (default: {DEFAULT_CATEGORY})",
    )
    add_confidence(parser, default=DEFAULT_CONFIDENCE)
    parser.add_argument("--source", metavar="TEXT", default="", help="the fact's origin")
    add_json(parser)
    parser.epilog = examples(
        'holdfast remember "Prefers tabs" --category preference --confidence 0.9',
        "git log -1 --format=%s | holdfast remember - --source git",
    )


def add_confidence(parser: ArgumentParser, *, default: float | None = None) -> None:
    """``--confidence``."""
    shown = "" if default is None else f" (default: {default})"
    parser.add_argument(
        "--confidence", metavar="N", type=number, default=default, help=f"the fact's confidence, 0.0 to 1.0{shown}"
    )


def number(text: str) -> float:
    """A confidence from the command line. Raises: UsageError."""
    from holdfast_app.facts.store.checks import check_confidence

    try:
        return check_confidence(float(text))
    except ValueError:
        raise UsageError(f"--confidence takes a number from 0.0 to 1.0, not {ascii(text)[:40]}.") from None


def run(args: Namespace) -> int:
    from holdfast import Holdfast
    from holdfast.models import AddOutcome

    content = args.content
    if content == "-":
        from holdfast_cli.stdin import read_text

        content = read_text()
    from attrs import evolve

    with Holdfast.open(args.root) as memory:
        caution(memory.services.notices)
        result = memory.facts.remember(content, args.category, args.confidence, args.source)
        if result.fact is not None:
            result = evolve(result, fact=memory.facts.shown([result.fact])[0])
    kept = result.outcome in (AddOutcome.ADDED, AddOutcome.DUPLICATE)
    out = Term()
    if args.json:
        out.json({"ok": kept, **as_table(result)})
        return 0 if kept else 1
    if result.outcome is AddOutcome.ADDED and result.fact:
        out.say(f"{out.mark('ok')} remembered as {out.bold(result.fact.id)}  {out.dim(kind(result.fact))}")
    elif result.fact:
        out.say(f"{out.mark('dot')} known already as {out.bold(result.fact.id)}  {out.dim(kind(result.fact))}")
    else:
        out.say(f"{out.mark('fail')} not stored: {out.plain(result.reason)}")
    if result.replaced:
        out.say(f"  it replaces {some(result.replaced)}; `holdfast facts log` has the content")
    if result.evicted:
        out.say(f"  the store was full. Evicted: {some(result.evicted)}")
    return 0 if kept else 1


def kind(fact: Fact) -> str:
    """Category and confidence, as a prompt shows them."""
    return f"{fact.category} | {fact.confidence:.2f}"


def as_table(result: AddResult) -> dict[str, object]:
    """The outcome of storing a fact, as JSON data."""
    from holdfast.config.serde import fact_out

    return {
        "outcome": str(result.outcome),
        "fact": fact_out(result.fact) if result.fact else None,
        "duplicate_of": result.duplicate_of,
        "evicted": list(result.evicted),
        "reason": result.reason,
        "replaced": list(result.replaced),
    }
