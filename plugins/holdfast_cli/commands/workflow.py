"""``workflow``: LOAD at the start, UPDATE at the end. ``update``: outside of workflows. ``capture``: observations."""

from argparse import Action, ArgumentParser, Namespace
from importlib.resources import files
from typing import Any

from attrs import evolve

from holdfast.api import CuratedEntry, Holdfast, turns_of
from holdfast.config.layout import Surface
from holdfast.config.serde import moment, unstructure
from holdfast.text.humanize import ago, count
from holdfast.text.plain import clip
from holdfast_app.workflow import observations
from holdfast_app.workflow.sections import MAX_CHARS, line_of
from holdfast_app.workflow.three import CONDITIONS, FILES, WORKFLOWS, MemoryUpdate, update_from
from holdfast_app.workflow.update import Updated
from holdfast_app.workflow.workflow import records
from holdfast_cli.command import SESSION, Answer, Argument, Call, Command, UsageError, argument, flag
from holdfast_cli.saving import require_session
from holdfast_cli.stdin import parse_json, read_file
from holdfast_cli.terminal import Term

#: Flag -> (key of the update, target section).
_SECTIONS = {
    "focus": ("current_focus", "active_context: Current Focus"),
    "decision": ("decisions", "active_context: Decisions"),
    "question": ("open_questions", "active_context: Open Questions"),
    "next-step": ("next_steps", "active_context: Next Steps"),
    "convention": ("conventions", "patterns: Conventions"),
    "gotcha": ("gotchas", "patterns: Gotchas"),
    "practice": ("approved_practices", "patterns: Approved Practices"),
    "evidence-link": ("evidence_links", "progress: Evidence Links"),
    "deferred": ("deferred_items", "progress: Deferred Items"),
}

_REPEATABLE = "entries (repeatable)"


class _Delivered(Action):
    """Collects deliverables in order. Proof belongs to the deliverable before it, or to the first one."""

    def __call__(self, parser: ArgumentParser, args: Namespace, values: Any, flag: str | None = None) -> None:
        deliverables: list[dict[str, Any]] = list(getattr(args, self.dest) or [])
        key = {"--deliverable": "text", "--command": "command", "--exit-status": "exit_status"}.get(
            self.option_strings[0], "evidence"
        )
        if not deliverables or (key == "text" and "text" in deliverables[-1]):
            deliverables.append({})
        elif key in deliverables[-1]:
            raise UsageError(
                f"{self.option_strings[0]} was passed twice for one deliverable.",
                next_step="Put each proof after its own --deliverable TEXT.",
            )
        deliverables[-1] = {**deliverables[-1], key: values}
        setattr(args, self.dest, deliverables)


def _proof(name: str, text: str, **options: Any) -> Argument:
    return argument(name, dest="deliverables", action=_Delivered, help=text, group=_REPEATABLE, **options)


#: Flags for an update.
_UPDATES = (
    argument("--from", dest="source", metavar="FILE", help="the update as JSON, `-` for stdin", group=_REPEATABLE),
    *(
        argument(f"--{name}", dest=key, metavar="TEXT", action="append", help=where, group=_REPEATABLE)
        for name, (key, where) in _SECTIONS.items()
    ),
    _proof("--deliverable", "progress: Verified Deliverables; put its proof after it", metavar="TEXT"),
    _proof("--evidence", "proof as a URL, owner/repo#12, commit or path", metavar="LINK"),
    _proof("--command", "proof as a command already run", metavar="COMMAND"),
    _proof("--exit-status", "exit status of the command", metavar="N", type=int),
)
_NO_CHANGE = argument("--no-change", metavar="FILE", action="append", help="without entries", group=_REPEATABLE)


def _condition(name: str, text: str) -> Argument:
    options = {"dest": "confirmed", "action": "append_const", "const": name, "help": text}
    return argument(f"--{name}", group="conditions for end", **options)


def _given(args: Namespace) -> MemoryUpdate:
    """Combine flags and JSON into one update, flags after the JSON. Raises: UsageError; ConfigError."""
    named = "The update on stdin" if args.source == "-" else f"The update {args.source}"
    text = read_file(args.source, "The update") if args.source else "{}"
    data = parse_json(text, named, '{"decisions": ["..."]}')
    if not isinstance(data, dict):
        return update_from(data)  # validates the data
    for key, _ in _SECTIONS.values():
        _add(data, key, getattr(args, key) or [])
    delivered = args.deliverables or []
    if delivered and "text" not in delivered[0]:
        raise UsageError("Proof was given without a deliverable.", next_step="Add --deliverable TEXT.")
    _add(data, "verified_deliverables", delivered)
    _add(data, "no_change", getattr(args, "no_change", None) or [])
    return update_from(data)


def _add(data: dict[str, Any], key: str, more: list[Any]) -> None:
    if more:
        before = data.get(key, [])
        data[key] = [*before, *more] if isinstance(before, list) else before


def _show_update(out: Term, done: Updated, what: str) -> None:
    outcome = "everything was read back" if any(change.written for change in done.files) else "nothing was changed"
    out.say(f"{out.mark('ok')} {what}; {outcome}")
    for change in done.files:
        state = f"{len(change.added)} added" if change.written else "not changed"
        known = f", {len(change.known)} already there" if change.known else ""
        out.say(f"  {out.bold(out.plain(change.name))}: {state}{known}")
        for anchor, text in change.added:
            out.fill(f"{anchor}: {text}", "    + ", "      ")
    for text in done.deferred:
        out.note("warn", f"not verified, so deferred: {text}", indent="  ")
    for text in done.warnings:
        out.note("warn", text, indent="  ")


_OPTIONS = [argument.dest for argument in (*_UPDATES, _NO_CHANGE)]

