"""A statement as :mod:`holdfast_app.sentences.relation` compares it: words that name a thing, values and negations."""

import re
from collections.abc import Hashable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from holdfast.text.plain import FINAL, normalized, same_key
from holdfast_app.sentences import vocabulary as v
from holdfast_app.sentences.vocabulary import stem

#: Longer statements say more than one thing, so they replace nothing.
_MAX_WORDS: Final = 40
_MAX_CHARS: Final = 2_000
#: Maximum words in a value.
_SHORT: Final = 4


class Slot(NamedTuple):
    """One value: its ``kind`` (a unit, a class of prepositions, "is"), and the statement's other words."""

    kind: str
    value: tuple[str, ...]
    rest: frozenset[str]


class Statement(NamedTuple):
    """A statement as it is compared. Two with one ``key`` are the same. ``states`` are opposites, modals and negations,
    ``order`` all stems, ``said`` those of words that name a thing or value."""

    key: str
    slots: tuple[Slot, ...] = ()
    states: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    said: tuple[str, ...] = ()

    @property
    def places(self) -> Iterator[Hashable]:
        """Two statements can only be related when they share any of these."""
        return iter((self.key, self.order, self.said, *((slot.kind, slot.rest) for slot in self.slots)))


def reports_change(text: str) -> bool:
    """Whether a statement says that something changed."""
    key = same_key(text)
    return v.CHANGE.search(key) is not None or not v.CHANGED.isdisjoint(re.findall(r"\w+", key))


def _main(text: str, *, is_kept: bool) -> str:
    """What a statement says without the time of the change, what it replaces, and a remark after it."""
    first, *others = re.split(r"[,;] | because ", v.FORMER.sub("", text))
    says = v.WHERE if is_kept else v.SAYS
    if (is_kept or reports_change(text)) and not any(map(says.match, others)):
        text = first
    return v.ASIDE.sub("", text).lstrip(" ,")


class Token(NamedTuple):
    """A word in small letters, and whether it is a name or code."""

    word: str
    is_name: bool


def tokens(text: str) -> list[Token]:
    """The words, without the article in front."""
    words: list[Token] = []
    text = normalized("NFC", text)
    for short, long in v.CONTRACTED.items():
        text = text.replace(short, long)
    text = text.rstrip(FINAL)
    for raw in (text if text.isascii() else v.DENSE.sub(r" \g<0> ", text)).split():
        bare = raw.strip("\"'`()[],;").rstrip(".").removesuffix("'s")
        word = bare.removesuffix(":") or bare
        small = word.casefold()
        if word and (words or small not in v.FILLING):
            is_name = bool(v.CODE.fullmatch(word) or (words and word[0].isupper()))
            words.append(Token(small if is_name else v.COUNTS.get(small, small), is_name))
        if word != bare:
            words.append(Token(":", False))
    return words


@lru_cache(maxsize=4_096)
def read(text: str, *, is_kept: bool = False) -> Statement:
    """The statement in ``text``. ``is_kept``: the text itself stays, so a remark after its value may say more. Linear
    in its length; never raises."""
    key = same_key(text)
    parsed = [] if key.count(" ") >= _MAX_WORDS or len(key) > _MAX_CHARS else tokens(_main(text, is_kept=is_kept))
    words = [token.word for token in parsed]
    if not words or words[0] in v.POINTING or v.LIMITED.search(key):
        return Statement(key)
    at = _verb(words)
    named = at < 4 and any(token.is_name or v.NUMBER.fullmatch(token.word) for token in parsed[:at])
    if named and words[at] in v.BE and words[at + 1 : at + 2] in (["the"], ["what"]):  # "3.11 is the minimum version"
        parsed = [*parsed[at + 2 :], parsed[at], *(Token(token.word, True) for token in parsed[:at])]
        words, at = [token.word for token in parsed], len(parsed) - at - 1
    states = sorted(word for word in words if word in v.MODALS or word in v.QUANTIFIERS)
    states += [word for word in words[at:] if word in v.OPPOSED]
    if sum(word in v.NEGATIONS for word in words) % 2:
        states.append("not")
    stems = list(map(stem, words))
    said = {n: stems[n] for n in range(len(words)) if not (words[n] in v.UNSAID or (n >= at and words[n] in v.OPPOSED))}
    return Statement(
        key,
        # What does not hold says with its other slots where it does not, or names one of several such things.
        tuple(slot for slot in _slots(parsed, at, said) if "not" not in states or slot.kind[0] == "#"),
        tuple(states),
        tuple(stems[n] for n, word in enumerate(words) if word not in v.FILLING),
        tuple(said.values()),
    )


def _verb(words: list[str]) -> int:
    """The verb's place, 0 for an imperative. For an unknown verb the place where it is most likely."""
    later = [n for n, word in enumerate(words) if n and word in v.VERBS]
    if verbs := [n for n in later if words[n] in v.BE or words[n - 1] not in v.BEFORE_NOUN]:
        # "unit tests with mocks fail": not "tests"
        return verbs[0] if words[verbs[0]] in v.BE | v.MODALS else verbs[-1]
    if words[0] in v.VERBS:
        return 0
    stops = (n for n, w in enumerate(words) if v.PLACES.get(w, "for") != "for" or v.NUMBER.fullmatch(w))
    if stop := next((n for n in stops if n > 1), 0):
        return stop - 1
    return next((n for n, word in enumerate(words) if n and word.endswith("s")), min(2, len(words) - 1))


def _slots(tokens: list[Token], at: int, said: dict[int, str]) -> Iterator[Slot]:
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
            end = next((m for m in range(n + 1, len(words)) if _ends_name(words[m])), len(words))
            name = tokens[n + 1 : end]
            if not 0 < len(name) <= _SHORT or many:
                continue
            plain = name[0].word not in ("a", "an") and kind != "in"
            if kind == "is":
                plain &= words[at - 1] in v.HEADS and not v.ADJECTIVE.fullmatch(" ".join(words[n + 1 : end]))
            if plain or any(token.is_name for token in name):
                yield slot(kind, n + 1, end)
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


def _number(tokens: list[Token], n: int) -> tuple[str, str, int] | None:
    """A number's kind, its digits, and how many words it takes. None for another word."""
    word, after = tokens[n].word, stem(tokens[n + 1].word) if n + 1 < len(tokens) else ""
    if word in ("a", "an") and after in v.SECONDS:
        word = "1"
    number = v.NUMBER.fullmatch(word)
    if not number:
        return None
    digits, unit = number["digits"], number["unit"] or ""
    if after and v.CALENDAR.fullmatch(tokens[n + 1].word):
        return "#date", f"{digits} {after}", 2
    size = 1
    if not unit and after.isalpha() and not (after in v.EMPTY or after in v.PLACES):
        unit, size = after, 2
    if unit in v.SECONDS and digits.replace(".", "").isdigit():
        return "#time", f"{float(digits) * v.SECONDS[unit]:g}", size
    return f"#{unit}", digits, 1
