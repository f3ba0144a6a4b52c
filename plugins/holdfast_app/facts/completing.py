"""Fill the fields of a flush's payload that its caller did not state, without inventing anything.

Sources in order are the caller's values, the drafts from ``on_extract``, and for objective and next step the messages,
cut, not judged, so work counts as open. Fields that the caller did not give are named in ``payload.derived``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from holdfast.config.serde import flushed_payload
from holdfast.flush import handoff
from holdfast.flush.contract import REQUIRED, missing
from holdfast.fs import paths
from holdfast.models import CuratedDecision, HandoffFields, Payload, turns_of
from holdfast.models.payload import OPTIONAL
from holdfast.services.interfaces import Completed
from holdfast.text.plain import is_none, is_open
from holdfast_app.authorship import sources
from holdfast_app.authorship.ownwords import own_words
from holdfast_app.facts.extraction import extract
from holdfast_app.printable import cut, first_line
from holdfast_app.records import ownlines
from holdfast_app.sentences.withdrawal import is_line

if TYPE_CHECKING:
    from holdfast.flush.plan import Attempt
    from holdfast.models import Message
    from holdfast_app.base import Services

_LISTS: Final = ("facts", "decisions", "blockers", "artifacts", "follow_ups", "state_mutations", *OPTIONAL)
#: Readers of the handoff cut an objective here.
_OBJECTIVE_CHARS: Final = 200
_LINE_CHARS: Final = 300
_DIGEST_LINES: Final = 40
#: A shorter message is hardly a new request.
_FEW: Final = 30
_CUT: Final = (
    f"Only the newest {extract.AT_ONCE_MESSAGES:,} messages were read for facts and statements. "
    "`holdfast extract --transcript FILE` reads all of a transcript."
)


def completed(
    services: Services, attempt: Attempt, given: Payload | None, messages: Sequence[Message], *, undecided: bool
) -> Completed:
    """See :meth:`holdfast.session.Session._fill`. Extractors with a model run later, without the lock."""
    if given is not None and given.rules:  # an agent's payload withdraws no rule of the user
        given = given.evolve(rules=[rule for rule in given.rules if not is_line(rule)])
    if not messages:
        return Completed(given or Payload())
    lacks, is_new = bool(missing(given or Payload())), bool(attempt.messages)
    is_read = lacks and not attempt.offline
    before = _before(services, attempt, attempt.documents.entries() if is_read else ())
    drafts, summary, warnings, gathered = list[Payload](), "", list[str](), None
    if is_new or lacks:
        newest = messages[-extract.AT_ONCE_MESSAGES :]
        turns = turns_of(newest)
        is_near = is_read and not services.is_remote  # a server's facts would cost a round trip
        stored = [fact.content for fact in extract.known_on(services, turns)] if is_near else None
        gathered = extract.at_once(services, turns, before.evolve(facts=stored or None))
        warnings = [_CUT] * (len(messages) > len(newest)) + list(gathered.failed.values())
        drafts = [extraction.draft for _, extraction in gathered.results]
        if is_new:
            summaries = (extraction.summary.strip() for _, extraction in gathered.results)
            summary = "\n\n".join(filter(None, summaries))
            if summary and given is not None and given.objective is not None:  # where extractors leave the last request
                request = cut(_last_request(newest), _LINE_CHARS)
                if request.rstrip("…") not in " ".join(summary.split()):
                    summary = f"{summary}\n\n{ownlines.ASKED_LAST}:\n- {request}"
            summary = summary or digest(newest)
        else:  # an earlier flush has the lists and the summary of these messages
            stated = [before] if before.work_open and not before.derived else []  # and nothing was requested since
            drafts = [draft.evolve(**dict.fromkeys(_LISTS)) for draft in (*stated, *drafts)]
            gathered = None
    payload = complete(given, messages, drafts, before, branch=attempt.session.branch, undecided=undecided)
    return Completed(payload.evolve(sources=sources.of(payload, messages)), summary, gathered, warnings)


def _before(services: Services, attempt: Attempt, entries: Sequence[handoff.Work]) -> Payload:
    """The state before a flush's messages, as ``on_extract`` gets it: the project's standing rules in the handoff's
    ``entries``, and the session's open work with the stated blockers, otherwise the last flush's objective in the
    journal; for a new session that of the newest open work, derived, as it may go on with it. ``derived`` names the
    unstated fields."""
    last, work = attempt.session.last_flush, _open_work(services, attempt, entries)
    rules = tuple(dict.fromkeys(rule for entry in entries for rule in entry.rules))
    known = last["payload"].get("objective") if last else None
    if work is None:
        other = next((entry.objective for entry in entries if entry.is_open and entry.derived and last is None), None)
        derived = ("objective",) if other else ()
        return Payload(objective=known or other, work_open=False, derived=derived, rules=rules or None)
    were_stated = "blockers" not in last.get("derived", ()) if last else not work.derived
    task, step = work.active_task, work.next_action
    return Payload(
        objective=work.objective or known,
        blockers=work.blockers if were_stated else None,
        next_step=step,
        work_open=True,
        handoff=HandoffFields(active_task=task, branch=work.branch, blocker=work.blocker, next_action=step),
        derived=("objective", "next_step") if work.derived else (),
        rules=rules or None,
    )


def _open_work(services: Services, attempt: Attempt, entries: Sequence[handoff.Work]) -> handoff.Work | None:
    """The session's open work before the messages: from the journal when the store is not read, else from the handoff.
    When the handoff is full, only the journal may have it."""
    session, left = attempt.session, attempt.offline
    work = next((entry for entry in entries if entry.session == session.id), None)
    if work is None and session.last_receipt is not None and handoff.is_full(entries):
        decided = services.decided(session.id, session.last_receipt.flush_id)
        left = decided is None or decided.is_open
    if left and session.last_flush is not None:
        work = handoff.of(flushed_payload(session.last_flush), session=session.id, flush="", note="")
    return work if work is not None and work.is_open else None


def complete(
    given: Payload | None,
    messages: Sequence[Message],
    drafts: Sequence[Payload],
    before: Payload,
    *,
    branch: str = "",
    undecided: bool = False,
) -> Payload:
    """``given`` with its unanswered fields filled from ``drafts`` and then from ``messages``.

    Lists are joined, and blockers of open work stay that an earlier payload stated. For a single value the first draft
    that states it wins, then the first that derived it. The curated decision is derived (as ``none``) only when the
    caller passed no payload, because a passed payload must decide (R169), or with ``undecided``, for a payload refused
    often enough.
    """
    payload, values = given or Payload(), dict[str, Any]()
    for name in (n for n in REQUIRED if getattr(payload, n) is None):
        if name == "curated":
            values |= {name: CuratedDecision()} if given is None or undecided else {}
        elif name in _LISTS:
            values[name] = _joined(drafts, name)
        else:
            drafted = _first(drafts, name)
            values[name] = _requested(name, messages, before) if drafted is None else drafted
    for name in OPTIONAL:  # the agent's rules do not withdraw the user's
        if (getattr(payload, name) is None or name == "rules") and (items := _joined([payload, *drafts], name)):
            values[name] = items
    if "artifacts" in values:
        values["artifacts"] = tuple(dict.fromkeys(map(_portable, values["artifacts"])))
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
        handoff = _handoff(given, payload, _first(drafts, "handoff"), before, branch)
        payload = payload.evolve(handoff=handoff, derived=(*payload.derived, "handoff"))
    return payload


def _first(drafts: Sequence[Payload], name: str) -> Any:
    """The first stated value among the drafts, otherwise the first derived one; None without either."""
    stating = [draft for draft in drafts if getattr(draft, name) is not None]
    return next((getattr(draft, name) for draft in sorted(stating, key=lambda draft: name in draft.derived)), None)


def _joined(drafts: Sequence[Payload], name: str) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(item for draft in drafts for item in getattr(draft, name) or ()))


def _handoff(
    given: Payload | None, payload: Payload, drafted: HandoffFields | None, before: Payload, branch: str
) -> HandoffFields:
    """The handoff for ``payload``. The task is the objective, unless a plugin drafted another one and the caller stated
    no objective. A stated task stays with its objective."""
    previous = before.handoff
    task = previous.active_task if previous and not before.derived and payload.objective == before.objective else ""
    if not task and drafted is not None and (given is None or given.objective is None):
        task = drafted.active_task
    return HandoffFields(
        active_task=task or payload.objective or "none",
        branch=branch or (previous.branch if previous else "none"),
        blocker=next((blocker for blocker in payload.blockers or () if not is_none(blocker)), "none"),
        next_action=payload.next_step or "none",
    )


def _requested(name: str, messages: Sequence[Message], before: Payload) -> str:
    """The objective or next step, from the last request, otherwise as known, otherwise a first line of the messages
    or a note that nothing was stated. A few words ("thanks", "go on") do not replace the statement for open work."""
    is_objective = name == "objective"
    stated = before.objective if is_objective else before.next_step
    known = stated if stated and (is_objective or not is_none(stated)) else ""
    request = _last_request(messages)
    if before.work_open and known and name not in before.derived and len(request) < _FEW:
        return known
    if request or known:
        return cut(request, _OBJECTIVE_CHARS if is_objective else _LINE_CHARS) or known
    text = next((m.text for m in messages if m.text.strip()), ownlines.NO_TEXT)
    return first_line(text, _LINE_CHARS) if is_objective else ownlines.NOT_STATED


def _last_request(messages: Sequence[Message]) -> str:
    return next((own for m in reversed(messages) if m.role == "user" and (own := own_words(m.text))), "")


def digest(messages: Sequence[Message]) -> str:
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


def _portable(pointer: str) -> str:
    """An absolute path's last part, for a pointer that nobody stated and that cannot be refused."""
    return os.path.basename(pointer.replace("\\", "/").rstrip("/")) if paths.is_absolute(pointer) else pointer
