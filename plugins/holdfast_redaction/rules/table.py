"""The constants compiled from ``rules.toml``.

Compiling takes a tenth of a second, too long for a hook. So building or installing the distribution
(``hatch_build.py``) writes them to ``rules.json``. Where that is missing or made from other rules, they are compiled on
import.
"""

import json
import os
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
            return compiled["rows"]
    except (OSError, ValueError, LookupError):
        pass  # an unbuilt checkout
    return tables(source.decode("utf-8"))


#: The fields of ``patterns.Rule`` with their defaults.
_FIELDS = (
    ("id", ""), ("regex", ""), ("group", 0), ("entropy", 0.0), ("before", ""), ("before_max", 0), ("after", ""),
    ("check", ""), ("overrides", False), ("min_word", 0),
)  # fmt: skip


def tables(source: str) -> tuple[Any, ...]:
    """The constants below, from the text of ``rules.toml``."""
    import tomllib

    rules = tomllib.loads(source)["rules"]
    exact: dict[str, list[int]] = {}
    lower: dict[str, list[int]] = {}
    for index, rule in enumerate(rules):
        rule["check"] = next((check for check in ("secretlike", "random", "check") if rule.get(check)), "")
        for keyword in rule.get("keywords", ()):
            (lower if rule["regex"].startswith("(?i)") else exact).setdefault(keyword, []).append(index)
    anywhere = [(index, rule["min_word"]) for index, rule in enumerate(rules) if "min_word" in rule]
    rows = [[rule.get(name, absent) for name, absent in _FIELDS] for rule in rules]
    return rows, anywhere, sorted(exact.items()), sorted(lower.items())


#: ``RULES`` has a row per rule, in the order of ``patterns.Rule``'s fields. ``ANYWHERE`` numbers the rules without a
#: keyword, each with the shortest matching word's length. ``EXACT`` and ``LOWER`` are keywords with their rules'
#: numbers: of the text, and of the text in lower case.
RULES, ANYWHERE, EXACT, LOWER = _read()
