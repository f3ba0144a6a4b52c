"""``holdfast extract``: facts out of a recorded conversation."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from holdfast.text.humanize import ago, count, some
from holdfast_cli import progress
from holdfast_cli.args import add_json, examples, file_name
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast_app.facts.extraction.extract import ExtractResult, Judged
    from holdfast_app.facts.extraction.queue import GivenUp

#: The command's help heading, and its summary line.
HEADING = "Save"
SUMMARY = "extract facts from a recorded conversation"

_MARKS = {"added": "ok", "duplicate": "dot", "below threshold": "dot", "refused": "fail"}


def configure(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--transcript", metavar="FILE", type=file_name, help="a client's recorded session, or a list of messages"
    )
    parser.add_argument("--queued", action="store_true", help="retry turns whose extraction failed")
    parser.add_argument(
        "--turns", action="store_true", help="extract the ended turns of every session not yet extracted"
    )
    parser.add_argument(
        "--log", action="store_true", help="list the abandoned turns (they are not retried), with the reasons"
    )
    add_json(parser)
    parser.epilog = (
        examples("holdfast extract --transcript session.jsonl", "holdfast extract --queued", "holdfast extract --log")
        + "\n\nCalls the enabled plugins with on_extract, after redaction. Nothing is journalled."
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast
    from holdfast_app.facts.extraction.extract import ExtractResult

    if args.log and (args.transcript or args.queued or args.turns):
        raise UsageError("--log extracts nothing.", next_step="Give --log alone.")
    if not (args.transcript or args.queued or args.turns or args.log):
        raise UsageError("There is nothing to extract from.", next_step="Give --transcript FILE, --turns or --queued.")
    with Holdfast.open(args.root) as memory, progress.shown(quiet=args.json):
        if args.log:
            return _log(memory, Term(), as_json=args.json)
        result = ExtractResult()
        if args.transcript:
            transcript = memory.read_transcript(args.transcript)
            result += memory.extract(transcript.messages, source=transcript.session_id)
        if args.turns:
            result += memory.extract_turns()
        if args.queued:
            result += memory.extract_queued()
    out = Term()
    failed = bool(result.failures or result.given_up)
    if args.json:
        out.json({"ok": not failed, **as_table(result)})
    elif not args.transcript and not failed and not result.retried:
        out.say("Nothing waits to be extracted.")
    else:
        _print(result, out)
    return 1 if failed else 0


def _print(result: ExtractResult, out: Term) -> None:
    if result.judged:
        out.say(out.table([_row(judged, out) for judged in result.judged]))
    known = len(result.judged) - len(result.added)
    known_too = f", {known:,} not stored" if known else ""
    if result.judged:
        out.say(f"{count(len(result.added), 'fact')} added{known_too}.")
    elif not result.failures and not result.given_up:
        out.say("Nothing was proposed.")
    if result.profile:
        out.say("The profile was updated.")
    if result.evicted:
        out.say(f"The store was full. Evicted: {some(result.evicted)}")
    for failure in result.failures:
        out.say(out.wrapped(failure, first=f"{out.mark('fail')} ", rest="  "))
    for gone in result.given_up:
        error = "" if any(failure.startswith(gone.error) for failure in result.failures) else gone.error
        out.say(out.wrapped(f"given up: {_sentence(gone)} {error}", first=f"{out.mark('fail')} ", rest="  "))
    if result.queued:
        out.say("Failed turns will be retried. `holdfast extract --queued` retries them now.")
    if result.given_up:
        out.say("Abandoned turns are not retried. `holdfast extract --log` lists them.")


def _sentence(gone: GivenUp) -> str:
    turns = count(gone.turns, "turn") + (f" of {gone.source}" if gone.source else "")
    reader = f" for {', '.join(gone.plugins)}" if gone.plugins else ""
    return f"{turns}{reader}, tried {count(gone.attempts, 'time')}; {gone.why}."


def _log(memory: Holdfast, out: Term, *, as_json: bool) -> int:
    from holdfast.config.serde import unstructure

    entries = memory.turns_given_up()
    if as_json:
        out.json({"ok": True, "given_up": [unstructure(one) for one in entries]})
    elif entries:
        now = memory.services.now()
        out.say(out.table([((ago(one.at, now), "dim"), f"{_sentence(one)} {one.error}") for one in entries]))
    else:
        out.say("No turn was abandoned.")
    return 0


def _row(judged: Judged, out: Term) -> list[str | tuple[str, str]]:
    result, candidate = judged.result, judged.candidate
    what = str(result.outcome)
    if result.duplicate_of:
        what = f"duplicate of {result.duplicate_of}"
    reason = f" ({result.reason})" if result.reason else ""
    content = result.fact.content if result.fact else str(candidate.content)
    return [out.mark_cell(_MARKS[result.outcome]), what, (str(candidate.category), "dim"), content + reason]


def as_table(result: ExtractResult) -> dict[str, object]:
    """The result as JSON data. Refused candidates give only the reason, because their text did not pass the gate."""
    from holdfast.config.serde import unstructure
    from holdfast_cli.facts.remember import as_table as outcome

    return {
        "candidates": [{"plugin": judged.plugin, **outcome(judged.result)} for judged in result.judged],
        "added": list(result.added),
        "evicted": list(result.evicted),
        "failures": list(result.failures),
        "queued": result.queued,
        "retried": result.retried,
        "given_up": [unstructure(gone) for gone in result.given_up],
        "profile": result.profile,
    }
