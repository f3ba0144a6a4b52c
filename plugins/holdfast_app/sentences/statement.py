"""A statement as :mod:`holdfast_app.sentences.relation` compares it: words, subject, values, and signs of change."""

import re
from collections.abc import Hashable, Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple

from holdfast.text.plain import FINAL, normalized, same_key
from holdfast_app.sentences import vocabulary as v
from holdfast_app.sentences.vocabulary import stem

#: Longer statements say more than one thing, so they replace nothing.
_MAX_WORDS: Final = 40
_MAX_CHARS: Final = 2_000
#: Maximum words in a value.
SHORT: Final = 4


class Slot(NamedTuple):
    """One value: its ``kind`` (a unit, a class of prepositions, "is"), and the statement's other words."""

    kind: str
    value: tuple[str, ...]
    rest: frozenset[str]


class Statement(NamedTuple):
    """A statement as it is compared. Two with one ``key`` are the same. ``said`` are the stems of words that name a
    thing or value, ``words`` their set. ``verbs`` may differ in a rewording. ``states`` are opposites, modals and
    negations, ``order`` all stems. ``changes`` is set for a sentence about a change, ``done`` for one about an end.
    ``subject`` are the stems before the verb. ``gone`` are the values that it says no longer hold, each with the number
    of stems before it that are said. ``joined`` are pairs of words without another one in between, ``leads`` the class
    of the word before each of ``said``: of a preposition, "is", or "use" for a verb that says little."""

    key: str
    words: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()
    slots: tuple[Slot, ...] = ()
    states: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    changes: bool = False
    done: bool = False
    subject: frozenset[str] = frozenset()
    gone: Mapping[str, int] = MappingProxyType({})
    joined: frozenset[tuple[str, str]] = frozenset()
    leads: tuple[str, ...] = ()

    @property
    def places(self) -> Iterator[Hashable]:
        """Two statements without a change in them can only be related when they share any of these."""
        return iter((self.key, self.order, self.said, *((slot.kind, slot.rest) for slot in self.slots)))

    @property
    def moves(self) -> bool:
        """Whether it may end what another one says."""
        return self.changes or self.done or bool(self.gone) or "not" in self.states


def has_digit(word: str) -> bool:
    """Whether a word is a number, or has one in it."""
    return any(map(str.isdigit, word))


def is_exact(word: str) -> bool:
    """Whether a word is a number, a day, a path or an address."""
    return has_digit(word) or v.EXACT.search(word) is not None or v.CALENDAR.fullmatch(word) is not None


def _main(text: str, changes: bool) -> str:
    """What a statement says without the time of the change, what it replaces, and a remark after it."""
    first, *others = re.split(r"[,;] | because ", v.FORMER.sub("", text))
    if changes and not any(map(v.SAYS.match, others)):
        text = first
    return v.ASIDE.sub("", text).lstrip(" ,")


class _Token(NamedTuple):
    word: str  # in lower case
    is_name: bool
    ends: bool = False  # a clause


def _tokens(text: str) -> list[_Token]:
    """The words, without the article in front."""
    found: list[_Token] = []
    text = normalized("NFC", text)
    for short, long in v.CONTRACTED.items():
        text = text.replace(short, long)
    for raw in v.DENSE.sub(r" \g<0> ", v.GRAMMAR.sub(" = ", text.rstrip(FINAL))).split():
        bare = raw.strip("\"'`()[],;").rstrip(".").removesuffix("'s")
        letters = bare.replace("-", "")
        for part in bare.split("-") if letters.islower() and letters.isalpha() and bare.count("-") < 2 else [bare]:
            said = part.removesuffix(":") or part
            small = said.casefold()
            if said and (found or small not in v.FILLING):
                name = bool(v.CODE.fullmatch(said) or (found and said[0].isupper()))
                found.append(_Token(small if name else v.COUNTS.get(small, small), name, raw[-1] in ",;:."))
            if said != part:
                found.append(_Token(":", False))
    return found


