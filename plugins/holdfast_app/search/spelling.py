"""Correction of typing errors: unknown words are replaced by the nearest indexed words.

This runs only for a question that finds nothing as written.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from difflib import SequenceMatcher

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
    letters, common = set(word), 2 * (len(word) - forgiven)
    near = (
        (ratio, number, other)
        for other, number in count.items()
        if abs(len(other) - len(word)) <= forgiven
        if len(set(other) - letters) <= forgiven
        if (ratio := SequenceMatcher(None, word, other).ratio()) * (len(word) + len(other)) >= common
    )
    return max(near, default=(0.0, 0, ""))[2]
