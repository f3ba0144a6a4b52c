"""The flush contract: which fields a payload must have, and how missing ones are filled without inventing anything.

Sources in order are caller's values, ``on_extract`` results, the journal. Fields that the caller
did not give are named in ``payload.derived``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from holdfast.errors import FlushRefused, HoldfastError, NothingToFlush
from holdfast.fs import paths
from holdfast.models import CuratedDecision, HandoffFields, Payload
from holdfast.text import asides, asked, ending, sources
from holdfast.text.openwork import is_none, is_open

if TYPE_CHECKING:
    from holdfast.flush.handoff import Work
    from holdfast.models import Extraction, Message

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
LISTS = ("facts", "decisions", "blockers", "artifacts", "follow_ups", "needs_operator")
HANDOFF_FIELDS = ("active_task", "branch", "blocker", "next_action")
_CLIP = 300
#: Readers of the handoff cut an objective here, so its end would be lost.
_OBJECTIVE = 200
#: Maximum length in characters of a request that means little alone, and of a reply to a question.
_FEW = 30
_REPLY = 80
_AFTER = " (after: "
_DIGEST_LINES = 40


def missing(payload: Payload) -> tuple[str, ...]:
    """The required fields that the payload does not answer, in order.

    Objective and next step must not be blank (R128, R132); lists may be empty but must be given (reading A43); the
    curated decision must be explicit (R169); open work needs the handoff (R134).
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


def without_blanks(payload: Payload) -> Payload:
    """``payload`` with its blank answers as unanswered, so that they can be derived."""
    names = {name.partition(".")[0] for name in missing(payload)}
    return payload.evolve(**dict.fromkeys(names))


def _rank(name: str) -> int:
    head = name.split(".", 1)[0]
    return REQUIRED.index(head) if head in REQUIRED else len(REQUIRED)


def refusal(names: Sequence[str]) -> FlushRefused:
    """The error that names the missing fields."""
    first = names[0]
    hints = {
        "curated": 'Decide on curated memory: `"curated": "none"`, or `{"memory": [...], "user": [...]}`.',
        "handoff": 'Work is open: give `"handoff"` with active_task, branch, blocker and next_action, or '
        'declare `"work_open": false`.',
    }
    return FlushRefused(
        f"The flush payload lacks {', '.join(f'`{n}`' for n in names)}; context is kept.",
        next_step=hints.get(first, f"Give `{first}`; if there is nothing, an empty list or `none` is an answer."),
        missing=tuple(names),
        target="payload",
    )


def nothing(session_id: str) -> NothingToFlush:
    """The error for an empty session without a payload."""
    return NothingToFlush(
        f"There is nothing to flush: session {session_id!r} is empty.",
        next_step="Say something in it first, or state a payload with every field.",
        target="payload",
    )


def complete(
    given: Payload | None,
    messages: Sequence[Message],
    extractions: Sequence[Extraction],
    *,
    branch: str = "",
    previous: Work | None = None,
    last: Mapping[str, Any] | None = None,
    undecided: bool = False,
) -> Payload:
    """``given`` with its unanswered fields filled from ``extractions`` and then from ``messages``.

    Without messages nothing can be derived and the payload comes back as given. The curated decision is derived
    (as ``none``) only when the caller passed no payload, because a passed payload must decide (R169), or with
    ``undecided``, for a payload that was refused often enough.

    ``previous`` is this session's open handoff: derived fields do not overwrite its stated ones. ``last`` is the
    journal's record of this session's last flush: its objective stays until the user makes a new request.
    """
    payload = given or Payload()
    if not messages:
        return payload
    said = asides.without(messages, was_open=previous is not None)
    end = _end(said, previous)
    values: dict[str, Any] = {}
    for name in (n for n in REQUIRED if getattr(payload, n) is None):
        drafted = [getattr(e.draft, name) for e in extractions if getattr(e.draft, name) is not None]
        if name == "curated":
            if given is None or undecided:
                values[name] = CuratedDecision()
        elif name in LISTS:
            values[name] = tuple(dict.fromkeys(item for items in drafted for item in items))
        elif name == "state_mutations":
            values[name] = tuple(m for items in drafted for m in items)
        elif drafted:
            values[name] = drafted[0]
        elif name == "objective":
            values[name] = _objective(said, messages, previous, last, end.next_step)
        else:
            values[name] = _next_step(said, end, previous)
    needs = [n for e in extractions for n in e.draft.needs_operator or ()]
    if payload.needs_operator is None and needs:
        values["needs_operator"] = tuple(dict.fromkeys(needs))
    if "artifacts" in values:
        values["artifacts"] = tuple(dict.fromkeys(paths.portable(a) for a in values["artifacts"]))
    if payload.work_open is None and payload.handoff is None and end.open is not None:
        state = _state(payload.evolve(**values), open_at_end=end.open)
        if state is not None:
            values["work_open"] = state
    payload = payload.evolve(**values, derived=tuple(values))
    if is_open(payload) and payload.handoff is None:
        blockers = [b for b in payload.blockers or () if not is_none(b)]
        handoff = HandoffFields(
            active_task=(previous.active_task if previous else "") or _task(given, messages, payload.objective),
            branch=branch or (previous.branch if previous else "none"),
            blocker=blockers[0] if blockers else "none",
            next_action=payload.next_step or "none",
        )
        payload = payload.evolve(handoff=handoff, derived=(*payload.derived, "handoff"))
    return payload.evolve(sources=sources.of(payload, messages))


