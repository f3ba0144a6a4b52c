"""Whether a newer statement repeats an older one, replaces it, or is another one. The only place that decides this.

A statement is ``same`` as another when they differ only in case, spacing or final punctuation. It ``replaces`` another
when both are about the same thing and only one can hold: the same words must be left of both without values, word
forms, order and verbs that say little. A value is a number with its unit, a day, a name after a preposition or after
"is", one of a pair of opposites, a negation. All others are ``different``, and both stay, because an extra line does
less harm than a missing one. Where no rule finds one, and the newer statement reports a change, a fitted model finds
the one that it most likely ``ends`` (:mod:`holdfast_app.sentences.succession`).

    The port is 8080                     The port is 9090                     replaces (a number)
    Agents may push to main              Agents must not push to main         replaces (a modal, a negation)
    Ada owns billing                     Bob owns billing                     replaces (a role)
    Use yarn to install packages         We dropped yarn, pnpm from now on    ends
    Never push directly to main          You can push to main again           ends
    The API timeout is 30 seconds        The upload timeout is 60 now         different: another subject
    Never push to main                   You can push to main only today      different: an exception
    The API is slow                      The API is public                    different: adjectives do not count
"""

from collections.abc import Hashable, Iterable, Iterator, Sequence
from enum import Enum
from itertools import product
from typing import Generic, TypeVar

from holdfast_app.sentences import succession
from holdfast_app.sentences import vocabulary as v
from holdfast_app.sentences.statement import Statement, read, reports_change

K = TypeVar("K", bound=Hashable)


class Relation(Enum):
    """A newer statement's relation to an older one."""

    SAME = "same"
    REPLACES = "replaces"
    ENDS = "ends"
    """It most likely replaces the older one. The older one says nothing of the newer one."""
    DIFFERENT = "different"


def relation(new: str, old: str) -> Relation:
    """What ``new`` is to ``old`` by the rules. The caller's times decide which one is newer: only the newer one, which
    stays, may have a remark after its value."""
    known = read(old)
    if read(new).key == known.key:
        return Relation.SAME
    replaces = _replaces(read(new), known) or _replaces(read(new, is_kept=True), known)
    return Relation.REPLACES if replaces else Relation.DIFFERENT


def _replaces(one: Statement, other: Statement) -> bool:
    return (
        (one.order == other.order != () and one.states == other.states)
        or (one.said == other.said != () and _is_reversed(one, other))
        or any(
            a.kind == b.kind and a.value != b.value and a.rest == b.rest != frozenset()
            for a, b in product(one.slots, other.slots)
        )
    )


def _is_reversed(one: Statement, other: Statement) -> bool:
    """Whether one allows, orders or says of the same what the other does not."""
    opposed = [{word for word in it.states if v.OPPOSED.get(word, "allowed") != "allowed"} for it in (one, other)]
    return one.states != other.states and (opposed[0] == opposed[1] or ("not" in one.states) == ("not" in other.states))


class Known(Generic[K]):
    """Statements under keys of the caller, to find those that a new one repeats or replaces without comparing all."""

    def __init__(self, statements: Iterable[tuple[K, str]] = ()) -> None:
        self._known: dict[K, str] = {}
        self._places: dict[Hashable, dict[K, None]] = {}
        for key, text in statements:
            self.add(key, text)

    def add(self, key: K, text: str) -> None:
        """Add a statement, as the newest."""
        self.remove(key)
        self._known[key] = text
        for place in _places(text):
            self._places.setdefault(place, {})[key] = None

    def remove(self, key: K) -> None:
        """Remove a statement. A missing one is not an error."""
        if key in self._known:
            for place in _places(self._known.pop(key)):
                self._places[place].pop(key, None)

    def related(self, text: str) -> Iterator[tuple[K, Relation]]:
        """The statements that ``text`` repeats, then those that it would replace if it were newer, each once. Without
        any, the one that it most likely ends."""
        places = (*read(text).places, *read(text, is_kept=True).places)
        compared = [(key, relation(text, self._known[key])) for key in self._near(places)]
        related = [pair for pair in compared if pair[1] is not Relation.DIFFERENT]
        if not related and reports_change(text):
            near = {key: self._known[key] for key in self.near(text)}
            ended = succession.ended(text, near.values())
            related = [(key, Relation.ENDS) for key, old in near.items() if old == ended]
        yield from sorted(related, key=lambda pair: pair[1] is not Relation.SAME)

    def near(self, text: str) -> Iterable[K]:
        """The statements that share a word with content with ``text``."""
        return self._near(succession.words(text))

    def _near(self, places: Iterable[Hashable]) -> dict[K, None]:
        return dict.fromkeys(key for place in places for key in self._places.get(place, ()))


def _places(text: str) -> Iterator[Hashable]:
    yield from read(text).places
    yield from succession.words(text)


def outdated(new: str, known: Sequence[str]) -> list[str]:
    """The statements of ``known`` that ``new`` repeats or replaces; without any, the one that it most likely ends."""
    old = [text for text in known if relation(new, text) is not Relation.DIFFERENT]
    ended = "" if old else succession.ended(new, known)
    return old or [text for text in known if text == ended]
