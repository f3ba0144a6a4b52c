"""Whether a newer statement repeats an older one, replaces it, or is another one. The only place that decides this.

A statement is ``same`` as another when they differ only in case, spacing or final punctuation. It ``replaces`` another
when both have the same subject and say the same of it, word for word, except for values. All others are ``different``,
and both stay, because an extra line does less harm than a missing one.

    Migrations run before the deploy     Migrations run after the deploy      replaces: one of a pair of opposites
    Agents may push to main              Agents must not push to main         replaces: a modal, a negation
    The port is 8080                     The port is 9090                     replaces: a number, date or version
    The default branch is master         The default branch is main           replaces: an attribute with one value
    Ana lives in Oslo                    Ana moved to Leeds                   replaces: a place
    We use Redis for caching             We use Valkey for caching            replaces: what is used for one purpose
    Ada owns billing                     Bob owns billing                     different: another subject
    Port 80 is open                      Port 81 is open                      different: another subject
    The API uses Redis                   The API uses Postgres                different: it may use both
    We use Redis for caching             Redis is used for caching            different: other words

Values are searched only after the verb, so that another subject never replaces. Nothing is stemmed, scored or guessed.
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
#: Maximum words in a single-valued attribute's value.
_SHORT: Final = 4


class Relation(Enum):
    """The relation of a newer statement to an older one."""

    SAME = "same"
    REPLACES = "replaces"
    DIFFERENT = "different"


class Statement(NamedTuple):
    """A statement as it is compared. Two with one ``key`` are the same. Each of its ``frames`` has values: of two
    statements with one frame but other values, the newer replaces the older."""

    key: str
    frames: tuple[tuple[str, tuple[str, ...]], ...] = ()


def relation(new: str, old: str) -> Relation:
    """What ``new`` is to ``old``: see the module. Symmetric, so the caller's times decide which one is newer."""
    one, other = read(new), read(old)
    if one.key == other.key:
        return Relation.SAME
    theirs = dict(other.frames)
    found = any(theirs.get(frame, values) != values for frame, values in one.frames)
    return Relation.REPLACES if found else Relation.DIFFERENT


class Known(Generic[K]):
    """Statements under keys of the caller, to find those that a new one repeats or replaces without comparing all."""

    def __init__(self) -> None:
        self._texts: dict[K, str] = {}
        self._places: dict[str, dict[K, tuple[str, ...]]] = {}

    def add(self, key: K, text: str) -> None:
        """Add a statement, as the newest."""
        self.remove(key)
        self._texts[key] = text
        for place, values in _places(read(text)):
            self._places.setdefault(place, {})[key] = values

    def remove(self, key: K) -> None:
        """Remove a statement. A missing one is not an error."""
        for place, _ in _places(read(self._texts.pop(key, ""))):
            self._places.get(place, {}).pop(key, None)

    def related(self, text: str) -> Iterator[tuple[K, Relation]]:
        """The statements that ``text`` repeats, then those that it would replace if it were newer, each once."""
        (place, _), *frames = _places(read(text))
        seen = set(self._places.get(place, ()))
        for key in list(seen):
            yield key, Relation.SAME
        for place, values in frames:
            for key, others in list(self._places.get(place, {}).items()):
                if key not in seen and others != values:
                    seen.add(key)
                    yield key, Relation.REPLACES


def same_key(text: str) -> str:
    """The key that two statements share when they are the same."""
    key = " ".join(normalized("NFC", text).casefold().split())
    return key.rstrip(_FINAL) or key


@lru_cache(maxsize=4_096)
def read(text: str) -> Statement:
    """The statement in ``text``. Linear in its length; never raises."""
    key = same_key(text)
    words, negated = _words(key) if key.count(" ") < _MAX_WORDS else ([], False)
    at = _verb(words)
    if at is None:
        return Statement(key)
    framed = _framed(words, at, "not" if negated else "")
    return Statement(key, (framed, *(() if negated else _attribute(words, at))))


def _places(statement: Statement) -> tuple[tuple[str, tuple[str, ...]], ...]:
    return (f"={statement.key}", ()), *statement.frames


