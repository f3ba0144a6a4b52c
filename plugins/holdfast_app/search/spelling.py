"""Correction of typing errors: unknown words are replaced by the nearest indexed words.

This runs only for a question that finds nothing as written.
"""

from __future__ import annotations

import sqlite3
from collections import Counter

from holdfast_app.search import words

#: Length of a word from which one edit is forgiven, and from which two are. Shorter words would match any other.
_ONE, _TWO = 4, 8


def corrected(db: sqlite3.Connection, question: str) -> str:
    """The question's words, with unknown words replaced by the nearest indexed word, of equals the most frequent.

    Empty when no word is unknown, or when no indexed word is near.
    """
    count = Counter(word for (body,) in db.execute("SELECT body FROM text") for word in words.written(body))
    asked = words.asked(question)
    found = {word: near for word in asked if word not in count and (near := _nearest(count, word))}
    return " ".join(found.get(word, word) for word in asked) if found else ""


def _nearest(count: Counter[str], word: str) -> str:
    if not word.isalpha() or len(word) < _ONE:
        return ""
    forgiven = 1 if len(word) < _TWO else 2
    letters = set(word)
    near = (
        (edits, -number, other)
        for other, number in count.items()
        if abs(len(other) - len(word)) <= forgiven
        if len(set(other) - letters) <= forgiven
        if (edits := distance(word, other)) <= forgiven
    )
    return min(near, default=(0, 0, ""))[2]


def distance(one: str, other: str) -> int:
    """The number of letters inserted, left out, exchanged, or swapped with the next one."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        last, row = row, [i]
        for j, opposite in enumerate(other, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != opposite))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == opposite:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before = last
    return row[-1]
