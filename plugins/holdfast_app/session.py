"""A session of the application."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from holdfast.session import session as kernel

if TYPE_CHECKING:
    from holdfast_app.base import Services
    from holdfast_app.loops import Mirror


class Session(kernel.Session):
    """A session with a mirror."""

    _services: Services

    @cached_property
    def mirror(self) -> Mirror:
        """Keeps this session in step with a loop's own message list."""
        from holdfast_app.loops import Mirror

        return Mirror(self._services, self)
