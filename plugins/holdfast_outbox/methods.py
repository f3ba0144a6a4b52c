"""``memory.outbox``, declared by :class:`holdfast.plugin.features.Features`, and ``services.outbox`` for core."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast import Holdfast
    from holdfast.session.services import Services
    from holdfast_outbox.delivery import Deliveries


def outbox(memory: Holdfast) -> Deliveries:
    return of_services(memory.services)


def of_services(services: Services) -> Deliveries:
    from holdfast_outbox.delivery import Deliveries

    return Deliveries(services)
