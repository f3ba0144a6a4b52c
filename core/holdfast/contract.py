"""The flush contract: which fields a payload must have, and how missing ones are filled without inventing anything.

Order of sources: what the caller gave, what ``on_extract`` found, what follows from the journal. Fields that the caller
did not give are named in ``payload.derived``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast import paths
from holdfast.errors import FlushRefused
from holdfast.models import CuratedDecision, HandoffFields, Payload

if TYPE_CHECKING:
    from holdfast.handoff import Work
    from holdfast.models import Extraction, Message

#: Every field that a payload must answer, in the order of the doctrine. ``handoff`` joins them when work is open.
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
LISTS = ("facts", "decisions", "blockers", "artifacts", "follow_ups", "needs_operator")
HANDOFF_FIELDS = ("active_task", "branch", "blocker", "next_action")
_CLIP = 300
_DIGEST_LINES = 40


def is_none(text: str | None) -> bool:
    """Whether a text says that there is nothing: blank or the word none."""
    return text is None or text.strip().strip(".").casefold() in ("", "none", "n/a", "nothing")


def missing(payload: Payload) -> tuple[str, ...]:
    """Names of the fields that the contract wants and the payload does not answer, in order.

    Objective and next step must not be blank (R128, R132); lists may be empty but must be given (reading A43); the
    curated decision must be explicit (R169); the handoff is needed while work is open (R134).
    """
    names = [n for n in REQUIRED if getattr(payload, n) is None]
    names += [
        n for n in ("objective", "next_step") if getattr(payload, n) is not None and not getattr(payload, n).strip()
    ]
    if is_open(payload):
        if payload.handoff is None:
            names.append("handoff")
        else:
            names += [f"handoff.{n}" for n in HANDOFF_FIELDS if not getattr(payload.handoff, n).strip()]
    return tuple(sorted(names, key=_rank))


def _rank(name: str) -> int:
    head = name.split(".", 1)[0]
    return REQUIRED.index(head) if head in REQUIRED else len(REQUIRED)


def is_open(payload: Payload) -> bool:
    """Whether work is open: fail closed, so any sign of it counts unless the caller declares it closed (A41)."""
    if payload.work_open is not None:
        return payload.work_open
    handoff = payload.handoff
    return (
        not is_none(payload.next_step)
        or any(not is_none(b) for b in payload.blockers or ())
        or any(not is_none(f) for f in payload.follow_ups or ())
        or any(not is_none(n) for n in payload.needs_operator or ())
        or (handoff is not None and not (is_none(handoff.active_task) and is_none(handoff.blocker)))
    )


def refusal(names: Sequence[str]) -> FlushRefused:
    """The error that names what is missing."""
    first = names[0]
    hints = {
        "curated": 'Decide on curated memory: `"curated": "none"`, or `{"memory": [...], "user": [...]}`.',
        "handoff": 'Work is open: give `"handoff"` with active_task, branch, blocker and next_action, or '
        'declare `"work_open": false`.',
    }
    return FlushRefused(
        f"The flush payload lacks {', '.join(f'`{n}`' for n in names)}; context is kept.",
        next_step=hints.get(first, f"Give `{first}`; an empty list or `none` is an answer where there is nothing."),
        missing=tuple(names),
        target="payload",
    )


def complete(
    given: Payload | None,
    messages: Sequence[Message],
    extractions: Sequence[Extraction],
    *,
    branch: str = "",
    previous: Work | None = None,
) -> Payload:
    """``given`` with its unanswered fields filled from ``extractions`` and then from ``messages``.

    Without messages nothing can be derived and the payload comes back as given. The curated decision is derived
    (as ``none``) only when no payload was given at all: one that was given must decide (R169).

    ``previous`` is this session's open handoff: what it states is not overwritten by a mere guess from the journal.
    """
    payload = given or Payload()
    if not messages:
        return payload
    values: dict[str, Any] = {}
    for name in (n for n in REQUIRED if getattr(payload, n) is None):
        drafted = [getattr(e.draft, name) for e in extractions if getattr(e.draft, name) is not None]
        if name == "curated":
            if given is None:
                values[name] = CuratedDecision()
        elif name in LISTS:
            values[name] = tuple(dict.fromkeys(item for items in drafted for item in items))
        elif name == "state_mutations":
            values[name] = tuple(m for items in drafted for m in items)
        elif drafted:
            values[name] = drafted[0]
        else:
            values[name] = _from_messages(name, messages, previous)
    needs = [n for e in extractions for n in e.draft.needs_operator or ()]
    if payload.needs_operator is None and needs:
        values["needs_operator"] = tuple(dict.fromkeys(needs))
    if "artifacts" in values:
        values["artifacts"] = tuple(dict.fromkeys(paths.portable(a) for a in values["artifacts"]))
    payload = payload.evolve(**values, derived=tuple(values))
    if is_open(payload) and payload.handoff is None:
        blockers = [b for b in payload.blockers or () if not is_none(b)]
        handoff = HandoffFields(
            active_task=(previous.active_task if previous else "") or payload.objective or "none",
            branch=branch or (previous.branch if previous else "none"),
            blocker=blockers[0] if blockers else "none",
            next_action=payload.next_step or "none",
        )
        payload = payload.evolve(handoff=handoff, derived=(*payload.derived, "handoff"))
    return payload


def _from_messages(name: str, messages: Sequence[Message], previous: Work | None) -> str:
    """The objective is the one already known, else the first request of the stretch; the next step goes on with the
    last request and keeps a step that was stated before. All verbatim."""
    asked = [m.text for m in messages if m.role == "user" and m.text.strip()]
    said = [m.text for m in messages if m.text.strip()]
    if name == "objective":
        known = previous.objective if previous else ""
        return known or first_line((asked or said or ["(the session holds no text)"])[0])
    last = f"the last request: {first_line(asked[-1])}" if asked else first_line((said or ["the journal"])[-1])
    if previous and not previous.derived and not is_none(previous.next_action):
        return f"{previous.next_action} (stated before; after it came {last})"
    return f"Go on from {last}"


def first_line(text: str) -> str:
    """The first line that says something, clipped to 300 characters."""
    line = next((s for s in (part.strip() for part in text.splitlines()) if s), "")
    return line if len(line) <= _CLIP else line[: _CLIP - 1].rstrip() + "…"


def digest(messages: Sequence[Message]) -> str:
    """What was said, one clipped line a message and no tool output: for want of a summary (reading A22)."""
    lines = [
        f"- {m.role}: {first_line(m.text)}"
        for m in messages
        if m.role in ("user", "assistant") and not m.tool and m.text.strip()
    ]
    if len(lines) > _DIGEST_LINES:
        half = _DIGEST_LINES // 2
        lines = [*lines[:half], f"- … {len(lines) - 2 * half} more in the journal", *lines[-half:]]
    return "\n".join(["_Not summarised. What was said, shortened:_", "", *lines]) if lines else ""


def check_pointers(payload: Payload) -> None:
    """Pointers must not name a place on this machine. Raises: Refused naming the field."""
    for artifact in payload.artifacts or ():
        paths.check_pointer(artifact, "artifacts")
    for mutation in payload.state_mutations or ():
        paths.check_pointer(mutation.target, "state_mutations.target")
    if payload.handoff:
        paths.check_pointer(payload.handoff.branch, "handoff.branch")


def map_texts(payload: Payload, change: Mapping[str, str]) -> Payload:
    """The payload with every text replaced by what ``change`` says for it."""
    from attrs import evolve

    values: dict[str, Any] = {n: tuple(change[t] for t in getattr(payload, n) or ()) for n in LISTS}
    values = {n: v for n, v in values.items() if getattr(payload, n) is not None}
    for name in ("objective", "next_step"):
        if (text := getattr(payload, name)) is not None:
            values[name] = change[text]
    if payload.state_mutations is not None:
        values["state_mutations"] = tuple(
            evolve(m, target=change[m.target], summary=change[m.summary]) for m in payload.state_mutations
        )
    if payload.handoff is not None:
        values["handoff"] = HandoffFields(**{n: change[getattr(payload.handoff, n)] for n in HANDOFF_FIELDS})
    if payload.curated is not None:
        values["curated"] = CuratedDecision(
            memory=tuple(evolve(e, text=change[e.text], replaces=change[e.replaces]) for e in payload.curated.memory),
            user=tuple(evolve(e, text=change[e.text], replaces=change[e.replaces]) for e in payload.curated.user),
        )
    return payload.evolve(**values)


def texts(payload: Payload) -> list[str]:
    """Every text of the payload, each once, in order."""
    found: list[str] = []

    class _Collect(dict[str, str]):
        def __missing__(self, text: str) -> str:
            found.append(text)
            return text

    map_texts(payload, _Collect())
    return list(dict.fromkeys(found))
