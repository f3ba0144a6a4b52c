"""The payload fields that follow from a conversation's course: objective, next step, task, and whether work is open.

Stated fields of open work stay until the user requests something else. A finished request leaves them as they
were.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from holdfast.text.plain import cut, first_line, is_none
from holdfast_app.authorship.ownwords import own_words
from holdfast_app.offline.conversation import asked, ending
from holdfast_app.offline.conversation.asked import Kind

if TYPE_CHECKING:
    from holdfast.models import Message, Payload

_CLIP: Final = 300
#: Maximum length in characters of a request that means little alone, and of a reply to a question.
_FEW: Final = 30
_REPLY: Final = 80
_SINCE: Final = ". Since then: "


def added(draft: Payload, messages: Sequence[Message], before: Payload) -> Payload:
    """``draft`` with these fields, named in its ``derived``. ``before`` is the state before ``messages``."""
    end = ending.of(messages)
    if end.goes_on and not before.work_open:  # "continue", without anything to continue
        end = ending.Ending(open=False, next_step=ending.NONE)
    if before.work_open and not end.open and _only_asks(messages):
        end = ending.Ending()
    values: dict[str, Any] = {"objective": _objective(messages, before, end), "work_open": end.open}
    if draft.next_step is None:
        values["next_step"] = _next_step(messages, end, before)
    return draft.evolve(**values, derived=[name for name, value in values.items() if value is not None])


def _only_asks(messages: Sequence[Message]) -> bool:
    """Whether the user only asked questions, answered without a tool, which changes no work."""
    said = [m.text for m in messages if m.role == "user"]
    return bool(said and not any(m.tool for m in messages)) and all(
        own_words(text).endswith(("?", "？")) or asked.kind(text) in (Kind.COURTESY, Kind.NOTHING) for text in said
    )


def _objective(messages: Sequence[Message], before: Payload, end: ending.Ending) -> str | None:
    """The last request, in the user's own words, or the known objective if the user has requested nothing since, or if
    it was stated and the request is finished. Without either, the next step that the conversation ends with."""
    known, next_step = before.objective or "", end.next_step
    if before.work_open and known and (end.open is None or not (before.derived or end.open)):
        return known
    if asked_last := asked.objective(messages, asked.OBJECTIVE):
        return _in_context(asked_last, before) if before.work_open else asked_last
    if known or not is_none(next_step):
        return known or cut(next_step, asked.OBJECTIVE)
    spoken = [own for m in messages if m.role == "user" and (own := own_words(m.text))]
    spoken += [m.text for m in messages if m.role == "assistant" and m.text.strip()]
    return first_line(spoken[0], _CLIP) if spoken else None


def _in_context(text: str, before: Payload) -> str:
    """The last request ``text``, followed in brackets by the open work's objective if it is only a few words or the
    reply to the agent's question. After a compaction the request that it belongs to is no longer among the messages."""
    known = before.objective or ""
    began = known.partition(asked.AFTER)[2].removesuffix(")") or known
    few = _REPLY if (before.next_step or "").rstrip().endswith("?") else _FEW
    if not began or asked.AFTER in text or text in began or len(text) > few:
        return text
    return f"{text}{asked.AFTER}{cut(began, asked.OBJECTIVE - len(text) - len(asked.AFTER) - 1)})"


def _next_step(messages: Sequence[Message], end: ending.Ending, before: Payload) -> str:
    """The next step according to the last messages, or the step stated earlier. Without news about the work the earlier
    step is kept, and a stated one also until the user has said something and the work goes on; news is added to it."""
    known = (before.next_step or "") if before.work_open else ""
    if before.work_open and end.open is None:
        return known or "not stated"
    if not is_none(known) and not before.derived and not (end.open and _spoke(messages)):
        news = end.next_step if end.open and not is_none(end.next_step) else ""
        return f"{known.rstrip('. ')}{_SINCE}{news}" if news and news not in known else known or "not stated"
    return end.next_step or known or "not stated"


def _spoke(said: Sequence[Message]) -> bool:
    """Whether the user asked for something, or told the agent to go on."""
    return any(m.role == "user" and asked.kind(m.text) in (Kind.REQUEST, Kind.ASSENT) for m in said)
