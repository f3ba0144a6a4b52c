"""Stores the facts that a flush payload states, each once, even when the flush is retried."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from holdfast.errors import BadValue, Refused
from holdfast.journal import order
from holdfast.journal.journal import Journal
from holdfast.models import AddOutcome, AddResult, Category
from holdfast.text.lazy import Lazy
from holdfast.text.plain import cut, is_none
from holdfast_app.authorship.witness import REASON

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from holdfast.models import Payload
    from holdfast_app.authorship.witness import Witness
    from holdfast_app.base import Services
    from holdfast_app.facts.store.writer import Value

#: Characters of a fact that a warning quotes.
_QUOTED: Final = 60
_CUES: Final = (
    (Lazy(r"(?:correction|actually|no, )\b", re.IGNORECASE), Category.CORRECTION),
    (Lazy(r"(?:the user|we|i|\w+) (?:really |strongly )?(?:prefers?|likes?|dislikes?|wants?)\b", re.IGNORECASE),
     Category.PREFERENCE),
    (Lazy(r"(?:the (?:goal|objective|aim) is|goal:)", re.IGNORECASE), Category.GOAL),
)  # fmt: skip


def category(text: str) -> str:
    """A stated fact's category, by its first words. ``context`` where none of them decides."""
    return next((found for cue, found in _CUES if cue.match(text)), Category.CONTEXT)


def values(
    services: Services, payload: Payload, heard: Witness, *, flush: str, at: datetime, late: str = ""
) -> list[Value | AddResult]:
    """The facts that the caller stated, in order, dated ``at`` and with the flush's id as their source; ``late`` names
    a flush's session, when it is stored late.

    A sentence that the gate refuses as a fact, or that instructs an agent and is not the user's, stays in the note
    alone, and has a refusal here. Raises: PluginError, Unavailable.
    """
    from holdfast.text.stored import DEFAULT_CONFIDENCE
    from holdfast_app.facts.store.lifecycle import Facts

    facts = Facts(services)
    found: list[Value | AddResult] = []
    stated = _texts(payload)
    said = order.flushes(Journal(services.state, late)) if late and stated else None
    for text in stated:
        if heard.is_hostile(text):
            found.append(AddResult(outcome=AddOutcome.REFUSED, reason=REASON))
            continue
        try:
            found.append(facts.stated(text, category(text), DEFAULT_CONFIDENCE, flush, at=at, said=said))
        except (BadValue, Refused) as error:
            found.append(AddResult(outcome=AddOutcome.REFUSED, reason=error.message.rstrip(".")))
    return found


def unstored(payload: Payload, results: Sequence[AddResult]) -> tuple[str, ...]:
    """A sentence for each unstored fact of ``payload``, with the reason."""
    return tuple(
        f"Stated fact {number} was not stored ({cut(text, _QUOTED)}): {result.reason}."
        for number, (text, result) in enumerate(zip(_texts(payload), results, strict=True), 1)
        if result.outcome is AddOutcome.REFUSED
    )


def _texts(payload: Payload) -> list[str]:
    """The stated facts."""
    return [] if "facts" in payload.derived else [text for text in payload.facts or () if not is_none(text)]
