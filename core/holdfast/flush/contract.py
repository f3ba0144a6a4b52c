"""The flush contract: which fields a payload must have, and what may be in them.

An application fills missing fields, and names them in ``payload.derived``.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import evolve, fields, has

from holdfast.config.layout import Surface
from holdfast.errors import FlushRefused, NothingToFlush
from holdfast.fs import paths
from holdfast.models import Finding, Payload
from holdfast.models.payload import OPTIONAL
from holdfast.services.services import Services
from holdfast.text import invisible
from holdfast.text.plain import is_open

#: Every field that a payload must answer, in the doctrine's order. ``handoff`` joins them when work is open.
REQUIRED = (
    "objective",
    "facts",
    "decisions",
    "blockers",
    "next_step",
    "artifacts",
    "follow_ups",
    "state_mutations",
    "curated",
)
HANDOFF_FIELDS = ("active_task", "branch", "blocker", "next_action")


def missing(payload: Payload) -> tuple[str, ...]:
    """The required fields that the payload does not answer, in order.

    Objective and next step must not be blank (R128, R132); lists may be empty but must be given (reading A43); the
    curated decision must be explicit (R169); open work needs the handoff (R134).
    """
    names = [n for n in REQUIRED if getattr(payload, n) is None]
    names += [n for n in ("objective", "next_step") if n not in names and _is_blank(getattr(payload, n))]
    if is_open(payload):
        if payload.handoff is None:
            names.append("handoff")
        else:
            names += [f"handoff.{n}" for n in HANDOFF_FIELDS if _is_blank(getattr(payload.handoff, n))]
    order = {name: number for number, name in enumerate(REQUIRED)}
    return tuple(sorted(names, key=lambda name: order.get(name, len(order))))


def _is_blank(text: str) -> bool:
    return not invisible.without(text).strip()


def stated(payload: Payload) -> Payload:
    """``payload`` without the fields that its caller did not state."""
    return payload.evolve(**dict.fromkeys(payload.derived), derived=())


def filled(payload: Payload, earlier: Payload) -> Payload:
    """``payload``, with the fields that it does not state taken from one stated earlier and refused. An earlier handoff
    and work state do not fit a newer objective, next step or blocker."""
    mine, before = stated(payload), stated(earlier)
    names = [*REQUIRED, *OPTIONAL]
    if mine.objective is None and mine.next_step is None and mine.blockers is None:
        names += ["handoff", "work_open"]
    taken = {n: getattr(before, n) for n in names if getattr(mine, n) is None and getattr(before, n) is not None}
    return payload.evolve(**taken, derived=tuple(n for n in payload.derived if n not in taken))


def refusal(names: Sequence[str], *, is_kept: bool = True) -> FlushRefused:
    """The error that names the missing fields. ``is_kept``: whether the session keeps the given ones."""
    forms = {
        "curated": '`"curated": "none"` or `{"memory": [...], "user": [...]}`',
        "handoff": '`"handoff"` with active_task, branch, blocker and next_action, or `"work_open": false`',
        "objective": '`"objective"`',
        "next_step": '`"next_step"`',
    }
    asked = [forms.get(name) or (f"`{name}`" if "." in name else f'`"{name}": []`') for name in names]
    ending = ". The fields given before are kept, and" if is_kept else ", and all other fields again."
    return FlushRefused(
        f"The flush payload lacks {', '.join(f'`{n}`' for n in names)}; context is kept.",
        next_step=f"Flush again with {', '.join(asked)}{ending} `none` is an answer.",
        missing=tuple(names),
        target="payload",
    )


def nothing(session_id: str) -> NothingToFlush:
    return NothingToFlush(
        f"There is nothing to flush: session {session_id!r} is empty.",
        next_step="Add a message first, or pass a payload with every field.",
        target="payload",
    )


def admitted(services: Services, payload: Payload, summary: str, findings: list[Finding]) -> tuple[Payload, str]:
    """Every string without this machine's paths, through the gate in one call; warnings go to ``findings``.

    Raises: Refused, for a pointer to a place on this machine too; PluginError.
    """
    rewrite = paths.rewriter(services.root)
    payload = map_texts(payload, {t: rewrite(t) for t in strings_of(payload)})
    strings = strings_of(payload)
    *good, summary = services.gate.admit_all([*strings, rewrite(summary)], surface=Surface.DAILY, notes=findings)
    payload = map_texts(payload, dict(zip(strings, good, strict=True)))
    # Checked now, because a refusal, which the marker stores, quotes the pointer.
    for artifact in payload.artifacts or ():
        paths.check_pointer(artifact, "artifacts")
    for mutation in payload.state_mutations or ():
        paths.check_pointer(mutation.target, "state_mutations.target")
    if payload.handoff:
        paths.check_pointer(payload.handoff.branch, "handoff.branch")
    return payload, summary


def map_texts(payload: Payload, change: Mapping[str, str]) -> Payload:
    changed = any(new != old for old, new in change.items())
    return _mapped(payload, change.__getitem__) if changed else payload


def strings_of(payload: Payload) -> list[str]:
    strings: dict[str, str] = {}
    _mapped(payload, lambda text: strings.setdefault(text, text))
    return list(strings)


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if type(value) is str:
        return change(value)
    if isinstance(value, tuple):
        return tuple([_mapped(entry, change) for entry in value])
    if has(type(value)):
        names = [field.name for field in fields(type(value)) if field.name not in ("derived", "sources")]
        changed = {name: new for name in names if (new := _mapped(old := getattr(value, name), change)) != old}
        return evolve(value, **changed) if changed else value
    return value
