"""Progress of long work: features report it here, and :class:`holdfast_cli.command._Bar` draws it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")

#: Called with the number of finished items, their total, and the current activity, such as "Searching files".
Watcher = Callable[[int, int, str], object]

_watcher: ContextVar[Watcher | None] = ContextVar("holdfast.progress", default=None)


@contextmanager
def watched(watcher: Watcher | None) -> Iterator[None]:
    """Send the progress of all work in the block to ``watcher``, in this thread. None stops sending it."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def report(done: int, total: int, activity: str) -> None:
    """Report ``done`` of ``total`` items (0 when unknown) to the watcher, if there is one. Cheap otherwise."""
    watcher = _watcher.get()
    if watcher is not None:
        watcher(done, total, activity)


def each(items: Sequence[T], activity: str) -> Iterator[T]:
    """The items in order, reporting how many are done."""
    for done, item in enumerate(items):
        report(done, len(items), activity)
        yield item
    report(len(items), len(items), activity)
