"""Checks of ``holdfast doctor`` for what waits to be published, and for forges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from holdfast.errors import HoldfastError
from holdfast.models import Check, Outcome
from holdfast_app.outbox.delivery import forges_of

if TYPE_CHECKING:
    from holdfast import Holdfast


def checks(memory: Holdfast) -> Iterator[Check]:
    yield from _outbox(memory)
    yield from _forges(memory)


def _outbox(memory: Holdfast) -> Iterator[Check]:
    """What waits to be published. Silent where no plugin publishes anything."""
    items = memory.outbox.items()
    if not items:
        if forges_of(memory.services, publishing=True):
            yield Check(name="outbox", outcome=Outcome.OK, message="nothing waits to be published")
        return
    for error, step in dict.fromkeys((item.error, item.next_step) for item in items):
        count = sum((item.error, item.next_step) == (error, step) for item in items)
        message = f"{count:,} waiting to be published: {error or 'not tried yet'}"
        step = step or "`holdfast outbox send` sends it now."
        yield Check(name="outbox", outcome=Outcome.WARN, message=message, next_step=step)


def _forges(memory: Holdfast) -> Iterator[Check]:
    """Whether forges can be used. A failure is only a warning, because work can continue without a forge."""
    for forge in forges_of(memory.services).values():
        try:
            told = forge.check()
        except HoldfastError as error:
            step = error.next_step or "Correct it; until then comments wait."
            yield Check(name=forge.name, outcome=Outcome.WARN, message=error.message, next_step=step)
        else:
            yield Check(name=forge.name, outcome=Outcome.OK, message=told or "enabled")
