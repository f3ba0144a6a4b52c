"""Whether a newer statement repeats an older one, replaces it, or is another one. The only place that decides this.

A statement is ``same`` as another when they differ only in case, spacing or final punctuation. It ``replaces`` another
when both are about the same thing and only one can hold. All others are ``different``, and both stay, because an extra
line does less harm than a missing one.

Two statements are about the same thing when the same words are left of them without values, word forms, order and
verbs that say little. A value is a number with its unit, a day, a name after a preposition or after "is", one of a pair
of opposites, a negation. Words in the subject are never values, so another subject never replaces.

    The port is 8080                     The port is 9090                     replaces (a number)
    Uploads are capped at 2 MB           The cap for uploads is now 8 MB      replaces (a number, reworded)
    Docs are built with Sphinx           Docs are built with MkDocs           replaces (a name after one preposition)
    Migrations run before the deploy     Migrations run after the deploy      replaces (a pair of opposites)
    Agents may push to main              Agents must not push to main         replaces (a modal, a negation)
    CI runs on Jenkins                   CI moved from Jenkins to Actions     replaces (names the old value)
    The export test is flaky             The flaky export test is fixed       replaces (something done)
    Ada owns billing                     Bob owns billing                     replaces (a role)
    Port 80 is open                      Port 81 is open                      different: another subject
    Access logs are kept for 90 days     Log files are kept for 14 days       different: words of its own on either side
    The API uses Redis                   The API uses Postgres                different: it may use both
    Never push to main                   Never push to release                different: both are forbidden
    The API is slow                      The API is public                    different: adjectives do not count
"""

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from enum import Enum
from functools import lru_cache
from itertools import chain, product
from math import fsum
from typing import Final, Generic, NamedTuple, TypeVar

from holdfast.text.lazy import Lazy
from holdfast.text.plain import FINAL, normalized, same_key
from holdfast_app.sentences import vocabulary as v
from holdfast_app.sentences.vocabulary import stem

K = TypeVar("K", bound=Hashable)

#: Longer statements say more than one thing, so they replace nothing.
_MAX_WORDS: Final = 40
_MAX_CHARS: Final = 2_000
#: Maximum number of words that a sentence about a change adds.
_ADDED: Final = 4
#: A statement with this many words about something else outlives its value.
_REST: Final = 3
#: Maximum words in a name.
_SHORT: Final = 4


class Relation(Enum):
    """A newer statement's relation to an older one."""

    SAME = "same"
    REPLACES = "replaces"
    DIFFERENT = "different"


class Slot(NamedTuple):
    """One value: its ``kind`` (a unit, a class of prepositions, "is"), and the statement's other words."""

    kind: str
    value: tuple[str, ...]
    rest: frozenset[str]


class Statement(NamedTuple):
    """A statement as it is compared. Two with one ``key`` are the same. ``said`` are the stems of words that name a
    thing or value, ``words`` their set. ``verbs`` may differ in a rewording. ``states`` are opposites, modals and
    negations, ``order`` all stems. ``changes`` is set for a sentence about a change, ``done`` for one about an end.
    ``subject`` are the stems before the verb, ``former`` those of the value that it says no longer holds."""

    key: str
    words: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    slots: tuple[Slot, ...] = ()
    states: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    changes: bool = False
    done: bool = False
    subject: frozenset[str] = frozenset()
    former: frozenset[str] = frozenset()

    @property
    def places(self) -> Iterator[Hashable]:
        """Two statements without a change in them can only be related when they share any of these."""
        yield from (self.key, self.order, self.said)
        for slot in self.slots:
            kind = slot.kind if slot.kind.startswith("#") else ""
            yield from ((kind, slot.rest), (kind, slot.rest - self.verbs))

    @property
    def moves(self) -> bool:
        """Whether it may end what another one says."""
        return self.changes or self.done or bool(self.former) or "not" in self.states


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
        or (one.said == other.said != () and one.states != other.states)
        or any(_clash(a, b, one, other) for a in one.slots for b in other.slots)
    )
    return Relation.REPLACES if replaces else Relation.DIFFERENT


