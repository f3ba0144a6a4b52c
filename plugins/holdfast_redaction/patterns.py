"""Rules and hits. Plain classes, because this module is loaded at every agent event, where importing ``typing`` or
``attrs`` would cost more than the search."""

from __future__ import annotations

from functools import lru_cache
from math import log2

#: Kinds of findings for the policy: secrets, and kinds of personal data.
KINDS = ("secret", "email", "phone", "card", "iban", "government", "ip", "mac")


class Rule:
    """A format in the table. The comment at the top of ``rules.toml`` describes the fields.

    ``check`` is "", "check", "random" or "secretlike".
    """

    __slots__ = ("after", "before", "before_max", "check", "entropy", "group", "id", "min_word", "overrides", "regex")

    def __init__(
        self,
        id: str,  # noqa: A002 - the key's name in the common TOML form
        regex: str,
        group: int = 0,
        entropy: float = 0.0,
        before: str = "",
        before_max: int = 0,
        after: str = "",
        check: str = "",
        overrides: bool = False,
        min_word: int = 0,
    ) -> None:
        self.id = id
        self.regex = regex
        self.group = group
        self.entropy = entropy
        self.before = before
        self.before_max = before_max
        self.after = after
        self.check = check
        self.overrides = overrides
        self.min_word = min_word


class Hit:
    """A string to mask, with its offsets and the rule that found it. Overlapping hits take the name with the lowest
    ``rank``."""

    __slots__ = ("end", "kind", "rank", "rule", "start")

    def __init__(self, start: int, end: int, rule: str, rank: int, kind: str = "secret") -> None:
        self.start = start
        self.end = end
        self.rule = rule
        self.rank = rank
        self.kind = kind


def entropy(text: str) -> float:
    """Shannon entropy in bits per character, 0 for an empty string."""
    size = len(text)
    return log2(size) - sum(map(_weighted, map(text.count, set(text)))) / size if size else 0.0


@lru_cache(None)
def _weighted(count: int) -> float:
    return count * log2(count)