# --- words ---------------------------------------------------------------------------------------------------------


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_FINAL: Final = " .!;,:…。！"
_BE: Final = _set("is are was were be = :")
_MODALS: Final = _set("may can must should shall will could might")
_NEGATORS: Final = _set("not never")
#: Finite verbs as engineers state facts. A word before them is the subject; a missing verb only means "different".
_VERBS: Final = (
    _BE
    | _MODALS
    | _set(
        """
    has have do does run runs go goes use uses take takes keep keeps cost costs last lasts live lives need needs start
    starts end ends begin begins stop stops open opens close closes listen listens wait waits expire expires retry
    retries store stores write writes read reads send sends get gets return returns call calls come comes stay stays
    sit sits stand stands point points default defaults belong belongs work works happen happens deploy deploys build
    builds ship ships land lands live lives log logs serve serves accept accepts reject rejects require requires support
    supports allow allows contain contains hold holds turn turns scroll scrolls count counts sort sorts merge merges
    apply applies load loads fail fails pass passes own owns handle handles process processes move moves push pushes
    scale scales time times round rounds publish publishes commit commits release releases finish finishes review
    reviews test tests cover covers include includes set sets show shows validate validates check checks appear appears
    render renders format formats compile compiles cache caches encrypt encrypts sync syncs poll polls trigger triggers
    execute executes launch launches exit exits print prints save saves fetch fetches replace replaces bill bills moved
    """
    )
)
#: Verbs and participles that allow several values at once.
_MANY: Final = _set(
    "support supports supported include includes contain contains test tests tested read reads cover covers covered"
    " accept accepts allow allows compatible known affected also"
)
#: Opposites, and words of one scale, of which only one can hold.
_PAIRS: Final = tuple(
    map(
        str.split,
        (
            "before after", "up down", "above below", "over under", "on off", "with without", "inside outside",
            "enabled disabled", "enable disable", "allowed forbidden prohibited", "required optional", "true false",
            "public private", "open closed", "opened closed", "first last", "left right", "minimum maximum",
            "more less fewer", "ascending descending", "increase decrease", "increases decreases",
            "synchronous asynchronous", "synchronously asynchronously", "online offline",
            "mandatory voluntary", "stable unstable",
            "hourly daily nightly weekly monthly yearly quarterly", "mutable immutable", "included excluded",
            "mondays tuesdays wednesdays thursdays fridays saturdays sundays",
        ),
    )
)  # fmt: skip
_OPPOSED: Final = {word: pair[0] for pair in _PAIRS for word in pair}
_QUANTIFIERS: Final = _set("every each all some no any most many few")
#: Numbers, versions, dates and times, with a unit at most; and words for them.
_NUMBER: Final = Lazy(r"[~<>≤≥$€£]?v?\d[\d.,:/_-]*(?:[a-zµ]{1,4}|[%°]c?)?(?:/[a-z]{1,5})?(?:[+-]\d[\d.]*)?")
_CALENDAR: Final = _set(
    "two three four five six seven eight nine ten twelve twenty thirty sixty january february march april june july"
    " august september october november december monday tuesday wednesday thursday friday saturday sunday noon midnight"
)
#: A number after these is a name.
_LABELS: Final = _set("issue pr mr ticket adr rfc step section chapter phase task question part item page line option")
#: Attributes that have one value at a time.
_HEADS: Final = _set(
    "address branch deadline endpoint formatter hostname language licence license limit linter"
    " maintainer name owner password port region release timeout url version"
)
#: Phrases after the subject whose object has one value at a time.
_ONE: Final = Lazy(
    r"(?:(?P<place>(?:lives?|sits?|(?:is|are) (?:hosted|based)) (?:in|at|on)|moved (?:from .+ )?to)"
    r"|(?:is|are) (?:called|named|set to|due(?: on)?|owned by)|points? to|defaults? to|expires? (?:after|in|on)"
    r"|times? out after|works? at|belongs? to) (?P<value>.+)"
)
_USED: Final = Lazy(r"(?P<use>uses?) (?P<value>.+?) (?P<why>(?:for|as) .+)")
#: Words that limit a value to one case, and adjectives, which are not values of an attribute.
_LIMITING: Final = _set("during for if in on per under unless until when while with and or but not by from at to")
_ADJECTIVE: Final = Lazy(
    r".+(?:ed|ing|able|ible|ous|ful|ive|less|ly)|(?:too|very) .+|(?:un)?(?:known|clear)"
    r"|slow|fast|full|empty|down|up|ready|new|old|stale|green|red|dead|fine|good|bad|high|low|wrong|long|short"
)
_ARTICLES: Final = _set("the a an current")
#: Subjects that another sentence explains.
_POINTING: Final = _set("it this that there they he she what which who these those")
_RELATIVE: Final = _set("that which who whose where if when unless whether")
#: After these words a possible verb is a noun, or belongs to the verb before.
_BEFORE_NOUN: Final = (
    _ARTICLES | _LIMITING | _MODALS | _BE | _QUANTIFIERS | _CALENDAR | _OPPOSED.keys() | _set("of only")
)
#: Verbs that open an instruction and are not nouns.
_IMPERATIVE: Final = _set(
    "run use keep wait start stop take write send turn apply load require allow deploy sort publish retry store do"
    " fetch put prefer add enable disable avoid put"
)


