"""Methods added to an opened project; :class:`holdfast.plugin.features.Features` declares them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast import Holdfast
    from holdfast_validation.validation import Repair
    from holdfast_workflow.observations import Captured
    from holdfast_workflow.three import MemoryUpdate
    from holdfast_workflow.update import Updated
    from holdfast_workflow.workflow import Workflow


def workflow(memory: Holdfast, name: str) -> Workflow:
    from holdfast_workflow.workflow import Workflow

    return Workflow(memory.services, name)


def update(memory: Holdfast, given: MemoryUpdate) -> Updated:
    from holdfast_workflow import observations
    from holdfast_workflow.update import update

    done = update(memory.services, given)
    observations.write_due(memory.services)
    return done


def capture(memory: Holdfast, kind: str, text: str, *, workflow: str = "", critical: bool = False) -> Captured:
    from holdfast_workflow.observations import capture
    from holdfast_workflow.workflow import current

    workflow = workflow or current(memory.services)
    return capture(memory.services, kind, text, workflow=workflow, critical=critical)


def end_observed(memory: Holdfast, session: str, *, final: bool) -> list[str]:
    from holdfast_workflow.autoend import stopped

    return stopped(memory.services, session, final=final)


def create_three_files(memory: Holdfast) -> tuple[list[str], list[str]]:
    from holdfast_workflow.update import create

    return create(memory.services)


def repairs(memory: Holdfast, names: Iterable[str] = ()) -> list[Repair]:
    from holdfast_workflow.repairs import repairs

    return repairs(memory.services, names)


def apply_repair(memory: Holdfast, repair: Repair) -> None:
    from holdfast_workflow.repairs import apply

    apply(memory.services, repair)