def _end(said: Sequence[Message], previous: Work | None) -> ending.Ending:
    """How the messages end. "Continue" leaves work open only if there is some."""
    end = ending.of(said)
    return end if previous or end.why != ending.GO_ON else ending.Ending(open=False, next_step=ending.NONE)


def _state(payload: Payload, *, open_at_end: bool) -> bool | None:
    """Whether work is open, judging by the last messages. None where the fields decide it.

    A next step, blocker or promise in the payload keeps work open even if the last request was answered.
    """
    if open_at_end:
        return True
    return None if is_open(payload.evolve(work_open=None)) else False


def _task(given: Payload | None, messages: Sequence[Message], objective: str | None) -> str:
    """The first request of the task, unless the caller stated an objective."""
    if given is None or given.objective is None:
        first = next(asked.requests(messages), None)
        if first is not None:
            return asked.headline(first[1], _CLIP)
    return objective or "none"


def _objective(
    said: Sequence[Message],
    messages: Sequence[Message],
    previous: Work | None,
    last: Mapping[str, Any] | None,
    next_step: str,
) -> str:
    """The last request, in the user's own words, or the known objective if it was stated or
    the user has requested nothing since. Without either, the ``next_step`` that the conversation ends with."""
    known = (previous.objective if previous else "") or _flushed_objective(last)
    if previous and known and not previous.derived:
        return known
    if asked_last := asked.objective(said, _OBJECTIVE):
        return _in_context(asked_last, previous) if previous else asked_last
    if known or not is_none(next_step):
        return known or asked.cut(next_step, _OBJECTIVE)
    texts = [own for m in messages if m.role == "user" and (own := asked.own_words(m.text))]
    texts += [m.text for m in messages if m.role == "assistant" and m.text.strip()]
    return first_line((texts or [m.text for m in messages if m.text.strip()] or ["(the session holds no text)"])[0])


def _in_context(text: str, previous: Work) -> str:
    """The last request ``text``, followed in brackets by the open work's objective if it is only a few words or the
    reply to the agent's question. After a compaction the request that it belongs to is no longer among the messages."""
    began = previous.objective.partition(_AFTER)[2].removesuffix(")") or previous.objective
    few = _REPLY if previous.next_action.rstrip().endswith("?") else _FEW
    if not began or _AFTER in text or text in began or len(text) > few:
        return text
    return f"{text}{_AFTER}{asked.cut(began, _OBJECTIVE - len(text) - len(_AFTER) - 1)})"


def _flushed_objective(last: Mapping[str, Any] | None) -> str:
    payload = (last or {}).get("payload")
    known = payload.get("objective") if isinstance(payload, dict) else None
    return known if isinstance(known, str) else ""


def _next_step(messages: Sequence[Message], end: ending.Ending, previous: Work | None) -> str:
    """The next step according to the last messages, or the step stated earlier. Without ``messages`` the earlier
    step is kept."""
    if previous and not messages:
        return previous.next_action or "not stated"
    if previous and not previous.derived and not is_none(previous.next_action):
        last = asked.objective(messages, _CLIP)
        after = f"the request: {last}" if last else "nothing that was asked"
        return f"{previous.next_action} (stated before; after it came {after})"
    return end.next_step or (previous.next_action if previous else "") or "not stated"


def first_line(text: str) -> str:
    """The first non-blank line, clipped to 300 characters."""
    line = next((s for s in (part.strip() for part in text.splitlines()) if s), "")
    return line if len(line) <= _CLIP else line[: _CLIP - 1].rstrip() + "…"


def digest(messages: Sequence[Message]) -> str:
    """The conversation, one clipped line per message, without tool output. A fallback for a summary (reading A22)."""
    lines = []
    for m in messages:
        if m.role == "user" and (own := asked.own_words(m.text)):
            lines.append(f"- user: {asked.headline(own, _CLIP)}")
        elif m.role == "assistant" and not m.tool and m.text.strip():
            lines.append(f"- assistant: {first_line(m.text)}")
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
    """The payload with ``change`` applied to every string."""
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
    """Every string in the payload, each once, in order."""
    found: list[str] = []

    class _Collect(dict[str, str]):
        def __missing__(self, text: str) -> str:
            found.append(text)
            return text

    map_texts(payload, _Collect())
    return list(dict.fromkeys(found))


def unforeseen(step: str, error: Exception) -> HoldfastError:
    """The error for an exception that no step of a flush expects."""
    message = f"The flush failed while it was at the step `{step}`: {type(error).__name__}: {error}."
    made = HoldfastError(message, next_step="Run `holdfast doctor`; nothing was dropped.")
    made.__cause__ = error
    return made
