"""Whether a newer statement repeats an older one, replaces it, or is another one. The only place that decides this.

A statement is ``same`` as another when they differ only in case, spacing or final punctuation. It ``replaces`` another
when both are about the same thing and only one can hold. All others are ``different``, and both stay, because an extra
line does less harm than a missing one.

Two statements are about the same thing when the same words are left of them without values, word forms, order and
verbs that say little. A value is a number with its unit, a day, a name after a preposition or after "is", one of a pair
of opposites, a negation. Words in the subject are no values, so that another subject never replaces.

    The port is 8080                     The port is 9090                     replaces: a number
    Uploads are capped at 2 MB           The cap for uploads is now 8 MB      replaces: a number, reworded
    Docs are built with Sphinx           Docs are built with MkDocs           replaces: a name after one preposition
    Migrations run before the deploy     Migrations run after the deploy      replaces: a pair of opposites
    Agents may push to main              Agents must not push to main         replaces: a modal, a negation
    CI runs on Jenkins                   CI moved from Jenkins to Actions     replaces: it names the old value
    The export test is flaky             The flaky export test is fixed       replaces: something done
    Ada owns billing                     Bob owns billing                     replaces: a role
    Port 80 is open                      Port 81 is open                      different: another subject
    Access logs are kept for 90 days     Log files are kept for 14 days       different: words of its own on either side
    The API uses Redis                   The API uses Postgres                different: it may use both
    The API is slow                      The API is public                    different: adjectives are no values
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from enum import Enum
from functools import lru_cache
from typing import Final, Generic, NamedTuple, TypeVar

from holdfast.text.lazy import Lazy
from holdfast.text.plain import normalized

K = TypeVar("K", bound=Hashable)

#: Longer statements say more than one thing, so they replace nothing.
_MAX_WORDS: Final = 40
#: Maximum number of words that a sentence about a change adds.
_ADDED: Final = 4
#: Maximum words in a name.
_SHORT: Final = 4


class Relation(Enum):
    """The relation of a newer statement to an older one."""

    SAME = "same"
    REPLACES = "replaces"
    DIFFERENT = "different"


class Slot(NamedTuple):
    """One value: its ``kind`` (a unit, a class of prepositions, "is"), and the statement's other words."""

    kind: str
    value: tuple[str, ...]
    rest: frozenset[str]


class Statement(NamedTuple):
    """A statement as it is compared. Two with one ``key`` are the same. ``said`` are the stems of the words that name a
    thing or value, ``words`` their set. ``verbs`` may differ in a rewording. ``states`` are opposites, modals and
    negations, ``order`` all stems. ``changes`` is set for a sentence about a change, ``done`` for one about an end."""

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


def relation(new: str, old: str) -> Relation:
    """What ``new`` is to ``old``: see the module. Symmetric, so the caller's times decide which one is newer."""
    return _relation(read(new), read(old))


def _relation(one: Statement, other: Statement) -> Relation:
    if one.key == other.key:
        return Relation.SAME
    replaces = (
        (one.order == other.order != () and one.states == other.states)
        or any(_clash(a, b, one, other) for a in one.slots for b in other.slots)
        or (one.states != other.states and one.said == other.said)
        or _overtakes(one, other)
        or _overtakes(other, one)
    )
    return Relation.REPLACES if replaces else Relation.DIFFERENT


def _clash(a: Slot, b: Slot, one: Statement, other: Statement) -> bool:
    """Whether two slots have different values of one thing."""
    kinds = a.kind == b.kind or ((one.changes or other.changes) and not {a.kind[:1], b.kind[:1]} & {"#"})
    return kinds and a.value != b.value and _same_but(a.rest, b.rest, one.verbs | other.verbs)


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
    if common < 2:
        return False
    if new.done and not old.done:
        return added <= new.verbs
    if ("not" in new.states) != ("not" in old.states) and not added:
        return new.changes or common > 2
    if not new.changes or not 0 < len(added) <= _ADDED:
        return False
    # "Lena took the mobile port over from Marek" has all of "The mobile port is in the hands of Marek" but one word.
    return not missing or (len(missing) == 1 and common > 2 and not old.names.isdisjoint(new.words))


