"""Makes a damaged document readable again, after putting a copy of it aside in ``state/damaged``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from zlib import crc32

from holdfast.config.layout import Surface
from holdfast.flush import handoff
from holdfast.fs import durable, private, safeopen
from holdfast.storage import Capability
from holdfast_data_loss import audit

if TYPE_CHECKING:
    from holdfast.session.services import Services


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
