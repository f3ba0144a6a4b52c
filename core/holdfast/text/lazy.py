"""Regular expressions compiled, and loggers made, on first use.

A process that starts at an agent event uses few of the expressions that its modules define. Compiling all of them takes
about 50 ms, three times as long as starting Python. Importing :mod:`logging` takes half as long as starting Python, and
most processes log nothing.
"""

from __future__ import annotations

import re
import sys
from functools import cached_property

TYPE_CHECKING = False
if TYPE_CHECKING:
    from logging import Logger

    Lazy = re.compile  # what it makes has the same methods
else:

    class Lazy:
        """A lazy ``re.compile(source, flags)``, with the methods of the compiled pattern."""

        def __init__(self, source: str, flags: int = 0) -> None:
            self._given = source, flags

        @cached_property
        def _compiled(self) -> re.Pattern[str]:
            return re.compile(*self._given)

        def __getattr__(self, name: str) -> object:
            value = self.__dict__[name] = getattr(self._compiled, name)
            return value


def log(name: str) -> Logger:
    """A lazy ``logging.getLogger(name)``. The application decides which records of holdfast to show."""
    return _Log(name)  # type: ignore[return-value]  # it has all methods of a logger


class _Log:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> object:
        if name in ("debug", "info") and "logging" not in sys.modules:
            return _drop  # no program can have asked for these records
        import logging

        package = logging.getLogger("holdfast")
        if not package.handlers:
            package.addHandler(logging.NullHandler())
        return getattr(logging.getLogger(self._name), name)


def _drop(*_: object, **__: object) -> None:
    pass
