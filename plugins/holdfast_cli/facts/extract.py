"""``holdfast extract``: facts out of a recorded conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.text.humanize import ago, count, some
from holdfast_cli.command import Answer, Call, Command, argument, flag
from holdfast_cli.facts.remember import as_table as outcome
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Cell, Term

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast_app.facts.extraction.extract import ExtractResult, Judged
    from holdfast_app.facts.extraction.queue import GivenUp

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
    if args.log and (args.transcript or args.queued or args.turns):
        raise UsageError("--log extracts nothing.", next_step="Give --log alone.")
    if not (args.transcript or args.queued or args.turns or args.log):
        raise UsageError("There is nothing to extract from.", next_step="Give --transcript FILE, --turns or --queued.")
    memory = call.memory
    if args.log:
        return _log(memory)
    result = ExtractResult()
    if args.transcript:
        transcript = memory.read_transcript(args.transcript)
        result += memory.extract(transcript.messages, source=transcript.session_id)
    if args.turns:
        result += memory.extract_turns()
    if args.queued:
        result += memory.extract_queued()
    failed = bool(result.failures or result.given_up)
    idle = not args.transcript and not failed and not result.retried
    text = "Nothing waits to be extracted." if idle else lambda out: _print(out, result)
    return Answer(as_table(result), text, ok=not failed)


def _print(out: Term, result: ExtractResult) -> None:
    if result.judged:
        out.say(out.table([_row(out, judged) for judged in result.judged]))
        rest = len(result.judged) - len(result.added)
        out.say(f"{count(len(result.added), 'fact')} added{f', {rest:,} not stored' if rest else ''}.")
    elif not result.failures and not result.given_up:
        out.say("Nothing was proposed.")
    if result.profile:
        out.say("The profile was updated.")
    if result.evicted:
        out.say(f"The store was full. Evicted: {some(result.evicted)}")
    for failure in result.failures:
        out.note("fail", failure)
    for gone in result.given_up:
        error = "" if any(failure.startswith(gone.error) for failure in result.failures) else gone.error
        out.note("fail", f"given up: {_sentence(gone)} {error}")
    if result.queued:
        out.say("Failed turns will be retried. `holdfast extract --queued` retries them now.")
    if result.given_up:
        out.say("Abandoned turns are not retried. `holdfast extract --log` lists them.")


def _sentence(gone: GivenUp) -> str:
    turns = count(gone.turns, "turn") + (f" of {gone.source}" if gone.source else "")
    reader = f" for {', '.join(gone.plugins)}" if gone.plugins else ""
    return f"{turns}{reader}, tried {count(gone.attempts, 'time')}; {gone.why}."


def _log(memory: Holdfast) -> Answer:
    entries, now = memory.turns_given_up(), memory.services.now()
    rows = [((ago(one.at, now), "dim"), f"{_sentence(one)} {one.error}") for one in entries]
    return Answer({"given_up": entries}, lambda out: out.say(out.table(rows) or "No turn was abandoned."))


def _row(out: Term, judged: Judged) -> tuple[Cell, ...]:
    result, candidate = judged.result, judged.candidate
    what = f"duplicate of {result.duplicate_of}" if result.duplicate_of else str(result.outcome)
    reason = f" ({result.reason})" if result.reason else ""
    content = result.fact.content if result.fact else str(candidate.content)
    return out.mark_cell(_MARKS[result.outcome]), what, (str(candidate.category), "dim"), content + reason


def as_table(result: ExtractResult) -> dict[str, object]:
    """The result as JSON data. Refused candidates give only the reason, because their text did not pass the gate."""
    keys = ("added", "evicted", "failures", "queued", "retried", "given_up", "profile")
    candidates = [{"plugin": judged.plugin, **outcome(judged.result)} for judged in result.judged]
    return {"candidates": candidates, **{key: getattr(result, key) for key in keys}}
