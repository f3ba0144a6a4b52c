"""Repairing the three files safely: missing files are created and missing anchors added at the end. Nothing is renamed,
moved or removed."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING

from holdfast.errors import Corrupt, Refused
from holdfast_app.validation.validation import Repair, three_files
from holdfast_app.workflow import update

if TYPE_CHECKING:
    from holdfast.session.services import Services


def repairs(services: Services, names: Iterable[str] = ()) -> list[Repair]:
    """The possible repairs of the files ``names``, by default of all. Files that cannot be read or extended are left
    out, because ``validate`` reports them."""
    wanted = set(names)
    found = []
    for name, surface in three_files(services, services.store.names()).items():
        if wanted and name not in wanted:
            continue
        try:
            document = services.store.read(name)
            before = document.text if document else None
            after = update.completed(services, surface, before)
        except (Corrupt, Refused):
            continue
        if after != before:
            found.append(Repair(surface=surface, name=name, before=before, after=after))
    return found


def apply(services: Services, repair: Repair) -> None:
    """Write a repair, keeping changes made in between. Raises: Refused; Corrupt; Conflict; Unavailable."""
    change = functools.partial(update.completed, services, repair.surface)
    services.store.change(repair.surface, repair.name, change)