def _clash(a: Slot, b: Slot, one: Statement, other: Statement) -> bool:
    """Whether two slots have different values of one thing."""
    changes = one.changes or other.changes
    kinds = a.kind == b.kind or (changes and not {a.kind[:1], b.kind[:1]} & {"#"})
    # "Deploy from release", "From now on deploy from main": without other words the order itself is what changes.
    is_order = changes and (a.kind, a.rest, one.order[:1]) == (b.kind, frozenset(), other.order[:1]) and not b.rest
    return kinds and a.value != b.value and (is_order or _same_but(a.rest, b.rest, one.verbs | other.verbs))


def _same_but(one: frozenset[str], other: frozenset[str], verbs: frozenset[str]) -> bool:
    """Whether the words are the same, but for verbs that one of two longer statements has in addition."""
    if one == other:
        return bool(one)
    mine, theirs = one - other, other - one
    return not (mine and theirs) and (mine | theirs) <= verbs and len((one & other) - verbs) > 1


def _overtakes(new: Statement, old: Statement) -> bool:
    """Whether ``new`` says that all of what ``old`` says has ended or changed."""
    common, added = len(new.words & old.words), new.words - old.words
    missing = old.words - old.verbs - new.words
    # "We are not using Mollie after all" and "We switched from Mollie to Adyen" end "We use Mollie for payments".
    used = [{*map(stem, slot.value)} for slot in old.slots if slot.kind == "with"]
    if new.former and new.former <= old.words:
        is_all = new.former in (*used, old.words) and len(new.words - new.former) < 2
        return (is_all and not _says_more(old, new)) or _names_former(new, old)
    if new.changes and "not" in new.states and new.words in used and not _says_more(old, new):
        return True
    if common < 2 or not new.moves or _says_more(old, new):
        return False
    if new.done and not old.done:
        return added <= new.verbs
    if ("not" in new.states) != ("not" in old.states) and not added:
        return new.changes or common > 2
    if not new.changes or not 0 < len(added) <= _ADDED:
        return False
    # "Lena took the mobile port over from Marek" has all of "The mobile port is in the hands of Marek" but one word.
    if not missing or (len(missing) == 1 and common > 2 and not old.names.isdisjoint(new.words)):
        return True
    # "Mails were moved from SES to Postmark" names the value and the subject of "The mail provider is SES".
    said = ((frozenset(map(stem, slot.value)), slot.rest) for slot in old.slots if slot.kind == "is")
    return any(value <= new.words and not rest.isdisjoint(new.words) for value, rest in said)


def _names_former(new: Statement, old: Statement) -> bool:
    """Whether ``new`` is about the same thing as ``old``, whose value it calls outdated, and ``old`` says no more."""
    common = {*new.order} & {*old.order} - new.former - {*map(stem, v.EMPTY), *map(stem, v.PLACES)}
    rest = old.words - new.words - new.former - old.verbs
    is_other = new.subject and not old.subject <= new.subject
    return bool(common) and not is_other and len(rest) < (1 if "and" in old.order or rest & old.names else _REST)


def _says_more(old: Statement, new: Statement) -> bool:
    """Whether ``old`` has three names more than ``new``, as a list of tools has, so that it does not end with one."""
    return len(old.names - new.words) > 2


class Known(Generic[K]):
    """Statements under keys of the caller, to find those that a new one repeats or replaces without comparing all."""

    def __init__(self) -> None:
        self._known: dict[K, Statement] = {}
        self._places: dict[Hashable, dict[K, None]] = {}

    def add(self, key: K, text: str) -> None:
        """Add a statement, as the newest."""
        self.remove(key)
        self._known[key] = read(text)
        for place in self._of(self._known[key]):
            self._places.setdefault(place, {})[key] = None

    def remove(self, key: K) -> None:
        """Remove a statement. A missing one is not an error."""
        old = self._known.pop(key, None)
        for place in self._of(old) if old else ():
            self._places[place].pop(key, None)

    def related(self, text: str) -> Iterator[tuple[K, Relation]]:
        """The statements that ``text`` repeats, then those that it would replace if it were newer, each once."""
        new = read(text)
        places = chain(new.places, product({True, not new.moves}, new.words))
        near = dict.fromkeys(key for place in places for key in self._places.get(place, ()))
        found = [(key, _relation(new, self._known[key])) for key in near]
        for wanted in (Relation.SAME, Relation.REPLACES):
            yield from (pair for pair in found if pair[1] is wanted)

    @staticmethod
    def _of(statement: Statement) -> Iterator[Hashable]:
        return chain(statement.places, product({statement.moves}, statement.words))


