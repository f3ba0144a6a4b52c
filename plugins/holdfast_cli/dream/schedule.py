"""``holdfast schedule``: set up the nightly dream with the system's own scheduler."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from holdfast.config import resolved
from holdfast_app.settings import schedulers
from holdfast_cli.command import Answer, Call, Command, argument, flag
from holdfast_cli.terminal import Term

if TYPE_CHECKING:
    from collections.abc import Callable

    from holdfast_app.config import Config

schedule = Command(
    "Consolidate",
    "set up the nightly dream with the system's scheduler",
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
    def installed(plan: schedulers.Plan, at: str) -> tuple[bool, str]:
        schedulers.install(plan)
        return True, f"the dream runs daily at {at} ({plan.kind}, {plan.name})"

    return _planned(call, installed)


@schedule.action("remove")
def _remove(call: Call) -> Answer:
    def removed(plan: schedulers.Plan, at: str) -> tuple[bool, str]:
        return False, "the nightly dream was removed" if schedulers.remove(plan) else "there was no nightly dream"

    return _planned(call, removed)


@schedule.action("status")
def _status(call: Call) -> Answer:
    def state(plan: schedulers.Plan, at: str) -> tuple[bool, str]:
        if schedulers.is_installed(plan):
            return True, f"the dream runs daily ({plan.kind}, {plan.name})"
        return False, f"no nightly dream is set up ({plan.kind})"

    return _planned(call, state)


def _planned(call: Call, act: Callable[[schedulers.Plan, str], tuple[bool, str]]) -> Answer:
    """Do it, or with --print only show the plan. ``act`` returns whether a dream is set up, and a sentence."""
    kind = schedulers.Kind(call.args.kind) if call.args.kind else schedulers.detect()
    at = cast("Config", resolved.load(call.root)).dream.at
    plan = schedulers.plan(kind, call.root, at=at)
    installed, said = (False, "") if call.args.print else act(plan, at)

    def show(out: Term) -> None:
        if call.args.print:
            out.exact(str(plan))
        else:
            out.note("ok" if installed else "dot", said)

    return Answer({"kind": kind, "name": plan.name, "at": at, "installed": installed, "plan": str(plan)}, show)
