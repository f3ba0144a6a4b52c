"""One session's gate before context is dropped: for the guard, and for the frameworks' compactors."""

from __future__ import annotations

import asyncio
import copy
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

from attrs import frozen

from holdfast import Holdfast, Session
from holdfast.errors import FlushRefused, HoldfastError
from holdfast.models import Message
from holdfast.text.lazy import log
from holdfast_app.loops.mirror import key_of, parse

P = ParamSpec("P")
R = TypeVar("R")

logger = log(__name__)

#: Flushes repeated because messages arrived meanwhile, before the compaction is refused.
ROUNDS = 5


@frozen(kw_only=True)
class Hold:
    """``session`` is an id, or makes one from all arguments of the call that drops context."""

    memory: Holdfast
    session: str | Callable[..., str]

    def opened(self, *args: Any, **kwargs: Any) -> Session:
        """The call's session. Raises: FlushRefused; any error of ``session``."""
        session_id = self.session if isinstance(self.session, str) else self.session(*args, **kwargs)
        with _refusing("The session cannot be opened"):
            return self.memory.session(session_id)

    def pass_gate(self, session: Session, said: list[Message] | None) -> bool:
        """Journal messages missing from the session, then pass the gate. False when messages arrived meanwhile."""
        if said is None and not session.messages and session.last_receipt is None:
            why = f"Session {session.id!r} is empty, so the context that would be dropped is not saved."
            step = "Pass the function the list of messages, give the guard `messages=`, or call `session.add`."
            raise FlushRefused(why, next_step=step, target="journal")
        with _refusing("The context cannot be journalled"):
            session.mirror.add(said or [])
        receipt = session.pass_gate(reason="compaction")
        return not session.unflushed or (receipt is not None and bool(receipt.overridden))

    def save(self, session: Session, said: list[Message]) -> None:
        """Pass the gate, again while messages arrive. Raises: FlushRefused, after :data:`ROUNDS` attempts too."""
        if not any(self.pass_gate(session, said) for _ in range(ROUNDS)):
            raise restless()

    def follow(self, session: Session, left: list[Message] | None) -> None:
        """Drop the same messages from the session. If that fails, the session only holds more than the context."""
        if left is None:
            return
        try:
            session.mirror.follow(left)
        except HoldfastError as error:
            logger.warning("session %s still holds the dropped messages: %s", session.id, error.message)

    # for compactors, which a framework expects to return, never to raise

    def keep(self, session: Session, rows: Iterable[object]) -> list[Message] | None:
        """Journal ``rows``, the whole list. None, with a warning, when the compactor must not run because the rows
        cannot be journalled, or because a flush that failed before fails again."""
        try:
            said = parse(rows)
            with _refusing("The context cannot be journalled"):
                session.mirror.add(said)
        except FlushRefused as refused:
            self.vetoed(session, refused)
            return None
        return said if not session.unsafe or self.may_drop(session, said) else None

    def allows(self, session: Session, said: Sequence[Message], rows: Iterable[object]) -> bool:
        """Whether ``rows`` may replace the messages ``said``: they lack none, or the gate passes. The session then
        follows."""
        left = parse(rows)
        if not Counter(map(key_of, said)) - Counter(map(key_of, left)):
            return True
        if not self.may_drop(session, said):
            return False
        self.follow(session, left)
        return True

    def may_drop(self, session: Session, said: Sequence[Message]) -> bool:
        """Whether everything said is durable and verified now. False, with a warning, when the gate refuses."""
        try:
            self.save(session, list(said))
        except HoldfastError as refused:
            return self.vetoed(session, refused)
        return True

    def vetoed(self, session: Session, refused: HoldfastError) -> bool:
        """False, and a warning with the reason."""
        logger.warning("session %s is not compacted: %s", session.id, refused)
        return False


async def finished(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call ``function`` in a thread. When this is cancelled, it first waits until the function has ended, so that a
    flush is never left half reported."""
    call = asyncio.ensure_future(asyncio.to_thread(function, *args, **kwargs))
    cancelled: asyncio.CancelledError | None = None
    while not call.done():
        try:
            await asyncio.wait([call])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        call.exception()  # marks it as seen, because the caller asked for the cancellation
        raise cancelled
    return call.result()


def like(given: Any, **members: Any) -> Any:
    """A copy of ``given`` with other members, of a subclass of its own class."""
    changed = copy.copy(given)
    changed.__class__ = type(type(given).__name__, (type(given),), {"__module__": __name__, **members})
    return changed


@contextmanager
def _refusing(what: str) -> Iterator[None]:
    """Turn any error that prevents saving the session into one error for the compaction's caller."""
    try:
        yield
    except HoldfastError as error:
        why = f"{what}: {error.message} Nothing was dropped."
        raise FlushRefused(why, next_step=error.next_step, target="journal") from error


def restless() -> FlushRefused:
    """The refusal when messages keep arriving."""
    return FlushRefused(
        f"Messages arrived during each of {ROUNDS} flushes, so the context is not fully saved. Nothing was dropped.",
        next_step="Compact between two turns, when no messages are being added.",
        target="journal",
    )