def _main(text: str, changes: bool) -> str:
    """What a statement says without the time of the change, what it replaces, and a remark after it."""
    first, *others = re.split(r"[,;] | because ", v.FORMER.sub("", text))
    if v.ENDED.search(first) or (changes and not any(map(v.SAYS.match, others))):
        text = first
    return v.ASIDE.sub("", text).lstrip(" ,")


class _Token(NamedTuple):
    word: str  # in lower case
    is_name: bool


def _tokens(text: str) -> list[_Token]:
    """The words, without the article in front."""
    found: list[_Token] = []
    text = normalized("NFC", text)
    for short, long in v.CONTRACTED.items():
        text = text.replace(short, long)
    for raw in text.rstrip(FINAL).split():
        bare = raw.strip("\"'`()[],;").removesuffix("'s")
        letters = bare.replace("-", "")
        for part in bare.split("-") if letters.islower() and letters.isalpha() and bare.count("-") < 2 else [bare]:
            said = part.removesuffix(":") or part
            small = said.casefold()
            if said and (found or small not in v.FILLING):
                name = bool(v.CODE.fullmatch(said) or (found and said[0].isupper()))
                found.append(_Token(small if name else v.COUNTS.get(small, small), name))
            if said != part:
                found.append(_Token(":", False))
    return found


@lru_cache(maxsize=4_096)
def read(text: str) -> Statement:
    """The statement in ``text``. Linear in its length; never raises."""
    key = same_key(text)
    changes = bool(v.CHANGE.search(key)) or not v.CHANGED.isdisjoint(re.findall(r"\w+", key))
    tokens = _tokens(_main(text, changes)) if key.count(" ") < _MAX_WORDS and len(key) <= _MAX_CHARS else []
    words = [token.word for token in tokens]
    if not words or words[0] in v.POINTING or words[-1].endswith("?"):
        return Statement(key)
    at = _verb(words)
    named = at < 4 and any(token.is_name or v.NUMBER.fullmatch(token.word) for token in tokens[:at])
    if named and words[at] in v.BE and words[at + 1 : at + 2] in (["the"], ["what"]):  # "3.11 is the minimum version"
        tokens = [*tokens[at + 2 :], tokens[at], *(_Token(token.word, True) for token in tokens[:at])]
        words, at = [token.word for token in tokens], len(tokens) - at - 1
    states = sorted(word for word in words if word in v.MODALS or word in v.QUANTIFIERS)
    states += [word for word in words[at:] if word in v.OPPOSED]
    if sum(word in v.NEGATIONS for word in words) % 2:
        states.append("not")
    stems = list(map(stem, words))
    said = {n: stems[n] for n in range(len(words)) if not _is_empty(words, n, at)}
    participles = {words[n] for n in range(1, len(words)) if words[n - 1] in v.BE and words[n].endswith(("n", "t"))}
    acts = {n for n, word in enumerate(words) if n == at or word.endswith("ed") or (n > at and word in v.VERBS)}
    verbs = {stems[n] for n in acts if n}
    former = v.INSTEAD.search(key)
    names = {stems[n] for n, one in enumerate(tokens) if one.is_name and not v.NUMBER.fullmatch(words[n - 1])}
    return Statement(
        key,
        frozenset(said.values()),
        frozenset(verbs | participles),
        frozenset(names),
        # What does not hold says with its other slots where it does not, or names one of several such things.
        tuple(s for s in _slots(tokens, at, said, changes) if changes or "not" not in states or s.kind[0] == "#"),
        tuple(states),
        tuple(stems[n] for n, word in enumerate(words) if word not in v.FILLING),
        tuple(said.values()),
        changes,
        bool(v.DONE.search(key)),
        frozenset(word for n, word in said.items() if n < at),
        frozenset(map(stem, _named(next(filter(None, former.groups()))))) if former else frozenset(),
    )


def _is_empty(words: list[str], n: int, at: int) -> bool:
    word = words[n]
    if n == 0 < at and word in v.LIGHT:  # "Deploys need a review"
        return False
    return word in v.UNSAID or (n >= at and word in v.OPPOSED)


