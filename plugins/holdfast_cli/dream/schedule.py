"""``holdfast schedule``: set up the nightly dream with the system's own scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from holdfast.config import resolved
from holdfast_app.settings import schedulers
from holdfast_cli.command import Answer, Call, Command, argument, flag
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from holdfast_app.config import Config

schedule = Command(
    "Consolidate",
    "dream at a fixed time with the system's scheduler, as well as when it is due",
    argument(
        "--with", dest="kind", choices=[str(kind) for kind in schedulers.Kind], help="scheduler (default: detected)"
    ),
    flag("--print", "show the setup without installing it"),
    examples=("holdfast schedule install --print", "holdfast schedule install", "holdfast schedule status"),
    notes="It runs `holdfast dream --if-due` once a day, at the time of `[dream] at`, without a holdfast daemon."
    "\nThe run also stores the previous day's report.",
)


@schedule.action("install")
def _install(call: Call) -> Answer:
    return _planned(call, "install")


@schedule.action("remove")
def _remove(call: Call) -> Answer:
    return _planned(call, "remove")


@schedule.action("status")
def _status(call: Call) -> Answer:
    return _planned(call, "status")


def _planned(call: Call, action: str) -> Answer:
    """Do it, or with --print only show the plan."""
    kind = schedulers.Kind(call.args.kind) if call.args.kind else schedulers.detect()
    at = cast("Config", resolved.load(call.root)).dream.at
    plan = schedulers.plan(kind, call.root, at=at)
    installed, said = False, f"no nightly dream is set up ({kind})"
    if action == "remove" and not call.args.print:
        said = "the nightly dream was removed" if schedulers.remove(plan) else "there was no nightly dream"
    elif not call.args.print and (action == "install" or schedulers.is_installed(plan)):
        if action == "install":
            schedulers.install(plan)
        installed, said = True, f"the dream runs daily at {at} ({kind}, {plan.name})"

    def show(out: Term) -> None:
        if call.args.print:
            out.exact(str(plan))
        else:
            out.note("ok" if installed else "dot", said)

    return Answer({"kind": kind, "name": plan.name, "at": at, "installed": installed, "plan": str(plan)}, show)
