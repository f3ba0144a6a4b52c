"""Compiles ``rules.toml`` to constants: one row per rule, and keywords by their place of search."""

from __future__ import annotations

import re
import tomllib
from typing import Any, TypeAlias

from holdfast_redaction.rules.lint import shortest

Row: TypeAlias = "tuple[str | int | float | bool, ...]"
#: Each keyword with its rules' numbers.
Keywords: TypeAlias = "tuple[tuple[str, tuple[int, ...]], ...]"

#: A long word's characters, see ``presence.Words``. The search for keywords with other characters covers everything.
_WORD = re.compile(r"\S+")
#: Shortest word to search. Shorter matches need a search of the whole text.
_WORD_MIN = 16


def tables(source: str) -> tuple[tuple[Row, ...], tuple[tuple[int, int], ...], Keywords, Keywords, Keywords]:
    """From the text of ``rules.toml`` the constants of :mod:`holdfast_redaction.rules.table`, in their order there."""
    rules = tomllib.loads(source)["rules"]
    rows = tuple(_row(rule) for rule in rules)
    anywhere = tuple((index, int(row[-1])) for index, row in enumerate(rows) if row[-1])
    places: dict[str, dict[str, list[int]]] = {"words": {}, "text": {}, "lower": {}}
    for index, rule in enumerate(rules):
        for keyword, place in _places(rule):
            places[place].setdefault(keyword, []).append(index)
    words, text, lower = (tuple((k, tuple(v)) for k, v in sorted(found.items())) for found in places.values())
    return rows, anywhere, words, text, lower


def _row(rule: dict[str, Any]) -> Row:
    """The rule's values in the order of ``patterns.Rule``'s fields."""
    return (
        rule["id"],
        rule["regex"],
        rule.get("group", 0),
        rule.get("entropy", 0.0),
        rule.get("before", ""),
        rule.get("before_max", 0),
        rule.get("after", ""),
        next((check for check in ("secretlike", "random", "check") if rule.get(check)), ""),
        rule.get("overrides", False),
        rule.get("min_word", 0),
    )


def _places(rule: dict[str, Any]) -> list[tuple[str, str]]:
    """The rule's keywords, each with its place: anywhere in lower case, in long words only, or anywhere."""
    regex = rule["regex"]
    if regex.startswith("(?i)"):
        return [(keyword, "lower") for keyword in rule["keywords"]]
    spaces = re.search(r"\\s|\[ |\\t|\[\^|\\n", regex)
    in_long_word = not spaces and shortest(regex) >= _WORD_MIN
    return [(k, "words" if in_long_word and _WORD.fullmatch(k) else "text") for k in rule["keywords"]]
