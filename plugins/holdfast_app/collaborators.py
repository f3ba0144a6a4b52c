"""What the kernel asks of the application. Each answer imports its code when it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.session.collaborators import Collaborators

if TYPE_CHECKING:
    from holdfast.flush.interfaces.authorship import Authorship
    from holdfast.flush.interfaces.dreams import Dreams
    from holdfast.flush.interfaces.facts import FactService
    from holdfast.flush.interfaces.losses import Losses
    from holdfast.session.services import Services
    from holdfast_app.outbox.delivery import Deliveries
    from holdfast_app.spool.spooled import Spooled


class Application(Collaborators):
    """What the kernel asks of the application."""

    def facts(self, services: Services) -> FactService:
        from holdfast_app.facts.flushing import FlushedFacts

        return FlushedFacts(services)

    def outbox(self, services: Services) -> Deliveries:
        from holdfast_app.outbox.delivery import Deliveries

        return Deliveries(services)

    def spool(self, services: Services) -> Spooled:
        from holdfast_app.spool.spooled import Spooled

        return Spooled(services)

    def dreams(self, services: Services) -> Dreams:
        from holdfast_app.dream.flushing import Dreams

        return Dreams(services)

    def losses(self, services: Services) -> Losses:
        from holdfast_app.data_loss.losses import Losses

        return Losses(services)

    def authorship(self, services: Services) -> Authorship:
        from holdfast_app.authorship.flushing import Authorship

        return Authorship(services)
