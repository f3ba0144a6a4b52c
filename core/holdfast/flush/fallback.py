"""Fields and a summary for a flush that no plugin drafted. Messages are cut, not judged, so work counts as open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from holdfast.text import ownlines
from holdfast.text.openwork import is_none
from holdfast.text.plain import cut, first_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from holdfast.models import Message, Payload

    #: The user's own words in a message's text, see :meth:`holdfast.flush.interfaces.authorship.Authorship.own_words`.
    OwnWords: TypeAlias = Callable[[str], str]

#: Readers of the handoff cut an objective here.
_OBJECTIVE_CHARS: Final = 200
_LINE_CHARS: Final = 300
_DIGEST_LINES: Final = 40
#: A shorter message is hardly a new request.
_FEW: Final = 30


def objective(messages: Sequence[Message], before: Payload, own_words: OwnWords) -> str:
    """The last request, otherwise the known objective or a first line. A few words do not replace a stated one."""
    known = before.objective or ""
    if _stays(known, "objective", messages, before, own_words):
        return known
    said = [m.text for m in messages if m.text.strip()] or [ownlines.NO_TEXT]
    return cut(_last_request(messages, own_words), _OBJECTIVE_CHARS) or known or first_line(said[0], _LINE_CHARS)


def next_step(messages: Sequence[Message], before: Payload, own_words: OwnWords) -> str:
    """The last request, otherwise the known next step. A few words do not replace a stated one."""
    known = "" if is_none(before.next_step) else before.next_step or ""
    if _stays(known, "next_step", messages, before, own_words):
        return known
    return cut(_last_request(messages, own_words), _LINE_CHARS) or known or ownlines.NOT_STATED


def _stays(known: str, name: str, messages: Sequence[Message], before: Payload, own_words: OwnWords) -> bool:
    """Whether the field ``name`` of open work was stated, and the user has said no more than "thanks" or "go on"."""
    stated = bool(before.work_open and known and name not in before.derived)
    return stated and len(_last_request(messages, own_words)) < _FEW


def _last_request(messages: Sequence[Message], own_words: OwnWords) -> str:
    return next((own for m in reversed(messages) if m.role == "user" and (own := own_words(m.text))), "")


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
