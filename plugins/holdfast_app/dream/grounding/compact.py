"""Tables of strings that take a few bytes for each entry, where a ``dict`` of ``str`` takes hundreds."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import groupby
from typing import Final, Generic, NamedTuple, TypeVar

K = TypeVar("K")
V = TypeVar("V")

#: Bits of an entry that hold the place; those above them hold the upper bits of the key's hash.
_PLACE_BITS: Final = 28
_PLACE: Final = (1 << _PLACE_BITS) - 1
_BUCKET_BITS: Final = 12
_BUCKET: Final = (1 << _BUCKET_BITS) - 1
_HASH: Final = (1 << 64 - _PLACE_BITS + _BUCKET_BITS) - 1
#: Distinct words held as ``str`` before they become a sorted run of bytes.
_RUN: Final = 8_192


class Places(NamedTuple):
    """One key's places, ascending, as a slice of its bucket."""

    bucket: array[int]
    first: int
    end: int

    def __len__(self) -> int:
        return self.end - self.first

    def has(self, place: int) -> bool:
        """Whether ``place`` is among them."""
        if self.first >= self.end:
            return False
        entry = self.bucket[self.first] & ~_PLACE | place
        at = bisect_left(self.bucket, entry, self.first, self.end)
        return at < self.end and self.bucket[at] == entry

    def take(self, most: int) -> list[int]:
        """The first ``most`` places."""
        return [entry & _PLACE for entry in self.bucket[self.first : min(self.end, self.first + most)]]


class Postings:
    """Each key's places, 8 bytes per place. Keys are compared by 48 bits of their hash, which Python seeds per process.
    Among a million keys, one lookup in 280 million finds a wrong one."""

    def __init__(self) -> None:
        self._buckets: dict[int, array[int]] = {}
        self._sorted: set[int] = set()

    def add(self, key: str, place: int) -> None:
        """Add a place (below 2**28) of a key, once."""
        code = hash(key) & _HASH
        bucket = self._buckets.get(code & _BUCKET)
        if bucket is None:
            bucket = self._buckets[code & _BUCKET] = array("Q")
        bucket.append(code >> _BUCKET_BITS << _PLACE_BITS | place)
        self._sorted.discard(code & _BUCKET)

    def places(self, key: str) -> Places:
        """All places of a key."""
        code = hash(key) & _HASH
        at = code & _BUCKET
        bucket = self._buckets.get(at)
        if bucket is None:
            return _NOWHERE
        if at not in self._sorted:
            bucket = self._buckets[at] = array("Q", sorted(bucket))
            self._sorted.add(at)
        first = code >> _BUCKET_BITS << _PLACE_BITS
        start = bisect_left(bucket, first)
        return Places(bucket, start, bisect_left(bucket, first + _PLACE + 1, start))

    def __contains__(self, key: str) -> bool:
        return len(self.places(key)) > 0


_NOWHERE: Final = Places(array("Q"), 0, 0)


class Words:
    """A set of words, filled first and then queried. Takes the words' bytes plus four per word."""

    def __init__(self) -> None:
        self._held: set[str] = set()
        self._runs: list[tuple[bytes, array[int]]] = []

    def update(self, words: Iterable[str]) -> None:
        """Add words."""
        self._held.update(words)
        if len(self._held) > _RUN:
            self._runs.append(_packed(word.encode("utf-8", "surrogatepass") for word in sorted(self._held)))
            self._held = set()

    def close(self) -> None:
        """Make one table of all runs, before the first question."""
        last = (word.encode("utf-8", "surrogatepass") for word in sorted(self._held))
        merged = merge(*(_words(*run) for run in self._runs), last)
        self._text, self._ends = _packed(word for word, _ in groupby(merged))
        self._runs, self._held = [], set()

    def __contains__(self, word: str) -> bool:
        data = word.encode("utf-8", "surrogatepass")
        return self._at_or_after(data) == data

    def begins(self, start: str) -> bool:
        """Whether a word begins with ``start``."""
        data = start.encode("utf-8", "surrogatepass")
        found = self._at_or_after(data)
        return found is not None and found.startswith(data)

    def _at_or_after(self, data: bytes) -> bytes | None:
        at = bisect_left(range(len(self._ends)), data, key=lambda i: _word(self._text, self._ends, i))
        return _word(self._text, self._ends, at) if at < len(self._ends) else None


def _packed(words: Iterable[bytes]) -> tuple[bytes, array[int]]:
    text, ends = bytearray(), array("Q")
    for word in words:
        text += word
        ends.append(len(text))
    return bytes(text), array("I", ends) if len(text) < 1 << 32 else ends


def _word(text: bytes, ends: array[int], at: int) -> bytes:
    return text[ends[at - 1] if at else 0 : ends[at]]


def _words(text: bytes, ends: array[int]) -> Iterator[bytes]:
    return (_word(text, ends, at) for at in range(len(ends)))


class Kept(Generic[K, V]):
    """The newest values of a computation, up to a weight in bytes."""

    def __init__(self, limit: int) -> None:
        self._values: dict[K, tuple[V, int]] = {}
        self._room = limit

    def get(self, key: K) -> V | None:
        """The value, None when it is not kept."""
        found = self._values.get(key)
        return found[0] if found else None

    def put(self, key: K, value: V, weight: int) -> V:
        """Store a new value, evicting the oldest ones if needed."""
        self._room -= weight
        self._values[key] = value, weight
        while self._room < 0:
            self._room += self._values.pop(next(iter(self._values)))[1]
        return value
