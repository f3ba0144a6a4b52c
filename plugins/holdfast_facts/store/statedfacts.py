"""Stores the facts that a flush payload states, each once, even when the flush is retried."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from holdfast.errors import BadValue, Refused
from holdfast.models import Category
from holdfast.text.lazy import Lazy, log
from holdfast.text.openwork import is_none
from holdfast_authorship import hostile

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from holdfast.models import Payload, Turn
    from holdfast.session.services import Services
    from holdfast_facts.store.newer import Value

logger = log("holdfast.facts")

_CUES: Final = (
    (Lazy(r"(?:correction|actually|no, )\b", re.IGNORECASE), Category.CORRECTION),
    (Lazy(r"(?:the user|we|i|\w+) (?:really |strongly )?(?:prefers?|likes?|dislikes?|wants?)\b", re.IGNORECASE),
     Category.PREFERENCE),
    (Lazy(r"(?:the (?:goal|objective|aim) is|goal:)", re.IGNORECASE), Category.GOAL),
)  # fmt: skip


def category(text: str) -> str:
    """A stated fact's category, by its first words. ``context`` where none of them decides."""
    return next((found for cue, found in _CUES if cue.match(text)), Category.CONTEXT)


def store(services: Services, payload: Payload, *, flush: str, at: datetime, turns: Sequence[Turn]) -> None:
    """Store the facts that the caller stated. A retry finds each of them as a duplicate. Raises: PluginError, Corrupt,
    Unavailable."""
    from holdfast_facts.store.lifecycle import Facts

    Facts(services).store(values(services, payload, flush=flush, at=at, turns=turns))


def values(services: Services, payload: Payload, *, flush: str, at: datetime, turns: Sequence[Turn]) -> list[Value]:
    """The facts that the caller stated, dated ``at`` and with the flush's id as their source.

    A sentence that the gate refuses as a fact, or that instructs an agent and is not the user's, stays in the note
    alone. Raises: PluginError.
    """
    from holdfast.facts.factrules import DEFAULT_CONFIDENCE
    from holdfast_facts.store.lifecycle import Facts

    if payload.facts is None or "facts" in payload.derived:
        return []
    facts, found = Facts(services), []
    for text in hostile.without_instructions([t for t in payload.facts if not is_none(t)], turns):
        try:
            found.append(facts.stated(text, category(text), DEFAULT_CONFIDENCE, flush, at=at))
        except (BadValue, Refused) as error:
            logger.info("a stated fact was not stored: %s", type(error).__name__)
    return found
