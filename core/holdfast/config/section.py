"""The base of settings: classes whose annotated attributes are a table's keys, with their defaults.

Every command makes all of the sections and sets few keys, so a section holds only the keys that it was given, and no
code is generated for it. attrs would take longer to import than the rest of reading the settings.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, dataclass_transform

T = TypeVar("T")
#: Raises ValueError for an unusable value. The message goes on after the key's name: ``must be >= 1, not 0``.
Check = Callable[[Any], None]


class _Setting(NamedTuple):
    default: Any
    check: Check


def setting(*, default: T, check: Check) -> T:
    """The default for a key with checked values."""
    return _Setting(default, check)  # type: ignore[return-value]  # a specifier, as a dataclass's `field`


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(setting,))
class Section:
    """Immutable keys and values. Every key has a default. Equal to a section of the same class with equal values."""

    _checks: ClassVar[dict[str, Check]] = {}

    def __init_subclass__(cls) -> None:
        cls._checks = {}
        for key in cls.names():
            if isinstance(given := getattr(cls, key), _Setting):
                setattr(cls, key, given.default)
                cls._checks[key] = given.check

    def __init__(self, **given: Any) -> None:
        """Raises: ValueError for an unusable value; TypeError for an unknown key."""
        for key, value in given.items():
            if key not in self.__annotations__:
                raise TypeError(f"{type(self).__name__} has no key {key!r}")
            if check := self._checks.get(key):
                check(value)
        self.__dict__.update(given)
        self._check_together()

    def _check_together(self) -> None:
        """Raises: HoldfastError or ValueError when the values do not go together."""

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The keys' names, in order."""
        return tuple(key for key in cls.__annotations__ if not key.startswith("_"))

    def evolve(self, **changes: Any) -> Self:
        """A copy with some values changed. Raises: as making one."""
        return type(self)(**{**self.__dict__, **changes})

    def __setattr__(self, key: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{key} cannot be changed; use `evolve`")

    def _values(self) -> tuple[object, ...]:
        return tuple(getattr(self, key) for key in self.names())

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self), self._values()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{key}={value!r}" for key, value in zip(self.names(), self._values(), strict=True))
        return f"{type(self).__name__}({shown})"


# checks


def at_least(limit: float) -> Check:
    def check(value: float) -> None:
        if not value >= limit:  # NaN is unusable, too
            raise ValueError(f"must be >= {limit}, not {value!r}")

    return check


def more_than(limit: float) -> Check:
    def check(value: float) -> None:
        if not value > limit:
            raise ValueError(f"must be > {limit}, not {value!r}")

    return check


def one_of(*choices: str) -> Check:
    def check(value: object) -> None:
        if value not in choices:
            raise ValueError(f"must be one of {', '.join(choices)}, not {value!r}")

    return check
