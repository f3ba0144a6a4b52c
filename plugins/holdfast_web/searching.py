"""Searches that run next to the pages, because the first one may have to build the index."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.plugin import progress

if TYPE_CHECKING:
    from holdfast_app.search.hits import SearchHit

#: Seconds a request waits for its search before it shows how far the search has got.
_WAIT_S: Final = 0.4
#: Searches to remember until their page asks again.
_KEPT: Final = 8


class Pending(NamedTuple):
    """An unfinished search, with ``done`` of ``total`` index parts read, 0 of 0 before the first."""

    done: int
    total: int


class Searches:
    """Runs one search at a time in a thread of its own. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._one_at_a_time = threading.Lock()
        self._running: dict[tuple[str, str], _Search] = {}

    def result(self, key: tuple[str, str], search: Callable[[], Sequence[SearchHit]]) -> Sequence[SearchHit] | Pending:
        """The hits of ``search``, started unless ``key`` is under way, or how far it has got.

        Raises: the search's error.
        """
        with self._lock:
            one = self._running.get(key)
            if one is None:
                if len(self._running) >= _KEPT:
                    del self._running[next(iter(self._running))]
                one = self._running[key] = _Search(search, self._one_at_a_time)
        if not one.ended.wait(_WAIT_S):
            return one.reached
        with self._lock:
            self._running.pop(key, None)
        if one.error is not None:
            raise one.error
        return one.hits


class _Search:
    def __init__(self, search: Callable[[], Sequence[SearchHit]], turn: threading.Lock) -> None:
        self.hits: Sequence[SearchHit] = ()
        self.error: BaseException | None = None
        self.reached = Pending(0, 0)
        self.ended = threading.Event()
        self._search, self._turn = search, turn
        threading.Thread(target=self._run, name="holdfast-search", daemon=True).start()

    def _run(self) -> None:
        try:
            with self._turn, progress.watched(self._watch):
                self.hits = self._search()
        except BaseException as error:  # noqa: BLE001 - the request raises it
            self.error = error
        finally:
            self.ended.set()

    def _watch(self, done: int, total: int, activity: str) -> None:
        self.reached = Pending(done, total)