@lru_cache(maxsize=4_096)
def read(text: str) -> Statement:
    """The statement in ``text``. Linear in its length; never raises."""
    key = same_key(text)
    changes = v.reports_change(key, re.findall(r"\w+", key))
    tokens = _tokens(_main(text, changes)) if key.count(" ") < _MAX_WORDS and len(key) <= _MAX_CHARS else []
    words = [token.word for token in tokens]
    if not words or words[0] in v.POINTING or v.LIMITED.search(key):
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
    acts = {n for n, word in enumerate(words) if n == at or word.endswith("ed") or (n > at and word in v.VERBS)}
    verbs = {stems[n] for n in acts if n}
    return Statement(
        key,
        frozenset(said.values()),
        frozenset(verbs),
        # What does not hold says with its other slots where it does not, or names one of several such things.
        tuple(slot for slot in _slots(tokens, at, said) if "not" not in states or slot.kind[0] == "#"),
        tuple(states),
        tuple(stems[n] for n, word in enumerate(words) if word not in v.FILLING),
        tuple(said.values()),
        changes,
        bool(v.DONE.search(key)),
        frozenset(word for n, word in said.items() if n < at),
        _gone(text, len(said)) if changes else {},
        frozenset(
            (word, said[n + 1])
            for n, word in said.items()
            if n + 1 in said and not (tokens[n].ends or words[n] in v.OPPOSED or v.DENSE.match(word))
        ),
        tuple(_lead(words, n) for n in said),
    )


def _gone(text: str, most: int) -> dict[str, int]:
    """The values with a word before or after them that says that they no longer hold, wherever in the sentence."""
    tokens = _tokens(text)
    words = [token.word for token in tokens]
    found: dict[str, int] = {}
    count = 0
    for n, word in enumerate(words):
        if not _is_said(words, n):
            continue
        start = next((m for m in range(n - 1, -1, -1) if words[m] not in v.BETWEEN), 0)
        after = next((m for m in range(n + 1, len(words)) if words[m] not in v.BE), n)
        is_not = words[start] in v.NEGATIONS - v.NEVER and (start == 0 or words[start - 1] not in v.MODALS)
        is_gone = is_not or words[after] in v.GONE or not v.LEFT.isdisjoint(words[start:n])
        is_part = not tokens[n].ends and _is_said(words[n + 1 : n + 2], 0) and not is_exact(word)  # "Jira's theme"
        if is_gone and not is_part:
            found.setdefault(stem(word), min(count, most))
        count += 1
    return found


def _lead(words: list[str], n: int) -> str:
    word = next((words[m] for m in range(n - 1, -1, -1) if words[m] not in v.FILLING or words[m] in v.BE), "")
    return v.PLACES.get(word) or ("is" if word in v.BE else "use" if word in v.LIGHT else "")


def _is_said(words: list[str], n: int) -> bool:
    return n < len(words) and not _is_empty(words, n, 0) and words[n] not in v.VERBS


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
    if words[0] in v.SPEAKERS and len(words) > 1:
        return 1
    stops = (n for n, w in enumerate(words) if v.PLACES.get(w, "for") != "for" or v.NUMBER.fullmatch(w))
    stop = next((n for n in stops if n > 1), 0)
    if stop and words[stop - 2] not in v.ARTICLES | v.QUANTIFIERS:
        return stop - 1
    return next((n for n, word in enumerate(words) if n and word.endswith("s")), min(2, len(words) - 1))


def _slots(tokens: list[_Token], at: int, said: dict[int, str]) -> Iterator[Slot]:
    """The values after the verb, and the person before a role's verb."""
    words = [token.word for token in tokens]
    many = not v.MANY.isdisjoint(words[1:])

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
        elif kind := _kind(words, n, at):
            begin = n + 1 + (words[n + 1 : n + 2] == ["now"])
            end = next((m for m in range(begin, len(words)) if _ends_name(words[m])), len(words))
            name = tokens[begin:end]
            if not 0 < len(name) <= SHORT or many or v.CALENDAR.fullmatch(name[-1].word):
                continue
            plain = name[0].word not in ("a", "an") and kind != "in"
            if kind == "is":
                plain &= words[at - 1] in v.HEADS and not v.ADJECTIVE.fullmatch(" ".join(words[begin:end]))
            if plain or any(token.is_name for token in name):
                yield slot(words[n] if kind == "in" else kind, begin, end)
    if 0 < at < 3 and not v.ROLES.isdisjoint(words[at : at + 3]):
        yield slot("with", 0, at)


def _kind(words: list[str], n: int, at: int) -> str:
    """Which kind of value the word introduces. Empty for other words."""
    word = words[n]
    if word in ("use", "uses"):  # without a purpose it may use several
        return "" if {"for", "as"}.isdisjoint(words) else "with"
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
