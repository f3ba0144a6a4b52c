"""What keywords have in common, so that a search need not look for each: for ``build`` alone.

Without a library, looking for a keyword is a pass over the text. Twenty-five keywords hold "pass"; in a text without
it, one pass answers for all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

#: How likely a part of so many characters is to occur in a text, after which its keywords have to be looked for after
#: all: of letters in lower case, and of the stranger ones that formats begin with. Any guess gives a right answer.
COMMON = {2: 0.95, 3: 0.7, 4: 0.4, 5: 0.2}
STRANGE = {2: 0.5, 3: 0.1}
_LONGER = 0.05


def parts(keywords: Sequence[str], chances: Mapping[int, float]) -> list[tuple[str, tuple[int, ...]]]:
    """Parts of keywords, each with the places of those that hold it. Each place is there once, most by itself: then the
    part is the keyword.

    The part that saves most searches comes first, then that of what it leaves.
    """
    left = dict(enumerate(keywords))
    found: list[tuple[str, tuple[int, ...]]] = []
    while left:
        holders: dict[str, list[int]] = {}
        for place, keyword in left.items():
            for part in _pieces(keyword):
                holders.setdefault(part, []).append(place)
        saved = {
            part: sum(_cost(left[place]) for place in at) * (1 - chances.get(len(part), _LONGER)) - _cost(part)
            for part, at in holders.items()
        }
        best = max(saved, key=lambda part: (saved[part], len(part), part), default="")
        if not best or saved[best] <= 0:
            break
        found.append((best, tuple(holders[best])))
        for place in holders[best]:
            del left[place]
    return found + [(keyword, (place,)) for place, keyword in left.items()]


def _cost(literal: str) -> float:
    """What a pass costs that looks for it: one that does not occur is looked for in strides of its length."""
    return 1 + 8 / len(literal)


def _pieces(keyword: str) -> set[str]:
    size = len(keyword)
    return {keyword[first:last] for first in range(size) for last in range(first + 2, size + 1)}
