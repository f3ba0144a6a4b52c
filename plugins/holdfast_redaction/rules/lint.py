"""Checks whether an expression is safe for any input, because it parses and cannot run away.

Python's matcher backtracks. Nested repeats, or adjacent repeats over the same characters, can take quadratic time or
worse. RE2 cannot, but it is optional.
"""

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
    faults = []
    for operator, argument, nested in _walk(tree):
        if operator in _REPEATS:
            _, high, body = argument
            if high > _SMALL and nested:
                faults.append("a repeat without a small limit is nested in another one")
            if high > _MANY and body.getwidth()[0] == 0:
                faults.append("it repeats a part that may be empty")
            if high == sre.MAXREPEAT and any(inner is sre.BRANCH for inner, _, _ in _walk(body)):
                faults.append("it repeats alternatives without a limit")
    return sorted(set(faults))


def _walk(tree: Any, *, nested: bool = False) -> Iterator[tuple[Any, Any, bool]]:
    """Every operator, its argument, and whether a repeat without a small limit and without a literal is around it."""
    for operator, argument in tree:
        yield operator, argument, nested
        repeats = operator in _REPEATS and argument[1] > _SMALL and not any(o is sre.LITERAL for o, _ in argument[2])
        for child in _children(argument):
            yield from _walk(child, nested=nested or repeats)


def _children(argument: Any) -> list[Any]:
    """The parsed expressions in an operator's argument."""
    if isinstance(argument, parser.SubPattern):
        return [argument]
    return [c for part in argument for c in _children(part)] if isinstance(argument, list | tuple) else []
