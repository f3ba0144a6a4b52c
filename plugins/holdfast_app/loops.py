"""For Python agent loops, a guard for the function that drops context, and a mirror for its message list.

:meth:`holdfast.Holdfast.guard` wraps any function that drops context, sync or async. An error before the call is
raised unchanged, and nothing was dropped. ``session.mirror`` gets messages that the session lacks, and after a
compaction drops the messages that the list dropped. Messages are matched by their stored content, because lists have
no ids and positions change when the list shrinks.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import inspect
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from io import IOBase
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from attrs import frozen

from holdfast.errors import FlushRefused, HoldfastError
from holdfast.journal import capture
from holdfast.text.lazy import log
from holdfast_app.message_formats import messages as plain
from holdfast_app.message_formats.leaves import says
from holdfast_app.message_formats.reading import Reading

if TYPE_CHECKING:
    from holdfast.models import Message
    from holdfast_app.base import Services

    #: Role, tool and text.
    Key = tuple[str, str, str]
    from holdfast import Holdfast, Session


def parse(rows: Iterable[object]) -> list[Message]:
    """The messages in ``rows``: dicts of the Chat Completions, the Messages or the Responses interface, or an SDK's own
    objects. Its messages contain every string in a row. A string over the documented size becomes an excerpt with
    its digest.

    The loop's instructions (roles ``system`` and ``developer`` before anything else) are left out. Raises: FlushRefused
    for a row that cannot be kept.
    """
    reading = Reading()
    for number, row in enumerate(rows):
        try:
            value = _plain(row)
            table: dict[str, object] = value if isinstance(value, dict) else {}
            if not says(table.get("id")):
                table.pop("id", None)  # equal ids would merge two messages
            if not plain.take(table, number, reading):
                raise _refused(number, "has an unknown form")
        except RecursionError as error:
            raise _refused(number, "is nested too deeply, or holds itself") from error
        except TypeError as error:
            raise _refused(number, f"holds a value that JSON cannot represent ({error})") from error
    return reading.kept


def _refused(number: int, why: str) -> FlushRefused:
    return FlushRefused(
        f"Message {number} of the context {why}, so it cannot be kept. Nothing was dropped.",
        next_step='Pass rows like {"role": "user", "content": "..."}.',
        target="journal",
    )


class Mirror:
    """One session and its message list. Threads may share it."""

    def __init__(self, services: Services, session: Session) -> None:
        self._services = services
        self._session = session
        #: In the list but not in the session: messages that a compaction made or pinned.
        self._carried: Counter[Key] = Counter()
        self._stored: dict[Key, Key] = {}  # original form -> stored form, for the messages in the list
        self._lock = threading.Lock()

    def keep(self, rows: Iterable[object]) -> list[Message]:
        """Journal the messages of ``rows``, the whole list, that the session lacks; returns them as stored. Cheap to
        call after each turn. Raises: FlushRefused for a row of no known form; Refused, PluginError; Unavailable."""
        return self.add(parse(rows))

    def add(self, said: Sequence[Message]) -> list[Message]:
        """:meth:`keep` for parsed rows."""
        with self._lock:
            held = Counter(_key(m) for m in self._session.messages) + self._carried
            new = []
            for m, key in zip(said, self._keys(said), strict=True):
                if held[key] > 0:
                    held[key] -= 1
                    continue
                at = m.at if m.at.timestamp() else None  # a row without a time uses the epoch
                new.append(self._session.add(m.role, m.text, at=at, tool=m.tool, failed=m.failed))
            return new

    def follow(self, left: Sequence[Message]) -> None:
        """Drop the messages before the span that ``left`` ends with. This passes the gate again, which is cheap when no
        messages arrived since. Raises: FlushRefused. Then all messages stay in the session."""
        with self._lock:
            held = [_key(m) for m in self._session.messages]
            keys = self._keys(left)
            kept = self._session.compact(keep_last=len(held) - _kept_from(held, keys))
            self._carried = Counter(keys) - Counter(_key(m) for m in kept)

    def _keys(self, said: Sequence[Message]) -> list[Key]:
        """The key that matches each message to its stored form: redacted, without this machine's paths."""
        known, self._stored = self._stored, {}
        for m in said:
            raw = _key(m)
            self._stored[raw] = known.get(raw) or self._as_stored(m)
        return [self._stored[_key(m)] for m in said]

    def _as_stored(self, message: Message) -> Key:
        record: Mapping[str, Any] = capture.message_record(
            self._services.gate, self._services.root, message.role, message.text, at=message.at, tool=message.tool
        )
        return message.role, record.get("tool", ""), record["text"].strip()


def _key(message: Message) -> Key:
    return message.role, message.tool, message.text.strip()


def _kept_from(held: Sequence[Key], keys: Sequence[Key]) -> int:
    """The start in ``held`` of the span that ``keys`` ends with. Messages missing from either list are skipped. A
    key pinned earlier in ``keys`` does not count, because all of ``held`` would stay for it."""
    known = set(held)
    start = len(held)
    for key in reversed([key for key in keys if key in known]):
        if start == len(held):
            start = len(held) - 1 - held[::-1].index(key)
        elif start and held[start - 1] == key:
            start -= 1
        else:
            break
    return start


