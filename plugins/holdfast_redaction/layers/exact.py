"""Layer two, with the exact formats in ``rules.toml``, each tried only where any of its keywords begins.

Finding a literal is ten times faster than running an expression, and most text contains none of the keywords.
"""

from __future__ import annotations

import re

from holdfast_redaction.budget import Budget
from holdfast_redaction.layers import values
from holdfast_redaction.patterns import Hit, Rule, entropy
from holdfast_redaction.rules import table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from holdfast_redaction.layers.presence import Keywords, Words

#: Maximum distance of a format without a keyword from the searched span.
ASIDE = 100
#: The shortest word that can contain one.
_LONG_WORD = min([min_word for _, min_word in table.ANYWHERE])


class Formats:
    """The table, with expressions compiled on first use. ``disabled`` names rules to leave out."""

    def __init__(self, disabled: frozenset[str] = frozenset()) -> None:
        self._disabled = disabled
        self._compiled: dict[int, tuple[Rule, re.Pattern[str], frozenset[str]]] = {}

    def find(
        self, text: str, lower: str, keywords: Keywords, budget: Budget, start: int = 0, end: int | None = None
    ) -> list[Hit]:
        """All secrets in known formats whose keyword begins in ``text[start:end]``, unordered, possibly overlapping.
        ``lower`` is ``text`` in lower case, with the same length. ``keywords`` are the ones that occur there."""
        hits: list[Hit] = []
        end = len(text) if end is None else end
        for keyword, rules in keywords.exact:
            self._at_keyword(text, text, keyword, rules, hits, budget, start, end)
        for keyword, rules in keywords.lower:
            self._at_keyword(text, lower, keyword, rules, hits, budget, start, end)
        if len(text) >= _LONG_WORD:
            self._anywhere(text, keywords.words, hits, budget, max(0, start - ASIDE), end + ASIDE)
        return hits

    def _rule(self, index: int) -> tuple[Rule, re.Pattern[str], frozenset[str]]:
        rule = Rule(*table.RULES[index])
        before = frozenset(_expand(rule.before))
        self._compiled[index] = compiled = rule, re.compile(rule.regex, re.ASCII), before
        return compiled

    def _at_keyword(
        self,
        text: str,
        haystack: str,
        keyword: str,
        rules: tuple[int, ...],
        hits: list[Hit],
        budget: Budget,
        first: int,
        end: int,
    ) -> None:
        last = end + len(keyword) - 1
        for index in rules:
            free = haystack.find(keyword, first, last)
            if free < 0:
                return
            rule, pattern, before = self._compiled.get(index) or self._rule(index)
            if rule.id in self._disabled:
                continue
            with_prefix = rule.before_max
            while free >= 0:
                start = free
                if with_prefix:
                    while start > 0 and free - start < with_prefix and text[start - 1] in before:
                        start -= 1
                found = pattern.match(text, start) if _may_start(text, start, rule.after) else None
                through = _note(text, found, rule, index, hits) if found else 0
                free = haystack.find(keyword, through if through > free else free + 1, last)
            budget.check(rule.id)

    def _anywhere(self, text: str, known: Words | None, hits: list[Hit], budget: Budget, start: int, end: int) -> None:
        """Formats without a keyword. They match only inside a long word."""
        words = known.long if known else text[start:end].split()
        if max(map(len, words), default=0) < _LONG_WORD:  # as nearly always
            return
        for index, min_word in table.ANYWHERE:
            rule, pattern, _ = self._compiled.get(index) or self._rule(index)
            if rule.id in self._disabled:
                continue
            if any(pattern.search(word) for word in words if len(word) >= min_word):
                for found in pattern.finditer(text, start, end):
                    _note(text, found, rule, index, hits)
            budget.check(rule.id)


def _note(text: str, found: re.Match[str], rule: Rule, index: int, hits: list[Hit]) -> int:
    """Record the match if it is a secret. Returns where to continue, 0 if it is not a secret."""
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
    """Whether a format may begin here, see ``after`` in rules.toml."""
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
    """The characters in a class such as ``A-Za-z0-9_~.-``."""
    return re.sub(r"(\w)-(\w)", lambda m: "".join(map(chr, range(ord(m[1]), ord(m[2]) + 1))), characters)