def _verb(words: list[str]) -> int:
    """The verb's place, 0 for an imperative. For an unknown verb the place where it is most likely."""
    later = [n for n, word in enumerate(words) if n and word in v.VERBS]
    if verbs := [n for n in later if words[n] in v.BE or words[n - 1] not in v.BEFORE_NOUN]:
        # "unit tests with mocks fail": not "tests"
        return verbs[0] if words[verbs[0]] in v.BE | v.MODALS else verbs[-1]
    if words[0] in v.VERBS:
        return 0
    stops = (n for n, w in enumerate(words) if v.PLACES.get(w, "for") != "for" or v.NUMBER.fullmatch(w))
    stop = next((n for n in stops if n > 1), 0)
    if stop and words[stop - 2] not in v.ARTICLES | v.QUANTIFIERS:
        return stop - 1
    return next((n for n, word in enumerate(words) if n and word.endswith("s")), min(2, len(words) - 1))


def _slots(tokens: list[_Token], at: int, said: dict[int, str], changes: bool) -> Iterator[Slot]:
    """The values after the verb, and the person before a role's verb."""
    words = [token.word for token in tokens]
    many = not v.MANY.isdisjoint(words[1:]) and not changes

    def slot(kind: str, begin: int, end: int) -> Slot:
        counts = kind.startswith("#")  # "8 to 10": of several numbers each may change
        places = [n for n in said if not (begin <= n < end or (counts and n > at and _is_number(words, n)))]
        return Slot(kind, tuple(words[begin:end]), frozenset(said[n] for n in places))

    for n in range(at, len(words)):
        date = v.CALENDAR.fullmatch(words[n])
        if date and (date["day"] or words[n - 1] in v.PLACES or words[n - 1] in v.BE):
            yield slot("#day" if date["day"] else "#date", n, n + 1)
        elif number := _number(tokens, n):
            kind, value, size = number
            if not (many and (kind == "#" or tokens[n - 1].is_name)) and words[n - 1] not in v.LABELS:
                yield slot(kind, n, n + size)._replace(value=(value,))
        elif kind := _kind(words, n, at, changes):
            begin = n + 1 + (words[n + 1 : n + 2] == ["now"])
            end = next((m for m in range(begin, len(words)) if _ends_name(words[m])), len(words))
            name = tokens[begin:end]
            if not 0 < len(name) <= _SHORT or many or v.CALENDAR.fullmatch(name[-1].word):
                continue
            plain = name[0].word not in ("a", "an") and kind != "in"
            if kind == "is":
                plain &= words[at - 1] in v.HEADS and not v.ADJECTIVE.fullmatch(" ".join(words[begin:end]))
            if plain or any(token.is_name for token in name):
                yield slot(words[n] if kind == "in" else kind, begin, end)
    if 0 < at < 3 and not v.ROLES.isdisjoint(words[at : at + 3]):
        yield slot("with", 0, at)


def _kind(words: list[str], n: int, at: int, changes: bool) -> str:
    """Which kind of value the word introduces. Empty for other words."""
    word = words[n]
    if word in ("use", "uses"):  # without a purpose it may use several
        return "with" if changes or not {"for", "as"}.isdisjoint(words) else ""
    kind = v.PLACES.get(word, "is" if n == at and word in v.BE else "")
    return "" if kind == "for" or (kind == "as" and words[at] in ("use", "uses")) else kind  # "as" the purpose


def _ends_name(word: str) -> bool:
    return word in v.PLACES or word in v.EMPTY - v.ARTICLES - v.JOINING or v.NUMBER.fullmatch(word) is not None


def _is_number(words: list[str], n: int) -> bool:
    number = v.CALENDAR.fullmatch(words[n]) or v.NUMBER.fullmatch(words[n])
    return number is not None and words[n - 1] not in v.LABELS


def _number(tokens: list[_Token], n: int) -> tuple[str, str, int] | None:
    """A number's kind, its digits, and how many words it takes. None for another word."""
    word, after = tokens[n].word, stem(tokens[n + 1].word) if n + 1 < len(tokens) else ""
    if word in ("a", "an") and after in v.SECONDS:
        word = "1"
    number = v.NUMBER.fullmatch(word)
    if not number:
        return None
    digits, unit = number["digits"], number["unit"] or ""
    unit, size = ("th" if unit in ("st", "nd", "rd") else unit), 1
    if not unit and after.isalpha() and not (after in v.EMPTY or after in v.PLACES):
        unit, size = after, 2
    if unit in v.SECONDS and digits.replace(".", "").isdigit():
        return "#time", f"{float(digits) * v.SECONDS[unit]:g}", size
    return f"#{unit}", digits, 1


