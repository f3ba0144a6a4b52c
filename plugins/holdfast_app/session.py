"""A session of the application."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from attrs import evolve

from holdfast import session as kernel
from holdfast.models import Message
from holdfast_models import recall

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from holdfast.flush.plan import Attempt
    from holdfast.models import Payload, Receipt
    from holdfast.services.interfaces import Completed
    from holdfast_app.base import Services
    from holdfast_app.journal.journal import Journal
    from holdfast_app.loops.hold import Mirror


class Session(kernel.Session):
    """A session with a mirror. ``async with`` ends it in a thread, as ``with`` does at once."""

    _services: Services
    journal: Journal

    def _take(self, attempt: Attempt) -> Receipt:
        """See :func:`holdfast_app.spool.take`. Earlier work that the session goes on with is closed."""
        from holdfast.flush import pipeline
        from holdfast_app.records import handoffs

        if handoffs.is_gone(self._services):
            from holdfast_app import data_loss

            if others := data_loss.handoff_again(self._services, but=self.id):
                warning = f"The handoff was missing. The open work of other sessions ({others}) is in it again."
                attempt.documents.warnings.append(warning)
        if pipeline.may_wait(attempt):
            from holdfast_app import spool

            receipt = spool.take(self._services, attempt)
        else:
            receipt = pipeline.take(attempt)
        if receipt.derived and not (receipt.repeated or receipt.spooled):  # who states a payload also closes work
            from holdfast_app.work import taken_up

            taken_up.close(self._services, self.id)
        return receipt

    def _fill(self, attempt: Attempt, given: Payload | None, messages: Sequence[Message], undecided: bool) -> Completed:
        """See :func:`holdfast_app.facts.completing.completed`."""
        from holdfast_app.facts import completing

        return completing.completed(self._services, attempt, given, messages, undecided=undecided)

    @cached_property
    def mirror(self) -> Mirror:
        """Keeps this session in step with a loop's own message list."""
        from holdfast_app.loops.hold import Mirror

        return Mirror(self._services, self)

    def with_summary(self, summary: str | None = None) -> list[Message]:
        """The messages in context with ``summary`` (by default the running summary) before the first user text.

        It joins a user message that comes first, after any system ones, else it becomes one, so that roles alternate.
        This does not change the session. The caller decides on the model's input. The summary is fenced as data.
        """
        text = self.summary if summary is None else summary
        messages = self.messages
        if not text.strip():
            return messages
        fenced = recall.fence(text.strip())
        at = next((n for n, m in enumerate(messages) if m.role != "system"), len(messages))
        if at < len(messages) and messages[at].role == "user":
            first = messages[at]
            joined = f"{fenced}\n\n{first.text}"
            messages[at] = evolve(first, text=joined, tokens=self._services.count_tokens(joined))
            return messages
        injected = Message(
            role="user", text=fenced, at=self._services.now(), id="recalled", tokens=self._services.count_tokens(fenced)
        )
        return [*messages[:at], injected, *messages[at:]]

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
