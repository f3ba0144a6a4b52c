"""Merges both sides of a git conflict in notes, the handoff and the facts, after making a backup."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING
from zlib import crc32

from attrs import frozen

from holdfast.config.layout import Surface
from holdfast.errors import Corrupt
from holdfast.flush import handoff
from holdfast.fs import durable, private
from holdfast.text import conflicts
from holdfast_app.data_loss import audit

if TYPE_CHECKING:
    from holdfast_app.services import Services

_GROWING = (Surface.DAILY, Surface.TRAIL, Surface.DIARY)
_BY_HAND = "Keep the right lines and remove the markers."
_FIX = "Keep the right lines and remove the markers, or run `holdfast doctor --fix`, which keeps both sides."


@frozen(kw_only=True)
class Found:
    """A conflict, and whether both sides are together now."""

    message: str
    next_step: str = ""
    repaired: bool = False


def look(services: Services, *, repair: bool) -> Iterator[Found]:
    """Every document and the facts. Raises: Corrupt when a side of the handoff cannot be read; Refused; Unavailable."""
    for name in services.store.names():
        try:
            document = services.store.read(name)
        except Corrupt:
            continue  # the check of documents reports it
        told = conflicts.described(name, document.text) if document else ""
        if not told or document is None:
            continue
        surface = services.layout.surface_of(name)
        if surface not in (*_GROWING, Surface.HANDOFF):
            yield Found(message=told, next_step=_BY_HAND)
        elif not repair or surface is None:
            yield Found(message=told, next_step=_FIX)
        else:
            keep(services, name, document.text.encode())
            text = _together(surface, name, document.text)
            text = services.gate.admit(text, surface=surface, name=name, previous=document.text)
            services.store.replace(surface, name, text, document.revision)
            yield Found(message=f"{name} now has both sides of the merge, and a backup was kept", repaired=True)
    yield from _facts(services, repair=repair)


def _facts(services: Services, *, repair: bool) -> Iterator[Found]:
    backend = services.store.backend
    damage = backend.damage()
    if damage is None:
        return
    if not repair:
        yield Found(message=damage.message, next_step=damage.next_step)
        return
    keep(services, services.config.storage.facts, damage.data)
    backend.repair()
    before = backend.count_facts()
    services.facts.restore(audit.flushes(services))
    again = backend.count_facts() - before
    message = (
        f"{services.config.storage.facts} can be read again, and a backup was kept. Stated facts put back: {again}"
    )
    yield Found(message=message, repaired=True)


def _together(surface: Surface, name: str, text: str) -> str:
    if surface is not Surface.HANDOFF:
        return conflicts.both(text)
    entries: dict[str, handoff.Work] = {}
    for version in conflicts.sides(text):
        for work in handoff.parse(version, name):
            entries.setdefault(work.session, work)
    return handoff.render(entries.values())


def keep(services: Services, name: str, data: bytes) -> None:
    """Put a copy into ``state/conflicts``. Raises: Unavailable."""
    folder = private.make(services.state, "conflicts")
    durable.replace(f"{folder}/{name.replace('/', '~')}.{crc32(data):08x}", data)
