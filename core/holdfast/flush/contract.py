"""The flush contract: which fields a payload must have, and how missing ones are filled without inventing anything.

Sources in order are the caller's values, the drafts from ``on_extract``, and for objective and next step the messages,
cut, not judged, so work counts as open. Fields that the caller did not give are named in ``payload.derived``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from attrs import evolve, fields, has

from holdfast.config.layout import Surface
from holdfast.errors import FlushRefused, HoldfastError, NothingToFlush
from holdfast.fs import paths
from holdfast.models import CuratedDecision, HandoffFields, Payload
from holdfast.models.payload import OPTIONAL
from holdfast.text import invisible, ownlines
from holdfast.text.plain import cut, first_line, is_none, is_open

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from holdfast.flush.handoff import Work
    from holdfast.models import Finding, Message
    from holdfast.services.services import Services

    #: The user's own words in a message's text, see :meth:`holdfast.services.interfaces.Authorship.own_words`.
    OwnWords: TypeAlias = Callable[[str], str]

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
LISTS = ("facts", "decisions", "blockers", "artifacts", "follow_ups", *OPTIONAL)
ALL_LISTS = (*LISTS, "state_mutations")
#: Readers of the handoff cut an objective here.
_OBJECTIVE_CHARS: Final = 200
_LINE_CHARS: Final = 300
_DIGEST_LINES: Final = 40
#: A shorter message is hardly a new request.
_FEW: Final = 30
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
    return tuple(sorted(names, key=_rank))


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
    found = {n: getattr(before, n) for n in names if getattr(mine, n) is None and getattr(before, n) is not None}
    return payload.evolve(**found, derived=tuple(n for n in payload.derived if n not in found))


def without_blanks(payload: Payload) -> Payload:
    """``payload`` with its blank answers as unanswered, so that they can be derived."""
    names = {name.partition(".")[0] for name in missing(payload)}
    return payload.evolve(**dict.fromkeys(names))


def _rank(name: str) -> int:
    head = name.split(".", 1)[0]
    return REQUIRED.index(head) if head in REQUIRED else len(REQUIRED)


def refusal(names: Sequence[str], *, is_kept: bool = True) -> FlushRefused:
    """The error that names the missing fields. ``is_kept``: whether the session keeps the given ones."""
    forms = {
        "curated": '`"curated": "none"` or `{"memory": [...], "user": [...]}`',
        "handoff": '`"handoff"` with active_task, branch, blocker and next_action, or `"work_open": false`',
        "objective": '`"objective"`',
        "next_step": '`"next_step"`',
    }
    asked = [forms.get(name) or (f"`{name}`" if "." in name else f'`"{name}": []`') for name in names]
    kept = ". The fields given before are kept, and" if is_kept else ", and all other fields again."
    return FlushRefused(
        f"The flush payload lacks {', '.join(f'`{n}`' for n in names)}; context is kept.",
        next_step=f"Flush again with {', '.join(asked)}{kept} `none` is an answer.",
        missing=tuple(names),
        target="payload",
    )


def nothing(session_id: str) -> NothingToFlush:
    """The error for an empty session without a payload."""
    return NothingToFlush(
        f"There is nothing to flush: session {session_id!r} is empty.",
        next_step="Add a message first, or pass a payload with every field.",
        target="payload",
    )


def before(work: Work | None, last: Mapping[str, Any] | None, rules: Sequence[str] = ()) -> Payload:
    """The state before a flush's messages, as ``on_extract`` gets it: the project's standing ``rules``, and the
    session's open work with the stated blockers, otherwise the objective in ``last``, the journal's record of the last
    flush. ``derived`` names the unstated fields."""
    flushed = (last or {}).get("payload")
    known = flushed.get("objective") if isinstance(flushed, dict) else None
    known = known if isinstance(known, str) else None
    if work is None:
        return Payload(objective=known, work_open=False, rules=rules or None)
    were_stated = "blockers" not in last.get("derived", ()) if last else not work.derived
    return Payload(
        objective=work.objective or known,
        blockers=work.blockers if were_stated else None,
        next_step=work.next_action,
        work_open=True,
        handoff=HandoffFields(
            active_task=work.active_task, branch=work.branch, blocker=work.blocker, next_action=work.next_action
        ),
        derived=("objective", "next_step") if work.derived else (),
        rules=rules or None,
    )


def complete(
    given: Payload | None,
    messages: Sequence[Message],
    drafts: Sequence[Payload],
    own_words: OwnWords,
    *,
    before: Payload | None = None,
    branch: str = "",
    undecided: bool = False,
) -> Payload:
    """``given`` with its unanswered fields filled from ``drafts`` and then from ``messages``.

    Lists are joined, and blockers of open work stay that an earlier payload stated. For a single value the first draft
    that states it wins, then the first that derived it. Without messages nothing can be derived and the payload comes
    back as given. The curated decision is derived (as ``none``) only when the caller passed no payload, because a
    passed payload must decide (R169), or with ``undecided``, for a payload refused often enough.
    """
    payload, before = given or Payload(), before or Payload()
    if not messages:
        return payload
    values: dict[str, Any] = {}
    for name in (n for n in REQUIRED if getattr(payload, n) is None):
        if name == "curated":
            if given is None or undecided:
                values[name] = CuratedDecision()
        elif name in LISTS:
            values[name] = _joined(drafts, name)
        elif name == "state_mutations":
            values[name] = tuple(m for draft in drafts for m in draft.state_mutations or ())
        elif (drafted := _first(drafts, name)) is not None:
            values[name] = drafted
        else:
            values[name] = _requested(name, messages, before, own_words)
    for name in OPTIONAL:  # the agent's rules do not withdraw the user's
        if (getattr(payload, name) is None or name == "rules") and (found := _joined([payload, *drafts], name)):
            values[name] = found
    if "artifacts" in values:
        values["artifacts"] = tuple(dict.fromkeys(paths.portable(a) for a in values["artifacts"]))
    state = _first(drafts, "work_open")
    unstated = payload.work_open is None and payload.handoff is None
    # A next step, blocker or promise keeps work open even if the conversation looks finished.
    if unstated and (state or (state is False and not is_open(payload.evolve(**values)))):
        values["work_open"] = state
    derived = (name for name in values if getattr(payload, name) is None)
    payload = payload.evolve(**values, derived=(*payload.derived, *derived))
    if is_open(payload) and before.blockers and "blockers" in values:
        others = [name for name in payload.derived if name != "blockers"]
        payload = payload.evolve(blockers=_joined([before, payload], "blockers"), derived=others)
    if is_open(payload) and payload.handoff is None:
        payload = payload.evolve(
            handoff=_handoff(given, payload, _first(drafts, "handoff"), before, branch),
            derived=(*payload.derived, "handoff"),
        )
    return payload


def _first(drafts: Sequence[Payload], name: str) -> Any:
    """The first stated value among the drafts, otherwise the first derived one; None without either."""
    found = [draft for draft in drafts if getattr(draft, name) is not None]
    return next((getattr(draft, name) for draft in sorted(found, key=lambda draft: name in draft.derived)), None)


def _joined(drafts: Sequence[Payload], name: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item for draft in drafts for item in getattr(draft, name) or ()))


def _handoff(
    given: Payload | None,
    payload: Payload,
    drafted: HandoffFields | None,
    before: Payload,
    branch: str,
) -> HandoffFields:
    """The handoff for ``payload``. The task is the objective, unless a plugin drafted another one and the caller stated
    no objective. A stated task stays with its objective."""
    previous = before.handoff
    task = previous.active_task if previous and not before.derived and payload.objective == before.objective else ""
    if not task and drafted is not None and (given is None or given.objective is None):
        task = drafted.active_task
    blockers = [b for b in payload.blockers or () if not is_none(b)]
    return HandoffFields(
        active_task=task or payload.objective or "none",
        branch=branch or (previous.branch if previous else "none"),
        blocker=blockers[0] if blockers else "none",
        next_action=payload.next_step or "none",
    )


def _requested(name: str, messages: Sequence[Message], before: Payload, own_words: OwnWords) -> str:
    """The objective or next step, from the last request, otherwise as known, otherwise a first line of the messages
    or a note that nothing was stated. A few words ("thanks", "go on") do not replace the statement for open work."""
    is_objective = name == "objective"
    known = before.objective or "" if is_objective else _some(before.next_step)
    request = next((own for m in reversed(messages) if m.role == "user" and (own := own_words(m.text))), "")
    if before.work_open and known and name not in before.derived and len(request) < _FEW:
        return known
    if request or known:
        return cut(request, _OBJECTIVE_CHARS if is_objective else _LINE_CHARS) or known
    said = next((m.text for m in messages if m.text.strip()), ownlines.NO_TEXT)
    return first_line(said, _LINE_CHARS) if is_objective else ownlines.NOT_STATED


def _some(text: str | None) -> str:
    return "" if is_none(text) else text or ""


def digest(messages: Sequence[Message], own_words: OwnWords) -> str:
    """The conversation, one clipped line per message, without tool output. A fallback for a summary (reading A22)."""
    lines = []
    for m in messages:
        if m.role == "user" and (own := own_words(m.text)):
            lines.append(f"- user: {cut(own, _LINE_CHARS)}")
        elif m.role == "assistant" and not m.tool and m.text.strip():
            lines.append(f"- assistant: {first_line(m.text, _LINE_CHARS)}")
    if len(lines) > _DIGEST_LINES:
        half = _DIGEST_LINES // 2
        lines = [*lines[:half], ownlines.line(ownlines.MORE, str(len(lines) - 2 * half)), *lines[-half:]]
    return "\n".join([ownlines.NOT_SUMMARISED, "", *lines]) if lines else ""


def admitted(services: Services, payload: Payload, summary: str, found: list[Finding]) -> tuple[Payload, str]:
    """Every string without this machine's paths, through the gate in one call; warnings go to ``found``.

    Raises: Refused, for a pointer to a place on this machine too; PluginError.
    """
    rewrite = paths.rewriter(services.root)
    payload = map_texts(payload, {t: rewrite(t) for t in strings_of(payload)})
    strings = strings_of(payload)
    *good, summary = services.gate.admit_all([*strings, rewrite(summary)], surface=Surface.DAILY, notes=found)
    payload = map_texts(payload, dict(zip(strings, good, strict=True)))
    check_pointers(payload)  # now, because a refusal, which the marker stores, quotes the pointer
    return payload, summary


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
    changed: Payload = _mapped(payload, change.__getitem__)
    return changed


def strings_of(payload: Payload) -> list[str]:
    """Every string in the payload, each once, in order."""
    found: dict[str, str] = {}
    _mapped(payload, lambda text: found.setdefault(text, text))
    return list(found)


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if type(value) is str:
        return change(value)
    if isinstance(value, tuple):
        return tuple([_mapped(one, change) for one in value])
    if has(type(value)):
        old = {one.name: getattr(value, one.name) for one in fields(type(value))}
        new = {name: _mapped(one, change) for name, one in old.items() if name not in ("derived", "sources")}
        return evolve(value, **new) if any(one != old[name] for name, one in new.items()) else value
    return value


def unforeseen(step: str, error: Exception) -> HoldfastError:
    """The error for an exception that no step of a flush expects."""
    message = f"The flush failed at the step `{step}`: {type(error).__name__}: {error}."
    made = HoldfastError(message, next_step="Run `holdfast doctor`; nothing was dropped.")
    made.__cause__ = error
    return made