workflow = Command(
    "The three files",
    "read the memory at a workflow's start, update it at its end",
    *(_condition(key, f"{workflow}: {text}") for workflow, texts in CONDITIONS.items() for key, text in texts.items()),
    *_UPDATES,
    _NO_CHANGE,
    examples=(
        "holdfast workflow start build",
        'holdfast workflow end build --tests-passed --focus "login is done" \\',
        '    --deliverable "login works" --command "pytest -q" --exit-status 0 \\',
        "    --no-change patterns",
        "holdfast workflow end review --review-complete --from update.json",
    ),
    notes=f"NAME is one of {', '.join(WORKFLOWS)}. A workflow ends only after its start, with its condition stated and"
    "\nan entry or an explicit --no-change for each of the three files. Otherwise nothing is written.",
)


@workflow.action("start NAME")
def _start(call: Call) -> Answer:
    name = call.names[0]
    loaded = call.memory.workflow(name).start()
    files = [{"file": key, "name": file.name, "text": file.text} for key, file in zip(FILES, loaded.files, strict=True)]
    call.out.exact(f"{loaded}\n")
    return Answer({"workflow": name, "files": files})


@workflow.action("end NAME", "confirmed", *_OPTIONS)
def _end(call: Call) -> Answer:
    name, changes = call.names[0], _given(call.args)
    done = call.memory.workflow(name).end(changes, confirmed=call.args.confirmed or ())
    _show_update(call.out, done, f"workflow {name} has ended")
    return Answer(unstructure(done))


@workflow.action("status")
def _status(call: Call) -> Answer:
    services = call.memory.services
    runs, waiting = records(services), observations.waiting(services)
    times = [ago(moment(r.ended if r.state == "ended" else r.started), services.now()) for r in runs]
    rows = [(r.name, r.state, time) for r, time in zip(runs, times, strict=True)]
    text = call.out.table(rows) or "No workflow has been started. To start one, run `holdfast workflow start NAME`."
    return Answer({"workflows": runs, "waiting": waiting}, f"{text}\n  waiting for the next update: {len(waiting):,}")


@Command(
    "The three files",
    "count an issue or pattern; recurring ones are written to patterns.md",
    argument(
        "kind", choices=("issue", "pattern"), metavar="KIND", help="issue (for Gotchas), pattern (for Conventions)"
    ),
    argument("text", metavar="TEXT", help="the observation, in one sentence"),
    flag("--critical", "critical violation; write it immediately"),
    argument("--workflow", choices=WORKFLOWS, default="", help="its workflow (by default the open workflow)"),
    examples=('holdfast capture issue "the port is taken"', 'holdfast capture pattern "on_EVENT" --workflow review'),
    notes="The entry is counted, and written to patterns.md once it is critical or seen three times or in two"
    "\nworkflows. That needs the three files: `holdfast init --three-files` makes them. Writes are throttled."
    "\nWaiting entries are kept and written with the next update.",
)
def capture(call: Call) -> Answer:
    args = call.args
    call.check_words(args.text)
    done = call.memory.capture(args.kind, args.text, workflow=args.workflow, critical=args.critical)
    seen = done.sighting
    state = "counted, and written to patterns.md at the third, in a second workflow or with --critical"
    state = f"waiting to be written ({seen.trigger}) with the next update" if seen.trigger else state
    if seen.written:
        state = f"it is in {call.memory.services.layout.name(Surface.PATTERNS)} ({seen.trigger})"
    call.out.note("ok", f"seen {count(seen.count, 'time')}: {state}")
    return Answer(unstructure(done))


@Command(
    "The three files",
    "update the memory now, outside of any workflow",
    SESSION,
    flag("--print-command", "print the text of the /memory-update command"),
    *_UPDATES,
    examples=(
        'holdfast update --decision "use a lock" --gotcha "the clock is mocked"',
        'echo \'{"open_questions": ["which zone?"]}\' | holdfast update --from -',
        "holdfast update --print-command > .opencode/command/memory-update.md",
    ),
    notes="--session adds that session's own statements: objective, decisions, blockers, next step and artifacts."
    "\nWaiting observations from `holdfast capture` are written, too.",
    caution=True,
)
def update(call: Call) -> Answer | int:
    if call.args.print_command:
        call.out.exact(files("holdfast_app.workflow").joinpath("memory-update.md").read_text(encoding="utf-8"))
        return 0
    changes = _given(call.args)
    if call.args.session is not None:
        changes = _with_session(call.memory, call.args.session, changes)
    done = call.memory.update(changes)
    _show_update(call.out, done, "the memory is up to date")
    return Answer(unstructure(done))


def _with_session(memory: Holdfast, session_id: str, changes: MemoryUpdate) -> MemoryUpdate:
    """The update followed by the session's own statements, which are already redacted."""
    session = memory.session(require_session(memory, session_id))
    results, _ = memory.services.plugins.on_extract(turns_of(session.messages))
    drafts = [extraction.draft for _, extraction in results]

    def said(strings: list[str | None]) -> tuple[CuratedEntry, ...]:
        lines = [line_of(text or "") for text in strings]
        clipped = [clip(line, MAX_CHARS) for line in lines]
        return tuple(CuratedEntry(text=line) for line in clipped if line and line.casefold() != "none")

    return evolve(
        changes,
        current_focus=(*changes.current_focus, *said([d.objective for d in drafts])),
        decisions=(*changes.decisions, *said([t for d in drafts for t in d.decisions or ()])),
        open_questions=(*changes.open_questions, *said([t for d in drafts for t in d.blockers or ()])),
        next_steps=(*changes.next_steps, *said([d.next_step for d in drafts])),
        evidence_links=(*changes.evidence_links, *said([t for d in drafts for t in d.artifacts or ()])),
    )
