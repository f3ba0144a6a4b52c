"""Who stated a fact: the origin of the flush that its source names, from the daily notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.config.layout import Surface
from holdfast.flush import notes

if TYPE_CHECKING:
    from holdfast.session.services import Services


def by_source(services: Services) -> dict[str, str]:
    """Flush id or session -> ``person@machine agent``, for every note block that names its origin; of a session the
    last one. Reads all notes. Raises: Corrupt, Unavailable, PluginError."""
    found: dict[str, str] = {}
    for name in services.store.names():
        if services.layout.surface_of(name) is not Surface.DAILY:
            continue
        document = services.recalled(name)
        for block in notes.blocks(document.text) if document else ():
            if block.by:
                found[block.id] = found[block.session] = block.by
    return found
