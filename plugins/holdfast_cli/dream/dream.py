"""``holdfast dream``: consolidate the daily notes into MEMORY.md; log, undo and review."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast_app import upkeep
from holdfast_cli.command import Answer, Call, Command, argument, flag
from holdfast_cli.dream import shown
from holdfast_cli.problem import UsageError
from holdfast_cli.stdin import read_file
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast_app.dream.dreamlog import DreamResult
    from holdfast_app.dream.state_files import Proposal


@Command(
    "Consolidate",
    "distil the daily notes into MEMORY.md, checked line by line; log, undo, review",
    argument("words", nargs="*", metavar="review", help="show a waiting dream: review [accept|reject|edit]"),
    argument("--lookback-days", metavar="N", help="days of notes to read, including today"),
    flag("--dry-run", "only show the diff; write only the run's record"),
    flag("--if-due", "for schedules: skip after a recent dream, and store yesterday's report"),
    flag("--force", "dream of the same notes again, and allow large losses"),
    flag("--undo", "restore MEMORY.md from before the last dream or undo"),
    flag("--log", "list every run, including skipped and failed ones"),
    argument("--from", dest="file", metavar="FILE", help="new text for `review edit`, instead of $EDITOR"),
    examples=(
        "holdfast dream --dry-run",
        "holdfast dream --lookback-days 7",
        "holdfast dream --undo",
        "holdfast dream --log --json",
        "holdfast dream review accept",
    ),
    notes="Exit code 1 when the dream failed; MEMORY.md is then unchanged. A skipped run is not a failure.",
    progress=True,
)
def dream(call: Call) -> Answer:
    """Dream, or show or undo a dream."""
    args = call.args
    if args.words:
        return _review(call)
    if args.log:
        runs = call.memory.dreams()
        table = {"runs": [shown.as_table(one) for one in runs]}
        return Answer(table, lambda out: shown.show_log(out, runs, call.memory.services.now()))
    days = ... if args.lookback_days is None else _days(args.lookback_days)
    memory = call.memory
    if args.undo:
        result = memory.undo_dream(force=args.force, dry_run=args.dry_run)
    else:
        if not args.dry_run:
            memory.extract_turns()
        result = memory.deep_dream(days, dry_run=args.dry_run, force=args.force, if_due=args.if_due)
        if args.if_due and not args.dry_run:
            _report(memory)
    lacks = upkeep.lacks_model(memory.services)
    return _answer(result, diff=args.dry_run or args.undo, step=f"{lacks} {upkeep.model_step()}" if lacks else "")


def _answer(result: DreamResult, *, diff: bool = False, step: str = "") -> Answer:
    def show(out: Term) -> None:
        shown.show(out, result)
        if diff:
            out.diff(result.diff, indent="  ")
        if step:
            out.next_step(step)

    return Answer(shown.as_table(result), show, ok=result.ok)


def _report(memory: Holdfast) -> None:
    """Store the previous day's report in a nightly run. The dream's result does not depend on it."""
    from holdfast.errors import HoldfastError
    from holdfast_cli.problem import show_error

    try:
        memory.store_report()
    except HoldfastError as error:
        show_error(error, as_json=False)


def _days(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise UsageError(
            f"--lookback-days takes a whole number from 0 up, not {text!a}.",
            next_step="Write it like `--lookback-days 3`.",
        )
    return int(text)


def _review(call: Call) -> Answer:
    from holdfast_app.dream import review

    words = call.args.words
    what = " ".join(words[1:])
    if words[0] != "review" or what not in ("", "accept", "reject", "edit"):
        raise UsageError(
            f"`holdfast dream` does not know {' '.join(words)!a}.",
            next_step="Use `holdfast dream review`, with accept, reject or edit after it to decide.",
        )
    if what and call.args.dry_run:
        raise UsageError("`holdfast dream review` has no dry run.", next_step="Run it alone to see the waiting dream.")
    services = call.memory.services
    if what in ("accept", "reject"):
        return _answer(review.accept(services) if what == "accept" else review.reject(services))
    found = review.waiting(services)
    if what == "edit":
        file = call.args.file
        found = review.edit(services, _edited(found) if file is None else read_file(file))
    return _answer(found.result, diff=True, step="holdfast dream review accept, reject or edit")


def _edited(found: Proposal) -> str:
    """The proposal's text after the user edited it."""
    import os
    import shlex
    import subprocess
    import tempfile

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor:
        raise UsageError("No editor is set.", next_step="Set $EDITOR, or pass the text with `--from FILE`.")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "MEMORY.md")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(found.text)
        done = subprocess.run([*shlex.split(editor), path], check=False)  # noqa: S603 - the user's own editor
        if done.returncode != 0:
            raise UsageError(f"The editor ended with exit code {done.returncode}; nothing was changed.")
        return read_file(path)
