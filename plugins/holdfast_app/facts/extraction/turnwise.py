"""Turn-by-turn extraction, ``[extract] when = "turn"``: ended turns go from the journals to the queue, then to the
extractors.

A separate process does this (:mod:`holdfast_app.background`), never an agent's hook. Only one works at a time.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from holdfast import Session
from holdfast.errors import HoldfastError, Unavailable
from holdfast.fs import private
from holdfast.journal import journal
from holdfast.text.lazy import log
from holdfast_app import background
from holdfast_app.facts.extraction import backlog, extract
from holdfast_app.facts.extraction.queue import MAX_ITEMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.models import Message
    from holdfast_app.base import Services

logger = log(__name__)

_WORK: Final = "extract-work"


def run(services: Services) -> extract.ExtractResult:
    """Extract every ended turn not yet extracted, and everything else due in the queue.

    A failure ends the run, because the next piece would most likely fail too. The rest waits. Returns an empty result
    while another process works, which looks for new turns after each piece. Raises: Unavailable.
    """
    private.make(services.state)
    result = extract.ExtractResult()
    with ExitStack() as working:
        try:
            working.enter_context(private.lock(services.private(_WORK), timeout_s=0.0))
        except Unavailable:
            return result
        while True:
            collect(services)
            step = backlog.work_off(services)
            result += step
            if step.failures or not step.retried:
                return result


def everything(services: Services) -> extract.ExtractResult:
    """Try every waiting item once, due or not. Raises: Unavailable."""
    if services.config.extract.when == background.TURN:
        collect(services)
    return backlog.work_off(services, limit=MAX_ITEMS, even_if_not_due=True)


def collect(services: Services) -> None:
    """Queue every session's ended turns that are neither extracted nor queued."""
    plugins = list(services.plugins.extractors())
    for path in journal.session_files(services.state) if plugins else ():
        try:
            session_id = journal.session_id_of(path)
            if session_id is None or not journal.Journal(services.state, session_id).is_unflushed():
                continue
            session = Session(services, session_id)
            backlog.enqueue(services, session_id, ended(session.unflushed), plugins)
        except HoldfastError as error:
            logger.warning("cannot queue a session's turns: %s", error.message)


def ended(messages: Sequence[Message]) -> Sequence[Message]:
    """``messages`` without a final turn that has no answer yet."""
    answer = next((n + 1 for n in reversed(range(len(messages))) if _answers(messages[n])), 0)
    begun = next((n for n in reversed(range(len(messages))) if messages[n].role == "user"), 0)
    return messages[: max(answer, begun)]


def _answers(message: Message) -> bool:
    return message.role == "assistant" and not message.tool
