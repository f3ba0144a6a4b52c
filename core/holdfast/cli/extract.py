"""``holdfast extract``: facts out of a recorded conversation."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from holdfast.cli.args import add_json, examples
from holdfast.cli.problem import UsageError
from holdfast.cli.term import Term
from holdfast.cli.words import count

if TYPE_CHECKING:
    from holdfast.extract import ExtractResult, Judged

_MARKS = {"added": "ok", "duplicate": "dot", "below threshold": "dot", "refused": "fail"}


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("--transcript", metavar="FILE", help="what a client recorded, or a list of messages")
    parser.add_argument("--queued", action="store_true", help="try again what waits since an extraction failed")
    add_json(parser)
    parser.epilog = (
        examples("holdfast extract --transcript session.jsonl", "holdfast extract --queued")
        + "\n\nThe enabled plugins with on_extract are asked; texts are redacted before. Nothing is journalled."
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast
    from holdfast.extract import ExtractResult

    if not args.transcript and not args.queued:
        raise UsageError("There is nothing to extract from.", next_step="Give --transcript FILE, or --queued.")
    with Holdfast.open(args.root) as memory:
        result = ExtractResult()
        if args.transcript:
            from holdfast.transcripts import read

            transcript = read(args.transcript)
            result += memory.extract(transcript.messages, source=transcript.session_id)
        if args.queued:
            result += memory.extract_queued()
    out = Term()
    if args.json:
        out.json({"ok": not result.failures, **as_table(result)})
    else:
        _print(result, out)
    return 1 if result.failures else 0


def _print(result: ExtractResult, out: Term) -> None:
    if result.judged:
        out.say(out.table([_row(judged, out) for judged in result.judged]))
    known = len(result.judged) - len(result.added)
    beside = f", {known:,} not stored" if known else ""
    out.say(f"{count(len(result.added), 'fact')} added{beside}." if result.judged else "Nothing was proposed.")
    if result.profile:
        out.say("The profile was brought up to date.")
    if result.evicted:
        out.say(f"The store was full; what left: {', '.join(result.evicted)}")
    for failure in result.failures:
        out.say(out.wrapped(failure, first=f"{out.mark('fail')} ", rest="  "))
    if result.queued:
        out.say("What failed waits to be tried again: `holdfast extract --queued` does it now.")


def _row(judged: Judged, out: Term) -> list[str | tuple[str, str]]:
    result, candidate = judged.result, judged.candidate
    what = str(result.outcome)
    if result.duplicate_of:
        what = f"duplicate of {result.duplicate_of}"
    reason = f" ({result.reason})" if result.reason else ""
    content = result.fact.content if result.fact else str(candidate.content)
    return [out.mark_cell(_MARKS[result.outcome]), what, (str(candidate.category), "dim"), content + reason]


def as_table(result: ExtractResult) -> dict[str, object]:
    """The result for programs. Of what was refused only the reason is told: its text did not pass the gate."""
    from holdfast.cli.remember import as_table as outcome

    return {
        "candidates": [{"plugin": judged.plugin, **outcome(judged.result)} for judged in result.judged],
        "added": list(result.added),
        "evicted": list(result.evicted),
        "failures": list(result.failures),
        "queued": result.queued,
        "profile": result.profile,
    }