def _words(text: str) -> tuple[list[str], bool]:
    """The words in lower case, without the article in front and without negations, and whether they are negated."""
    found: list[str] = []
    negated = False
    for word in text.replace("’", "'").replace(" no longer ", " not ").split():
        word = word.rstrip(",;")
        if word == "cannot" or word.endswith("n't"):
            found.append({"cannot": "can", "can't": "can", "won't": "will"}.get(word, word[:-3]))
            word = "not"
        if word in _NEGATORS:
            negated = not negated
            if found and found[-1] in ("do", "does"):
                del found[-1]
        elif len(word) > 1 and word.endswith(":"):
            found += [word[:-1], ":"]
        elif word and word != "always" and (found or word not in _ARTICLES):
            found.append(word)
    return found, negated


def _verb(words: list[str]) -> int | None:
    """The verb's place, 0 for an imperative. None for an unknown verb, and for a subject that needs another
    sentence or has one in itself."""
    if not words or words[0] in _POINTING or words[-1].endswith("?"):
        return None
    verbs = [
        n
        for n, word in enumerate(words)
        if n and word in _VERBS and not (words[n - 1] in _BEFORE_NOUN or _NUMBER.fullmatch(words[n - 1]))
    ]
    if not verbs:
        return 0 if words[0] in _IMPERATIVE else None
    at = verbs[0] if words[verbs[0]] in _BE | _MODALS else verbs[-1]  # "unit tests with mocks fail": not "tests"
    return at if _RELATIVE.isdisjoint(words[:at]) else None


def _attribute(words: list[str], at: int) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """A single-valued attribute's frame. Empty for other statements."""
    subject, rest = " ".join(words[:at]), " ".join(words[at:])
    if used := _USED.fullmatch(rest):
        value, frame = used["value"], f"\0{subject}\0use\0{used['why']}"
    elif one := _ONE.fullmatch(rest):
        value, frame = one["value"], f"\0{subject}\0{'in' if one['place'] else rest[: one.start('value')]}"
    elif at and words[at] in _BE and words[at - 1] in _HEADS:
        value, frame = rest.partition(" ")[2], f"\0{subject}\0is"
    else:
        return ()
    said = value.split()
    if not 0 < len(said) <= _SHORT or _LIMITING.intersection(said) or _ADJECTIVE.fullmatch(value):
        return ()
    return ((frame, (value,)),)


def _framed(words: list[str], at: int, negation: str) -> tuple[str, tuple[str, ...]]:
    """The words with a mark in place of each value after the verb, and the values. ``negation`` is one of them."""
    many = not _MANY.isdisjoint(words)
    frame, values = list[str](), [negation]
    for place, word in enumerate(words):
        before = words[place - 1] if place else ""
        number = word in _CALENDAR or _NUMBER.fullmatch(word)
        if word in _QUANTIFIERS and (place == 0 or place > at):
            mark = "every"
        elif place < at:
            mark = ""
        elif word in _MODALS and place == at:
            mark = "modal"
        elif word in _OPPOSED:
            mark = _OPPOSED[word]
        else:
            mark = "number" if number and not many and place > 1 and before not in _LABELS else ""
        frame.append(f"\0{mark}" if mark else word)
        if mark:
            values.append(word)
    if "\0every" in frame:  # "every job needs", "some jobs need"
        frame = [{"has": "have", "is": "are", "was": "were"}.get(w, w.rstrip("s") if len(w) > 3 else w) for w in frame]
    return " ".join(("\0", *frame[:at], "\0", *frame[at:])), tuple(values)
