"""What core asks about losses: the entry ``services.losses``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast_losses import losses

if TYPE_CHECKING:
    from holdfast.flush.losses import Loss
    from holdfast.session.services import Services


class Losses:
    """See :class:`holdfast.flush.losses.Losses`."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def newest(self) -> Sequence[Loss]:
        return losses.newest(self._services)
