"""A session that follows a loop's own message list, and its gate before context is dropped.

The session gets messages that it lacks, and after a compaction drops the messages that the list dropped. Messages are
matched by their stored content, because lists have no ids and positions change when the list shrinks.
"""

import asyncio
import copy
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from typing import Any, Final, ParamSpec, TypeVar

from attrs import frozen

from holdfast.api import FlushRefused, Holdfast, HoldfastError, Message, Session
from holdfast.journal import capture
from holdfast.text.digests import sha256_of
from holdfast.text.lazy import log
from holdfast_app.base import Services
from holdfast_app.loops.rows import rows_of
from holdfast_app.message_formats import messages as plain
from holdfast_app.message_formats.leaves import says
from holdfast_app.message_formats.reading import THINKING, Reading
from holdfast_app.message_formats.summaries import SUMMARY

P = ParamSpec("P")
R = TypeVar("R")

logger = log(__name__)

_ROUNDS: Final = 5

Key = tuple[str, str, str]
#: Tools whose messages are not speech. A loop may drop them at any time.
_ASIDE: Final = (SUMMARY, THINKING)
#: The journal's record of what a compaction left in the list that was not said: its summary, or pinned messages.
_CARRIED: Final = "carried"


def parse(rows: Iterable[object] | None) -> list[Message]:
    """The messages in ``rows``: dicts of the Chat Completions, the Messages or the Responses interface, an SDK's own
    objects, or a framework's (:mod:`holdfast_app.loops.rows`). They contain every string in a row, a long one clipped.

    The loop's instructions (roles ``system`` and ``developer`` before anything else) are left out. Raises: FlushRefused
    for a row that cannot be kept, and for a list without a single row of a known form.
    """
    reading = Reading()
    position = 0
    if not isinstance(rows, Iterable):
        raise _refused(0, f"is not in a list ({type(rows).__name__} was given)")
    for number, row in enumerate(rows):
        try:
            for table in rows_of(row):
                if not says(table.get("id")):
                    table.pop("id", None)  # equal ids would merge two messages
                if not plain.take(table, position, reading):
                    raise _refused(number, "has an unknown form")
                position += 1
        except (AttributeError, KeyError, RecursionError, TypeError) as error:
            raise _refused(number, f"holds a value that JSON cannot represent ({error!r})") from error
    if position and reading.unread == position:
        raise _refused(0, "is of a type that no interface or framework has, as are the others")
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

    def add(self, messages: Sequence[Message]) -> list[Message]:
        """:meth:`keep` for parsed rows."""
        with self._lock:
            keys = self._keys(messages)
            held = self._held()
            if keys and (self._session.ended or not held[keys[0]]):
                self._resume(keys)
                held = self._held()
            new = []
            for m, key in zip(messages, keys, strict=True):
                held[key] -= 1
                if held[key] < 0:
                    new.append(self._journal(m))
            return new

    def catch_up(self, messages: Sequence[Message]) -> bool:
        """:meth:`add` for a list that its owner may have shortened since; returns whether it lacks a message. Messages
        after the last one held are then new, even when they repeat one. A side request shares nothing with the session,
        and is new as a whole. The session drops nothing."""
        with self._lock:
            held = [key_of(m) for m in self._session.messages if m.tool not in _ASIDE]
            keys = [key for key in self._keys(messages) if key[1] not in _ASIDE]
            if shortened := bool(Counter(held) - Counter(keys)):
                known = set(held)
                answer = next((n for n, k in enumerate(keys) if k[0] == "assistant" and k not in known), len(keys))
                at = _new_from(held, keys[:answer])  # an answer that the session lacks is newer than all it has
                spoken = [n for n, m in enumerate(messages) if m.tool not in _ASIDE]
                for message in messages[spoken[at - 1] + 1 if at else 0 :]:
                    self._journal(message)
        if not shortened:
            self.add(messages)
        return shortened

    def loses(self, left: Sequence[Message]) -> bool:
        """Whether ``left`` lacks a message that no flush covers."""
        with self._lock:
            return bool(Counter(key_of(m) for m in self._session.unflushed) - Counter(self._keys(left)))

    def follow(self, left: Sequence[Message]) -> None:
        """Drop the messages before the span that ``left`` ends with. This passes the gate again, which is cheap when no
        messages arrived since. Raises: FlushRefused. Then all messages stay in the session."""
        with self._lock:
            held = [key_of(m) for m in self._session.messages]
            keys = self._keys(left)
            start = _kept_from(held, keys)
            if carried := Counter(keys) - Counter(held[start:]):
                digests = [_digest(key) for key in carried.elements()]
                self._session.journal.append({"kind": _CARRIED, "digests": digests})
            kept = self._session.compact(keep_last=len(held) - start)
            self._carried = Counter(keys) - Counter(map(key_of, kept))

    def _held(self) -> Counter[Key]:
        return Counter(map(key_of, self._session.messages)) + self._carried

    def _resume(self, keys: Sequence[Key]) -> None:
        """Carry the beginning of a list that outlived its process or the session's end. Such a list has the journal's
        last message; any other is new. What a compaction carried, and thoughts, may be missing in either."""
        said: deque[Key] = deque(maxlen=len(keys))
        aside = set[Key]()
        carried: list[str] = []
        for record in (entry.record for entry in self._session.journal.of_kinds("message", _CARRIED)):
            if record["kind"] == _CARRIED:
                carried = record["digests"]
            else:
                key = record["role"], record.get("tool", ""), record["text"].strip()
                (aside.add if key[1] in _ASIDE else said.append)(key)
        known: list[Key] = []
        spoken: list[Key] = []
        for key in keys:
            if key in aside or _digest(key) in carried:
                known.append(key)
            elif key[1] not in _ASIDE:
                known.append(key)
                spoken.append(key)
                if said and key == said[-1] and spoken == [*said][-len(spoken) :]:
                    self._carried = Counter(known) - Counter(map(key_of, self._session.messages))

    def _journal(self, m: Message) -> Message:
        at = m.at if m.at.timestamp() else None  # a row without a time uses the epoch
        return self._session.add(m.role, m.text, at=at, tool=m.tool, failed=m.failed)

    def _keys(self, messages: Sequence[Message]) -> list[Key]:
        """The key that matches each message to its stored form: redacted, without this machine's paths."""
        known, self._stored = self._stored, {}
        for m in messages:
            raw = key_of(m)
            if (stored := known.get(raw)) is None:
                gate, root = self._services.gate, self._services.root
                [record] = capture.admitted(gate, root, [capture.record(m.role, m.text, at=m.at, tool=m.tool)])
                stored = m.role, record.get("tool", ""), record["text"].strip()
            self._stored[raw] = stored
        return [self._stored[key_of(m)] for m in messages]


