"""Whether a newer statement repeats an older one, replaces it, or is another one. The only place that decides this.

A statement is ``same`` as another when they differ only in case, spacing or final punctuation. It ``replaces`` another
when both are about the same thing and only one can hold. All others are ``different``, and both stay, because an extra
line does less harm than a missing one. Where no rule finds one that it replaces, a fitted model finds the one that it
most likely ``ends`` (:mod:`holdfast_app.sentences.succession`).

Without a word of change, the same words must be left of both without values, word forms, order and verbs that say
little. A value is a number with its unit, a day, a name after a preposition or after "is", one of a pair of opposites,
a negation. A statement that says that something changed may be reworded: it names the value that no longer holds, or
all of the older one but a value at one place, or it allows what the older one forbids. It replaces nothing when a word
of its own makes its subject another one, or when it says "also", "only", "if", or asks.

    The port is 8080                     The port is 9090                     replaces (a number)
    Agents may push to main              Agents must not push to main         replaces (a modal, a negation)
    Ada owns billing                     Bob owns billing                     replaces (a role)
    The export test is flaky             The flaky export test is fixed       replaces (something done)
    Use yarn to install packages         We dropped yarn, pnpm from now on    replaces (names the old value)
    Redis runs on port 6380              I changed the redis port to 6390     replaces (all but the value)
    Never push directly to main          You can push to main again           replaces (allows it)
    The API timeout is 30 seconds        The upload timeout is 60 now         different: another subject
    Never push to main                   You can push to main only today      different: an exception
    We use Redis for caching             We use Valkey for sessions now       different: another purpose
    The API is slow                      The API is public                    different: adjectives do not count
"""

from collections.abc import Hashable, Iterator, Sequence
from enum import Enum
from itertools import chain, product
from typing import Final, Generic, TypeVar

from holdfast_app.sentences import succession
from holdfast_app.sentences import vocabulary as v
from holdfast_app.sentences.statement import SHORT, Slot, Statement, has_digit, is_exact, read

K = TypeVar("K", bound=Hashable)

#: Maximum number of words that a sentence about a change adds.
_ADDED: Final = 4
#: A statement with this many words about something else outlives its value.
_REST: Final = 3
_ROLES: Final = v.ROLES - v.LIGHT


class Relation(Enum):
    """A newer statement's relation to an older one."""

    SAME = "same"
    REPLACES = "replaces"
    ENDS = "ends"
    """It most likely replaces the older one. The older one says nothing of the newer one."""
    DIFFERENT = "different"


def relation(new: str, old: str) -> Relation:
    """What ``new`` is to ``old``: see the module. Symmetric, so the caller's times decide which one is newer."""
    return _relation(read(new), read(old))


def _relation(one: Statement, other: Statement) -> Relation:
    if one.key == other.key:
        return Relation.SAME
    replaces = (
        _overtakes(one, other)
        or _overtakes(other, one)
        or (one.order == other.order != () and one.states == other.states)
        or (one.said == other.said != () and _is_reversed(one, other))
        or any(_clash(a, b) for a in one.slots for b in other.slots)
    )
    return Relation.REPLACES if replaces else Relation.DIFFERENT


def _clash(a: Slot, b: Slot) -> bool:
    """Whether two slots have different values of one thing."""
    return a.kind == b.kind and a.value != b.value and a.rest == b.rest != frozenset()


def _overtakes(new: Statement, old: Statement) -> bool:
    """Whether ``new`` says that all of what ``old`` says has ended or changed."""
    common, added = new.words & old.words, new.words - old.words
    gone = [word for word in new.gone if word in old.words]
    if not (common or gone) or not new.moves:
        return False
    if new.done and not old.done and (len(common) > 1 or not gone):
        return len(common) > 1 and added <= new.verbs
    missing = [word for word in old.said if word not in new.words | old.verbs]
    if _is_other(new, old):
        return False
    if not added and 1 < len(common) > len(missing) and _is_reversed(new, old):
        return new.changes or (len(common) > 2 and len(missing) < 2 and not _is_other(old, new))
    if new.gone:
        return bool(gone) and _names_former(new, old, gone, missing)
    return new.changes and bool(added) and _has_other_value(new, old, missing)


def _is_reversed(one: Statement, other: Statement) -> bool:
    """Whether one allows, orders or says of the same what the other does not."""
    opposed = [{word for word in it.states if v.OPPOSED.get(word, "allowed") != "allowed"} for it in (one, other)]
    return one.states != other.states and (opposed[0] == opposed[1] or ("not" in one.states) == ("not" in other.states))


def _is_other(new: Statement, old: Statement) -> bool:
    """Whether ``new`` names another thing: "the billing port" is not "the port", nor is "the port for billing"."""
    common, gone = new.words & old.words, new.gone.keys()
    values = {one: lead for one, lead in zip(old.said, old.leads, strict=True) if one not in new.words or one in gone}
    # The word before it is the value: "from the release branch".
    swapped = {b for a, b in old.joined if a in gone or values.get(a, "") not in ("", "for")}
    own = {a for a, b in new.joined if b in common - swapped and not old.subject & gone}
    own |= {b for a, b in new.joined if a in common and b in new.subject}
    same = {lead for word, lead in values.items() if word in gone or not gone} - {"for"}
    own |= {word for word, lead in zip(new.said, new.leads, strict=True) if lead in {"for", "in"} - same}
    return any(not is_exact(word) for word in own - old.words - v.HEADS - gone)


