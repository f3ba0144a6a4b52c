"""``holdfast workflow``: LOAD at the start, UPDATE at the end, and their status; and ``holdfast capture``."""

from __future__ import annotations

from holdfast.config.serde import moment, unstructure
from holdfast.text.humanize import ago, count
from holdfast_app.workflow import observations
from holdfast_app.workflow.three import CONDITIONS, WORKFLOWS
from holdfast_app.workflow.workflow import records
from holdfast_cli.command import Answer, Call, Command, argument, flag
from holdfast_cli.problem import UsageError
from holdfast_cli.terminal import Term
from holdfast_cli.workflow import updating

_ENTRIES = [one.dest for one in (*updating.ARGUMENTS, updating.NO_CHANGE)]

workflow = Command(
    "The three files",
    "read the memory at a workflow's start, update it at its end",
    *(
        argument(
            f"--{name}",
            dest="confirmed",
            action="append_const",
            const=name,
            help=f"{workflow}: {text}",
            group="conditions for end",
        )
        for workflow, table in CONDITIONS.items()
        for name, text in table.items()
    ),
    *updating.ARGUMENTS,
    updating.NO_CHANGE,
    examples=(
        "holdfast workflow start build",
        'holdfast workflow end build --tests-passed --focus "login is done" \\',
        '    --deliverable "login works" --command "pytest -q" --exit-status 0 \\',
        "    --no-change patterns",
        "holdfast workflow end review --review-complete --from update.json",
        "holdfast workflow status",
    ),
    notes=f"NAME is one of {', '.join(WORKFLOWS)}. A workflow ends only after its start, with its condition stated and"
    "\nan entry or an explicit --no-change for each of the three files. Otherwise nothing is written.",
)


def _name(call: Call) -> str:
    """The workflow's name. Raises: UsageError."""
    name = call.names[0]
    if name not in WORKFLOWS:
        raise UsageError(f"There is no workflow {name!a}.", next_step=f"Use {', '.join(WORKFLOWS)}.")
    return name


@workflow.action("start NAME")
def _start(call: Call) -> Answer:
    name = _name(call)
    loaded = call.memory.workflow(name).start()
    files = [{"file": one.surface, "name": one.name, "text": one.text} for one in loaded.files]
    return Answer({"workflow": name, "files": files}, lambda out: out.exact(f"{loaded}\n"))


@workflow.action("end NAME", "confirmed", *_ENTRIES)
def _end(call: Call) -> Answer:
    name, given = _name(call), updating.given(call.args)
    done = call.memory.workflow(name).end(given, confirmed=call.args.confirmed or ())
    return Answer(unstructure(done), lambda out: updating.show(out, done, f"workflow {name} has ended"))


@workflow.action("status")
def _status(call: Call) -> Answer:
    services = call.memory.services
    found, waiting = records(services), observations.waiting(services)

    def show(out: Term) -> None:
        times = [ago(moment(r.ended if r.state == "ended" else r.started), services.now()) for r in found]
        rows = [(r.name, r.state, time) for r, time in zip(found, times, strict=True)]
        out.say(out.table(rows) or "No workflow has been started. To start one, run `holdfast workflow start NAME`.")
        if waiting:
            number = count(len(waiting), "entry") if len(waiting) == 1 else f"{len(waiting)} entries"
            out.say(f"\n  {number} noticed on the way\n  wait for the next update")

    return Answer({"workflows": found, "waiting": waiting}, show)


@Command(
    "The three files",
    "count an issue or pattern; recurring ones are written to patterns.md",
    argument("kind", choices=("issue", "pattern"), help="an issue becomes a gotcha, a pattern a convention"),
    argument("text", metavar="TEXT", help="the observation, in one sentence"),
    flag("--critical", "critical violation; write it immediately"),
    argument("--workflow", choices=WORKFLOWS, default="", help="its workflow (by default the open workflow)"),
    examples=(
        'holdfast capture issue "the fixture leaks its port"',
        'holdfast capture pattern "handlers are named on_EVENT" --workflow review',
        'holdfast capture issue "secrets.py imports os.environ directly" --critical',
    ),
    notes="The entry is counted, and written to patterns.md once it is critical or seen three times or in"
    "\ntwo workflows. Writes are throttled. Waiting entries are kept and written with the next update.",
)
def capture(call: Call) -> Answer:
    """Record an issue or a pattern noticed during work."""
    args = call.args
    done = call.memory.capture(args.kind, args.text, workflow=args.workflow, critical=args.critical)
    seen = done.sighting
    times = "once" if seen.count == 1 else f"{seen.count} times"
    state = f"waiting to be written ({seen.trigger}) with the next update" if seen.trigger else "counted"
    if seen.written:
        state = f"written to patterns.md ({seen.trigger})"
    return Answer(unstructure(done), lambda out: out.note("ok", f"seen {times}: {state}"))
