"""A compaction function that cannot run unflushed: nothing but a passed gate leads to the call.

:meth:`holdfast.Holdfast.guard` makes one of any function that drops context, sync or async. Whatever goes wrong before
the call goes out as it is, and nothing was dropped.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from attrs import frozen

from holdfast.errors import FlushRefused, HoldfastError
from holdfast.session.mirror import parse
from holdfast.text.leaves import says

if TYPE_CHECKING:
    from holdfast.engine import Holdfast
    from holdfast.models import Message
    from holdfast.session.session import Session

P = ParamSpec("P")
R = TypeVar("R")

logger = logging.getLogger(__name__)

#: How often is flushed again because something was said meanwhile, before the compaction is refused.
_ROUNDS = 5
_NAMES = ("role", "type")


@frozen(kw_only=True)
class Guard:
    """What is asked around each call of the guarded function.

    ``session`` is an id, or gets the call's arguments and returns one. ``messages`` gets them and returns the rows in
    context; without it they are the call's first argument that is a list of rows, or ``{"messages": rows}``. A list
    that may hold messages and cannot be read as rows refuses the call. ``kept`` gets the result and returns
    the rows still in context.
    """

    memory: Holdfast
    session: str | Callable[..., str]
    messages: Callable[..., Iterable[object]] | None
    kept: Callable[[Any], Iterable[object]] | None

    def wrap(self, compact: Callable[P, R]) -> Callable[P, R]:
        """``compact`` behind the gate. Raises: TypeError for a generator function: calling it runs nothing, and when it
        runs nobody asks any more."""
        kinds = [compact, getattr(compact, "__call__", None)]  # noqa: B004 - an object may have an async __call__
        if any(inspect.isgeneratorfunction(k) or inspect.isasyncgenfunction(k) for k in kinds):
            raise TypeError("a generator cannot be guarded: guard the function that drops the messages")
        if any(inspect.iscoroutinefunction(k) for k in kinds):
            return cast("Callable[P, R]", self._wrap_async(cast("Callable[P, Any]", compact)))

        @functools.wraps(compact)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
            session = self._opened(args, kwargs)
            for _ in range(_ROUNDS):
                said = self._said(args, kwargs)
                if self._pass_gate(session, said) and self._said(args, kwargs) == said:
                    break
            else:
                raise _restless()
            result = compact(*args, **kwargs)
            if inspect.iscoroutine(result):
                result.close()  # nothing of it has run
                raise TypeError("the guarded function returned a coroutine: declare it `async def`")
            self._follow(session, self._left(result, args, kwargs))
            return result

        return guarded

    def _wrap_async(self, compact: Callable[P, Any]) -> Callable[P, Any]:
        """The same. The messages are read where the loop changes them; the disk is waited for in a thread."""

        @functools.wraps(compact)
        async def guarded(*args: P.args, **kwargs: P.kwargs) -> Any:
            session = await asyncio.to_thread(self._opened, args, kwargs)
            for _ in range(_ROUNDS):
                said = self._said(args, kwargs)
                if await asyncio.to_thread(self._pass_gate, session, said) and self._said(args, kwargs) == said:
                    break
            else:
                raise _restless()
            result = await compact(*args, **kwargs)
            await asyncio.to_thread(self._follow, session, self._left(result, args, kwargs))
            return result

        return guarded

    def _opened(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Session:
        session_id = self.session if isinstance(self.session, str) else self.session(*args, **kwargs)
        with _refusing("The session cannot be opened"):
            return self.memory.session(session_id)

    def _said(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Message] | None:
        """The messages in context; None when only the session knows them."""
        rows = self._rows(args, kwargs)
        return None if rows is None else parse(rows)

    def _rows(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterable[object] | None:
        if self.messages is not None:
            return self.messages(*args, **kwargs)
        given = [_messages_of(one) for one in (*args, *kwargs.values())]
        lists = [one for one in given if isinstance(one, list | tuple) and any(map(_may_be_row, one))]
        lists.sort(key=_likeness)  # in their order where they are alike
        return lists[0] if lists else None

    def _pass_gate(self, session: Session, said: list[Message] | None) -> bool:
        """Journal what the session does not hold and pass the gate. False when more was said meanwhile."""
        if said is None and not session.messages and session.last_receipt is None:
            raise FlushRefused(
                f"Session {session.id!r} holds nothing, so nothing of what would be dropped was saved.",
                next_step="Pass the function the list of messages, give the guard `messages=`, or call `session.add`.",
                target="journal",
            )
        with _refusing("What is in context cannot be journalled"):
            session.mirror.add(said or [])
        receipt = session.pass_gate(reason="compaction")
        return not session.unflushed or (receipt is not None and bool(receipt.overridden))

    def _left(self, result: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Message] | None:
        """What is in context after the compaction; None when nobody can tell."""
        try:
            if self.messages is None and self._rows(args, kwargs) is None:
                return None
            if self.kept is not None:
                return parse(self.kept(result))
            if isinstance(left := _messages_of(result), list | tuple):
                return parse(left)
            return self._said(args, kwargs)
        except Exception as error:  # noqa: BLE001 - the compaction is done and was safe: its result must reach the caller
            logger.warning("what the compaction kept cannot be told: %s", type(error).__name__)
            return None

    def _follow(self, session: Session, left: list[Message] | None) -> None:
        """Let the session drop what was dropped. When it cannot, it only holds more than the context does."""
        if left is None:
            return
        try:
            session.mirror.follow(left)
        except HoldfastError as error:
            logger.warning("session %s still holds what was dropped: %s", session.id, error.message)


def _messages_of(given: object) -> object:
    """The rows in a loop's state, ``{"messages": rows}``; ``given`` itself when it is anything else."""
    return given["messages"] if isinstance(given, Mapping) and "messages" in given else given


def _is_row(row: object) -> bool:
    """Whether a list's element is a message: it has a role or a type."""
    return any(_has(row, name) for name in _NAMES)


def _has(row: object, name: str) -> bool:
    return isinstance(row.get(name) if isinstance(row, Mapping) else getattr(row, name, None), str)


def _likeness(rows: Sequence[object]) -> int:
    """How much a list looks like the messages, the least for the most: a list of tools has types and no roles."""
    if any(_has(row, "role") for row in rows):
        return 0
    return 1 if all(map(_is_row, rows)) else 2


def _may_be_row(row: object) -> bool:
    """Whether an element must not be dropped without being understood. Words without a role are among them, so a list
    that holds them is parsed, and parsing refuses it."""
    return isinstance(row, Mapping) or says(row) or _is_row(row)


@contextmanager
def _refusing(what: str) -> Iterator[None]:
    """Whatever keeps the session from being saved is one error for whoever wants to compact."""
    try:
        yield
    except HoldfastError as error:
        raise FlushRefused(
            f"{what}: {error.message} Nothing was dropped.", next_step=error.next_step, target="journal"
        ) from error


def _restless() -> FlushRefused:
    return FlushRefused(
        f"More was said during each of {_ROUNDS} flushes, so the context was never wholly saved. Nothing was dropped.",
        next_step="Compact between two turns, when nobody adds to the messages.",
        target="journal",
    )
