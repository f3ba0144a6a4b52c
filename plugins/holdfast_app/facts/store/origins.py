"""Who stated a fact, and the facts on which two machines disagree.

With ``[identity]`` on, a fact's source ends in its origin: ``flush_3f2a by Ana@laptop`` is from that flush, by that
person on that machine. So every backend, export and merge keeps it. A newer value replaces an older one from the same
person and machine. Values from different people or machines stay until a dream or a person decides.
"""

import re
from collections.abc import Iterable
from itertools import islice
from operator import attrgetter
from typing import Final, TypeAlias

from holdfast.models import Fact
from holdfast.text.lazy import Lazy
from holdfast_app.sentences.relation import Known, Relation

_ONE: Final = r"[^@,]{1,100}@[^\s,]+(?: [^@,]*)?"
_SIGNED: Final = Lazy(rf"(?:(?P<source>.*) )?by (?P<by>{_ONE}(?:, {_ONE})*)", re.DOTALL)
#: How many of the related facts to compare with each other. More are not a conflict but a list.
_COMPARED: Final = 24
_AGE: Final = attrgetter("created_at", "id")

#: Facts with different values for one thing, from at least two places, the newest first.
Conflict: TypeAlias = tuple[Fact, ...]


def signed(source: str, by: str) -> str:
    """``source`` with its origin; unchanged when ``by`` is empty, or when it has one."""
    return source if not by or of(source) else f"{source} by {by}".strip()


def parted(source: str) -> tuple[str, str]:
    """The source (a flush, a session, a message or a caller's words) and its origin, or an empty string."""
    match = _SIGNED.fullmatch(source) if "@" in source else None
    return (match["source"] or "", match["by"]) if match else (source, "")


def of(source: str) -> str:
    """``person@machine agent``, or several with commas; empty when the source names no origin."""
    return parted(source)[1]


def unsigned(source: str) -> str:
    """The source without its origin."""
    return parted(source)[0]


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
    rest = dict.fromkeys(sorted((fact for fact in facts if of(fact.source)), key=_AGE))
    known, conflicting = Known((fact, fact.content) for fact in rest), list[Conflict]()
    while rest:
        newest, _ = rest.popitem()
        known.remove(newest)
        old = [fact for fact, what in islice(known.related(newest.content), _COMPARED) if what is not Relation.SAME]
        if others := [fact for fact in old if not share(newest.source, fact.source)]:
            conflicting.append((newest, *sorted(others, key=_AGE, reverse=True)))
            for fact in others:
                known.remove(fact)
                del rest[fact]
    return conflicting


def _each(source: str) -> list[str]:
    return [by for by in of(source).split(", ") if by]


def _place(by: str) -> str:
    person, _, rest = by.partition("@")
    return f"{person}@{rest.split()[0]}"