def _plain(value: object) -> object:
    """``value`` as JSON data, with the SDKs' models as dicts. Raises: TypeError for values that JSON cannot
    represent."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in value]
    if callable(dump := getattr(value, "model_dump", None)):
        return _plain(dump())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return _plain(value.value)
    if isinstance(value, bytes | bytearray):
        raise TypeError("bytes")
    if isinstance(value, Iterable):
        return [_plain(one) for one in value]
    if type(value).__str__ is not object.__str__:  # a time, a decimal number, an UUID
        return str(value)
    raise TypeError(type(value).__name__)


P = ParamSpec("P")
R = TypeVar("R")

logger = log(__name__)

#: Flushes repeated because messages arrived meanwhile, before the compaction is refused.
_ROUNDS = 5
_NAMES = ("role", "type")


@frozen(kw_only=True)
class Guard:
    """Callbacks around each call of the guarded function.

    ``session`` is an id, or gets the call's arguments and returns one. ``messages`` gets them and returns the rows in
    context; without it they are the call's first argument that is a list (or a deque, say) of rows, or has one as
    ``messages``. If a list that may hold messages cannot be read as rows, or there is only an iterator, the call is
    refused. ``kept`` gets the result and returns the rows
    still in context.
    """

    memory: Holdfast
    session: str | Callable[..., str]
    messages: Callable[..., Iterable[object]] | None
    kept: Callable[[Any], Iterable[object]] | None

    def wrap(self, compact: Callable[P, R]) -> Callable[P, R]:
        """Wrap ``compact`` in the gate. Raises: TypeError for a generator function, because calling it runs nothing,
        and it would later run unchecked, and for what cannot be called."""
        if not callable(compact):
            raise TypeError(f"a {type(compact).__name__} cannot be guarded: guard the function that drops the messages")
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
                result.close()  # it has not started
                raise TypeError("the guarded function returned a coroutine: declare it `async def`")
            self._follow(session, self._left(result, args, kwargs))
            return result

        return guarded

    def _wrap_async(self, compact: Callable[P, Any]) -> Callable[P, Any]:
        """The async version. It reads the messages on the event loop that changes them, and waits for the disk in a
        thread."""

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
        """The messages in context; None when only the session has them."""
        rows = self._rows(args, kwargs)
        return None if rows is None else parse(rows)

    def _rows(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterable[object] | None:
        if self.messages is not None:
            return self.messages(*args, **kwargs)
        given = [*args, *kwargs.values()]
        # Text without a role counts, because parsing refuses it.
        lists = [
            rows
            for one in given
            if (rows := _rows_in(one)) is not None
            and any(isinstance(row, Mapping) or says(row) or _is_row(row) for row in rows)
        ]
        lists.sort(key=_likeness)  # ties keep their order
        if not lists and any(isinstance(one, Iterator) and not isinstance(one, IOBase) for one in given):
            raise FlushRefused(
                "The messages come as an iterator, which can be read only once, so they cannot be saved first.",
                next_step="Pass a list, or give the guard `messages=`.",
                target="journal",
            )
        return lists[0] if lists else None

    def _pass_gate(self, session: Session, said: list[Message] | None) -> bool:
        """Journal messages missing from the session, then pass the gate. False when messages arrived meanwhile."""
        if said is None and not session.messages and session.last_receipt is None:
            raise FlushRefused(
                f"Session {session.id!r} is empty, so the context that would be dropped is not saved.",
                next_step="Pass the function the list of messages, give the guard `messages=`, or call `session.add`.",
                target="journal",
            )
        with _refusing("The context cannot be journalled"):
            session.mirror.add(said or [])
        receipt = session.pass_gate(reason="compaction")
        return not session.unflushed or (receipt is not None and bool(receipt.overridden))

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

    def _follow(self, session: Session, left: list[Message] | None) -> None:
        """Drop the same messages from the session. If that fails, the session only holds more than the context."""
        if left is None:
            return
        try:
            session.mirror.follow(left)
        except HoldfastError as error:
            logger.warning("session %s still holds the dropped messages: %s", session.id, error.message)


def _rows_in(given: object) -> Sequence[object] | None:
    """The list ``given``, or the list in a loop's state: ``{"messages": rows}``, or an object's ``messages``. A deque,
    say, counts if it holds messages."""
    if isinstance(given, Mapping):
        given = given.get("messages")
    elif not isinstance(given, Collection):
        given = getattr(given, "messages", None)
    if isinstance(given, list | tuple):
        return given
    if isinstance(given, Collection) and not isinstance(given, str | bytes | bytearray | Mapping):
        rows = list(given)
        return rows if any(map(_is_row, rows)) else None
    return None


def _is_row(row: object) -> bool:
    """Whether a list's element is a message, with a role or a type."""
    return any(_has(row, name) for name in _NAMES)


def _has(row: object, name: str) -> bool:
    return isinstance(row.get(name) if isinstance(row, Mapping) else getattr(row, name, None), str)


def _likeness(rows: Sequence[object]) -> int:
    """Sort key for how much a list looks like messages, best first. A list of tools has types but no roles."""
    if any(_has(row, "role") for row in rows):
        return 0
    return 1 if all(map(_is_row, rows)) else 2


@contextmanager
def _refusing(what: str) -> Iterator[None]:
    """Turn any error that prevents saving the session into one error for the compaction's caller."""
    try:
        yield
    except HoldfastError as error:
        raise FlushRefused(
            f"{what}: {error.message} Nothing was dropped.", next_step=error.next_step, target="journal"
        ) from error


def _restless() -> FlushRefused:
    return FlushRefused(
        f"Messages arrived during each of {_ROUNDS} flushes, so the context is not fully saved. Nothing was dropped.",
        next_step="Compact between two turns, when no messages are being added.",
        target="journal",
    )
