"""Common parts of keywords, so that one search can rule out several keywords. Only ``build`` uses this.

Without google-re2 each keyword costs one scan of the text. Twenty-five keywords contain "pass", so one scan rules out
all of them if "pass" is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

#: Estimated chance that text contains a part of this many characters, which makes a search for its keywords necessary.
#: First for lower-case letters, then for the rarer characters of formats. The estimates affect only speed.
COMMON = {2: 0.95, 3: 0.7, 4: 0.4, 5: 0.2}
STRANGE = {2: 0.5, 3: 0.1}
_LONGER = 0.05


def parts(keywords: Sequence[str], chances: Mapping[int, float]) -> list[tuple[str, tuple[int, ...]]]:
    """Parts of keywords, each with the indexes of keywords that contain it. Every index occurs once. A keyword that
    shares no part is a part of its own.

    The part that saves most searches comes first, then the best one for the remaining keywords.
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
    """One scan's cost. A missing literal is skipped in steps of its length."""
    return 1 + 8 / len(literal)


def _pieces(keyword: str) -> set[str]:
    size = len(keyword)
    return {keyword[first:last] for first in range(size) for last in range(first + 2, size + 1)}
