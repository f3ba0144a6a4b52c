"""``holdfast facts import``: store facts from a file and report skipped rows with the reasons."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Final

from holdfast.errors import HoldfastError
from holdfast.text.humanize import count
from holdfast_cli import progress
from holdfast_cli.args import file_name
from holdfast_cli.problem import UsageError, as_table, tell
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast_app.facts.store.factfile import ImportReport

#: Bad rows that a person is shown; ``--json`` lists all.
_SHOWN: Final = 20


class RowsLeftOut(HoldfastError):
    """Some rows of the file could not be stored. The others are stored."""


def import_file(memory: Holdfast, args: Namespace, out: Term) -> int:
    """Store rows from a file. Returns 1 when rows were skipped."""
    name = args.names[0]
    text = _text_of(name)
    before = _ids(memory)
    try:
        with progress.shown(quiet=args.json) as bar:
            report, rows = _stored(memory, text, name, bar)
    except KeyboardInterrupt:
        more = len(_ids(memory) - before)
        known = f"{count(more, 'fact')} were imported and will count as known"
        raise KeyboardInterrupt(known if more else "nothing was imported") from None
    problem = _left_out(report, rows)
    if args.json:
        out.json(
            {
                "ok": problem is None,
                "added": report.added,
                "duplicates": report.duplicates,
                "evicted": report.evicted,
                "bad": [{"row": row.number, "why": row.why} for row in report.bad],
                **({"error": as_table(problem)} if problem else {}),
            }
        )
    elif rows:
        _say(out, report)
    else:
        what = "Standard input" if name == "-" else out.plain(name)
        out.say(f"{out.mark('dot')} {what} holds no facts, so nothing was imported")
    if problem is None:
        return 0
    out.stream.flush()
    return tell(problem, as_json=False)


def _ids(memory: Holdfast) -> set[str]:
    return {fact.id for fact in memory.store.backend.facts()}  # a listing that is read as it is used


def _stored(memory: Holdfast, text: str, name: str, bar: progress.Bar | None) -> tuple[ImportReport, int]:
    """The rows' outcomes, and their number."""
    from holdfast_app.facts.store.factfile import read_rows

    rows = list(read_rows(text, name))
    return memory.facts.import_(rows, progress=(lambda done: bar(done, len(rows))) if bar else None), len(rows)


def _left_out(report: ImportReport, rows: int) -> RowsLeftOut | None:
    if not report.bad:
        return None
    return RowsLeftOut(
        f"{len(report.bad):,} of {count(rows, 'row')} {'was' if len(report.bad) == 1 else 'were'} left out.",
        next_step="Correct them, then import the file again. Facts already stored count as known.",
    )


def _say(out: Term, report: ImportReport) -> None:
    known = f", {report.duplicates:,} known already" if report.duplicates else ""
    left = f", {report.evicted:,} evicted because the store was full" if report.evicted else ""
    out.say(f"{out.mark('warn' if report.bad else 'ok')} {count(report.added, 'fact')} added{known}{left}")
    for row in report.bad[:_SHOWN]:
        out.say(out.wrapped(row.why, first=f"  {out.mark('fail')} row {row.number}: ", rest="      "))
    if len(report.bad) > _SHOWN:
        out.say(f"    and {len(report.bad) - _SHOWN:,} more; `--json` lists all")


def _text_of(name: str) -> str:
    from holdfast_cli.stdin import decode, read_text

    if name == "-":
        return read_text()
    try:
        with open(file_name(name), "rb") as file:
            return decode(file.read(), name)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(
            f"{name!r} cannot be read: {reason}.", next_step="Pass the path to a JSON or JSONL file, or `-` for stdin."
        ) from error
