# ruff: noqa: E501 - tables of patterns
"""A user's own rules, in the TOML form of gitleaks and betterleaks.

A rule's ``id``, ``regex``, ``keywords``, ``entropy``, ``secretGroup`` and ``allowlist`` / ``allowlists`` are read
(``regexes``, ``stopwords``, ``regexTarget``, ``condition`` where it needs no path or commit). A rule for paths alone is
skipped, because memory has no paths. An expression that cannot be compiled, or that could take exponential time, is
an error at start-up that names the rule. Source: https://github.com/gitleaks/gitleaks#configuration.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from time import process_time
from typing import Any

from attrs import define, field

from holdfast.errors import ConfigError
from holdfast.text import untrusted
from holdfast.text.lazy import Lazy
from holdfast_memory import extra
from holdfast_redaction.patterns import Budget, Hit, entropy
from holdfast_redaction.rules import lint

#: After the built-in table, so a known format keeps its name; before rules that need context.
RANK = 5_000
_POSIX = {
    "alnum": "A-Za-z0-9", "alpha": "A-Za-z", "ascii": r"\x00-\x7F", "blank": r" \t", "cntrl": r"\x00-\x1F\x7F", "digit": "0-9", "graph": "!-~",
    "lower": "a-z", "print": " -~", "punct": r"!-/:-@\[-`{-~", "space": r"\s", "upper": "A-Z", "word": r"\w", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
#: Lengths of the hostile strings that test an expression. The short ones catch time that doubles with each character.
_PROBES = (*range(12, 40, 2), 80, 400, 2_000)
#: An allow-list searches a single match, where `.+EXAMPLE$` is harmless.
_PROBES_OF_MATCHES = _PROBES[:-1]
#: Seconds that are always acceptable, and the limit on growth: how much more time each character may take in a string of
#: five times the length. Linear time gives 1, quadratic 5. A large constant is acceptable: rules of gitleaks try 2,500
#: matches at each character.
_QUICK_S, _GROWTH = 0.02, 2.5
#: Up to this length bounded repeats may scan the whole string at each character, so growth proves nothing.
_WINDOWS, _LONG_S = 400, 0.5


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


@define
class UserRules:
    """Loaded rules, with the interface shared by all layers."""

    rules: list[UserRule]

    def find(self, text: str, budget: Budget) -> list[Hit]:
        """Every secret that a rule finds and does not allow; hits may overlap."""
        hits: list[Hit] = []
        lower = text.lower()
        for rule in self.rules:
            if rule.keywords and not any(k in lower for k in rule.keywords):
                continue
            for match in rule.pattern.finditer(text):
                start, end = _secret_span(match, rule.group)
                if start < end and _counts(rule, text[start:end], match.group(0)):
                    hits.append(Hit(start, end, rule.id, RANK))
            budget.check(rule.id)
        return hits


def _secret_span(match: Any, group: int) -> tuple[int, int]:
    """The secret, which is the named group, or the first matching group, or the whole match, as in gitleaks."""
    groups = [group] if group else range(1, len(match.groups()) + 1)
    for index in groups:
        start, end = match.span(index)
        if 0 <= start < end:
            return start, end
    start, end = match.span()
    return start, end


def _counts(rule: UserRule, secret: str, match: str) -> bool:
    if rule.entropy and entropy(secret) <= rule.entropy:
        return False
    low = secret.lower()
    if any(word in low for word in rule.stopwords):
        return False
    return not any(p.search(secret) for p in rule.allow) and not any(p.search(match) for p in rule.allow_match)


def load(paths: Iterable[str]) -> UserRules:
    """The rules of all files, in order. Raises: ConfigError for a file or rule that cannot be used."""
    return UserRules([rule for path in paths for rule in _rules_of(path)])


def _rules_of(path: str) -> Iterator[UserRule]:
    import tomllib

    name = os.path.basename(path)
    try:
        with open(path, encoding="utf-8") as file:
            document = untrusted.from_toml(file.read())
    except OSError as error:
        raise ConfigError(
            f"The rules file {name} cannot be read: {error.strerror}.",
            next_step="Correct `rules` under `[plugins.redaction]` in holdfast.toml.",
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"The rules file {name} is not valid TOML: {error}.", next_step="Correct the file."
        ) from error
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
            compiled[regex] = compiled.get(regex) or compile_safely(regex, whose, _PROBES_OF_MATCHES)
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


def compile_safely(regex: object, where: str, probes: tuple[int, ...] = _PROBES) -> Any:
    """``regex`` compiled by google-re2 if installed, otherwise by ``re``.

    Raises: ConfigError for an invalid expression, or, without google-re2, for a possibly exponential one.
    """
    if not isinstance(regex, str):
        raise ConfigError(f"The regex of {where} is not a string.", next_step="Correct the rule.")
    try:
        import re2
    except ImportError:
        return _compile_re(regex, where, probes)
    try:
        return re2.compile(regex)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        reason = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else reason
        raise ConfigError(f"The regex of {where} cannot be used: {reason}.", next_step="Correct the rule.") from error


def _compile_re(regex: str, where: str, probes: tuple[int, ...]) -> re.Pattern[str]:
    try:
        translated = to_python(regex)
        problems = [p for p in lint.complaints(translated) if "RE2" not in p]
        pattern = None if problems else re.compile(translated, re.ASCII)
    except (re.error, RecursionError, OverflowError, ValueError) as error:
        problems, pattern = [f"it is not a regular expression: {error}"], None
    if pattern is None:
        raise ConfigError(
            f"The regex of {where} cannot be used: {'; '.join(problems)}.",
            next_step=f"Correct the rule, or install google-re2 with `{extra('redaction')}`.",
        )
    slow = _slow_on(pattern, regex, probes)
    if slow:
        raise ConfigError(
            f"The regex of {where} takes too long on {slow}.",
            next_step=f"Bound its repeats, or install google-re2 with `{extra('redaction')}`.",
        )
    return pattern


def _slow_on(pattern: re.Pattern[str], regex: str, probes: tuple[int, ...]) -> str:
    """The kind of hostile string on which ``pattern`` takes too long, empty if none. Lengths grow, so the test stays short."""
    if lint.is_bounded(pattern.pattern):
        probes = _PROBES_OF_MATCHES[:-1]  # it may still take exponential time at one position
    literal = max(re.findall(r"[A-Za-z0-9_]{2,}", regex), key=len, default="a")
    for name, piece in (
        ("a long word", "a"),
        ("its own words, repeated", literal),
        ("a long number", "1"),
        ("blanks", " "),
        ("quoted words", 'a="b" '),
    ):
        for before, size in pairwise(probes):
            took = _seconds(pattern, piece, size)
            if took < (_QUICK_S if size <= _WINDOWS else _QUICK_S / 10) or (took < _LONG_S and 40 < size <= _WINDOWS):
                continue
            if size <= _WINDOWS:
                return name
            shorter, longer = (min(_seconds(pattern, piece, s) for _ in range(2)) / s for s in (before, size))
            if longer > _GROWTH * shorter:
                return name
    return ""


@lru_cache(256)
def _hostile(piece: str, size: int) -> str:
    return (piece * (size // len(piece) + 1))[:size] + "!"


def _seconds(pattern: re.Pattern[str], piece: str, size: int) -> float:
    text = _hostile(piece, size)
    started = process_time()
    pattern.search(text)
    return process_time() - started


def to_python(regex: str) -> str:
    r"""``regex`` in RE2 syntax as Python's ``re`` reads it.

    Flags in the middle, ``(?i)``, become a group around their remaining branch; ``\z`` becomes ``\Z``,
    ``(?P<name>`` stays, ``(?<name>`` becomes it, ``[[:alnum:]]`` is spelt out, ``\Q...\E`` is escaped, ``\pL`` and
    ``\x{41}`` are replaced by classes and characters. Raises: re.error; ValueError for syntax without an equivalent.
    """
    out: list[str] = []
    flags: list[list[str]] = [[]]  # for each open group, the groups of flags to close with it
    in_class = False
    for token in _RE2.finditer(regex):
        kind, piece = token.lastgroup, token[0]
        if kind == "quoted":
            piece = re.escape(token["quoted"])
        elif kind == "code":
            piece = re.escape(chr(int(token["code"], 16)))
        elif kind == "unicode":
            piece = _unicode_class(token["unicode"].strip("{}"))
            negated = "^" if token["not"] == "P" else ""
            piece = piece if in_class else f"[{negated}{piece}]"
        elif in_class:
            in_class = kind != "close"
            piece = _posix_class(token) if kind == "posix" else "\\[" if kind == "class" else piece
        elif kind == "class":
            in_class, piece = True, piece.replace("]", "\\]")
        elif kind == "flags":
            if "U" in token["flags"]:
                raise ValueError("the flag U, which swaps greedy and lazy, has no equivalent")
            flags[-1].append(token["flags"])
            piece = f"(?{token['flags']}:"
        elif kind == "open":
            flags.append([])
            piece = "(?P<" if piece == "(?<" else piece
        elif piece == ")":
            piece += ")" * len(flags.pop() if len(flags) > 1 else [])
        elif piece == "|":  # the flags also apply to the next branch
            piece = ")" * len(flags[-1]) + "|" + "".join(f"(?{f}:" for f in flags[-1])
        out.append({"\\z": r"\Z", "\\C": r"[\s\S]"}.get(piece, piece))
    return "".join(out) + ")" * len(flags[-1])


_RE2 = Lazy(
    r"""\\Q(?P<quoted>.*?)(?:\\E|$) | \\x\{(?P<code>[0-9A-Fa-f]{1,6})\} | \\(?P<not>[pP])(?P<unicode>\{\^?\w+\}|\w) | \\.
    | \[:(?P<posix>\^?\w+):\] | (?P<class>\[\^?\]?) | (?P<close>\]) | \(\?(?P<flags>[imsU]+(?:-[imsU]+)?|-[imsU]+)\)
    | (?P<open>\((?:\?(?:P?<(?![=!])|[imsx]*(?:-[imsx]+)?:|<?[=!]))?) | .""",
    re.VERBOSE | re.DOTALL,
)
#: The ASCII part of each Unicode class, because secrets are ASCII.
_UNICODE = {
    "L": "A-Za-z", "Lu": "A-Z", "Ll": "a-z", "N": "0-9", "Nd": "0-9", "P": _POSIX["punct"], "S": "$+<=>^`|~", "Z": r"\s", "Zs": " ",
}  # fmt: skip


def _unicode_class(name: str) -> str:
    if name not in _UNICODE:
        raise ValueError(f"the class \\p{{{name}}} has no equivalent")
    return _UNICODE[name]


def _posix_class(token: re.Match[str]) -> str:
    if token["posix"] not in _POSIX:
        raise ValueError(f"the class {token[0]} has no equivalent")
    return _POSIX[token["posix"]]
