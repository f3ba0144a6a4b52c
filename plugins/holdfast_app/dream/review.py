"""Review of a waiting dream (``[dream] apply = "propose"``), which a user accepts or rejects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve

from holdfast.config.layout import Surface
from holdfast.errors import Refused
from holdfast_app.authorship import witness
from holdfast_app.dream import dreamlog, memorytext, state_files, when
from holdfast_app.dream.consolidate import Before
from holdfast_app.dream.dreamlog import DreamResult, Status
from holdfast_app.dream.state_files import Proposal
from holdfast_app.dream.when import Mark
from holdfast_app.dream.write import apply, lock

if TYPE_CHECKING:
    from holdfast_app.base import Services


def waiting(services: Services) -> Proposal:
    """The waiting dream. Raises: Refused when there is none; Corrupt; Unavailable."""
    found = state_files.proposal(services.state)
    if found is None:
        raise Refused("No dream waits for review.", next_step="`holdfast dream` makes one when it is due.")
    return found


def accept(services: Services) -> DreamResult:
    """Write the waiting dream: backup, diary, MEMORY.md, mark. It passes the gate again.

    Raises: Refused; Conflict when MEMORY.md was edited since it was proposed; PluginError; Corrupt; Unavailable.
    """
    with lock(services):
        found = waiting(services)
        stored = services.store.read(found.name)
        previous = stored.text if stored else None
        there = Before(item.text for item in memorytext.read(previous or "", prose_is_item=True).items)
        new = [item.text for item in memorytext.read(found.text).items if not there.has(item.text)]
        witness.check(services, new, found.name)
        text = services.gate.admit(found.text, surface=Surface.MEMORY, name=found.name, previous=previous)
        base = found.base
        if stored is not None and stored.text == text:  # an earlier process wrote it and then died
            base = stored.revision
        result = evolve(found.result, at=services.now(), reason="", next_step="")
        result = apply(services, evolve(found, result=result, text=text, base=base))
        dreamlog.record(services.state, result)
        state_files.clear_inbox(services.state)
        return result


def reject(services: Services) -> DreamResult:
    """Reject the dream. The same notes are not dreamt of again. Raises: Refused; Corrupt; Unavailable."""
    with lock(services):
        found = waiting(services)
        now = services.now()
        result = evolve(found.result, status=Status.REJECTED, at=now, reason="It was rejected in review.", next_step="")
        when.set_mark(services.state, Mark(digest=found.digest, at=now, id=result.id))
        dreamlog.record(services.state, result)
        state_files.clear_inbox(services.state)
        return result
