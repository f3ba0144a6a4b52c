"""``holdfast dream``: consolidate the daily notes into MEMORY.md; log, undo and review."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from holdfast_cli import progress
from holdfast_cli.args import add_json, examples, file_name
from holdfast_cli.dream import shown
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast_app.dream.state_files import Proposal

#: The help heading for the command, and its summary line.
HEADING = "Consolidate"
SUMMARY = "distil the daily notes into MEMORY.md, checked line by line; log, undo, review"

#: Maximum pieces of conversation to extract with a model before a dream. For users who work only through a client's
#: hooks, the nightly run is the only command that does this.
_PIECES = 20
_REVIEWS = ("", "accept", "reject", "edit")


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="review", help="show a waiting dream: review [accept|reject|edit]")
    parser.add_argument("--lookback-days", metavar="N", help="days of notes to read, including today")
    parser.add_argument("--dry-run", action="store_true", help="only show the diff; write only the run's record")
    parser.add_argument(
        "--if-due",
        action="store_true",
        help="for schedules: skip after a recent dream, and store yesterday's report",
    )
    parser.add_argument("--force", action="store_true", help="dream of the same notes again, and allow large losses")
    parser.add_argument("--undo", action="store_true", help="restore MEMORY.md from before the last dream or undo")
    parser.add_argument("--log", action="store_true", help="list every run, including skipped and failed ones")
    parser.add_argument(
        "--from", dest="file", metavar="FILE", type=file_name, help="new text for `review edit`, instead of $EDITOR"
    )
    add_json(parser)
    parser.epilog = (
        examples(
            "holdfast dream --dry-run",
            "holdfast dream --lookback-days 7",
            "holdfast dream --undo",
            "holdfast dream --log --json",
            "holdfast dream review accept",
        )
        + "\n\nExit code 1 when the dream failed; MEMORY.md is then unchanged. A skipped run is not a failure."
    )


def run(args: Namespace) -> int:
    from holdfast import Holdfast

    out = Term()
    if args.words and (args.words[0] != "review" or len(args.words) > 2 or " ".join(args.words[1:]) not in _REVIEWS):
        raise UsageError(
            f"`holdfast dream` does not know {' '.join(args.words)!a}.",
            next_step="Use `holdfast dream review`, with accept, reject or edit after it to decide.",
        )
    if args.words[1:] and args.dry_run:
        raise UsageError(
            "`holdfast dream review` has no dry run.",
            next_step="Run it alone to see the waiting dream.",
        )
    with Holdfast.open(args.root) as memory:
        if args.words:
            return _review(memory, " ".join(args.words[1:]), args, out)
        if args.log:
            runs = memory.dreams()
            if args.json:
                out.json({"ok": True, "runs": [shown.as_table(r) for r in runs]})
            else:
                shown.show_log(out, runs, memory.services.now())
            return 0
        if args.undo:
            result = memory.undo_dream(force=args.force, dry_run=args.dry_run)
        else:
            days = ... if args.lookback_days is None else _days(args.lookback_days)
            with progress.shown(quiet=args.json):
                if not args.dry_run:
                    memory.extract_queued(due=_PIECES)
                result = memory.deep_dream(days, dry_run=args.dry_run, force=args.force, if_due=args.if_due)
            if args.if_due and not args.dry_run:
                _report(memory)
    if args.json:
        out.json(shown.as_table(result))
    else:
        shown.show(out, result)
        if args.dry_run or args.undo:
            shown.show_diff(out, result.diff)
    return 0 if result.ok else 1


def _report(memory: Holdfast) -> None:
    """Store the previous day's report in a nightly run. The dream's result does not depend on it."""
    from holdfast.errors import HoldfastError
    from holdfast_cli.problem import tell

    try:
        memory.store_report()
    except HoldfastError as error:
        tell(error, as_json=False)


def _days(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise UsageError(
            f"--lookback-days takes a whole number from 0 up, not {text!a}.",
            next_step="Write it like `--lookback-days 3`.",
        )
    return int(text)


def _review(memory: Holdfast, what: str, args: Namespace, out: Term) -> int:
    from holdfast_app.dream import review

    services = memory.services
    if what in ("accept", "reject"):
        result = review.accept(services) if what == "accept" else review.reject(services)
        if args.json:
            out.json(shown.as_table(result))
        else:
            shown.show(out, result)
        return 0
    found = review.waiting(services)
    if what == "edit":
        found = review.edit(services, _edited(found, args.file))
    if args.json:
        out.json(shown.as_table(found.result))
        return 0
    shown.show(out, found.result)
    shown.show_diff(out, found.result.diff)
    out.say(f"  {out.dim('next:')} holdfast dream review accept, reject or edit")
    return 0


def _edited(found: Proposal, file: str | None) -> str:
    """A file's text, or the proposal's text after the user edited it."""
    import os
    import shlex
    import subprocess
    import tempfile

    if file is not None:
        return _read(file)
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
        return _read(path)


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path!a} cannot be read: {error}.", next_step="Pass the path of a UTF-8 file.") from error
