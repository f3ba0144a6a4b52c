"""Extraction in the background: ended turns go from the journals to the queue, then to the extractors.

A separate process does this (:mod:`holdfast_app.upkeep`), never an agent's hook. Only one works at a time, bounded
in time and in calls a day. Its record is ``state/upkeep.json``.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

from attrs import evolve

from holdfast import Session
from holdfast.errors import HoldfastError, Unavailable
from holdfast.fs import private
from holdfast.journal import journal
from holdfast.text.lazy import log
from holdfast_app import background
from holdfast_app.facts.extraction import backlog, extract, lastrun
from holdfast_app.facts.extraction.queue import FILE, MAX_ITEMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.models import Message
    from holdfast_app.base import Services

logger = log(__name__)

_WORK: Final = "extract-work"
#: Maximum wait for another process that may be about to end, in seconds.
_PATIENCE_S: Final = 3.0
#: Maximum duration of a run, in seconds. The next one continues.
_LIMIT_S: Final = 600.0


def run(services: Services) -> extract.ExtractResult:
    """Extract every ended turn not yet extracted, and everything else due in the queue.

    A failure ends the run, because the next piece would most likely fail too, and so do the limits of time and of calls
    a day. The rest waits. Returns an empty result while another process works, which looks for new turns after each
    piece. Raises: Unavailable.
    """
    private.make(services.state)
    with ExitStack() as working:
        try:
            working.enter_context(private.lock(services.private(_WORK), timeout_s=_PATIENCE_S))
        except Unavailable:
            return extract.ExtractResult()
        return _worked(services)


def _worked(services: Services) -> extract.ExtractResult:
    result, record = extract.ExtractResult(), lastrun.begun(services)
    most, until = services.config.extract.calls_a_day, time.monotonic() + _LIMIT_S
    while True:
        collect(services)
        if not services.waits(FILE):
            break
        if record.calls >= most or time.monotonic() > until:
            record = evolve(record, problem=f"The rest waits: at most {most} calls a day, in at most 10 minutes each.")
            break
        lastrun.save(services, record)
        step = backlog.work_off(services)
        result += step
        calls, pieces = record.calls + step.retried, record.pieces + step.retried
        record = evolve(record, calls=calls, pieces=pieces, facts=len(result.added), problem=" ".join(step.failures))
        if step.failures or not step.retried:
            break
    if record.pieces or record.problem:
        lastrun.save(services, evolve(record, ended=services.now()))
    return result


def everything(services: Services) -> extract.ExtractResult:
    """Try every waiting item once, due or not. Raises: Unavailable."""
    if services.config.extract.when == background.TURN:
        collect(services)
    return backlog.work_off(services, limit=MAX_ITEMS, even_if_not_due=True)


def collect(services: Services) -> None:
    """Queue every session's ended turns that are neither extracted nor queued."""
    plugins = backlog.later(services)
    for one in journal.every(services.state) if plugins else ():
        try:
            if one.is_unflushed():
                said = Session(services, one.session_id).unflushed
                backlog.enqueue(services, one.session_id, ended(said), plugins)
        except HoldfastError as error:
            logger.warning("cannot queue a session's turns: %s", error.message)


def ended(messages: Sequence[Message]) -> Sequence[Message]:
    """``messages`` without a final turn that has no answer yet."""
    answer = next((n + 1 for n in reversed(range(len(messages))) if _answers(messages[n])), 0)
    begun = next((n for n in reversed(range(len(messages))) if messages[n].role == "user"), 0)
    return messages[: max(answer, begun)]


def _answers(message: Message) -> bool:
    return message.role == "assistant" and not message.tool
