"""A setting's declaration: its default, its check, its line in docs/configuration.md, and a project's allowed values.

A cloned project may be hostile. A project may set a value without the user's trust if that value cannot send data
anywhere, write outside the layout preset's folders, load anything not on by default, weaken redaction or the flush
gate, delete data, or spend money. Every other value belongs to the user: see docs/trust.md.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import attrs

T = TypeVar("T")
#: Raises ValueError for an unusable value. The message goes on after the key's name: ``must be >= 1, not 0``.
Check = Callable[[Any], None]
#: The user's settings, in force without the project, by dotted key.
Users = Mapping[str, Any]

#: The metadata key of a field's :class:`About`.
ABOUT = "about"
#: Metadata key of a field that receives a table's other keys.
REST = "rest"


class Allowed(NamedTuple):
    """The values that a project may set: those for which ``fits(value, users)`` holds, in ``words`` for people.

    ``fits`` gets values of the setting's type that passed its check.
    """

    words: str
    fits: Callable[[Any, Users], bool]


NOTHING = Allowed("nothing", lambda value, users: False)
ANYTHING = Allowed("any value", lambda value, users: True)


class About(NamedTuple):
    """A setting's default, meaning, check, and the values that a project may set."""

    default: object
    help: str
    check: Check
    project: Allowed


def setting(
    default: T,
    help: str,  # noqa: A002
    *,
    check: Check = lambda value: None,
    project: Allowed = NOTHING,
) -> T:
    """A key with its default, in a frozen attrs class for its table. See :class:`About`."""
    made: T = attrs.field(
        default=default,
        validator=lambda _, field, value: check(value),
        metadata={ABOUT: About(default, help, check, project)},
    )
    return made


def others() -> Mapping[str, object]:
    """The field for all other keys of its table."""
    made: Mapping[str, object] = attrs.field(factory=dict, metadata={REST: True})
    return made


# checks


def _must_be(words: str, fits: Callable[[Any], bool]) -> Check:
    def check(value: object) -> None:
        if not fits(value):
            raise ValueError(f"must be {words}, not {value!r}")

    return check


def at_least(limit: float) -> Check:
    return _must_be(f">= {limit}", lambda value: value >= limit)


def more_than(limit: float) -> Check:
    return _must_be(f"> {limit}", lambda value: value > limit)


def one_of(*choices: str) -> Check:
    return _must_be(f"one of {', '.join(choices)}", lambda value: value in choices)


# values that a project may set


def between(least: float, most: float) -> Allowed:
    return Allowed(f"{least:,} to {most:,}", lambda value, users: least <= value <= most)


def stricter(key: str, strict: object, lenient: object) -> Allowed:
    """``strict``, and ``lenient`` unless the user says ``strict``."""
    shown, other = (str(value).lower() if isinstance(value, bool) else value for value in (strict, lenient))
    return Allowed(
        f"`{shown}`; `{other}` unless your own file says `{shown}`",
        lambda value, users: value == strict or (value == lenient and users.get(key, lenient) == lenient),
    )
