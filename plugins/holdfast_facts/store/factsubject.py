"""Whether a newer fact replaces an older one, and which facts are related.

The rules compare words, so they are narrow. The subject must be the same, and either only values differ (numbers,
versions, dates, quoted names), or the attribute can have one value only ("the default branch is ..."), or the newer
fact itself states a change ("moved from A to B", "is now", "is fixed"). Other facts stay next to the older one.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.text.lazy import Lazy

if TYPE_CHECKING:
    from collections.abc import Iterable

    from holdfast.models import Fact

#: Longer statements are not compared, because they say more than one thing.
MAX_CHARS: Final = 300
#: Maximum words in a single-valued attribute's value.
_SHORT: Final = 5

_BE: Final = r"is|are|was|were|equals|=|:"
_ONE: Final = (
    r"lives? (?:in|at)|expires? (?:after|in|on|at)|(?:is|are) (?:called|named|hosted (?:on|at|by|in)|based (?:in|at)"
    r"|set to|due(?: on)?|owned by)|points? to|defaults? to|times? out after|works (?:at|for)|belongs to"
)
_OTHER: Final = (
    r"uses?|runs? (?:on|in|at|every|with)|needs?|requires?|listens? on|takes?|has|have|costs?|lasts?|allows?"
    r"|starts? (?:at|on)|ends? (?:at|on)|keeps?|retries|retry|stores?|waits?"
)
_VERB: Final = Lazy(
    rf"(?<!\w)(?P<now>now |currently )?(?:(?P<one>{_ONE})|(?P<be>{_BE})|(?P<other>{_OTHER}))(?P<after> now| currently)?"
    r"(?=\s|$)",
    re.IGNORECASE,
)
_CHANGED: Final = Lazy(
    r"(?P<subject>.{2,120}?) (?:has |have |was |were |is |are |been )*(?:now )?(?:moved|migrated|switched|changed"
    r"|upgraded|downgraded|renamed|went) from (?P<old>.{1,80}?) to (?P<new>.{1,120})",
    re.IGNORECASE,
)
_MOVED: Final = Lazy(r"(?P<subject>.{2,120}?) (?:has |have )?(?:now )?moved to (?P<new>.{1,120})", re.IGNORECASE)
#: Values: numbers, versions, hashes, months, weekdays and quoted strings.
_VALUE: Final = Lazy(
    r"`[^`]+`|\"[^\"]+\"|“[^”]+”|\bv?\d[\d.,:]*\d\b|\bv?\d\b|\b(?=[a-f]*\d)[0-9a-f]{7,64}\b"
    r"|\b(?:jan|febr)uary\b|\b(?:march|april|may|june|july|august)\b|\b(?:septem|octo|novem|decem)ber\b"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b",
    re.IGNORECASE,
)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


#: Attributes that have one value at a time.
_HEADS: Final = _set(
    "address branch column deadline endpoint key licence license limit name owner password path port region release"
    " timeout url version"
)
_BROKEN: Final = _set("broken down failing fails flaky red blocked open failed")
_WHOLE: Final = _set("fixed repaired green passing passes up resolved done closed unblocked merged")
_NEGATION: Final = Lazy(r"\b(?:not|never|no longer|cannot|none)\b|n['’]t\b", re.IGNORECASE)
#: Words that limit a value to a case: another case may have another value.
_QUALIFIERS: Final = _set("during for if in on per under unless until when while with")
#: Subjects that another sentence explains.
_POINTING: Final = _set("it this that there they he she what which who these those we you i one")
_LEADING: Final = _set("the a an our my your its their")
_WORD: Final = Lazy(r"[^\W_]+(?:[-'._/][^\W_]+)*")


class Statement(NamedTuple):
    """``subject`` in lower case without article; ``kind`` of the verb: be, one (one value at a time) or other;
    ``changed``: the statement says that it was different before."""

    subject: str
    kind: str
    verb: str
    value: str
    changed: bool


def statement(text: str) -> Statement | None:
    """The parts of ``text`` when it is one statement on a subject that it names itself."""
    text = " ".join(text.split()).rstrip(".!")
    if len(text) > MAX_CHARS or not (found := _VERB.search(text)):
        return None
    subject, value = _subject(text[: found.start()]), text[found.end() :].strip()
    if not value or not subject or subject.split()[0] in _POINTING:
        return None
    kind = next(name for name in ("one", "be", "other") if found[name])
    return Statement(subject, kind, found[kind].casefold(), value, bool(found["now"] or found["after"]))


def subject(text: str) -> str:
    """The subject of facts that can replace another one, in lower case without article; empty for other facts."""
    plain = " ".join(text.split()).rstrip(".!")
    for form in (_CHANGED, _MOVED):
        if moved := form.match(plain):
            return _subject(moved["subject"])
    found = statement(text)
    return found.subject if found is not None else ""


def replaceable(text: str) -> str:
    """The subject that a fact must have to replace ``text``; empty if none can."""
    found = statement(text)
    return found.subject if found is not None else ""


def replaces(new: str, old: str) -> bool:
    """Whether the newer statement makes the older one obsolete. Then ``subject(new)`` is ``replaceable(old)``."""
    if new.strip() == old.strip():
        return False
    before = statement(old)
    for form in (_CHANGED, _MOVED):
        if moved := form.match(" ".join(new.split()).rstrip(".!")):
            return _moved(moved, before)
    after = statement(new)
    if after is None or before is None or after.subject != before.subject:
        return False
    first, last = _words(before.value), _words(after.value)
    if first == last:
        return False
    if _ends(before.value, _BROKEN) and _ends(after.value, _WHOLE):
        return not _NEGATION.search(new)
    if bool(_NEGATION.search(new)) != bool(_NEGATION.search(old)):
        return False
    if (after.kind, after.verb) == (before.kind, before.verb) and _only_values(before.value, after.value):
        return True
    short = len(first) <= _SHORT and len(last) <= _SHORT and not _QUALIFIERS.intersection(first[1:] + last[1:])
    if not short or after.kind != before.kind:
        return False
    if after.kind == "one":
        return after.verb == before.verb
    if after.kind == "be" and after.subject.split()[-1] in _HEADS:
        return True
    return after.changed and (after.kind == "be" or after.verb.rstrip("s") == before.verb.rstrip("s"))


def related(stored: Iterable[Fact], texts: Iterable[str], *, limit: int) -> list[Fact]:
    """Up to ``limit`` facts that share most words with ``texts``, the closest first. Takes time in proportion."""
    said: set[str] = set()
    for text in texts:
        said.update(_words(text))
    facts = list(stored)
    spread = Counter(word for fact in facts for word in set(_words(fact.content)))
    scored: list[tuple[float, int, Fact]] = []
    for number, fact in enumerate(facts):
        shared = {w for w in _words(fact.content) if len(w) > 2} & said
        score = sum(1 / spread[word] for word in shared)
        if len(shared) > 1:
            scored.append((-score, -number, fact))
    scored.sort(key=lambda row: row[:2])
    return [fact for _, _, fact in scored[:limit]]


def _moved(moved: re.Match[str], before: Statement | None) -> bool:
    if before is None or before.subject != _subject(moved["subject"]):
        return False
    value = " ".join(_words(before.value))
    if "old" in moved.re.groupindex:
        old = " ".join(_words(moved["old"]))
        return bool(old) and f" {old} " in f" {value} "
    return before.verb.startswith(("lives", "is hosted", "is based", "are hosted")) or bool(
        before.kind == "be" and re.match(r"(?:in|at|on) ", before.value)
    )


def _subject(text: str) -> str:
    words = _words(text)
    while words and words[0] in _LEADING:
        words = words[1:]
    return " ".join(words)


def _only_values(old: str, new: str) -> bool:
    masked = [" ".join(_words(_VALUE.sub(" 0 ", value))) for value in (old, new)]
    return masked[0] == masked[1] and "0" in masked[0].split()


def _ends(value: str, words: frozenset[str]) -> bool:
    """Whether the value is in ``words``, with at most an adverb or so in front."""
    said = _words(value)
    return 0 < len(said) <= _SHORT and bool(words.intersection(said[:2]))


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]
