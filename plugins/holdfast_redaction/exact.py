"""Layer two: the exact formats of ``rules.toml``, each tried only where one of its keywords begins.

Looking for a literal is an order of magnitude quicker than running an expression, and most texts hold none of them.
"""

from __future__ import annotations

import re

from holdfast_redaction import _table, values
from holdfast_redaction.budget import Budget
from holdfast_redaction.patterns import Hit, Rule, entropy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast_redaction.presence import Literals

#: What a text must hold, as RE2 tells it, for a format that has no keyword.
LONG_WORD = {"long word": rf"\S{{{_table.ANYWHERE[-1][1]}}}"}


class Formats:
    """The table, each expression compiled when it is first needed. ``disabled`` names rules that are left out."""

    def __init__(self, disabled: frozenset[str] = frozenset()) -> None:
        self._disabled = disabled
        self._compiled: dict[int, tuple[Rule, re.Pattern[str], frozenset[str]]] = {}

    def find(
        self,
        text: str,
        lower: str,
        present: Literals,
        present_lower: Literals,
        budget: Budget,
        possible: frozenset[str] = frozenset(LONG_WORD),
    ) -> list[Hit]:
        """Every secret in a known format, in no order; hits may overlap. ``lower`` is ``text`` in lower case, of the
        same length; ``present`` are the keywords that occur in the one and the other, with their rules; ``possible``
        the shapes that may occur."""
        hits: list[Hit] = []
        for keyword, rules in present:
            self._at_keyword(text, text, keyword, rules, hits, budget)
        for keyword, rules in present_lower:
            if rules:
                self._at_keyword(text, lower, keyword, rules, hits, budget)
        if len(text) >= _table.ANYWHERE[-1][1] and "long word" in possible:
            words = text.split()
            longest = len(max(words, key=len, default=""))
            for index, min_word in _table.ANYWHERE:
                if longest >= min_word:
                    self._anywhere(text, words, index, hits, budget)
        return hits

    def _rule(self, index: int) -> tuple[Rule, re.Pattern[str], frozenset[str]]:
        if index not in self._compiled:
            rule = Rule(*_table.RULES[index])
            before = frozenset(_expand(rule.before))
            self._compiled[index] = rule, re.compile(rule.regex, re.ASCII), before
        return self._compiled[index]

    def _at_keyword(
        self, text: str, haystack: str, keyword: str, rules: tuple[int, ...], hits: list[Hit], budget: Budget
    ) -> None:
        for index in rules:
            rule, pattern, before = self._rule(index)
            if rule.id in self._disabled:
                continue
            with_prefix = rule.before_max
            free = haystack.find(keyword)
            while free >= 0:
                start = free
                if with_prefix:
                    while start > 0 and free - start < with_prefix and text[start - 1] in before:
                        start -= 1
                found = pattern.match(text, start) if _may_start(text, start, rule.after) else None
                free = haystack.find(keyword, max(free + 1, _note(text, found, rule, index, hits)))
            budget.check(rule.id)

    def _anywhere(self, text: str, words: list[str], index: int, hits: list[Hit], budget: Budget) -> None:
        rule, pattern, _ = self._rule(index)
        if rule.id not in self._disabled:
            shortest = rule.min_word
            long = [word for word in words if len(word) >= shortest]
            for found in pattern.finditer(text) if any(map(pattern.search, long)) else ():
                _note(text, found, rule, index, hits)
            budget.check(rule.id)


def _note(text: str, found: re.Match[str] | None, rule: Rule, index: int, hits: list[Hit]) -> int:
    """Record the match if it is a secret; returns where to go on, 0 without one."""
    if found is None:
        return 0
    group = rule.group
    while group and group < found.re.groups and found.start(group) < 0:
        group += 1
    start, end = found.span(group)
    secret = text[start:end]
    if start == end or (rule.entropy and entropy(secret) < rule.entropy):
        return 0
    if values.is_placeholder(secret[: values.JUDGED]):
        return 0
    if rule.check and not _passes(secret, rule.check):
        return 0
    if not rule.overrides and _inside_protected(text, start, end):
        return 0
    hits.append(Hit(start, end, rule.id, index))
    return end


def _passes(secret: str, check: str) -> bool:
    if check == "random":
        return values.is_random(secret)
    strength = values.STRONG if check == "secretlike" else values.PASSWORD
    return values.can_be_secret(secret, strength, quoted=False)


def _inside_protected(text: str, start: int, end: int) -> bool:
    """Whether the secret is but a piece of a word of a protected shape."""
    first, last = start, end
    while first > 0 and start - first < 80 and (text[first - 1].isalnum() or text[first - 1] in "-_:+/="):
        first -= 1
    while last < len(text) and last - end < 80 and (text[last].isalnum() or text[last] in "-_+/="):
        last += 1
    return end - start < last - first < 200 and values.is_protected(text[first:last])


def _may_start(text: str, start: int, after: str) -> bool:
    """Whether a format may begin here: see ``after`` in rules.toml."""
    if not start:
        return not after or "\n" in after
    previous = text[start - 1]
    if after:
        return previous in after
    if not (previous.isalnum() or previous == "_") or not (text[start].isalnum() or text[start] == "_"):
        return True
    two = text[start - 2 : start]  # "\n" in a JSON text, "%3D" in a URL
    return two in ("\\n", "\\r", "\\t") or (
        start >= 3 and text[start - 3] == "%" and previous in "0123456789ABCDEFabcdef"
    )


def _expand(characters: str) -> str:
    """The characters of a class such as ``A-Za-z0-9_~.-``."""
    return re.sub(r"(\w)-(\w)", lambda m: "".join(map(chr, range(ord(m[1]), ord(m[2]) + 1))), characters)
