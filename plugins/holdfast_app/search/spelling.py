"""Correction of typing errors: unknown words are replaced by the nearest indexed words.

This runs only for a question that finds nothing as written.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Final

from holdfast_app.search import words

#: Length of a word from which one edit is forgiven, and from which two are. Shorter words would match any other.
_ONE, _TWO = 4, 8
#: Number of tokens whose words are compared with the question's, and of entries read for each.
_TOKENS: Final = 40
_TEXTS: Final = 4


def corrected(db: sqlite3.Connection, question: str) -> str:
    """The question's words, with unknown words replaced by the nearest indexed word.

    Empty when no word is unknown, or when no indexed word is near.
    """
    asked = words.asked(question)
    terms = words.terms(db, asked)
    found: dict[str, str] = {}
    for word in asked:
        forgiven = _forgiven(word)
        if forgiven and not any(count for _, count in terms.get(word, ())):
            near = _nearest(db, word, forgiven)
            if near:
                found[word] = near
    return " ".join(found.get(word, word) for word in asked) if found else ""


def _forgiven(word: str) -> int:
    if not word.isalpha() or len(word) < _ONE:
        return 0
    return 1 if len(word) < _TWO else 2


def _nearest(db: sqlite3.Connection, word: str, forgiven: int) -> str:
    """The indexed word with the fewest edits, the most frequent first, or empty when none is near enough."""
    near = (
        (edits, -count, written)
        for term, count in _tokens(db, word, forgiven)
        for written in _written(db, term)
        if (edits := distance(word, written, forgiven)) <= forgiven
    )
    return min(near, default=(0, 0, ""))[2]


def _tokens(db: sqlite3.Connection, word: str, forgiven: int) -> list[tuple[str, int]]:
    """Possible stems of words near ``word``, nearest and most frequent first."""
    rows = db.execute(
        "SELECT term, doc FROM term WHERE length(term) BETWEEN ? AND ?",
        (max(_ONE - 1, len(word) // 2), len(word) + forgiven),
    )
    letters = set(word)
    near = (
        (edits, -count, term)
        for term, count in rows
        if len(set(term) - letters) <= forgiven
        if (edits := distance(term, word, forgiven, begins=True)) <= forgiven
    )
    return [(term, -count) for _, count, term in sorted(near)[:_TOKENS]]


def _written(db: sqlite3.Connection, term: str) -> Iterator[str]:
    """Words that the index has as this token."""
    db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.place USING fts5vocab(main, found, instance)")
    rows = db.execute("SELECT DISTINCT doc FROM temp.place WHERE term = ? LIMIT ?", (term, _TEXTS)).fetchall()
    for (one,) in rows:
        (body,) = db.execute("SELECT body FROM text WHERE id = ?", (one,)).fetchone()
        for word, tokens in words.terms(db, words.asked(body)).items():
            if [token for token, _ in tokens] == [term]:
                yield word


def distance(one: str, other: str, most: int, *, begins: bool = False) -> int:
    """The number of letters inserted, left out, exchanged, or swapped with the next one; ``most`` + 1 when more.
    With ``begins`` to the nearest beginning of ``other``."""
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
        if min(row) > most:
            return most + 1
    return min(min(row) if begins else row[-1], most + 1)
