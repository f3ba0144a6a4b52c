"""Calls ``on_flush`` and checks its evidence: published content must read back as it was published."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from attrs import evolve

from holdfast.config.layout import Surface
from holdfast.errors import FlushRefused
from holdfast.fs import paths, private

if TYPE_CHECKING:
    from holdfast.models import Evidence, Payload, Receipt
    from holdfast.session.services import Services

#: Time limit in seconds for waiting items, at a flush with nothing new to publish.
FLUSH_LIMIT_S: Final = 5.0


def publish(services: Services, payload: Payload, receipt: Receipt) -> Receipt:
    """The receipt with the plugins' evidence. Raises: FlushRefused, PluginError."""
    found = services.plugins.on_flush(payload, receipt)
    for item in found:
        paths.check_pointer(item.pointer, "evidence.pointer")
        if item.published.strip() != item.read_back.strip():
            raise FlushRefused(
                f"The content published at {item.pointer} reads back differently.",
                next_step="Look at it there, then flush again.",
                target=Surface.TRAIL,
            )
    warnings = (*receipt.warnings, *remarks(services, found))
    return evolve(receipt, evidence=found, pending=pending(services, found), warnings=warnings)


def pending(services: Services, found: Iterable[Evidence]) -> int:
    """The number of unpublished items, after another try: those in the outbox, which have no pointer yet, also of
    earlier flushes, and those that a plugin keeps itself. Raises: PluginNotFound when items wait and no installed
    package can send them."""
    waiting = services.outbox.send_due(limit_s=FLUSH_LIMIT_S) if services.waits(private.OUTBOX) else 0
    return waiting + sum(e.pending for e in found if e.pointer)


def remarks(services: Services, found: Iterable[Evidence]) -> tuple[str, ...]:
    """The plugins' notes, each once."""
    notes = (f"{e.target}: {e.note}" for e in found if e.note)
    return tuple(dict.fromkeys(paths.rewrite(text, services.root) for text in notes))