class Known(Generic[K]):
    """Statements under keys of the caller, to find those that a new one repeats or replaces without comparing all."""

    def __init__(self) -> None:
        self._texts: dict[K, str] = {}
        self._places: dict[str, dict[K, Statement]] = {}

    def add(self, key: K, text: str) -> None:
        """Add a statement, as the newest."""
        self.remove(key)
        self._texts[key] = text
        statement = read(text)
        for place in _places(statement):
            self._places.setdefault(place, {})[key] = statement

    def remove(self, key: K) -> None:
        """Remove a statement. A missing one is not an error."""
        for place in _places(read(self._texts.pop(key, ""))):
            self._places.get(place, {}).pop(key, None)

    def related(self, text: str) -> Iterator[tuple[K, Relation]]:
        """The statements that ``text`` repeats, then those that it would replace if it were newer, each once."""
        new = read(text)
        near = {key: old for place in _places(new) for key, old in self._places.get(place, {}).items()}
        found = [(key, _relation(new, old)) for key, old in near.items()]
        yield from (pair for pair in found if pair[1] is Relation.SAME)
        yield from (pair for pair in found if pair[1] is Relation.REPLACES)


def same_key(text: str) -> str:
    """The key that two statements share when they are the same."""
    key = " ".join(normalized("NFC", text).casefold().split())
    return key.rstrip(_FINAL) or key


def _places(statement: Statement) -> tuple[str, ...]:
    return (f"={statement.key}", *statement.words)


