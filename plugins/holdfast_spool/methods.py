"""``memory.spool``, declared by :class:`holdfast.plugin.features.Features`, and ``services.spool`` for core."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast.session.services import Services
    from holdfast_spool.spooled import Spooled


def spool(memory: Holdfast) -> Spooled:
    return of_services(memory.services)


def of_services(services: Services) -> Spooled:
    from holdfast_spool.spooled import Spooled

    return Spooled(services)
