"""How a setting is declared: its default, its check, its line in docs/configuration.md, and what a project may set.

A cloned project may be hostile. A project may set a value without the user's trust if that value cannot send data
anywhere, write outside the layout preset's folders, load anything not on by default, weaken redaction or the flush
gate, delete data, or spend money. Every other value belongs to the user: see docs/trust.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self, TypeVar, cast

import attrs

T = TypeVar("T")
#: Raises ValueError for an unusable value. The message goes on after the key's name: ``must be >= 1, not 0``.
Check = Callable[[Any], None]
#: The user's settings, in force without the project, by dotted key.
Users = Mapping[str, Any]

#: Metadata of a field that receives all keys of a table that have no field.
REST = "rest"
#: Metadata of a field: a function that raises ValueError for an unusable value.
CHECK = "check"
_HELP, _PROJECT = "help", "project"


class Allowed(NamedTuple):
    """The values that a project may set: those for which ``fits(value, users)`` holds, in ``words`` for people.

    ``fits`` gets values of the setting's type that passed its check.
    """

    words: str
    fits: Callable[[Any, Users], bool]


NOTHING = Allowed("nothing", lambda value, users: False)
ANYTHING = Allowed("any value", lambda value, users: True)


class Settings:
    """The base of settings tables, which are frozen attrs classes. Every key has a default."""

    __slots__ = ()

    def evolve(self, **changes: Any) -> Self:
        """A copy with some values changed. Raises: as making one."""
        made: Self = attrs.evolve(cast("Any", self), **changes)
        return made


def setting(default: T, help: str, *, check: Check | None = None, project: Allowed = NOTHING) -> T:  # noqa: A002
    """A key with its default. ``help`` is its meaning; ``project`` are the values that a project may set."""
    metadata: dict[str, Any] = {_HELP: help, _PROJECT: project}
    validator = None
    if check is not None:
        metadata[CHECK] = check
        validator = _validated
    made: T = attrs.field(default=default, validator=validator, metadata=metadata)
    return made


def _validated(_: object, field: attrs.Attribute[Any], value: object) -> None:
    field.metadata[CHECK](value)


def others() -> Mapping[str, object]:
    """The field for all other keys of its table."""
    made: Mapping[str, object] = attrs.field(factory=dict, metadata={REST: True})
    return made


def described(cls: type[Settings], path: str = "") -> dict[str, attrs.Attribute[Any]]:
    """The keys of a table and of the tables in it, dotted, in order."""
    found: dict[str, attrs.Attribute[Any]] = {}
    for field in attrs.fields(cast("Any", cls)):
        if isinstance(field.default, Settings):
            found.update(described(type(field.default), f"{path}{field.name}."))
        elif _HELP in field.metadata:
            found[path + field.name] = field
    return found


def help_of(field: attrs.Attribute[Any]) -> str:
    return str(field.metadata[_HELP])


def allowed_by(field: attrs.Attribute[Any]) -> Allowed:
    allowed: Allowed = field.metadata[_PROJECT]
    return allowed


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


# values that a project may set


def only(value: object) -> Allowed:
    return Allowed(f"`{value}`", lambda given, users: given == value)


def between(least: float, most: float) -> Allowed:
    """From ``least`` to ``most``, both included."""
    return Allowed(f"{least:,} to {most:,}", lambda value, users: least <= value <= most)


def not_below_users(key: str, default: int, most: int) -> Allowed:
    """At least the user's value, because a lower one deletes data."""
    return Allowed(
        f"{default:,} to {most:,}, not below your own value",
        lambda value, users: max(default, users.get(key, default)) <= value <= most,
    )


def stricter(key: str, strict: object, lenient: object) -> Allowed:
    """``strict``, and ``lenient`` unless the user says ``strict``."""
    shown, other = (str(one).lower() if isinstance(one, bool) else one for one in (strict, lenient))
    return Allowed(
        f"`{shown}`; `{other}` unless your own file says `{shown}`",
        lambda value, users: value == strict or (value == lenient and users.get(key, lenient) == lenient),
    )