# --- updates in other words

#: Values by kind. A statement about answers has its end as its value.
_VALUE: Final = Lazy(
    r"(?P<zone>\b(?:utc|gmt|(?:pacific|central|eastern|mountain|local)(?: time)?|\w+/[a-z]+_\w+)\b)"
    r"|(?P<units>\b(?:metric|imperial)\b)|(?P<answers>\b(?:answers?|repl(?:y|ies)|responses?)\b)"
    r"|(?P<amount>[$€£]\s?\d[\d,.]*k?|\b[\w-]+(?: hundred| thousand)? (?:dollars|euros?|pounds)\b)"
    r"|(?P<date>\b(?:\d{4}-\d\d-\d\d|\d\d-\d\d|(?:january|february|march|april|may|june|july|august|september|october"
    r"|november|december|(?:mon|tues|wednes|thurs|fri|satur|sun)day)(?: \d{1,2})?)\b)"
    r"|(?P<branch>(?<![\w/.:])[a-z][\w.-]*/[\w./-]*\w\b)|(?P<code>\b[a-z]{2,}-\d{2,}\b)|(?P<number>\b\d[\d.]*\b)"
    r"|(?P<person>(?-i:\b[A-Z][a-z]+ [A-Z][a-z]+\b))",
    re.IGNORECASE,
)
_ONE_AT_A_TIME: Final = ("zone", "units")
_TOKEN: Final = Lazy(r"[a-z0-9][\w./:-]*[a-z0-9]|[^\W_]{2,}|\d", re.IGNORECASE)


def outdated(new: str, known: Sequence[str]) -> list[str]:
    """The statements of ``known`` that ``new`` repeats or replaces; without any, the one that it brings up to date in
    other words, unless more than one could be meant.

    For that, ``new`` names what no longer holds, or says that something changed ("now", "stricter", "moved") and has a
    value of the same kind as the older one (an amount, a date, a name). Of several such statements it replaces the
    closest in words. A time zone or system of units needs no such word, because there is one at a time.

        Always run rubocop before a commit      From now on run standardrb instead of rubocop
        The budget cap is $800 total            From now on keep the budget under five hundred dollars
        The launch deadline is 2027-03-01       The launch moved to April 4
    """
    old = [one for one in known if relation(new, one) is not Relation.DIFFERENT]
    known = [one for one in known if not _says_more(read(one), read(new))]
    if old := old or _named_by(new, known):
        return old
    values = _values(new)
    changes = read(new).changes or not {"new", "rather"}.isdisjoint(new.casefold().split())
    kinds = {kind for kind in values if changes or kind in _ONE_AT_A_TIME}
    rivals = [one for one in known if any(values[kind] != _values(one).get(kind, values[kind]) for kind in kinds)]
    said = {one: {*map(stem, _named(one))} for one in (*rivals, new)}
    often = Counter(word for one in rivals for word in said[one])
    scores = [fsum(1 / often[word] for word in said[new] & said[one]) for one in rivals]
    best = max(scores, default=0.0)
    if (best or (len(rivals) == 1 and not kinds.isdisjoint(_ONE_AT_A_TIME))) and scores.count(best) == 1:
        return [rivals[scores.index(best)]]
    return []


def _named_by(new: str, known: Sequence[str]) -> list[str]:
    """The only statement with the words that ``new`` says no longer hold."""
    for hit in v.INSTEAD.finditer(new):
        said = _named(next(filter(None, hit.groups())))
        gone = [word for word in said if word[0].isdigit()] or said[:2]
        found = [one for one in known if gone and {*gone} <= {*_named(v.INSTEAD.sub("", one))}]
        if len(found) == 1:
            return found
    return []


def _named(text: str) -> list[str]:
    return [word for word in _TOKEN.findall(text.casefold()) if word not in v.UNSAID]


def _values(text: str) -> dict[str, set[str]]:
    """The values in a statement by kind, each in one kind only."""
    found: dict[str, set[str]] = {}
    for hit in _VALUE.finditer(text):
        kind = hit.lastgroup or ""
        found.setdefault(kind, set()).add((text[hit.start() :] if kind == "answers" else hit[0]).casefold())
    return found
