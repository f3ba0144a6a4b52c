"""Checks documents, and makes a damaged one readable, after putting a copy aside in ``state/damaged``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING
from zlib import crc32

from holdfast.config.layout import Surface
from holdfast.errors import Corrupt, HoldfastError, Unavailable
from holdfast.flush import handoff
from holdfast.fs import durable, private, safeopen
from holdfast.plugin.checks import Check, Outcome
from holdfast.storage import Capability
from holdfast.text import conflicts
from holdfast_app.data_loss import audit

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast.session.services import Services

#: Documents that are never empty, because holdfast only appends to them.
_GROWING = (Surface.DAILY, Surface.TRAIL, Surface.DIARY)


def look(memory: Holdfast, *, repair: bool) -> Iterator[Check]:
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
                yield _good(told, repaired=True)
        except HoldfastError as error:
            if isinstance(error, Unavailable) and memory.services.is_remote:
                raise  # each further document would wait for the server as long
            broken += 1
            yield _bad(error)
    for blocked in _blocked(memory):
        broken += 1
        yield _bad(blocked)
    if not broken:
        yield _good(f"{count:,} readable" if count else "none yet")


def _read(memory: Holdfast, name: str, *, repair: bool) -> None:
    """Raises: as the store; Corrupt, too, when the text cannot be right."""
    document = memory.store.read(name)
    surface = memory.services.layout.surface_of(name)
    if document and not document.text and surface in _GROWING:
        step = "Restore it from git or a copy, or remove it. A purge leaves its heading."
        raise Corrupt(f"{name} is empty, so it was cut off.", next_step=step)
    if document and repair and surface is Surface.HANDOFF and not conflicts.find(document.text):
        handoff.parse(document.text, name)  # otherwise the check of the handoff reports it


def _blocked(memory: Holdfast) -> Iterator[HoldfastError]:
    """Why the next flush could not write its documents, like a file in place of their folder. One error per folder."""
    services = memory.services
    if services.is_remote:
        return  # its names have no folders
    today = services.clock().date()
    seen = {name.rpartition("/")[0] for name in memory.store.names()}
    failed: list[str] = []
    for surface in services.layout.base.documents:
        name = services.layout.name(surface, today)
        folder = name.rpartition("/")[0]
        if folder not in seen and not folder.startswith(tuple(failed)) and not name.endswith("/"):
            seen.add(folder)
            try:
                memory.store.read(name)
            except HoldfastError as error:
                failed.append(f"{folder}/")
                yield error


def _good(message: str, *, repaired: bool = False) -> Check:
    return Check(name="documents", outcome=Outcome.OK, message=message, repaired=repaired)


def _bad(error: HoldfastError) -> Check:
    step = error.next_step or "Correct it, then try again."
    return Check(name="documents", outcome=Outcome.FAIL, message=error.message, next_step=step)


def mend(services: Services, name: str) -> str:
    """Repair the document, and return a sentence about it; empty when this store keeps no file that can be repaired.

    A handoff gets its whole entries and the open work of the last receipts. Other text stays, with a replacement
    character for each byte that is not UTF-8. Raises: Refused, PluginError; Corrupt; Unavailable.
    """
    path = os.path.join(services.root, services.config.storage.path, *name.split("/"))
    path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    if Capability.LOCAL_FILES not in services.store.backend.capabilities or not os.path.isfile(path):
        return ""
    try:
        data = safeopen.read(path, private=False)
    except OSError as error:
        raise durable.unavailable(error, name, "read") from error
    aside = f"{name.replace('/', '~')}.damaged-{crc32(data):08x}"
    durable.replace(os.path.join(private.make(services.state, "damaged"), aside), data)
    text = data.decode("utf-8", "replace").replace("\0", "")
    what = "bytes that are not text were replaced"
    if services.layout.surface_of(name) is Surface.HANDOFF:
        entries = handoff.newest({w.session: w for w in (*audit.open_work(services), *handoff.salvaged(text))}.values())
        text = services.gate.admit(handoff.render(entries), surface=Surface.HANDOFF, name=name)
        what = f"it has {len(entries)} open from its whole entries and the last receipts"
    durable.replace(path, text.encode())
    return f"{name} can be read again: {what}. The damaged file is state/damaged/{aside}"
