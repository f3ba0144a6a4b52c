"""Words for PostgreSQL's search, stored as a ``tsvector``.

They are split here, so that stored text and queries are split alike, whatever the server's locale and dictionaries. A
word is a run of letters, digits and underscores, casefolded. Chinese, Japanese and Korean text has no reliable word
boundaries, so a run of it gives all of its pairs of characters.
"""

import re
from collections.abc import Sequence
from typing import Final

_CJK: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_RUN: Final = re.compile(rf"([{_CJK}]+)|[^\W{_CJK}]+")
#: A word's maximum length in the index, in characters. Longer words are found by their beginning, then compared.
_LONGEST: Final = 60
#: Maximum size of all words in a string, in bytes. A tsvector holds less than 1 MB.
_MOST: Final = 400_000


def lexemes(text: str) -> list[str] | None:
    """A string's distinct words, for the index. None if there are too many, and every query then reads the string."""
    words: set[str] = set()
    for run in _RUN.finditer(text.casefold()):
        word = run[0]
        if run[1]:
            words.update(word[at : at + 2] for at in range(len(word)))
        else:
            words.add(word[:_LONGEST])
    return sorted(words) if sum(len(word.encode()) + 4 for word in words) < _MOST else None


def split(query: str) -> list[tuple[str, bool]]:
    """A query's words, each with whether it is Chinese, Japanese or Korean."""
    return [(run[0], bool(run[1])) for run in _RUN.finditer(query.casefold())]


def tsquery(words: Sequence[tuple[str, bool]]) -> str:
    """A condition that matches content with all ``words``, matching the last as a prefix.

    It holds no query syntax except ours, because words consist of letters, digits and underscores.
    """
    parts: list[str] = []
    for number, (word, is_cjk) in enumerate(words, start=1):
        if is_cjk and len(word) > 1:
            parts += [f"'{word[at : at + 2]}'" for at in range(len(word) - 1)]
        else:
            is_open = is_cjk or number == len(words) or len(word) > _LONGEST
            parts.append(f"'{word[:_LONGEST]}'" + (":*" if is_open else ""))
    return " & ".join(dict.fromkeys(parts))


def pattern(words: Sequence[tuple[str, bool]]) -> list[re.Pattern[str]]:
    """For each word the expression that finds it in casefolded text."""
    out = []
    for number, (word, is_cjk) in enumerate(words, start=1):
        before, after = ("", "") if is_cjk else (rf"(?<![^\W{_CJK}])", rf"(?![^\W{_CJK}])")
        out.append(re.compile(before + re.escape(word) + ("" if number == len(words) else after)))
    return out