# --- words ---------------------------------------------------------------------------------------------------------


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_FINAL: Final = " .!;,:…。！"
_BE: Final = _set("is are was were be been am being = :")
_MODALS: Final = _set("may can must should shall will could might")
_NEGATIONS: Final = _set("not never")
_QUANTIFIERS: Final = _set("every each all some any most many few")
_ARTICLES: Final = _set("the a an our my your their")
#: Words without which a statement says the same.
_FILLING: Final = _BE | _ARTICLES | _set("now currently current also already always still just today")
#: Words that name neither the thing nor a value.
_EMPTY: Final = _FILLING | _set(
    "this that these those its his her it's i we they you he she it us what who which again only then here there so"
    " very too yet since due has have had do does did having than and or but if while when effective anymore longer"
    " more once out over back behind between"
)
_JOINING: Final = _set("and or then")
#: Classes of prepositions. "for" and "of" name the thing.
_PLACES: Final = {
    word: words.split()[0]
    for words in ("with by via through using", "in on at under inside", "to into onto", "from", "as", "for of about")
    for word in words.split()
}
#: Verbs that say only that something is somewhere or used somehow.
_LIGHT: Final = _set(
    "use uses used using run runs running ran go goes live lives sit sits keep keeps kept store stores stored host"
    " hosts hosted serve serves served deploy deployed stay stays work works take takes place get gets come comes"
    " make makes made set send sends sent power powered put call called name named locate located base based"
)
#: Verbs of change.
_CHANGED: Final = _set(
    "moved switched changed migrated replaced replace swapped renamed upgraded downgraded bumped raised lowered"
    " increased reduced shifted converted extended shortened abandoned dropped cut retired became went gave given took"
    " taken handed"
)
_UNSAID: Final = _EMPTY | _CHANGED | _LIGHT | _PLACES.keys() | _MODALS | _NEGATIONS | _QUANTIFIERS
#: Signs of a change, and of an end.
_CHANGE: Final = Lazy(r"\b(?:from .+ to|instead of|rather than|no longer|any ?more|used to|now|gone|stepped down)\b")
_DONE: Final = Lazy(
    r"\b(?:(?:is|are|was|were|been|got) (?:now )?(?:fixed|resolved|solved|repaired|gone|finished|closed|done)"
    r"|works? again|no longer (?:fails?|broken|blocked|flaky))\b"
)
#: Relations that one person has to a thing.
_ROLES: Final = _set(
    "own owns lead leads maintain maintains supervise supervises manage manages chair chairs head heads"
    " handle handles approve approves call charge responsible"
)
#: Finite verbs that are no nouns too, or have no ending. The words before the verb are the subject.
_VERBS: Final = _BE | _MODALS | _LIGHT | _CHANGED | _set("has have do does cost costs last lasts need needs fail fails")
#: Verbs and participles that allow several values at once.
_MANY: Final = _set(
    "support supports supported include includes contain contains test tests tested read reads cover covers covered"
    " accept accepts allow allows compatible known affected"
)
#: Opposites, and words of one scale, of which only one can hold.
_OPPOSED: Final = {word: words.split()[0] for words in (
    "before after", "up down", "above below", "over under", "on off", "with without", "inside outside",
    "enabled disabled", "enable disable", "allowed forbidden prohibited", "true false", "public private",
    "open closed", "opened closed", "first last", "left right", "minimum maximum", "more less fewer",
    "ascending descending", "increase decrease", "increases decreases", "synchronous asynchronous",
    "synchronously asynchronously", "online offline", "mandatory voluntary optional required", "stable unstable",
    "signed unsigned", "pending granted approved rejected", "mutable immutable", "included excluded",
    "hourly daily nightly weekly monthly yearly quarterly",
) for word in words.split()}  # fmt: skip
#: Nouns whose value may be any word, and words that are no values.
_HEADS: Final = _set(
    "address branch deadline endpoint formatter hostname language licence license limit linter"
    " maintainer name owner password port region release timeout url version"
)
_ADJECTIVE: Final = Lazy(
    r".+(?:ed|ing|able|ible|ous|ful|ive|less|ly)|(?:un)?(?:known|clear)|slow|fast|full|empty|down|up|ready|new|old|stale"
    r"|green|red|dead|fine|good|bad|high|low|wrong|long|short"
)
_POINTING: Final = _set("it this that there they he she what who these those")
_RELATIVE: Final = _set("that which who whose where if when unless whether")
#: After these words a possible verb is a noun, or belongs to the verb before.
_BEFORE_NOUN: Final = (
    _ARTICLES | _MODALS | _BE | _QUANTIFIERS | _PLACES.keys() | _OPPOSED.keys() | _set("only during per until")
)
#: A number after these is a name.
_LABELS: Final = _set("issue pr mr ticket adr rfc step section chapter phase task question part item page line option")
#: Numbers, versions, dates and times, with a unit at most; and words for them.
_NUMBER: Final = Lazy(
    r"(?P<digits>[~<>≤≥$€£-]?v?\d[\d.,:/_-]*)(?P<unit>[a-zµ]{1,4}|[%°]c?)?(?:/[a-z]{1,5})?(?:[+-]\d[\d.]*)?"
)
_COUNTS: Final = {
    "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
    "ten": "10", "twelve": "12", "twenty": "20", "thirty": "30", "sixty": "60", "hundred": "100",
}  # fmt: skip
_CALENDAR: Final = Lazy(
    r"(?P<day>(?:mon|tues|wednes|thurs|fri|satur|sun)days?)|january|february|april|june|july|august|september|october"
    r"|november|december|march|may|noon|midnight"
)
_SECONDS: Final = {
    "ms": 0.001, "s": 1, "sec": 1, "second": 1, "min": 60, "minut": 60, "h": 3600, "hour": 3600, "day": 86400,
    "week": 604800,
}  # fmt: skip
_CODE: Final = Lazy(r".*[\d_/.@#+].*|.*-.*-.*|.*[a-z].*[A-Z].*|[A-Z]{2,}.*")


class _Token(NamedTuple):
    word: str  # in lower case
    is_name: bool


