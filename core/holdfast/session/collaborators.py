"""What the kernel asks of an application: to keep facts, deliver what waits, and know authors, dreams and losses.

An application gives its own when it opens a project (:attr:`holdfast.project.Project.collaborators`). The kernel alone
keeps no facts, delivers nothing, and takes all text as the user's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from holdfast.errors import PluginNotFound

if TYPE_CHECKING:
    from holdfast.flush.interfaces.authorship import Authorship
    from holdfast.flush.interfaces.delivery import Outbox, Spool
    from holdfast.flush.interfaces.dreams import Dreams
    from holdfast.flush.interfaces.facts import FactService
    from holdfast.flush.interfaces.losses import Losses
    from holdfast.session.services import Services


class Collaborators:
    """The kernel's own answers. An application overrides what it offers."""

    def facts(self, services: Services) -> FactService:
        """Stores and extracts facts for flushes. The kernel's own reports that nothing was stored."""
        from holdfast.flush.interfaces.facts import NoFacts

        return NoFacts(services)

    def outbox(self, services: Services) -> Outbox:
        """Items that plugins could not publish yet. Raises: PluginNotFound when nothing delivers them."""
        _refuse("outbox.jsonl")

    def spool(self, services: Services) -> Spool:
        """Flushes that the store's server did not take. Raises: PluginNotFound when nothing delivers them."""
        _refuse("spool.jsonl")

    def dreams(self, services: Services) -> Dreams | None:
        """The lines that dreams consolidated or confirmed."""
        return None

    def losses(self, services: Services) -> Losses | None:
        """Finds missing data."""
        return None

    def authorship(self, services: Services) -> Authorship:
        """A passage's author."""
        from holdfast.flush.interfaces.authorship import Unknown

        return Unknown()


def _refuse(name: str) -> NoReturn:
    raise PluginNotFound(
        f"This application delivers nothing that waits in {name}.",
        next_step="Use `holdfast.Holdfast` with the whole distribution, or switch `[storage] spool` off.",
    )
