"""The guard for a sync or async function, or a framework's compactor, that drops context. An error before the call is
raised unchanged, and nothing was dropped."""

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from io import IOBase
from pathlib import PurePath
from typing import Any, Final, ParamSpec, TypeVar, cast

from attrs import frozen

from holdfast.api import FlushRefused, Message
from holdfast.text.lazy import log
from holdfast_app.loops import frameworks, servers
from holdfast_app.loops.hold import Hold, attempts, finished, parse
from holdfast_app.message_formats.leaves import says

P = ParamSpec("P")
R = TypeVar("R")

logger = log(__name__)

#: Guards for compactors, by package and class.
_COMPACTORS: Final = {
    ("langchain", "AgentMiddleware"): frameworks.langchain,
    ("agents", "OpenAIResponsesCompactionSession"): frameworks.openai_agents,
    ("pydantic_ai", "AbstractCapability"): frameworks.pydantic_ai,
    ("google", "BaseEventsSummarizer"): frameworks.google_adk,
    ("anthropic", "BaseClient"): servers.guarded,
    ("openai", "BaseClient"): servers.guarded,
    ("agent_framework", "*"): frameworks.agent_framework,
}


@frozen(kw_only=True)
class Guard(Hold):
    """The keywords of :meth:`holdfast.Holdfast.guard`. If a list that may hold messages cannot be read as rows, or
    there is only an iterator, the call is refused."""

    messages: Callable[..., Iterable[object]] | None
    kept: Callable[[Any], Iterable[object]] | None

    def wrap(self, compact: Callable[P, R]) -> Callable[P, R]:
        """Wrap ``compact`` in the gate. Raises: TypeError for a generator function, because calling it runs nothing,
        and it would later run unchecked, and for what cannot be called."""
        for kind in type(compact).__mro__:
            package = kind.__module__.partition(".")[0]
            if guarded_by := _COMPACTORS.get((package, kind.__name__), _COMPACTORS.get((package, "*"))):
                return cast("Callable[P, R]", guarded_by(self, compact))
        if not callable(compact):
            raise TypeError(f"a {type(compact).__name__} cannot be guarded: guard the function that drops the messages")
        kinds = [compact, getattr(compact, "__call__", None)]  # noqa: B004 - an object may have an async __call__
        if any(inspect.isgeneratorfunction(k) or inspect.isasyncgenfunction(k) for k in kinds):
            raise TypeError("a generator cannot be guarded: guard the function that drops the messages")
        if any(inspect.iscoroutinefunction(k) for k in kinds):
            return cast("Callable[P, R]", self._wrap_async(cast("Callable[P, Any]", compact)))

        @functools.wraps(compact)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
            session = self.opened(*args, **kwargs)
            for _ in attempts():
                messages = self._said(args, kwargs)
                if self.pass_gate(session, messages) and self._said(args, kwargs) == messages:
                    break
            result = compact(*args, **kwargs)
            if inspect.iscoroutine(result):
                result.close()  # it has not started
                raise TypeError("the guarded function returned a coroutine: declare it `async def`")
            self.follow(session, self._left(result, args, kwargs))
            return result

        return guarded

    def _wrap_async(self, compact: Callable[P, Any]) -> Callable[P, Any]:
        """The async version: messages are read on the event loop, the disk is waited for in a thread."""

        @functools.wraps(compact)
        async def guarded(*args: P.args, **kwargs: P.kwargs) -> Any:
            session = await finished(self.opened, *args, **kwargs)
            for _ in attempts():
                messages = self._said(args, kwargs)
                if await finished(self.pass_gate, session, messages) and self._said(args, kwargs) == messages:
                    break
            result = await compact(*args, **kwargs)
            await finished(self.follow, session, self._left(result, args, kwargs))
            return result

        return guarded

    def _said(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Message] | None:
        """The messages in context; None when only the session has them."""
        rows = self._rows(args, kwargs)
        return None if rows is None and self.messages is None else parse(rows)

    def _rows(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterable[object] | None:
        if self.messages is not None:
            return self.messages(*args, **kwargs)
        values = [*args, *kwargs.values()]
        lists = [rows for rows in map(_rows_in, values) if any(map(_may_speak, rows or ()))]
        if not lists and any(isinstance(value, Iterator) and not isinstance(value, IOBase) for value in values):
            why = "The messages come as an iterator, which can be read only once, so they cannot be saved first."
            raise FlushRefused(why, next_step="Pass a list, or give the guard `messages=`.", target="journal")
        spoken = (rows for rows in lists if any(map(_has_role, rows or ())))  # a list of tools has none
        return next(spoken, next(filter(None, lists), None))

    def _left(self, result: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Message] | None:
        """The messages in context after the compaction; None when unknown."""
        try:
            if self.messages is None and self._rows(args, kwargs) is None:
                return None
            if self.kept is not None:
                return parse(self.kept(result))
            if (left := _rows_in(result)) is not None:
                return parse(left)
            return self._said(args, kwargs)
        except Exception as error:  # noqa: BLE001 - the compaction was safe and is done, so its result must reach the caller
            logger.warning("cannot determine which messages the compaction kept: %s", type(error).__name__)
            return None


def _rows_in(value: object) -> Sequence[object] | None:
    """The list ``value``, or the list in a loop's state: ``{"messages": rows}``, or an object's ``messages``. A deque,
    say, counts if it holds messages."""
    if isinstance(value, Mapping):
        value = value.get("messages")
    elif not isinstance(value, Collection):
        value = getattr(value, "messages", None)
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, Collection) and not isinstance(value, str | bytes | bytearray | Mapping):
        rows = list(value)
        return rows if any(map(_may_speak, rows)) else None
    return None


def _may_speak(row: object) -> bool:
    """Whether a list's element may be a message. Text and a loop's own object count; parsing refuses them."""
    is_text = isinstance(row, str | list | tuple)
    return says(row) if is_text else not (callable(row) or isinstance(row, int | float | PurePath | None))


def _has_role(row: object) -> bool:
    return isinstance(row.get("role") if isinstance(row, Mapping) else getattr(row, "role", None), str)
