"""Checks whether an expression is safe for any input, because it parses, cannot run away and needs no look-around.

Python's matcher backtracks. Nested repeats, or adjacent repeats over the same characters, can take quadratic time or
worse. RE2 cannot, but it is optional.
"""

from __future__ import annotations

import re
import re._constants as sre  # typeshed leaves the parser out
import re._parser as parser
from collections.abc import Iterator
from typing import Any

#: A repeat with a limit up to this counts as bounded when it is nested in another.
_SMALL = 64
#: Largest repeat of a part that may be empty. It can be matched in up to 2 ** 8 ways.
_MANY = 8
_REPEATS = (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT)


def complaints(regex: str) -> list[str]:
    """The faults of ``regex``, for people; empty if there are none. Does not run it."""
    try:
        tree = parser.parse(regex)
    except (re.error, RecursionError, OverflowError) as error:
        return [f"it is not a regular expression: {error}"]
    found = []
    for operator, argument, nested in _walk(tree):
        if operator in _REPEATS:
            _, high, body = argument
            if high > _SMALL and any(h > _SMALL for h in nested) and not any(o is sre.LITERAL for o, _ in body):
                found.append("a repeat without a small limit is nested in another one")
            if high > _MANY and body.getwidth()[0] == 0:
                found.append("it repeats a part that may be empty")
        elif operator in (sre.ASSERT, sre.ASSERT_NOT):
            found.append("it uses look-around, which RE2 does not support")
        elif operator in (sre.GROUPREF, sre.GROUPREF_EXISTS):
            found.append("it uses a backreference, which RE2 does not support")
    return sorted(set(found))


def is_bounded(regex: str) -> bool:
    """Whether every repeat has a limit, so that the time is proportional to the text's length."""
    tree = parser.parse(regex)
    return not any(operator in _REPEATS and argument[1] == sre.MAXREPEAT for operator, argument, _ in _walk(tree))


def shortest(regex: str) -> int:
    """Length of the shortest match of ``regex``."""
    width: int = parser.parse(regex).getwidth()[0]
    return width


def _walk(tree: Any) -> Iterator[tuple[Any, Any, list[int]]]:
    for operator, argument in tree:
        if operator in _REPEATS:
            yield operator, argument, list(_limits(argument[2]))
        else:
            yield operator, argument, []
        for child in _children(operator, argument):
            yield from _walk(child)


def _limits(tree: Any) -> Iterator[int]:
    """The upper limits of the repeats anywhere inside."""
    for operator, argument in tree:
        if operator in _REPEATS:
            yield argument[1]
        for child in _children(operator, argument):
            yield from _limits(child)


def _children(operator: Any, argument: Any) -> list[Any]:
    if operator in _REPEATS:
        return [argument[2]]
    if operator is sre.SUBPATTERN:
        return [argument[3]]
    if operator is sre.BRANCH:
        return list(argument[1])
    if operator in (sre.ASSERT, sre.ASSERT_NOT):
        return [argument[1]]
    if operator is sre.ATOMIC_GROUP:
        return [argument]
    if operator is sre.GROUPREF_EXISTS:
        return [child for child in argument[1:] if child is not None]
    return []
