"""``dream`` distils the notes into MEMORY.md. ``diff`` shows its changes."""

import faulthandler
from contextlib import ExitStack, suppress
from typing import Final

from holdfast.config.serde import unstructure
from holdfast.errors import HoldfastError
from holdfast_app import upkeep
from holdfast_app.dream import when, write
from holdfast_app.dream.dreamlog import DreamResult, Status
from holdfast_app.search import index
from holdfast_app.view.project import Project
from holdfast_cli.command import Answer, Call, Command, argument, at_least, flag
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Term

_MARKS = {Status.DONE: "ok", Status.UNDONE: "ok", Status.REJECTED: "ok", Status.PROPOSED: "warn", Status.FAILED: "fail"}
_COUNTED = ("kept", "added", "merged", "replaced", "archived", "dropped", "refused")


def counts(result: DreamResult) -> str:
    """``3 kept, 2 added, 1 refused``."""
    numbers = {name: len(getattr(result, name)) for name in _COUNTED}
    return ", ".join(f"{number} {name}" for name, number in numbers.items() if number)


#: Lists of a run's lines: attribute, mark, style.
_GONE: Final = (
    ("merged", "~", "cyan"),
    ("replaced", ">", "cyan"),
    ("archived", "=", "cyan"),
    ("dropped", "-", "yellow"),
    ("refused", "x", "red"),
)


def show_run(out: Term, result: DreamResult) -> None:
    status = str(result.status) + (f" by {result.plugin}" if result.plugin else "")
    out.note(_MARKS.get(result.status, "dot"), ": ".join(filter(None, (f"dream {status}", counts(result)))))
    if result.reason:
        out.fill(result.reason)
    for line in result.lines:
        if not line.kept:
            out.fill(line.text, f"  {out.style('+', 'green')} ", "    ")
            if line.sources:
                out.say(f"    {out.dim('from ' + ', '.join(line.sources))}")
    for name, mark, style in _GONE:
        for entry in getattr(result, name):
            out.fill(entry.text, f"  {out.style(mark, style)} ", "    ")
            if entry.reason:
                out.fill(entry.reason, "    ")
    for warning in result.warnings:
        out.note("warn", warning, indent="  ")
    if result.diary:
        out.say(f"  {out.dim('diary:')} holdfast show {out.plain(result.diary)}")
    if result.next_step:
        out.next_step(result.next_step)


_RUN = ("lookback_days", "dry_run", "if_due", "force", "undo", "log")

dream = Command(
    "Consolidate",
    "distil the daily notes into MEMORY.md, checked line by line; review, --undo, --log",
    argument("--lookback-days", metavar="N", type=at_least(0), help="days of notes to read, including today"),
    flag("--dry-run", "only show the diff; write only the run's record"),
    flag("--if-due", "for a scheduler: skip after a recent dream, and store yesterday's report"),
    flag("--force", "dream of the same notes again, and allow large losses"),
    flag("--undo", "restore MEMORY.md from before the last dream or undo"),
    flag("--log", "list every run, including skipped and failed ones"),
    examples=("holdfast dream --dry-run", "holdfast dream --undo", "holdfast dream review accept"),
    notes="Exit code 1 when the dream failed; MEMORY.md is then unchanged. A skipped run is not a failure.",
    progress=True,
)


@dream.action("run", *_RUN, default=True)
def _dream(call: Call) -> Answer:
    args = call.args
    memory = call.memory
    if args.log:
        runs, out = memory.dreams(), call.out
        rows = [
            (
                out.mark_cell(_MARKS.get(run.status, "dot")),
                f"{run.at:%Y-%m-%d %H:%M}",
                str(run.status) + (" (trial)" if run.dry_run else ""),
                run.plugin or "-",
                " ".join(filter(None, (counts(run), run.reason))),
            )
            for run in runs
        ]
        listed = out.table(rows, head=("", "at", "what", "by", "outcome")) or "No dream has run yet."
        return Answer({"runs": [{"ok": run.ok, **unstructure(run)} for run in runs]}, listed)
    days = ... if args.lookback_days is None else args.lookback_days
    if args.undo:
        result = memory.undo_dream(force=args.force, dry_run=args.dry_run)
    else:
        with ExitStack() as bound:
            if args.if_due:  # nobody waits for it, so a hostile note would keep a processor busy
                faulthandler.dump_traceback_later(when.LONGEST_S, exit=True, file=2)
                bound.callback(faulthandler.cancel_dump_traceback_later)
            if not args.dry_run:
                memory.extract_turns()
            result = memory.deep_dream(days, dry_run=args.dry_run, force=args.force, if_due=args.if_due)
            if args.if_due and not args.dry_run:
                with suppress(HoldfastError):
                    index.complete(memory)  # so that no question waits for it
                    memory.store.withheld(remember=True)  # nor `status`
    answer = _answer(call.out, result, diff=args.dry_run or args.undo)
    if lacks := upkeep.lacks_model(memory.services):
        call.out.next_step(f"{lacks} {upkeep.model_step()}")
    return answer


def _answer(out: Term, result: DreamResult, *, diff: bool = False) -> Answer:
    show_run(out, result)
    if diff:
        out.diff(result.diff, indent="  ")
    return Answer(unstructure(result), ok=result.ok)


@dream.action("review [accept|reject]")
def _review(call: Call) -> Answer:
    services, decided = call.memory.services, {"accept": write.accept, "reject": write.reject}
    if not call.names:
        return _answer(call.out, write.waiting(services).result, diff=True)
    if call.names[0] not in decided:
        raise UsageError(f"`holdfast dream review` takes accept or reject, not {call.names[0]!a}.")
    return _answer(call.out, decided[call.names[0]](services))


@Command(
    "Inspect",
    "list the changes that the last dream made to MEMORY.md",
    examples=("holdfast diff", "holdfast diff --json"),
    notes="`holdfast dream --log` lists every run, and `holdfast dream --undo` undoes the last one.",
)
def diff(call: Call) -> Answer:
    memory, out = call.memory, call.out
    done = (run for run in memory.dreams() if not run.dry_run and run.status is Status.DONE)
    changed = [run for run in done if run.diff.strip()]
    if not changed:
        out.note("dot", "No dream has changed anything yet.")
        out.next_step("holdfast dream --dry-run shows what one would change")
        return Answer({"run": None})
    result = Project(memory).masked_run(changed[-1])
    out.say(f"{out.bold(f'Dream of {result.at.astimezone(memory.config.tz):%Y-%m-%d %H:%M}')}\n")
    show_run(out, result)
    return Answer({"run": result})
