"""A session of the application."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from holdfast.session import session as kernel

if TYPE_CHECKING:
    from types import TracebackType

    from holdfast.models import Receipt
    from holdfast_app.base import Services
    from holdfast_app.loops.mirror import Mirror


class Session(kernel.Session):
    """A session with a mirror. ``async with`` ends it in a thread, as ``with`` does at once."""

    _services: Services

    @cached_property
    def mirror(self) -> Mirror:
        """Keeps this session in step with a loop's own message list."""
        from holdfast_app.loops.mirror import Mirror

        return Mirror(self._services, self)

    async def aflush(self, payload: kernel.Given = None, **more: Any) -> Receipt:
        """:meth:`flush` in a thread. When this is cancelled, the flush is finished first."""
        from holdfast_app.loops.hold import finished

        return await finished(self.flush, payload, **more)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        from holdfast_app.loops.hold import finished

        await finished(self.__exit__, kind, error, traceback)
