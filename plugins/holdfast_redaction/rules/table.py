"""The constants compiled from ``rules.toml``.

Compiling takes a tenth of a second, too long for a hook. So building or installing the distribution
(``hatch_build.py``) writes them to ``rules.json``. Where that is missing or made from other rules, they are compiled on
import.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any
from zlib import crc32

_HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(_HERE, "rules.toml")
COMPILED = os.path.join(_HERE, "rules.json")


def _read() -> Any:
    with open(SOURCE, "rb") as file:
        source = file.read()
    try:
        with open(COMPILED, "rb") as made:
            compiled = json.loads(made.read())
        if compiled["source"] == crc32(source):
            return compiled["tables"]
    except (OSError, ValueError, LookupError):
        pass  # an unbuilt checkout
    return tables(source.decode("utf-8"))


#: Shortest word to search. Shorter matches need a search of the whole text.
_WORD_MIN = 16


#: The fields of ``patterns.Rule`` with their defaults.
_FIELDS = (
    ("id", ""), ("regex", ""), ("group", 0), ("entropy", 0.0), ("before", ""), ("before_max", 0), ("after", ""),
    ("check", ""), ("overrides", False), ("min_word", 0),
)  # fmt: skip


def tables(source: str) -> tuple[Any, ...]:
    """The constants below, from the text of ``rules.toml``: one row per rule, and keywords by their place of search."""
    import tomllib

    rules = tomllib.loads(source)["rules"]
    for rule in rules:
        rule["check"] = next((check for check in ("secretlike", "random", "check") if rule.get(check)), "")
    rows = tuple([rule.get(name, absent) for name, absent in _FIELDS] for rule in rules)
    anywhere = tuple((index, int(row[-1])) for index, row in enumerate(rows) if row[-1])
    places: dict[str, dict[str, list[int]]] = {"words": {}, "text": {}, "lower": {}}
    for index, rule in enumerate(rules):
        for keyword, place in _places(rule):
            places[place].setdefault(keyword, []).append(index)
    words, text, lower = (tuple((k, tuple(v)) for k, v in sorted(found.items())) for found in places.values())
    return rows, anywhere, words, text, lower


def _places(rule: dict[str, Any]) -> list[tuple[str, str]]:
    """The rule's keywords, each with its place: anywhere in lower case, in long words only, or anywhere."""
    from holdfast_redaction.rules.lint import shortest

    regex = rule["regex"]
    if regex.startswith("(?i)"):
        return [(keyword, "lower") for keyword in rule["keywords"]]
    in_long_word = not re.search(r"\\s|\[ |\\t|\[\^|\\n", regex) and shortest(regex) >= _WORD_MIN
    return [(k, "words" if in_long_word and re.fullmatch(r"\S+", k) else "text") for k in rule["keywords"]]


#: ``RULES`` has a row per rule, in the order of ``patterns.Rule``'s fields. ``ANYWHERE`` numbers the rules without a
#: keyword, each with the shortest matching word's length. ``WORDS``, ``TEXT`` and ``LOWER`` are
#: keywords with their rules' numbers: of long words, of the whole text, and of the text in lower case.
RULES, ANYWHERE, WORDS, TEXT, LOWER = _read()
