"""Checks documents and facts, and with ``--fix`` makes a damaged one readable and merges both sides of a git conflict.
The text from before is kept in ``state/damaged`` or ``state/conflicts``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING
from zlib import crc32

from holdfast.config.layout import Surface
from holdfast.errors import Corrupt, HoldfastError, Unavailable
from holdfast.flush import handoff
from holdfast.fs import durable, private, safeopen
from holdfast.storage import Capability
from holdfast.text import conflicts
from holdfast_app.checkup.results import fail, failed, good, repaired
from holdfast_app.data_loss import audit

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast.models import Check
    from holdfast_app.services import Services

#: Documents that are never empty, because holdfast only appends to them.
_GROWING = (Surface.DAILY, Surface.TRAIL, Surface.DIARY)
_BY_HAND = "Keep the right lines and remove the markers"


def readable(memory: Holdfast, *, repair: bool) -> Iterator[Check]:
    """Check each document, and with ``repair`` repair those that cannot be read."""
    count = broken = 0
    for name in memory.store.names():
        count += 1
        try:
            try:
                _read(memory, name, repair=repair)
            except Corrupt:
                told = mend(memory.services, name) if repair else ""
                if not told:
                    raise
                _read(memory, name, repair=repair)
                yield repaired(told)
        except HoldfastError as error:
            if isinstance(error, Unavailable) and memory.services.is_remote:
                raise  # each further document would wait for the server as long
            broken += 1
            yield failed(error)
    for blocked in _blocked(memory):
        broken += 1
        yield failed(blocked)
    if not broken:
        yield good(f"{count:,} readable" if count else "none yet")


def _read(memory: Holdfast, name: str, *, repair: bool) -> None:
    """Raises: as the store; Corrupt, too, when the text cannot be right."""
    document = memory.store.read(name)
    surface = memory.services.layout.surface_of(name)
    if document and not document.text and surface in _GROWING:
        step = "Restore it from git or a copy, or remove it. A purge leaves its heading."
        raise Corrupt(f"{name} is empty, so it was cut off.", next_step=step)
    if document and repair and surface is Surface.HANDOFF and not conflicts.find(document.text):
        handoff.parse(document.text, name)  # otherwise the handoff's check reports it


def _blocked(memory: Holdfast) -> Iterator[HoldfastError]:
    """Why the next flush could not write its documents, like a file in place of their folder. One error per folder."""
    services = memory.services
    if services.is_remote:
        return  # its names have no folders
    today = services.clock().date()
    seen = {name.rpartition("/")[0] for name in memory.store.names()}
    unusable: list[str] = []
    for surface in services.layout.base.documents:
        name = services.layout.name(surface, today)
        folder = name.rpartition("/")[0]
        if folder not in seen and not folder.startswith(tuple(unusable)) and not name.endswith("/"):
            seen.add(folder)
            try:
                memory.store.read(name)
            except HoldfastError as error:
                unusable.append(f"{folder}/")
                yield error


def mend(services: Services, name: str) -> str:
    """Repair the document, and return a sentence about it; empty when this store keeps no file that can be repaired.

    A handoff gets its whole entries and the open work of the last receipts. Other text stays, with a replacement
    character for each byte that is not UTF-8. Raises: Refused, PluginError; Corrupt; Unavailable.
    """
    path = os.path.join(services.root, services.config.storage.path, *name.split("/"))
    path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    if Capability.LOCAL_FILES not in services.store.backend.capabilities or not os.path.isfile(path):
        return ""
    with durable.reporting(name, "read"):
        data = safeopen.read(path, private=False)
    aside = _keep(services, "damaged", f"{name.replace('/', '~')}.damaged-{crc32(data):08x}", data)
    text = data.decode("utf-8", "replace").replace("\0", "")
    what = "bytes that are not text were replaced"
    if services.layout.surface_of(name) is Surface.HANDOFF:
        entries = handoff.newest({w.session: w for w in (*audit.open_work(services), *handoff.salvaged(text))}.values())
        text = services.gate.admit(handoff.render(entries), surface=Surface.HANDOFF, name=name)
        what = f"it has {len(entries)} open from its whole entries and the last receipts"
    durable.replace(path, text.encode())
    return f"{name} can be read again: {what}. The damaged file is {aside}"


def _keep(services: Services, folder: str, name: str, data: bytes) -> str:
    """Keep a copy in the private folder. Returns its place. Raises: Unavailable."""
    durable.replace(os.path.join(private.make(services.state, folder), name), data)
    return f"state/{folder}/{name}"


def unmerged(services: Services, *, repair: bool) -> Iterator[Check]:
    """Documents and facts that a git merge left in two versions, or that were cut. Raises: Corrupt when a side of the
    handoff cannot be read; Refused; Unavailable."""
    for name in services.store.names():
        try:
            document = services.store.read(name)
        except Corrupt:
            continue  # the check of documents reports it
        told = conflicts.described(name, document.text) if document else ""
        if not told or document is None:
            continue
        surface = services.layout.surface_of(name)
        if surface is None or surface not in (*_GROWING, Surface.HANDOFF):
            yield fail(told, f"{_BY_HAND}.")
        elif not repair:
            yield fail(told, f"{_BY_HAND}, or run `holdfast doctor --fix`, which keeps both sides.")
        else:
            data = document.text.encode()
            _keep(services, "conflicts", f"{name.replace('/', '~')}.{crc32(data):08x}", data)
            text = _merged(surface, name, document.text)
            text = services.gate.admit(text, surface=surface, name=name, previous=document.text)
            services.store.replace(surface, name, text, document.revision)
            yield repaired(f"{name} now has both sides of the merge, and a backup was kept")
    damage = None if services.is_remote else services.store.backend.check(thorough=True).damage
    if damage is not None and not repair:
        yield fail(damage.message, damage.next_step)
    elif damage is not None:
        name = services.config.storage.facts
        _keep(services, "conflicts", f"{name.replace('/', '~')}.{crc32(damage.data):08x}", damage.data)
        again = facts_again(services)
        yield repaired(f"{name} can be read again, and a backup was kept. Stated facts put back: {again}")


def _merged(surface: Surface, name: str, text: str) -> str:
    if surface is not Surface.HANDOFF:
        return conflicts.both(text)
    entries: dict[str, handoff.Work] = {}
    for version in conflicts.sides(text):
        for work in handoff.parse(version, name):
            entries.setdefault(work.session, work)
    return handoff.render(entries.values())


def facts_again(services: Services) -> int:
    """Repair the facts, and store again those stated in payloads since a call last removed or changed a fact. Earlier
    facts may have been removed on purpose, and the fact log does not hold their text. Returns how many are new."""
    backend = services.store.backend
    backend.repair()
    before = len(list(backend.facts()))
    services.facts.restore(audit.flushes(services))
    return len(list(backend.facts())) - before
