"""Step 2 of a flush: check the plan against the contract, the validators and the quotes' authors."""

from holdfast import models
from holdfast.flush import contract, record, refused_payloads
from holdfast.flush.plan import Attempt, Plan, noted


def check(attempt: Attempt, plan: Plan) -> Plan:
    """The plan as it may be written: complete, masked, without instructions that a tool's output gave. Keeps a new one
    in the marker, before anything is written. Raises: FlushRefused, Refused, PluginError, Unavailable."""
    if plan.is_resumed:  # checked before; only authors are checked again
        return _attributed(attempt, plan)
    if missing := contract.missing(plan.payload):
        raise contract.refusal(missing)
    attempt.step = "gate"
    findings: list[models.Finding] = []
    payload, summary = contract.admitted(attempt.services, plan.payload, plan.summary, findings)
    attempt.warnings += [f"{f.message} ({f.rule})" for f in findings]
    plan = _attributed(attempt, plan._replace(payload=payload, summary=summary))
    earlier = refused_payloads.others(attempt.kept_marker, attempt.stated)
    there = noted(attempt) if earlier else set()
    plan = plan._replace(before=tuple(refused_payloads.beyond(earlier, plan.lines | there)))
    attempt.warnings += (line for line in plan.before if line.startswith(refused_payloads.NOT_KEPT))
    # The marker forgets the flush whose block has these payloads, so it must forget them, too.
    record.keep_plan(attempt, plan, refused_payloads.covered(earlier, there))
    return plan


def _attributed(attempt: Attempt, plan: Plan) -> Plan:
    payload, summary, warnings = attempt.services.attributed(plan.payload, plan.summary, attempt.messages)
    attempt.warnings += warnings
    return plan._replace(payload=payload, summary=summary)