def _names_former(new: Statement, old: Statement, gone: Sequence[str], missing: Sequence[str]) -> bool:
    """Whether ``old`` is about a value that ``new`` calls outdated, and says no more of it."""
    common = new.words & old.words - {*gone}
    begin = min((new.said.index(word) for word in common), default=len(new.said))
    ahead = new.said[: min(begin, *(new.gone[word] for word in gone))]
    own = [word for word in ahead if word not in old.words and not is_exact(word)]
    if len(own) > 1 or (own and not common and any(map(is_exact, gone))):
        return False
    if common and old.subject - new.words - v.HEADS:
        return False
    if old.subject.issuperset(gone):  # of somebody who left, another duty
        return bool(common) and v.HEADS.issuperset(missing)
    return len(missing) < (1 if "and" in old.order else _REST)


def _has_other_value(new: Statement, old: Statement, missing: Sequence[str]) -> bool:
    """Whether ``new`` says all that ``old`` says but for one value at one place."""
    common, added = new.words & old.words, new.words - old.words
    if not missing:
        return len(common) > 1 and len(added) <= _ADDED
    places = [n for n, word in enumerate(old.said) if word in missing and word not in v.HEADS]
    if not 0 < len(places) <= SHORT or not common.isdisjoint(old.said[places[0] : places[-1] + 1]):
        return False
    values, lead = [old.said[n] for n in places], old.leads[places[0]]
    is_subject = any(old.said[n] in old.subject and not _is_free(old, n) for n in places)
    if is_subject or not _ROLES.isdisjoint(old.order) or any(map(is_exact, missing)) != any(map(is_exact, added)):
        return False
    names = [{a for a, b in one.joined if has_digit(b) and not is_exact(a)} for one in (old, new)]
    is_open = "not" in new.states + old.states and not any(map(has_digit, values))  # both may be forbidden
    if is_open or (names[0] - common and names[1] - common):  # "Node 18" and "Postgres 16"
        return False
    leads = {lead for word, lead in zip(new.said, new.leads, strict=True) if word in added}
    begin = ({*new.order[:1]} & {*old.order[:1]}) - v.SPEAKERS  # "deploy from ..."
    is_moved = len(added) == 1 and "to" in leads  # "Ana moved to Leeds"
    is_enough = len(common | begin) > 1 or is_moved
    if not any(map(is_exact, values)):
        return is_enough and lead not in ("", "for", "as", *["is"] * is_moved)
    is_alone = lead in leads - {""} or not v.EXACT.search(values[-1])
    return is_enough or bool(common & names[0] & names[1]) or (is_alone and all(map(is_exact, values)))


def _is_free(statement: Statement, n: int) -> bool:
    """Whether a number names nothing, as it does in "world 2"."""
    return has_digit(statement.said[n]) and (n == 0 or statement.said[n - 1 : n + 1] not in statement.joined)


class Known(Generic[K]):
    """Statements under keys of the caller, to find those that a new one repeats or replaces without comparing all."""

    def __init__(self) -> None:
        self._known: dict[K, Statement] = {}
        self._texts: dict[K, str] = {}
        self._places: dict[Hashable, dict[K, None]] = {}

    def add(self, key: K, text: str) -> None:
        """Add a statement, as the newest."""
        self.remove(key)
        self._known[key], self._texts[key] = read(text), text
        for place in self._of(self._known[key]):
            self._places.setdefault(place, {})[key] = None

    def remove(self, key: K) -> None:
        """Remove a statement. A missing one is not an error."""
        old = self._known.pop(key, None)
        for place in self._of(old) if old else ():
            self._places[place].pop(key, None)

    def related(self, text: str) -> Iterator[tuple[K, Relation]]:
        """The statements that ``text`` repeats, then those that it would replace if it were newer, each once. Without
        any, the one that it most likely ends."""
        new = read(text)
        near = self._near(new)
        found = [(key, _relation(new, self._known[key])) for key in near]
        if all(how is Relation.DIFFERENT for _, how in found):
            ended = succession.ended(text, [self._texts[key] for key in near])
            found = [(key, Relation.ENDS) for key in near if self._texts[key] == ended]
        related = [pair for pair in found if pair[1] is not Relation.DIFFERENT]
        yield from sorted(related, key=lambda pair: pair[1] is not Relation.SAME)

    def replaced(self, text: str) -> list[K]:
        """The statements that ``text`` replaces, whichever is newer."""
        new = read(text)
        return [key for key in self._near(new) if _relation(new, self._known[key]) is Relation.REPLACES]

    def _near(self, new: Statement) -> dict[K, None]:
        places = chain(new.places, product({True, not new.moves}, new.words | new.gone.keys()))
        return dict.fromkeys(key for place in places for key in self._places.get(place, ()))

    @staticmethod
    def _of(statement: Statement) -> Iterator[Hashable]:
        return chain(statement.places, product({statement.moves}, statement.words | statement.gone.keys()))


def outdated(new: str, known: Sequence[str]) -> list[str]:
    """The statements of ``known`` that ``new`` repeats or replaces; without any, the one that it most likely ends."""
    old = [one for one in known if relation(new, one) is not Relation.DIFFERENT]
    ended = "" if old else succession.ended(new, known)
    return old or [one for one in known if one == ended]