def _tokens(text: str) -> list[_Token]:
    """The words, without the article in front."""
    found: list[_Token] = []
    text = (
        normalized("NFC", text)
        .replace("’", "'")
        .replace("can't", "can not")
        .replace("cannot", "can not")
        .replace(" no longer ", " not ")
    )
    for raw in text.replace("won't", "will not").replace("n't ", " not ").rstrip(_FINAL).split():
        bare = raw.strip("\"'`()[],;").removesuffix("'s")
        letters = bare.replace("-", "")
        for part in bare.split("-") if letters.islower() and letters.isalpha() and bare.count("-") < 2 else [bare]:
            said = part.removesuffix(":") or part
            small = said.casefold()
            if said and (found or small not in _FILLING):
                name = bool(_CODE.fullmatch(said) or (found and said[0].isupper()))
                found.append(_Token(small if name else _COUNTS.get(small, small), name))
            if said != part:
                found.append(_Token(":", False))
    return found


@lru_cache(maxsize=4_096)
def _stem(word: str) -> str:
    """A word without its ending, so that its forms are one."""
    if not word.isalpha() or len(word) < 4:
        return word
    for ending, end in (("ies", "y"), ("ing", ""), ("ed", ""), ("ly", ""), ("es", ""), ("s", ""), ("e", "")):
        if word.endswith(ending) and len(word) - len(ending) > 2 and not word.endswith(("ss", "us", "is")):
            word = word[: -len(ending)] + end
            break
    return word[:-1] if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "sle" else word


@lru_cache(maxsize=4_096)
def read(text: str) -> Statement:
    """The statement in ``text``. Linear in its length; never raises."""
    key = same_key(text)
    tokens = _tokens(text) if key.count(" ") < _MAX_WORDS else []
    words = [token.word for token in tokens]
    if not words or words[0] in _POINTING or words[-1].endswith("?"):
        return Statement(key)
    at = _verb(words)
    if not _RELATIVE.isdisjoint(words[:at]):
        return Statement(key)
    named = at < 4 and any(token.is_name or _NUMBER.fullmatch(token.word) for token in tokens[:at])
    if named and words[at] in _BE and words[at + 1 : at + 2] in (["the"], ["what"]):  # "3.11 is the minimum version"
        tokens = [*tokens[at + 2 :], tokens[at], *(_Token(token.word, True) for token in tokens[:at])]
        words, at = [token.word for token in tokens], len(tokens) - at - 1
    states = sorted(word for word in words if word in _MODALS or word in _QUANTIFIERS)
    states += [word for word in words[at:] if word in _OPPOSED]
    if sum(word in _NEGATIONS for word in words) % 2:
        states.append("not")
    stems = list(map(_stem, words))
    said = {n: stems[n] for n in range(len(words)) if not _is_empty(words, n, at)}
    participles = {words[n] for n in range(1, len(words)) if words[n - 1] in _BE and words[n].endswith(("n", "t"))}
    verbs = {
        stems[n]
        for n, word in enumerate(words)
        if n and (n == at or word.endswith("ed") or (n > at and word in _VERBS))
    }
    changes = bool(_CHANGE.search(key)) or not _CHANGED.isdisjoint(words)
    names = {stems[n] for n, one in enumerate(tokens) if one.is_name and not _NUMBER.fullmatch(words[n - 1])}
    return Statement(
        key,
        frozenset(said.values()),
        frozenset(verbs | participles),
        frozenset(names),
        tuple(_slots(tokens, at, said, changes)),
        tuple(states),
        tuple(stems[n] for n, word in enumerate(words) if word not in _FILLING),
        tuple(said.values()),
        changes,
        bool(_DONE.search(key)),
    )


def _is_empty(words: list[str], n: int, at: int) -> bool:
    word = words[n]
    if n == 0 < at and word in _LIGHT:  # "Deploys need a review"
        return False
    return word in _UNSAID or (n >= at and word in _OPPOSED)


