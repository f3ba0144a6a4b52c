"""The older statement that a newer one brings up to date in other words.

:mod:`holdfast.facts.relation` compares two statements word for word. Here the newer one says that something changed
("now", "from now on", "moved"), and has a value of the same kind as the older one: an amount, a date, a name. Of
several such statements the one with most words in common is meant. A time zone or system of units needs no such word,
because there is one at a time.

    The budget cap is $800 total            From now on keep the budget under five hundred dollars
    The launch deadline is 2027-03-01       The launch moved to April 4
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from holdfast.text.lazy import Lazy

_CHANGE: Final = Lazy(
    r"(?<=\w )now\b|\b(?:from now on|no longer|instead|updated?(?=:)|new|change[ds]?|moved|switched|rotated|rebased"
    r"|renamed|replaced|rather|actually|correction|wrong|previous)\b"
)
_MONTHS: Final = (
    "january|february|march|april|may|june|july|august|september|october|november|december|monday|tuesday|wednesday"
    "|thursday|friday|saturday|sunday"
)
_KINDS: Final = (
    ("zone", Lazy(r"\b(?:utc|gmt|(?:pacific|central|eastern|mountain|local)(?: time)?|\w+/[a-z]+_\w+)\b")),
    ("units", Lazy(r"\b(?:metric|imperial)\b")),
    ("amount", Lazy(r"[$€£]\s?\d[\d,.]*k?|\b[\w-]+(?: hundred| thousand)? (?:dollars|euros?|pounds)\b")),
    ("date", Lazy(rf"\b(?:\d{{4}}-\d\d-\d\d|\d\d-\d\d|(?:{_MONTHS})(?: \d{{1,2}})?)\b")),
    ("branch", Lazy(r"(?<![\w/.:])[a-z][\w.-]*/[\w./-]*\w\b")),
    ("code", Lazy(r"\b[a-z]{2,}-\d{2,}\b")),
    ("number", Lazy(r"\b\d[\d.]*\b")),
    ("tone", Lazy(r"\b(?:answers?|repl(?:y|ies)|responses?)\b.*")),
)
_ONE_AT_A_TIME: Final = ("zone", "units")
_PERSON: Final = Lazy(r"\b[A-Z][a-z]+ [A-Z][a-z]+\b")
_WORD: Final = Lazy(r"[a-z0-9]+")
#: Words compare by so many characters: "internal" and "internally", "own" and "owns".
_STEM: Final = 5
_EMPTY: Final = frozenset(
    {"the", "and", "for", "are", "was", "with", "from", "this", "that", "not", "has", "have", "all", "use"}
)


def updated(new: str, known: Sequence[str]) -> list[str]:
    """The statement of ``known`` that ``new`` brings up to date; empty when there is none, or more than one could be
    meant."""
    values = _values(new)
    changes = _CHANGE.search(new.casefold()) is not None
    kinds = {kind for kind in values if changes or kind in _ONE_AT_A_TIME}
    if not kinds:
        return []
    rivals = [one for one in known if any(values[kind] != _values(one).get(kind, values[kind]) for kind in kinds)]
    often = Counter(word for one in rivals for word in _words(one))
    mine = _words(new)
    scores = {one: sum(1 / often[word] for word in mine & _words(one)) for one in rivals}
    ranked = sorted(rivals, key=lambda one: scores[one], reverse=True)
    alone = len(ranked) == 1 and not kinds.isdisjoint(_ONE_AT_A_TIME)
    if not ranked or (not scores[ranked[0]] and not alone):
        return []
    return ranked[:1] if len(ranked) == 1 or scores[ranked[0]] > scores[ranked[1]] else []


def _values(text: str) -> dict[str, frozenset[str]]:
    """The values in a statement by kind, each in one kind only."""
    found = {"person": frozenset(_PERSON.findall(text))}
    left = text.casefold()
    for kind, pattern in _KINDS:
        found[kind] = frozenset(pattern.findall(left))
        if kind != "tone":
            left = pattern.sub(" ", left)
    return {kind: values for kind, values in found.items() if values}


def _words(text: str) -> set[str]:
    return {word[:_STEM] for word in _WORD.findall(text.casefold()) if len(word) > 2 and word not in _EMPTY}
