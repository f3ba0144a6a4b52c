"""Who stated a fact, and the facts on which two machines disagree.

With ``[identity]`` on, a fact's source ends in its origin: ``flush_3f2a by Ana@laptop`` is from that flush, by that
person on that machine. So every backend, export and merge keeps it. A newer value replaces an older one from the same
person and machine. Values from different people or machines stay until a dream or a person decides.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.text.lazy import Lazy
from holdfast_facts.store import factsubject

if TYPE_CHECKING:
    from holdfast.models import Fact

_ONE: Final = r"[^@,]{1,100}@[^\s,]+(?: [^@,]*)?"
_SIGNED: Final = Lazy(rf"(?:(?P<source>.*) )?by (?P<by>{_ONE}(?:, {_ONE})*)", re.DOTALL)
#: How many of the newest facts on one subject to compare with each other. More are not a conflict but a list.
_COMPARED: Final = 24


class Conflict(NamedTuple):
    """Facts with different values for one thing, from at least two places, the newest first."""

    facts: tuple[Fact, ...]


def signed(source: str, by: str) -> str:
    """``source`` with its origin; unchanged when ``by`` is empty, or when it has one."""
    return source if not by or of(source) else f"{source} by {by}".strip()


def of(source: str) -> str:
    """``person@machine agent``, or several with commas; empty when the source names no origin."""
    found = _SIGNED.fullmatch(source) if "@" in source else None
    return found["by"] if found else ""


def unsigned(source: str) -> str:
    """The source without its origin (a flush, a session, a message or a caller's words)."""
    found = _SIGNED.fullmatch(source) if "@" in source else None
    return (found["source"] or "") if found else source


def joined(source: str, other: str) -> str:
    """``source`` with the origins of ``other``, who states the same."""
    new = [by for by in _each(other) if _place(by) not in places(source)]
    return signed(unsigned(source), ", ".join([*_each(source), *new])) if new else source


def left(source: str, other: str) -> str:
    """``source`` without the origins of ``other``, who states something else now."""
    gone = places(other)
    return signed(unsigned(source), ", ".join(by for by in _each(source) if _place(by) not in gone))


def places(source: str) -> frozenset[str]:
    """Each ``person@machine`` of an origin. Agents of one person on one machine are not different places."""
    return frozenset(map(_place, _each(source)))


def share(source: str, other: str) -> bool:
    """Whether two sources share a machine, or either is unknown. Then a newer value replaces an older
    value; otherwise two machines disagree."""
    one, two = places(source), places(other)
    return not one or not two or not one.isdisjoint(two)


def conflicts(facts: Iterable[Fact]) -> list[Conflict]:
    """The conflicts among ``facts``, the newest first. Takes time in proportion to their number."""
    by_subject: defaultdict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        if of(fact.source) and (subject := factsubject.subject(fact.content)):
            by_subject[subject].append(fact)
    found: list[Conflict] = []
    for about in by_subject.values():
        if len(about) > 1:
            about.sort(key=lambda fact: (fact.created_at, fact.id), reverse=True)
            found += _among(about[:_COMPARED])
    return sorted(found, key=lambda one: one.facts[0].created_at, reverse=True)


def _among(facts: Sequence[Fact]) -> Iterable[Conflict]:
    """The conflicts among facts on one subject, the newest first."""
    rest = list(facts)
    while rest:
        newest = rest.pop(0)
        others = [
            old
            for old in rest
            if not share(newest.source, old.source)
            and (factsubject.replaces(newest.content, old.content) or factsubject.replaces(old.content, newest.content))
        ]
        if others:
            yield Conflict((newest, *others))
            rest = [fact for fact in rest if fact not in others]


def _each(source: str) -> list[str]:
    return [one for one in of(source).split(", ") if one]


def _place(by: str) -> str:
    person, _, rest = by.partition("@")
    return f"{person}@{rest.split()[0]}"
