"""``python -m holdfast_redaction.rules.build`` turns ``rules.toml``, the source, into ``_table.py`` and ``_heads.py``.

Parsing the TOML takes tens of milliseconds, too long for a hook. A module of constants loads in a fraction of one.
Only google-re2 needs ``_heads.py``. A test fails when source and modules disagree.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from typing import Any, TypeAlias

#: By place, each keyword with its rules' numbers.
Keywords: TypeAlias = "dict[str, dict[str, tuple[int, ...]]]"
Row: TypeAlias = "tuple[str | int | float | bool, ...]"
HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "rules.toml")
TARGET = os.path.join(HERE, "_table.py")
HEADS = os.path.join(HERE, "_heads.py")

#: A long word's characters, see ``presence.Words``. The search for keywords with other characters covers everything.
_WORD = re.compile(r"\S+")
#: Shortest word to search. Shorter matches need a search of the whole text.
_WORD_MIN = 16


def read(path: str = SOURCE) -> list[dict[str, Any]]:
    """The tables of ``rules.toml``, in file order."""
    with open(path, "rb") as file:
        rules: list[dict[str, Any]] = tomllib.load(file)["rules"]
    return rules


def compact(rules: list[dict[str, Any]]) -> tuple[list[Row], Keywords]:
    """One row per rule, in the order of ``patterns.Rule``'s fields, and the keywords by search place.

    ``words``: in long words only; ``text``: anywhere; ``lower``: anywhere, in lower case.
    """
    compacted: list[Row] = []
    places: dict[str, dict[str, list[int]]] = {"words": {}, "text": {}, "lower": {}}
    for index, rule in enumerate(rules):
        compacted.append(
            (
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
        )
        for keyword in rule["keywords"]:
            exact = "words" if _in_long_word(rule, keyword) else "text"
            place = "lower" if rule["regex"].startswith("(?i)") else exact
            places[place].setdefault(keyword, []).append(index)
    return compacted, {p: {k: tuple(v) for k, v in sorted(found.items())} for p, found in places.items()}


def _in_long_word(rule: dict[str, Any], keyword: str) -> bool:
    """Whether every match is within one word of at least 16 characters, as the regex is long without white space."""
    from holdfast_redaction.rules.lint import shortest

    spaces = re.search(r"\\s|\[ |\\t|\[\^|\\n", rule["regex"])
    return bool(_WORD.fullmatch(keyword)) and not spaces and shortest(rule["regex"]) >= _WORD_MIN


def render(rules: list[dict[str, Any]]) -> str:
    """The text of ``_table.py``."""
    from holdfast_redaction.rules.parts import COMMON, STRANGE, parts

    compacted, places = compact(rules)
    shared = parts([keyword.lower() for keyword in (*places["text"], *places["lower"])], COMMON)
    lines = [
        '"""Made from rules.toml by ``python -m holdfast_redaction.rules.build``; change that file, not this one."""',
        "",
        "# fmt: off",
        "# ruff: noqa: E501",
        "# One row a rule, in the order of the fields of ``patterns.Rule``.",
        "RULES = (",
        *(f"    {row!r}," for row in compacted),
        ")",
        "# Keyword -> rules, by where it is looked for.",
        "# Rules without a keyword, each with the length of the shortest word that can hold a match.",
        f"ANYWHERE = {tuple((i, row[-1]) for i, row in enumerate(compacted) if row[-1])!r}",
        *_mapping("WORDS", places["words"]),
        *_mapping("TEXT", places["text"]),
        *_mapping("LOWER", places["lower"]),
        "# Part of keywords -> places of those that hold it: in WORDS; and in TEXT and LOWER, one after the other,",
        "# parts that begin, end or lie in a word, and parts that go over several.",
        f"PARTS_OF_WORDS = {tuple(parts(list(places['words']), STRANGE))!r}",
        f"PARTS = {tuple(row for row in shared if len(row[0].split()) == 1)!r}",
        f"PARTS_ACROSS = {tuple(row for row in shared if len(row[0].split()) > 1)!r}",
    ]
    return "\n".join(lines) + "\n"


def render_heads(rules: list[dict[str, Any]]) -> str:
    """The text of ``_heads.py``."""
    from holdfast_redaction.rules.heads import heads

    lines = [
        '"""Made from rules.toml by ``python -m holdfast_redaction.rules.build``: see heads.py; edit neither."""',
        "",
        "# fmt: off",
        "# ruff: noqa: E501",
        "HEADS = (",
        *(f"    {group!r}," for group in heads(rules)),
        ")",
    ]
    return "\n".join(lines) + "\n"


def _mapping(name: str, keywords: dict[str, tuple[int, ...]]) -> Iterator[str]:
    yield f"{name} = ("
    for keyword, rules in keywords.items():
        yield f"    ({keyword!r}, {rules!r}),"
    yield ")"


def main() -> None:
    """Write ``_table.py`` and ``_heads.py`` next to ``rules.toml``."""
    rules = read()
    for path, text in ((TARGET, render(rules)), (HEADS, render_heads(rules))):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
