"""Changes of a handoff that features make: repair it, put an entry, reopen work, remove a rule."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC
from typing import Final

from attrs import evolve

from holdfast import models
from holdfast.config.layout import Surface
from holdfast.config.serde import stamp
from holdfast.errors import Conflict, Corrupt, Refused
from holdfast.flush import handoff
from holdfast.flush.handoff import FENCE, Work, parse
from holdfast_app.base import Services
from holdfast_app.records import ownlines

#: Why work is closed that a later session took up.
GOES_ON: Final = "session {} goes on with it"


def is_gone(services: Services) -> bool:
    """Whether a handoff created here is missing or empty. A server is not asked. Raises: Unavailable."""
    name = services.layout.name(Surface.HANDOFF)
    if services.is_remote:
        return False
    with suppress(Corrupt, Refused):  # the flush reports it
        return name in services.store.provenance.stored() and not getattr(services.store.read(name), "text", "")
    return False


def salvaged(text: str) -> tuple[Work, ...]:
    """The entries that a damaged handoff still has whole."""
    entries: list[Work] = []
    toml, fence, _ = text.replace("\r\n", "\n").partition(f"\n{FENCE}\n")
    parts = toml.split("\n[[work]]\n")[1:]
    for part in parts if fence else parts[:-1]:  # where it was cut, the last entry may lack lines
        with suppress(Corrupt):
            entries += parse(f"{FENCE}\n[[work]]\n{part}\n{FENCE}\n")
    return tuple(entries)


def newest(entries: Iterable[Work]) -> list[Work]:
    return sorted(entries, key=lambda w: w.at, reverse=True)


def without_rule(entries: Iterable[Work], rule: str) -> tuple[Work, ...]:
    """The entries without a rule. A closed marker that held no other goes with it."""
    changed = (evolve(w, rules=tuple(r for r in w.rules if r != rule)) if rule in w.rules else w for w in entries)
    return tuple(w for w in changed if w.is_open or w.rules or not w.short)


def reopened(work: Work, because: str = "") -> Work:
    """Open work again. Without a next action of its own, the reason for reopening it is the next action."""
    step = work.next_action or because or ownlines.NOT_STATED
    return evolve(
        work, state="open", ended="", because="", next_action=step, derived=work.derived or not work.next_action
    )


def entry(receipt: models.Receipt, payload: models.Payload) -> Work:
    note = next((w.name for w in receipt.written if w.surface == Surface.DAILY), "")
    at = stamp(receipt.at.astimezone(UTC))
    return handoff.of(payload, session=receipt.session_id, flush=receipt.flush_id, note=note, at=at)


def put(there: Iterable[Work], new: Work) -> tuple[Work, ...]:
    """Put ``new`` in place of its session's entry, or first. Raises: Conflict when that entry is from another flush."""
    entries = tuple(there)
    mine = next((w for w in entries if w.session == new.session), None)
    if mine is None:
        return handoff.put(entries, evolve(new, rules=()))
    if mine.flush != new.flush:
        raise Conflict(f"Session {new.session!r} wrote new work meanwhile.", next_step="Run `holdfast work` to see it.")
    return tuple(evolve(new, rules=w.rules) if w is mine else w for w in entries)
