"""``remember`` stores one fact, ``extract`` finds facts in a conversation, ``prompt`` prints them as a block."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from holdfast.config.serde import fact_out
from holdfast.models import AddOutcome, AddResult, Fact
from holdfast.storage import snapshot
from holdfast.text.humanize import ago, count, tokens
from holdfast.text.stored import CATEGORIES, DEFAULT_CATEGORY, DEFAULT_CONFIDENCE
from holdfast_app.facts.store.values import check_confidence
from holdfast_app.printable import some
from holdfast_cli.command import Answer, Call, Command, UsageError, argument, flag, picked, positive
from holdfast_cli.stdin import text_of
from holdfast_cli.terminal import Cell, Term

if TYPE_CHECKING:
    from holdfast_app.facts.extraction.extract import ExtractResult, Judged
    from holdfast_app.facts.extraction.queue import GivenUp


def confidence(text: str) -> float:
    """A confidence from the command line. Raises: UsageError."""
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
        help=f"{', '.join(CATEGORIES)} (default: {DEFAULT_CATEGORY})",
    ),
    argument(
        "--confidence",
        metavar="N",
        type=confidence,
        default=DEFAULT_CONFIDENCE,
        help=f"0.0 to 1.0 (default: {DEFAULT_CONFIDENCE})",
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
    args, memory = call.args, call.memory
    content = text_of(args.content)
    call.check_words(content, args.source)
    result = memory.facts.remember(content, args.category, args.confidence, args.source)
    out = call.out
    if result.fact is None:
        out.note("fail", f"not stored: {result.reason}")
    else:
        (fact,) = memory.facts.shown([result.fact])
        result = evolve(result, fact=fact)
        state = "remembered" if result.outcome is AddOutcome.ADDED else "known already"
        out.say(f"{out.mark('ok')} {state} as {out.bold(fact.id)}  {out.dim(kind(fact))}")
    for label, ids in (("it replaces ", result.replaced), ("the store was full. Evicted: ", result.evicted)):
        if ids:
            out.say(f"  {label}{some(ids)}; `holdfast facts log` has the content")
    return Answer(outcome_table(result), ok=result.outcome in (AddOutcome.ADDED, AddOutcome.DUPLICATE))


def kind(fact: Fact) -> str:
    """Category and confidence, as a prompt shows them."""
    return f"{fact.category} | {fact.confidence:.2f}"


def outcome_table(result: AddResult) -> dict[str, object]:
    table = picked(result, "outcome", "fact", "duplicate_of", "evicted", "reason", "replaced")
    return table | {"fact": fact_out(result.fact) if result.fact else None}


@Command(
    "Resume and search",
    "print the profile and facts as a block for a system prompt",
    argument("--max-tokens", metavar="N", type=positive, help="the budget (default: 2000, or as configured)"),
    flag("--fenced", "mark it as recalled data, with < > & escaped"),
    examples=("holdfast prompt --max-tokens 2000", "holdfast prompt --fenced --json"),
)
def prompt(call: Call) -> Answer:
    memory = call.memory
    with snapshot():  # one round trip
        text = memory.prompt(call.args.max_tokens, fenced=call.args.fenced)
        shown = sum(line.startswith("- [") for line in text.rpartition("Facts:\n")[2].splitlines())
        left_out = memory.facts.count() - shown
    budget = memory.config.prompt.max_tokens if call.args.max_tokens is None else call.args.max_tokens
    if text:
        call.out.exact(text + "\n")
    return Answer({"text": text, "tokens": tokens(text), "max_tokens": budget, "facts": shown, "left_out": left_out})


_MARKS = {"added": "ok", "duplicate": "dot", "below threshold": "dot", "refused": "fail"}


@Command(
    "Save",
    "extract facts from a recorded conversation",
    argument("--transcript", metavar="FILE", help="a client's recorded session, or a list of messages"),
    flag("--queued", "retry turns whose extraction failed"),
    flag("--turns", "extract the ended turns of every session not yet extracted"),
    flag("--log", "list the abandoned turns (they are not retried), with the reasons"),
    examples=("holdfast extract --transcript session.jsonl", "holdfast extract --queued", "holdfast extract --log"),
    notes="Calls the enabled plugins with on_extract, after redaction. Nothing is journalled.",
    progress=True,
)
def extract(call: Call) -> Answer:
    """Extract from the requested sources. Exit code 1 when a plugin failed."""
    from holdfast_app.facts.extraction.extract import ExtractResult

    args = call.args
    if bool(args.log) is bool(args.transcript or args.queued or args.turns):
        step = "Give --transcript FILE, --turns or --queued, or --log alone."
        raise UsageError("There is nothing to extract from.", next_step=step)
    memory = call.memory
    if args.log:
        entries, now = memory.turns_given_up(), memory.services.now()
        rows = [((ago(entry.at, now), "dim"), f"{_sentence(entry)} {entry.error}") for entry in entries]
        return Answer({"given_up": entries}, call.out.table(rows) or "No turn was abandoned.")
    result = ExtractResult()
    if args.transcript:
        transcript = memory.read_transcript(args.transcript)
        result += memory.extract(transcript.messages, source=transcript.session_id)
    if args.turns:
        result += memory.extract_turns()
    if args.queued:
        result += memory.extract_queued()
    _say_extracted(call.out, result)
    # Refused candidates give only the reason, because their text did not pass the gate.
    candidates = [{"plugin": judged.plugin, **outcome_table(judged.result)} for judged in result.judged]
    table = picked(result, "added", "evicted", "failures", "queued", "retried", "given_up", "profile")
    return Answer({"candidates": candidates, **table}, ok=not (result.failures or result.given_up))


def _say_extracted(out: Term, result: ExtractResult) -> None:
    out.say(out.table([_row(out, judged) for judged in result.judged]) or "Nothing was proposed.")
    rest = len(result.judged) - len(result.added)
    profile = " The profile was updated." if result.profile else ""
    out.say(f"{count(len(result.added), 'fact')} added, {rest:,} not stored.{profile}")
    if result.evicted:
        out.say(f"The store was full. Evicted: {some(result.evicted)}")
    for failure in result.failures:
        out.note("fail", failure)
    for gone in result.given_up:
        out.note("fail", f"given up: {_sentence(gone)} {gone.error}")
    if result.queued:
        out.next_step("Failed turns will be retried. `holdfast extract --queued` retries them now.")


def _sentence(gone: GivenUp) -> str:
    turns = count(gone.turns, "turn") + (f" of {gone.source}" if gone.source else "")
    reader = f" for {', '.join(gone.plugins)}" if gone.plugins else ""
    return f"{turns}{reader}, tried {count(gone.attempts, 'time')}; {gone.why}."


def _row(out: Term, judged: Judged) -> tuple[Cell, ...]:
    result, candidate = judged.result, judged.candidate
    what = f"duplicate of {result.duplicate_of}" if result.duplicate_of else str(result.outcome)
    reason = f" ({result.reason})" if result.reason else ""
    content = result.fact.content if result.fact else str(candidate.content)
    return out.mark_cell(_MARKS[result.outcome]), what, (str(candidate.category), "dim"), content + reason
