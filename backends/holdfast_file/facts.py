"""Facts in ``facts.jsonl``: one appended and flushed line per operation. Mostly dead files are rewritten.

The file is authoritative, and memory follows it. Each call checks the file's identity, size and time, reads lines
appended by other processes, and starts again when the file was replaced. Readers need no lock, because they skip an
incomplete last line.
"""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import BinaryIO, Final

from holdfast.api import AddResult, Corrupt, Fact, Unavailable
from holdfast.fs import durable, safeopen
from holdfast.fs.safeopen import SIZE, TIME, Identity, identity_of
from holdfast.storage import FactOrder, Remove, Update, leaving, storable
from holdfast_file import mark as marks
from holdfast_file import repair
from holdfast_file.lines import BEGINNINGS, FactIndex, Operation, decode, encode
from holdfast_file.mark import Mark
from holdfast_file.place import Place, is_shared, read_bytes

#: The file is rewritten when it holds this many dead lines more than twice the live ones.
SPARE_DEAD_LINES: Final = 256
#: Limit of a file that this store did not write, in bytes. Reading it takes seconds.
_MOST_BYTES: Final = 8 << 20
#: A line counts as at least so many bytes, because the shortest take as long to read.
_LEAST_LINE: Final = 100
#: How many tombstones a rewrite keeps, the newest. A clone that has not merged an older removal brings the fact back.
MOST_TOMBSTONES: Final = 10_000


