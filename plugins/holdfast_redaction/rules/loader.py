"""A user's own rules, in the TOML form of gitleaks and betterleaks.

A rule's ``id``, ``regex``, ``keywords``, ``entropy``, ``secretGroup`` and ``allowlist`` / ``allowlists`` are read
(``regexes``, ``stopwords``, ``regexTarget``, ``condition`` where it needs no path or commit). A rule for paths alone is
skipped, because memory has no paths. An expression that cannot be compiled, or that could take exponential time, is
an error at start-up that names the rule. Without google-re2, Python's syntax is read. Source: https://github.com/gitleaks/gitleaks#configuration.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from attrs import define, field

from holdfast.errors import ConfigError
from holdfast.text import untrusted
from holdfast_memory import extra
from holdfast_redaction.patterns import Budget, Hit, entropy
from holdfast_redaction.rules import lint

#: After the built-in table, so a known format keeps its name; before rules that need context.
RANK = 5_000


@define
class UserRule:
    """A rule as it is applied. ``keywords`` in lower case; ``group`` 0 is the whole match."""

    id: str
    pattern: Any
    keywords: tuple[str, ...]
    group: int
    entropy: float
    allow: list[Any] = field(factory=list)
    allow_match: list[Any] = field(factory=list)
    stopwords: list[str] = field(factory=list)

    def find(self, text: str) -> Iterator[Hit]:
        """Every secret that the rule finds and does not allow: the named group, or the first matching one, or the whole
        match, as in gitleaks."""
        for match in self.pattern.finditer(text):
            groups = [self.group] if self.group else range(1, len(match.groups()) + 1)
            start, end = next((span for span in map(match.span, groups) if 0 <= span[0] < span[1]), match.span())
            secret = text[start:end]
            is_allowed = (
                (self.entropy and entropy(secret) <= self.entropy)
                or any(word in secret.lower() for word in self.stopwords)
                or any(pattern.search(secret) for pattern in self.allow)
                or any(pattern.search(match.group(0)) for pattern in self.allow_match)
            )
            if secret and not is_allowed:
                yield Hit(start, end, self.id, RANK)


def load(paths: Iterable[str]) -> Callable[[str, Budget], list[Hit]]:
    """A function that finds every secret that a rule of the files finds and does not allow; hits may overlap. Raises:
    ConfigError for a file or rule that cannot be used."""
    rules = [rule for path in paths for rule in _rules_of(path)]

    def find(text: str, budget: Budget) -> list[Hit]:
        hits: list[Hit] = []
        lower = text.lower()
        for rule in rules:
            if not rule.keywords or any(keyword in lower for keyword in rule.keywords):
                hits += rule.find(text)
                budget.check(rule.id)
        return hits

    return find


def _rules_of(path: str) -> Iterator[UserRule]:
    name = os.path.basename(path)
    try:
        with open(path, encoding="utf-8") as file:
            document = untrusted.from_toml(file.read())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else f"it is not valid TOML: {error}"
        step = "Correct it, or `rules` under `[plugins.redaction]` in holdfast.toml."
        raise ConfigError(f"The rules file {name} cannot be read: {reason}.", next_step=step) from error
    tables = document.get("rules", [])
    if not isinstance(tables, list) or not all(isinstance(t, Mapping) for t in tables):
        raise ConfigError(
            f"`rules` in {name} is not a list of tables.", next_step="Write `[[rules]]` before each rule."
        )
    everywhere = [*_tables(document, "allowlist"), *_tables(document, "allowlists")]
    # Rules often repeat an allow-list, and the global ones apply to each rule.
    compiled: dict[str, Any] = {}
    for number, table in enumerate(tables, 1):
        if "regex" in table:  # otherwise a rule for paths alone, or an extension of a rule in another file
            yield _rule(name, str(table.get("id", "")) or f"rule-{number}", table, everywhere, compiled)


def _rule(
    name: str, rule_id: str, table: Mapping[str, Any], everywhere: list[Mapping[str, Any]], compiled: dict[str, Any]
) -> UserRule:
    where = f"rule {rule_id!r} in {name}"
    pattern = compile_safely(table["regex"], where)
    keywords = _texts(table, "keywords", where)
    group = table.get("secretGroup", 0)
    bits = table.get("entropy", 0.0)
    if not isinstance(group, int) or not 0 <= group <= pattern.groups:
        raise ConfigError(f"secretGroup of {where} does not name an existing group.", next_step="Correct the rule.")
    if isinstance(bits, bool) or not isinstance(bits, int | float):
        raise ConfigError(f"`entropy` of {where} is not a number.", next_step="Correct the rule.")
    slug = re.sub(r"[^a-z0-9-]+", "-", rule_id.lower()).strip("-")[:60] or "rule"
    rule = UserRule(slug, pattern, tuple(k.lower() for k in keywords), group, float(bits))
    for allow in (*everywhere, *_tables(table, "allowlist"), *_tables(table, "allowlists")):
        # With "AND" a path or commit would have to match, too. Memory has neither, so such a list never applies.
        if str(allow.get("condition", "")).upper() in ("AND", "&&") and (allow.get("paths") or allow.get("commits")):
            continue
        target = rule.allow if allow.get("regexTarget", "secret") == "secret" else rule.allow_match
        whose = f"the allow-list of {where}"
        for regex in _texts(allow, "regexes", where):
            compiled[regex] = compiled.get(regex) or compile_safely(regex, whose)
            target.append(compiled[regex])
        rule.stopwords += [w.lower() for w in _texts(allow, "stopwords", where)]
    return rule


def _tables(table: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    value = table.get(key, [])
    return [v for v in ([value] if isinstance(value, Mapping) else value) if isinstance(v, Mapping)]


def _texts(table: Mapping[str, Any], key: str, where: str) -> list[str]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
        raise ConfigError(f"`{key}` of {where} is not a list of strings.", next_step="Correct the rule.")
    return value


def compile_safely(regex: object, where: str) -> Any:
    """``regex`` compiled by google-re2, which cannot run away, or by ``re`` if it is not installed.

    Raises: ConfigError for an invalid expression, or, without google-re2, for one that needs it or could run away.
    """
    if not isinstance(regex, str):
        raise ConfigError(f"The regex of {where} is not a string.", next_step="Correct the rule.")
    try:
        import re2
    except ImportError:
        problems = lint.complaints(regex)
        if not problems:
            return re.compile(regex, re.ASCII)
        step = f"Correct the rule, or install google-re2 with `{extra('redaction')}`."
        raise ConfigError(f"The regex of {where} cannot be used: {'; '.join(problems)}.", next_step=step) from None
    try:
        return re2.compile(regex)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        reason = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else reason
        raise ConfigError(f"The regex of {where} cannot be used: {reason}.", next_step="Correct the rule.") from error
