"""``holdfast remember``: store one fact; and ``holdfast prompt``: profile and facts as a block for a system prompt."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from holdfast.storage import snapshot
from holdfast.text.humanize import some
from holdfast.text.stored import CATEGORIES, DEFAULT_CATEGORY, DEFAULT_CONFIDENCE
from holdfast_cli.command import Answer, Call, Command, argument, flag, positive
from holdfast_cli.problem import UsageError
from holdfast_cli.stdin import text_of
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from holdfast.models import AddResult, Fact


def confidence(text: str) -> float:
    """A confidence from the command line. Raises: UsageError."""
    from holdfast_app.facts.store.checks import check_confidence

    try:
        return check_confidence(float(text))
    except ValueError:
        raise UsageError(f"--confidence takes a number from 0.0 to 1.0, not {ascii(text)[:40]}.") from None


@Command(
    "Save",
    "store one fact",
    argument("content", metavar="TEXT", help="the fact; `-` reads it from stdin"),
    argument(
        "--category",
        metavar="NAME",
        default=DEFAULT_CATEGORY,
        help=f"{', '.join(CATEGORIES[:-1])} or {CATEGORIES[-1]} (default: {DEFAULT_CATEGORY})",
    ),
    argument(
        "--confidence",
        metavar="N",
        type=confidence,
        default=DEFAULT_CONFIDENCE,
        help=f"the fact's confidence, 0.0 to 1.0 (default: {DEFAULT_CONFIDENCE})",
    ),
    argument("--source", metavar="TEXT", default="", help="the fact's origin"),
    examples=(
        'holdfast remember "Prefers tabs" --category preference --confidence 0.9',
        "git log -1 --format=%s | holdfast remember - --source git",
    ),
    caution=True,
)
def remember(call: Call) -> Answer:
    """Store it. Exit code 1 when it was not stored and is not known either."""
    from holdfast.models import AddOutcome

    args, memory = call.args, call.memory
    result = memory.facts.remember(text_of(args.content), args.category, args.confidence, args.source)
    if result.fact is not None:
        from attrs import evolve

        result = evolve(result, fact=memory.facts.shown([result.fact])[0])

    def show(out: Term) -> None:
        if result.fact is None:
            out.say(f"{out.mark('fail')} not stored: {out.plain(result.reason)}")
        else:
            added = result.outcome is AddOutcome.ADDED
            said = f"{out.mark('ok')} remembered" if added else f"{out.mark('dot')} known already"
            out.say(f"{said} as {out.bold(result.fact.id)}  {out.dim(kind(result.fact))}")
        if result.replaced:
            out.say(f"  it replaces {some(result.replaced)}; `holdfast facts log` has the content")
        if result.evicted:
            out.say(f"  the store was full. Evicted: {some(result.evicted)}")

    return Answer(as_table(result), show, ok=result.outcome in (AddOutcome.ADDED, AddOutcome.DUPLICATE))


def kind(fact: Fact) -> str:
    """Category and confidence, as a prompt shows them."""
    return f"{fact.category} | {fact.confidence:.2f}"


def as_table(result: AddResult) -> dict[str, object]:
    """The outcome of storing a fact, as JSON data."""
    from holdfast.config.serde import fact_out

    keys = ("outcome", "fact", "duplicate_of", "evicted", "reason", "replaced")
    return {key: getattr(result, key) for key in keys} | {"fact": fact_out(result.fact) if result.fact else None}


@Command(
    "Resume and search",
    "print the profile and facts as a block for a system prompt",
    argument("--max-tokens", metavar="N", type=positive, help="the budget (default: 2000, or as configured)"),
    flag("--fenced", "mark it as recalled data, with < > & escaped"),
    examples=("holdfast prompt --max-tokens 2000", "holdfast prompt --fenced --json"),
)
def prompt(call: Call) -> Answer:
    """The block."""
    from holdfast_app.facts.counters import counter

    memory = call.memory
    with snapshot():  # one round trip
        text = memory.prompt(call.args.max_tokens, fenced=call.args.fenced)
        settled = memory.config.prompt
        shown = sum(line.startswith("- [") for line in text.rpartition("Facts:\n")[2].splitlines())
        left_out = memory.facts.count() - shown
    budget = settled.max_tokens if call.args.max_tokens is None else call.args.max_tokens

    def show(out: Term) -> None:
        if text:
            out.exact(text + "\n")
        elif out.is_tty and not left_out:
            out.say("There is nothing to put into a prompt yet.")
        if left_out and not shown:
            Term(sys.stderr).note(
                "warn",
                f"The block has no fact, because the strongest of {left_out:,} exceeds the {budget:,} tokens, or a"
                " validator refuses it now. `holdfast facts list --order confidence --limit 1` shows it.",
            )

    tokens = counter(settled.counter)(text) if call.json else 0
    table = {"text": text, "tokens": tokens, "max_tokens": budget, "facts": shown, "left_out": left_out}
    return Answer(table, show)
