"""The base of values that commands import at their start: equality, hash and repr.

attrs generates these three for each class by default, which takes two fifths of the time to make the class. So such a
class is declared as ``@frozen(kw_only=True, eq=False, repr=False) class Name(Value)``, and behaves as it did.
"""

from __future__ import annotations

from typing import Any

from attrs import fields


class Value:
    """Two values are equal when they are of the same class and their fields are."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return _compared(self) == _compared(other)

    def __hash__(self) -> int:
        return hash((self.__class__, *_compared(self)))

    def __repr__(self) -> str:
        kind: Any = self.__class__
        shown = ", ".join(f"{a.name}={getattr(self, a.name)!r}" for a in fields(kind) if a.repr)
        return f"{kind.__qualname__}({shown})"


def _compared(value: object) -> tuple[object, ...]:
    kind: Any = value.__class__
    return tuple(getattr(value, a.name) for a in fields(kind) if a.eq)