class FactFile:
    """One store's facts. Safe to share between threads. The store's lock excludes other processes during changes."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._mutex, self._pid = threading.RLock(), os.getpid()
        self._path = ""
        self._mark = os.path.join(place.state, marks.FILE)
        self._short = 0  # acknowledged facts known to be missing
        self._waiting: list[bytes] | None = None  # lines of the batch under way
        self.is_known: Callable[[Fact], bool] = lambda _: True
        self._forget()
        # Cleared when this process knows that all it has read would survive a power cut.
        self._unflushed = True
        # Set after a failed flush. The kernel may take lost bytes for written, so only a new file is safe.
        self._suspect = False

    def _forget(self) -> None:
        self._index = FactIndex(lambda fact: self.is_known(fact))  # noqa: PLW0108 - it may be set later
        self._key: Identity | None = None  # the file when last read, None when there was none
        self._size = 0  # bytes read so far
        self._lines = 0  # lines among them
        self._kept = 0  # lines of tombstones among them
        self._last = b""  # the last line, to notice when it was replaced
        self._ended = True  # whether it ended with a newline

    # --- the calls

    def all(self, order: FactOrder, limit: int | None) -> Iterator[Fact]:
        with self._call():
            self._follow()
            facts = chain(self._index.listed(order, limit), self._index.changes.values())
            return islice(facts, limit and max(limit, 0))

    def add(self, fact: Fact, limit: int) -> AddResult:
        fact = storable(fact, limit)
        with self.batch():
            result = self._index.addition(fact, limit)
            if result.duplicate_of is None:
                self._apply(Operation(fact=fact, leaves=result.evicted))
            return result

    def update(self, change: Update) -> Fact:
        with self.batch():
            new = self._index.changed(change)
            if new != self._index.get(new.id):
                self._apply(Operation(fact=new, update=True))
            return new

    def delete(self, change: Remove) -> Fact:
        with self.batch():
            fact = leaving(self._index.get(change.fact_id), change)
            self._apply(Operation(leaves=(fact.id,)))
            return fact

    @contextlib.contextmanager
    def batch(self) -> Iterator[None]:
        """Write all changes of the block at its end, with one flush. Other writers wait meanwhile."""
        with self._call():
            if self._waiting is not None:
                yield
                return
            with self._place.lock:
                self._settle()
                self._waiting = []
                try:
                    yield
                    if self._waiting:
                        self._append(self._waiting)
                except BaseException:
                    if self._waiting:  # memory holds changes that were never written
                        self._forget()
                    raise
                finally:
                    self._waiting = None
                if self._lines > 3 * len(self._index) + SPARE_DEAD_LINES:
                    with contextlib.suppress(Unavailable):  # the change itself is stored
                        self._rewrite()

    def lost(self) -> int:
        mark, now = marks.read(self._mark), self._identity()
        if not mark.short and marks.after(mark, self._path, private=False) is not None and (now is None or now[SIZE]):
            return 0
        with self._call(), self._place.lock:
            self._follow()
            self._short = self._missing()
            return self._short

    def accept(self) -> None:
        """Take the facts as they are now: none is missing any more."""
        with self._call(), self._place.lock:
            marks.lower(self._mark, 0)
            self._settle()
            self._note()

    def compact(self) -> None:
        """Rewrite the file when it holds lines of changed or removed facts. Tombstones stay."""
        if self._identity() is None:
            return
        with self._call(), self._place.lock:
            self._settle()
            if self._key is not None and self._lines > len(self._index) + self._kept:
                self._rewrite()

    @contextlib.contextmanager
    def _call(self) -> Iterator[None]:
        """One call. An interrupt (Ctrl-C) may leave memory half changed, so the next call reads the file again."""
        if self._pid != os.getpid():  # a thread that was inside of a call is not in this fork, and left it half done
            self._mutex, self._pid, self._waiting = threading.RLock(), os.getpid(), None
            self._forget()
        with self._mutex:
            try:
                yield
            except Exception:
                raise
            except BaseException:
                self._forget()
                raise

    # --- changing the file, with the lock held

    def _apply(self, operation: Operation) -> None:
        """Apply an operation in memory. The batch writes its line at its end."""
        assert self._waiting is not None
        self._waiting.append(encode(operation))
        self._index.follow(operation)

    def _append(self, lines: list[bytes]) -> None:
        if self._key is None:  # an empty file never exists, not even after a crash, so a found one was truncated
            marks.lower(self._mark, self._short)
            self._replace(lines)
            self._note()
            return
        data = b"".join(lines) if self._ended else b"\n" + b"".join(lines)
        try:
            durable.append(self._path, data, private=False)
        except Unavailable:
            self._suspect = True
            raise
        self._size += len(data)
        self._lines += len(lines)
        self._last, self._ended = lines[-1], True
        self._look()
        self._note()

    def _settle(self) -> None:
        """Bring memory and file to the same, durable state before a change or before saying "already there"."""
        self._follow()
        if self._key is not None and is_shared(self._path):
            self._suspect = True
        if self._short or self._unflushed:
            self._short = self._missing()
        if self._suspect:
            self._rewrite()
        if self._key is None:
            self._unflushed = False
            return
        if self._key[SIZE] > self._size:  # a line that a crash cut off
            if not self._size:
                durable.remove(self._path)
                self._forget()
                return
            durable.truncate(self._path, self._size, private=False)
            self._look()
        if self._unflushed and marks.read(self._mark).size != self._size:
            try:  # the flush of the other lines may have failed, and then another proves nothing
                durable.replace(self._path, read_bytes(self._path, self._place.facts) or b"")
            except Unavailable:
                self._suspect = True
                raise
            self._look()
            self._note()
        self._unflushed = False

    def _rewrite(self) -> None:
        """Rewrite the file with only the live facts and the tombstones. Without any, remove it."""
        gone = tuple(self._index.gone)[-MOST_TOMBSTONES:]
        lines = [encode(Operation(gone=gone))] if gone else []
        lines += [encode(Operation(fact=fact)) for fact in self._index]
        lines += [encode(Operation(fact=fact, update=True)) for fact in self._index.changes.values()]
        marks.lower(self._mark, self._short)
        if lines:
            self._replace(lines)
            self._kept = bool(gone)
            self._note()
            return
        durable.remove(self._path)
        self._forget()
        self._suspect = self._unflushed = False

    def _replace(self, lines: list[bytes]) -> None:
        self._place.make_folder(os.path.dirname(self._path))
        try:
            durable.replace(self._path, b"".join(lines))
        except Unavailable:
            now, was = self._identity(), self._key
            # The new file may exist without a durable name, so lines added to it could vanish with it.
            self._suspect = self._suspect or (now and now[:2]) != (was and was[:2])
            raise
        self._suspect = self._unflushed = False
        self._lines, self._size = len(lines), sum(map(len, lines))
        self._last, self._ended = lines[-1], True
        self._look()

    def _look(self) -> None:
        """Remember the file as this process left it, with our own size, so that the next call reads lines that a person
        typed into it meanwhile."""
        now = self._identity()
        self._key = now and (now[0], now[1], self._size, now[TIME], now[TIME + 1])

    def _note(self) -> None:
        """Write the mark for the durable lines. The caller holds the lock."""
        marks.note(self._mark, Mark(self._size, marks.last_line(self._last), len(self._index), self._short))

    def _missing(self) -> int:
        body = read_bytes(self._path, self._place.facts) if self._key else None
        return marks.missing(marks.read(self._mark), (body or b"")[: self._size], len(self._index), self._place)

    # --- following the file

    def _follow(self) -> None:
        """Read the lines added since the last call, or all of them when the file was replaced."""
        key = self._identity()
        if key == self._key:
            return
        if key is None:
            self._forget()
            return
        if not key[SIZE]:
            self._forget()
            raise Corrupt(
                f"{self._place.facts!r} is empty because it was cut off.",
                next_step="Restore it from a copy, or remove it if no fact was ever stored.",
            )
        with durable.reporting(self._place.facts, "read"):
            try:
                with safeopen.reader(self._path, private=False) as file:
                    self._read(file)
            except FileNotFoundError:
                self._forget()

    def _read(self, file: BinaryIO) -> None:
        key = identity_of(os.fstat(file.fileno()))
        if not self._continues(file, key):
            self._forget()
        if key != self._key:
            self._unflushed = True
            mark = marks.read(self._mark)  # before the file, which then holds at least the marked lines
            self._bound(key[SIZE], mark)
            file.seek(self._size)
            self._take(file.read(), mark, key)
        self._key = key

    def _continues(self, file: BinaryIO, key: Identity) -> bool:
        old = self._key
        if old is None or old[:2] != key[:2] or key[SIZE] < self._size:
            return False
        if key[SIZE] == old[SIZE] and key[TIME:] != old[TIME:]:
            return False  # not an append
        file.seek(self._size - len(self._last))
        return file.read(len(self._last)) == self._last

    def _take(self, data: bytes, mark: Mark, key: Identity) -> None:
        """Apply the whole lines of the file ``key``. A torn line at the end is not read; the next writer cuts it."""
        self._bound(_LEAST_LINE * (self._lines + data.count(b"\n")), mark)  # before a list of them takes memory
        lines = data.split(b"\n")
        rest = lines.pop()
        if lines and b"\0" in lines[-1] and not rest.strip(b"\0"):
            rest = lines.pop() + b"\n"  # a power cut kept the line's length but not all of its bytes
        torn = False
        if rest:
            try:
                decode(rest)
            except ValueError:
                torn = durable.may_be_torn(rest, *BEGINNINGS)  # else a person typed it
        if rest and not torn:
            lines.append(rest)
        bad: tuple[int, ValueError] | None = None
        for line in lines:
            try:
                if line.strip():
                    operation = decode(line)
                    self._index.follow(operation)
                    self._kept += bool(operation.gone)
            except ValueError as error:
                bad = bad or (self._lines, error)
            self._lines += 1
        if bad:
            self._lines, first = bad
            raise self._corrupt(str(first)) from first
        if lines:
            self._ended = torn or not rest
            self._last = lines[-1] + b"\n" * self._ended
            self._size += sum(map(len, lines)) + len(lines) - (not self._ended)
        now = self._identity() if torn else None  # the mark may be that of a file that replaced this one meanwhile
        if self._size < mark.size and now is not None and now[:2] == key[:2]:
            raise self._corrupt(f"the file was cut off, it had {mark.items:,} facts")

    def _bound(self, size: int, mark: Mark) -> None:
        """Raises: Corrupt for a file of ``size`` bytes that this store did not write."""
        if size > _MOST_BYTES + 2 * mark.size:
            raise Corrupt(
                f"{self._place.facts!r} is larger than {_MOST_BYTES:,} bytes, at least {_LEAST_LINE} a line.",
                next_step="Move it away. `holdfast facts import FILE` reads it from there.",
            )

    def _corrupt(self, reason: str) -> Corrupt:
        number = self._lines + 1
        error = Corrupt(f"Line {number} of {self._place.facts!r} cannot be read: {reason}.", next_step=repair.FIX)
        error.intact = tuple(self._index.listed(FactOrder.CREATED, None))
        self._forget()  # the next call reads again, and says so again
        return error

    def _identity(self) -> Identity | None:
        """The file as it is now, or None when there is none. Raises: Corrupt, Refused, Unavailable."""
        if not self._path:
            self._path = self._place.inside(self._place.facts)
        stat = self._place.regular(self._path)
        return None if stat is None else identity_of(stat)