def _digest(key: Key) -> str:
    return sha256_of("\0".join(key).encode())


def key_of(message: Message) -> Key:
    """A message's role, tool and text, by which it is known again."""
    return message.role, message.tool, message.text.strip()


def _new_from(held: Sequence[Key], keys: Sequence[Key]) -> int:
    """Where ``keys`` continues after ``held``: after the longest common run that ends with the last message of ``held``
    that ``keys`` has. 0 when ``held`` continues after a run that is only a part of ``keys``: its words may be new."""
    known = set(keys)
    shared = [key for key in held if key in known]
    runs = [(0, 0)]
    for at in [n + 1 for n, key in enumerate(keys) if key == shared[-1]] if shared else ():
        pairs = zip(reversed(shared), reversed(keys[:at]), strict=False)
        runs.append((sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)), at))
    run, at = max(runs)
    return at if run == at or (held and shared and held[-1] == shared[-1]) else 0


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


@frozen(kw_only=True)
class Hold:
    """``session`` is an id, or makes one from all arguments of the call that drops context."""

    memory: Holdfast
    session: str | Callable[..., str]

    def opened(self, *args: Any, **kwargs: Any) -> Session:
        """The call's session. Raises: FlushRefused; any error of ``session``."""
        session_id = self.session(*args, **kwargs) if callable(self.session) else self.session
        with refusing("The session cannot be opened"):
            return self.memory.session(session_id)

    def pass_gate(self, session: Session, messages: list[Message] | None) -> bool:
        """Journal messages missing from the session, then pass the gate. False when messages arrived meanwhile."""
        if messages is None and not session.messages and session.last_receipt is None:
            why = f"Session {session.id!r} is empty, so the context that would be dropped is not saved."
            step = "Pass the function the list of messages, give the guard `messages=`, or call `session.add`."
            raise FlushRefused(why, next_step=step, target="journal")
        with refusing("The context cannot be journalled"):
            session.mirror.add(messages or [])
        receipt = session.pass_gate(reason="compaction")
        return not session.unflushed or (receipt is not None and bool(receipt.overridden))

    def save(self, session: Session, messages: list[Message]) -> None:
        """Pass the gate, again while messages arrive. Raises: FlushRefused."""
        for _ in attempts():
            if self.pass_gate(session, messages):
                return

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
            messages = parse(rows)
            with refusing("The context cannot be journalled"):
                session.mirror.add(messages)
        except FlushRefused as refused:
            self.vetoed(session, refused)
            return None
        return messages if not session.unsafe or self.may_drop(session, messages) else None

    def allows(self, session: Session, messages: Sequence[Message], rows: Iterable[object]) -> bool:
        """Whether ``rows`` may replace ``messages``: they lack none, or the gate passes."""
        left = parse(rows)
        if not Counter(map(key_of, messages)) - Counter(map(key_of, left)):
            return True
        if not self.may_drop(session, messages):
            return False
        self.follow(session, left)
        return True

    def may_drop(self, session: Session, messages: Sequence[Message]) -> bool:
        """Whether everything said is durable and verified now. False, with a warning, when the gate refuses."""
        try:
            self.save(session, list(messages))
        except HoldfastError as refused:
            return self.vetoed(session, refused)
        return True

    def vetoed(self, session: Session, refused: HoldfastError) -> bool:
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


def like(original: Any, **members: Any) -> Any:
    """A copy of ``original`` with other members, of a subclass of its own class."""
    changed = copy.copy(original)
    changed.__class__ = type(type(original).__name__, (type(original),), {"__module__": __name__, **members})
    return changed


@contextmanager
def refusing(what: str, then: str = "Nothing was dropped.") -> Iterator[None]:
    """Turn any error that prevents saving the session into one error for the compaction's caller."""
    try:
        yield
    except HoldfastError as error:
        why = f"{what}: {error.message} {then}"
        raise FlushRefused(why, next_step=error.next_step, target="journal") from error


def attempts() -> Iterator[int]:
    """Yield once for each flush, as messages may arrive meanwhile. Raises: FlushRefused after the last one."""
    yield from range(_ROUNDS)
    raise FlushRefused(
        f"Messages arrived during each of {_ROUNDS} flushes, so the context is not fully saved. Nothing was dropped.",
        next_step="Compact between two turns, when no messages are being added.",
        target="journal",
    )