def _verb(words: list[str]) -> int:
    """The verb's place, 0 for an imperative. For an unknown verb the place where it is most likely."""
    verbs = [
        n
        for n, word in enumerate(words)
        if n
        and word in _VERBS
        and (word in _BE or not (words[n - 1] in _BEFORE_NOUN or _NUMBER.fullmatch(words[n - 1])))
    ]
    if verbs:
        return verbs[0] if words[verbs[0]] in _BE | _MODALS else verbs[-1]  # "unit tests with mocks fail": not "tests"
    if words[0] in _VERBS:
        return 0
    stop = next((n for n, word in enumerate(words) if n > 1 and (word in _PLACES or _NUMBER.fullmatch(word))), 0)
    if stop and words[stop - 2] not in _ARTICLES:
        return stop - 1
    return next((n for n, word in enumerate(words) if n and word.endswith("s")), min(2, len(words) - 1))


def _slots(tokens: list[_Token], at: int, said: dict[int, str], changes: bool) -> Iterator[Slot]:
    """The values after the verb, and the person before the verb of a role."""
    words = [token.word for token in tokens]
    many = not _MANY.isdisjoint(words)

    def slot(kind: str, begin: int, end: int) -> Slot:
        counts = kind.startswith("#")  # "8 to 10": of several numbers each may change
        places = [n for n in said if not (begin <= n < end or (counts and n > at and _is_number(words, n)))]
        return Slot(kind, tuple(words[begin:end]), frozenset(said[n] for n in places))

    for n in range(at, len(words)):
        date = _CALENDAR.fullmatch(words[n])
        if date and (date["day"] or words[n - 1] in _PLACES or words[n - 1] in _BE):
            yield slot("#day" if date["day"] else "#date", n, n + 1)
        elif number := _number(tokens, n):
            kind, value, size = number
            if not (many and (kind == "#" or tokens[n - 1].is_name)) and words[n - 1] not in _LABELS:
                yield slot(kind, n, n + size)._replace(value=(value,))
        elif kind := _kind(words, n, at, changes):
            end = next((m for m in range(n + 1, len(words)) if _ends_name(words[m])), len(words))
            name = tokens[n + 1 : end]
            if not 0 < len(name) <= _SHORT or (kind == "is" and many):
                continue
            plain = name[0].word not in ("a", "an") and kind != "in"
            if kind == "is":
                plain &= words[at - 1] in _HEADS and not _ADJECTIVE.fullmatch(" ".join(words[n + 1 : end]))
            if plain or any(token.is_name for token in name):
                yield slot(kind, n + 1, end)
    if 0 < at < 3 and not _ROLES.isdisjoint(words[at : at + 3]):
        yield slot("with", 0, at)


def _kind(words: list[str], n: int, at: int, changes: bool) -> str:
    """The kind of the value that the word introduces. Empty for other words."""
    word = words[n]
    if word in ("use", "uses"):  # without a purpose it may use several
        return "with" if changes or not {"for", "as"}.isdisjoint(words) else ""
    kind = _PLACES.get(word, "is" if n == at and word in _BE else "")
    return "" if kind == "for" else kind


def _ends_name(word: str) -> bool:
    return word in _PLACES or word in _EMPTY - _ARTICLES - _JOINING or _NUMBER.fullmatch(word) is not None


def _is_number(words: list[str], n: int) -> bool:
    number = _CALENDAR.fullmatch(words[n]) or _NUMBER.fullmatch(words[n])
    return number is not None and words[n - 1] not in _LABELS


def _number(tokens: list[_Token], n: int) -> tuple[str, str, int] | None:
    """The kind of a number, its digits, and how many words it takes. None for another word."""
    word, after = tokens[n].word, _stem(tokens[n + 1].word) if n + 1 < len(tokens) else ""
    if word in ("a", "an") and after in _SECONDS:
        word = "1"
    number = _NUMBER.fullmatch(word)
    if not number:
        return None
    digits, unit = number["digits"], number["unit"] or ""
    size = 1
    if not unit and after.isalpha() and not (after in _EMPTY or after in _PLACES):
        unit, size = after, 2
    if unit in _SECONDS and digits.replace(".", "").isdigit():
        return "#time", f"{float(digits) * _SECONDS[unit]:g}", size
    if not unit and tokens[n - 1].is_name:
        unit = tokens[n - 1].word
    return f"#{unit}", digits, 1
