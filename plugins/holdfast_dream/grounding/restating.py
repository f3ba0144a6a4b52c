"""Decides whether a statement repeats or replaces an older statement. Compares their form, without a model.

    The release is 2.2.0            The current release is 2.3.0           replaced: the same but for a value
    We use Redis for caching        Redis is used for caching              the same in other words
    CI runs on Jenkins              CI moved from Jenkins to Buildkite     replaced: moved away from it
    The team sits in York           The team moved to Leeds                replaced: moved
    Login crashes in Safari         The crash of the login is fixed        replaced: fixed
    Dark mode is disabled           Dark mode is enabled                   replaced: turned round
    The default branch is master    The default branch is main             replaced: same subject and attribute

In doubt two statements are different, because an extra line does less harm than a missing one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from functools import lru_cache
from itertools import groupby
from typing import Final

from attrs import frozen

from holdfast_dream.grounding.compact import Postings
from holdfast_dream.grounding.lexicon import (
    GIVEN_NAMES,
    NEGATORS,
    STOP,
    TOOL_NAMES,
    USUAL_ACRONYMS,
    canonical,
    is_german,
    is_ordinary,
    words,
)
from holdfast_dream.grounding.tokens import Reader, Token, plain

#: Maximum statements with a common word to compare. Older statements are skipped to keep the time linear.
_COMPARED: Final = 24
#: Longer statements are compared by their words only.
_MAX_WORDS: Final = 40


class Relation(Enum):
    """A newer statement's relation to an older one."""

    OTHER = "other"
    SAME = "same"
    REPLACES = "replaces"


def _roots(text: str) -> frozenset[str]:
    return frozenset(canonical(word) for word in text.split())


_BE: Final = words("is are was were be been being isn't aren't wasn't weren't ist sind war")
_AUXILIARY: Final = _BE | words("has have had can must may will should does do did need needs")
_FILLERS: Final = words("current currently latest newest now present longer anymore since finally official our")
#: Verbs that say nothing of their own: "runs on" and "is on" are one statement.
_WEAK: Final = _roots("use used go have make do be get")
_USE: Final = _roots("use used")
_VERBS: Final = _roots(
    """
    listen live reside use own lead maintain keep need require move sit send deploy expire time take cost store build
    leave begin limit host point read write call support allow forbid accept reject process handle review return hold
    contain include have last serve connect depend default map go come fail fix switch change replace upgrade stand
    enable disable belong cover mean
    """
)
#: Verbs that allow several objects, so that another name after them replaces nothing.
_MANY: Final = _roots(
    "use support include contain need have know read review call depend import provide offer accept allow handle write"
    " test cover check like require forbid reject mean belong"
)
#: Verbs whose subject is the value, because there is one owner.
_OWNING: Final = _roots("own lead maintain chair")
_PLACING: Final = _roots("sit live reside use host stand work stay store deploy be")
_MOVING: Final = _roots("move switch migrate change rename upgrade downgrade transfer relocate replace")
_MENDED: Final = _roots("fix solve resolve close mend gone cure")
_TROUBLE: Final = _roots(
    """
    bug defect issue problem fail crash error flaky leak slow hang wrong missing open corrupt lost stuck race regress
    regression unstable flake freeze deadlock timeout broken red block blocked vulnerable outage incident
    """
)
#: Words that say the opposite of another one.
_OPPOSITES: Final = {
    canonical(opposite): canonical(word)
    for word, opposite in (
        ("enabled", "disabled"), ("allowed", "forbidden"), ("open", "closed"), ("required", "optional"),
        ("supported", "unsupported"), ("green", "red"), ("stable", "unstable"), ("online", "offline"),
        ("available", "unavailable"), ("public", "private"), ("synchronous", "asynchronous"),
    )
}  # fmt: skip
#: A length of time that a word counts: "one hour", "after an hour".
_ONE_UNIT: Final = re.compile(
    r"(?:\bone|(?<=\bafter )an?|(?<=\bfor )an?|(?<=\bwithin )an?|(?<=\btakes )an?|(?<=\blasts )an?)"
    r" (?=(?:second|minute|hour|day|week|month|year)\b)",
    re.IGNORECASE,
)
_HALF_HOUR: Final = re.compile(r"\bhalf an hour\b", re.IGNORECASE)
_ON: Final = canonical("enabled")
_STATE: Final = words(
    "slow fast old new big small large green red open closed down up ready done safe unsafe broken fine good bad easy"
    " hard cheap expensive important flaky stable unstable public private online offline available"
)
_STATE_ENDINGS: Final = ("ed", "ing", "able", "ible", "ous", "ful", "ive", "less", "ly")
_PLACES: Final = words("in on at with by through under via from to for")
_ARTICLES: Final = words("the our its their my der die das")


@frozen
class Value:
    """A changeable part of a statement: a number, date, version, address or name. ``late``: it is in the predicate."""

    kind: str
    keys: frozenset[str]
    wants: frozenset[str]
    late: bool

    def is_same(self, other: Value) -> bool:
        return self.wants == other.wants or (bool(self.wants & other.keys) and bool(other.wants & self.keys))


@frozen
class Statement:
    """A statement taken apart. ``roots`` are its words without values, in order; ``subject`` those before the verb."""

    text: str
    tokens: tuple[Token, ...]
    roots: tuple[str, ...]
    values: tuple[Value, ...]
    subject: frozenset[str]
    verb: str
    turned: bool
    split: int
    bare: frozenset[str]

    @property
    def is_change(self) -> bool:
        """Whether it says that something moved, or was mended."""
        return any(t.kind == "word" and (t.root in _MOVING or t.root in _MENDED) for t in self.tokens) or (
            "again" in self.text.lower()
        )

    @property
    def form(self) -> str:
        """``is`` with a plain "is", ``passive`` with a participle after it, else ``active``."""
        for at, token in enumerate(self.tokens):
            if token.text.lower() in _BE:
                after = [t.text.lower() for t in self.tokens[at + 1 : at + 4]]
                return "passive" if any(word.endswith(("ed", "en")) or word == "led" for word in after) else "is"
        return "active"


@lru_cache(maxsize=4_096)
def read(text: str) -> Statement:
    """A statement. Never raises; linear in the length of ``text``."""
    body = _HALF_HOUR.sub("30 minutes", _ONE_UNIT.sub("1 ", plain(text).strip()))
    tokens = tuple(Reader().tokens(body))
    german = is_german([token.text for token in tokens])
    split = _split(body, tokens)
    names = [_is_name(tokens, at, german=german) for at in range(len(tokens))]
    roots: list[str] = []
    values: list[Value] = []
    subject: set[str] = set()
    turned = False
    for is_name, group in groupby(range(len(tokens)), key=lambda at: names[at]):
        if is_name:
            at = next(iter(group))
            parts = [tokens[at].text, *(tokens[i].text for i in group)]
            low = " ".join(parts).lower().removesuffix("'s")
            keys = frozenset([f"n:{low}", *(f"n:{part.lower().removesuffix(chr(39) + 's')}" for part in parts)])
            values.append(Value("name", keys, frozenset([f"n:{low}"]), at > split))
            subject.update(values[-1].wants if at <= split else ())
            continue
        for at in group:
            token = tokens[at]
            low = token.text.lower().removesuffix("'s").strip("'.")
            if token.is_claim:
                kind = "name" if token.group == "entity" else token.group or token.kind
                kind = f"{kind}:{token.kind}" if token.kind in ("path", "url", "email") else kind
                values.append(
                    Value(kind, frozenset(token.offers) | set(token.wants), frozenset(token.wants), at > split)
                )
                subject.update(values[-1].wants if at <= split else ())
            elif low == "one":
                values.append(Value("number:", frozenset(["#1", "=1"]), frozenset(["#1"]), at > split))
            elif low in NEGATORS or low.endswith("n't"):
                turned = not turned
            elif low in _FILLERS or low in _AUXILIARY or (low in STOP and low not in ("on", "off")):
                continue
            else:
                root = _ON if low == "on" and at == len(tokens) - 1 else token.root
                if root in _OPPOSITES:
                    root, turned = _OPPOSITES[root], not turned
                if root not in _WEAK and root != "on":
                    roots.append(root)
                    if at < split:
                        subject.add(root)
    verb = tokens[split].root if 0 <= split < len(tokens) else ""
    return Statement(
        text, tokens, tuple(roots), tuple(values), frozenset(subject), verb, turned, split, frozenset(roots)
    )


def _split(body: str, tokens: Sequence[Token]) -> int:
    """The verb's position, or that of the last token before a colon. -1 without either."""
    head, colon, _ = body.partition(": ")
    if colon and len(head) <= 80:
        return len(Reader().tokens(head)) - 1
    for at, token in enumerate(tokens[:_MAX_WORDS]):
        low = token.text.lower()
        if at and token.kind == "word" and (low in _AUXILIARY or (token.root in _VERBS and not _is_noun(tokens, at))):
            return at
    return -1


def _is_noun(tokens: Sequence[Token], at: int) -> bool:
    """Whether a word that may be a verb is a noun here: after an article, or before a real verb."""
    if tokens[at - 1].text.lower() in _ARTICLES | {"a", "an"}:
        return True
    after = [t for t in tokens[at + 1 : at + 3] if t.kind == "word"]
    return any(t.text.lower() in _AUXILIARY for t in after)


def _is_name(tokens: Sequence[Token], at: int, *, german: bool) -> bool:
    token = tokens[at]
    low = token.text.lower().removesuffix("'s").strip("'")
    if token.kind != "word" or low in USUAL_ACRONYMS or low in NEGATORS:
        return False
    if low in GIVEN_NAMES or low in TOOL_NAMES:
        return token.text[:1].isupper()
    if not token.text[:1].isupper() or low in STOP or german:
        return False
    if token.opens or at == 0:
        return at + 1 < len(tokens) and tokens[at + 1].root in _OWNING and not is_ordinary(low)
    return not is_ordinary(low, inside=True)


# --- what two statements are to each other -------------------------------------------------------------------------


def relation(new: Statement, old: Statement) -> Relation:
    """What ``new`` is to ``old``. A question, quotation or list of many values is always ``OTHER``."""
    if not (new.roots or new.values) or not (old.roots or old.values):
        return Relation.OTHER
    if new.bare == old.bare and (new.bare or new.values) and _in_order(new, old):
        same = _same_values(new, old)
        if same and new.turned == old.turned:
            return Relation.SAME
        if (same and new.turned != old.turned) or (new.turned == old.turned and _is_newer_value(new, old)):
            return Relation.REPLACES
    if _is_other_complement(new, old) or _has_moved(new, old) or _is_mended(new, old):
        return Relation.REPLACES
    return Relation.OTHER


def _in_order(new: Statement, old: Statement) -> bool:
    """Whether the words are in one order, or an inversion explains another one: "X is Y" and "Y is X", "A uses B" and
    "B is used by A". Without that "the API calls the worker" would be the same as "the worker calls the API"."""
    if new.roots == old.roots:
        return True
    return new.form != old.form or new.form == "is"


def _same_values(new: Statement, old: Statement) -> bool:
    if len(new.values) != len(old.values):
        return False
    left = list(old.values)
    for value in new.values:
        found = next((other for other in left if value.is_same(other)), None)
        if found is None:
            return False
        left.remove(found)
    if new.form == old.form == "active":
        return all(a.is_same(b) for a, b in zip(new.values, old.values, strict=True))
    return True


def _is_newer_value(new: Statement, old: Statement) -> bool:
    """Whether the statements differ in values of the predicate only, or in their owner only."""
    if len(new.values) != len(old.values) or not (new.bare or any(not v.late for v in new.values)):
        return False
    pairs = [(a, b) for a, b in zip(new.values, old.values, strict=True) if not a.is_same(b)]
    if not pairs or any(a.kind != b.kind for a, b in pairs) or any(_is_label(a) for a, _ in pairs):
        return False
    purpose = _after(new, ("for", "as"))
    if all(a.kind == "name" for a, _ in pairs) and len(new.values) == 1 and purpose & new.bare:
        uses = all(_USE & {t.root for t in one.tokens} for one in (new, old))
        if uses and purpose == _after(old, ("for", "as")):
            return True
    late = {value.late for pair in pairs for value in pair}
    if len(late) != 1:
        return False
    if late == {False}:
        return _is_owned(new) and _is_owned(old)
    if all(a.kind != "name" for a, _ in pairs):
        return bool(new.bare - _VERBS) or any(not v.late for v in new.values)
    if _has_colon(new) or new.verb not in _MANY | _WEAK:
        return bool(new.subject) or bool(new.bare - _VERBS)
    if new.tokens[new.split].text.lower() in _AUXILIARY and new.verb not in _roots("have need"):
        return bool(new.subject)
    return bool(purpose & new.bare) and purpose == _after(old, ("for", "as"))


def _is_label(value: Value) -> bool:
    """Whether a value names a thing rather than says something of it: ``issue 12``."""
    return any(want.startswith("ref:") for want in value.wants)


def _is_owned(statement: Statement) -> bool:
    """Whether the subject is the value: "Ada owns ...", "Postgres is the database", "Python 3.12 is the minimum"."""
    if statement.verb in _OWNING:
        return True
    after = statement.tokens[statement.split + 1 : statement.split + 2]
    first = statement.values[0] if statement.values else None
    if first is None or first.late:
        return False
    named = first.kind == "name" or any(want.startswith("v:") for want in first.wants)
    return named and statement.split >= 0 and bool(after) and after[0].text.lower() in _ARTICLES


def _has_colon(statement: Statement) -> bool:
    at = statement.split
    return at >= 0 and statement.tokens[at].root not in _VERBS and statement.tokens[at].text.lower() not in _AUXILIARY


def _after(statement: Statement, prepositions: Iterable[str]) -> frozenset[str]:
    """The roots after one of the words."""
    low = [token.text.lower() for token in statement.tokens]
    at = next((low.index(word) for word in prepositions if word in low), None)
    return frozenset(t.root for t in statement.tokens[at + 1 :] if t.kind == "word") if at is not None else frozenset()


def _is_other_complement(new: Statement, old: Statement) -> bool:
    """``The default branch is main``: one subject with an attribute, "is", and another short noun."""
    if new.subject != old.subject or not new.subject or new.turned or old.turned:
        return False
    ends = []
    for one in (new, old):
        if one.split < 1 or one.tokens[one.split].text.lower() not in _BE:
            return False
        if one.tokens[0].text.lower() not in _ARTICLES and len(one.subject) < 2:
            return False
        rest = [t for t in one.tokens[one.split + 1 :] if t.text.lower() not in _FILLERS | {"the", "a", "an"}]
        low = [t.text.lower() for t in rest]
        if not 1 <= len(rest) <= 3 or any(word in _STATE or word.endswith(_STATE_ENDINGS) for word in low):
            return False
        if any(word in _PLACES or word in NEGATORS for word in low):
            return False
        ends.append(rest)
    first, second = (end[0] for end in ends)
    # Of one sort: words both, or both names or values.
    values = [token.is_claim or token.text[:1].isupper() for token in (first, second)]
    return len(ends[0]) == len(ends[1]) == 1 or (all(values) and _kind(first) == _kind(second))


def _kind(token: Token) -> str:
    return token.kind if token.kind in ("path", "url", "email", "date", "number", "version") else "name"


def _has_moved(new: Statement, old: Statement) -> bool:
    """``X moved from A to B``, ``X moved to B``, ``A was replaced by B``."""
    low = [token.text.lower() for token in new.tokens]
    at = next((i for i, t in enumerate(new.tokens) if t.root in _MOVING and t.kind == "word"), None)
    if at is None or new.turned or old.turned or any(t.root in _MOVING for t in old.tokens):
        return False
    before = _said(new.tokens[:at])
    if "from" in low[at:] and "to" in low[low.index("from", at) :]:
        start = low.index("from", at)
        end = low.index("to", start)
        left = _said(new.tokens[start + 1 : end])
        there = _said(old.tokens)
        subject = before | _said(new.tokens[at + 1 : start])
        return bool(left) and left <= there and bool(subject & there) and len(there - left - subject) <= 2
    if "to" in low[at + 1 : at + 4]:
        place = low.index("to", at)
        subject = before | _said(new.tokens[at + 1 : place])
        if not subject or (old.verb not in _PLACING | _roots("is are") and old.split < 0):
            return False
        locates = old.split >= 0 and (old.verb in _PLACING or old.tokens[old.split].text.lower() in _BE)
        head, tail = old.tokens[: old.split], old.tokens[old.split + 1 :]
        at_place = any(t.text.lower() in ("in", "on", "at", "with") for t in tail)
        return locates and at_place and _said(head) == subject and len(_said(tail)) <= 2
    return False


def _said(tokens: Iterable[Token]) -> frozenset[str]:
    """The content of tokens, values and names as they are written."""
    found = set()
    for token in tokens:
        low = token.text.lower().removesuffix("'s")
        if token.is_claim:
            found.add(low)
        elif low not in STOP and low not in _AUXILIARY and low not in _FILLERS and token.root not in _WEAK:
            found.add(token.root)
    return frozenset(found)


def _is_mended(new: Statement, old: Statement) -> bool:
    """``The login bug is fixed``: all that it is about is in the older statement, which names a trouble."""
    mended = [at for at, t in enumerate(new.tokens) if t.kind == "word" and t.root in _MENDED]
    works = any(t.text.lower() in ("works", "passes", "green") for t in new.tokens) and "again" in new.text.lower()
    if not (mended or works) or new.turned:
        return False
    there = _said(old.tokens)
    if any(t.root in _MENDED for t in old.tokens):
        return False
    if not (there & _TROUBLE or old.turned):
        return False
    about = _said(new.tokens) - _MENDED - _TROUBLE - _roots("work pass again test")
    extra = there - about - _TROUBLE
    return bool(about) and about <= there and len(extra) <= 3 * len(about) + 1


# --- many statements ----------------------------------------------------------------------------------------------


class Known:
    """Statements by their form, to find the few that a new one can be related to. Each has a key.

    It holds their text and compact tables. A statement is read again when it is compared, because thousands of parsed
    ones take megabytes.
    """

    def __init__(self) -> None:
        self._by_form = Postings()
        self._by_subject = Postings()
        self._by_word = Postings()
        self._changes = Postings()
        self._keys: list[str] = []
        self._texts: list[str] = []
        self._place: dict[str, int] = {}

    def add(self, key: str, statement: Statement) -> None:
        """Add a statement, as the newest."""
        self.remove(key)
        place = self._place[key] = len(self._keys)
        self._keys.append(key)
        self._texts.append(statement.text)
        for table, entry in self._entries(statement):
            table.add(entry, place)

    def remove(self, key: str) -> None:
        """Remove a statement. A missing one is not an error."""
        place = self._place.pop(key, None)
        if place is not None:
            for table, entry in self._entries(read(self._texts[place])):
                table.remove(entry, place)

    def _entries(self, statement: Statement) -> Iterator[tuple[Postings, str]]:
        yield self._by_form, _entry(statement.bare)
        yield self._by_subject, _entry(statement.subject)
        for word in _said(statement.tokens):
            yield self._by_word, word
            if statement.is_change:
                yield self._changes, word

    def same(self, new: Statement) -> Iterator[str]:
        """The statements that ``new`` repeats in other words, newest first."""
        for place in self._by_form.places(_entry(new.bare)).newest(_COMPARED):
            if relation(new, read(self._texts[place])) is Relation.SAME:
                yield self._keys[place]

    def related(self, new: Statement) -> Iterator[tuple[str, Relation]]:
        """All statements that ``new`` repeats or replaces. Compares a bounded number."""
        for place in self._near(new, self._by_word if new.is_change else None):
            found = relation(new, read(self._texts[place]))
            if found is not Relation.OTHER:
                yield self._keys[place], found

    def replacing(self, old: Statement) -> Iterator[str]:
        """The statements that would replace ``old``, were they newer."""
        for place in self._near(old, self._changes):
            if relation(read(self._texts[place]), old) is Relation.REPLACES:
                yield self._keys[place]

    def _near(self, statement: Statement, words: Postings | None) -> list[int]:
        """The newest places with the same form, then with the same subject, then those that share a word in
        ``words``."""
        near = dict.fromkeys(self._by_form.places(_entry(statement.bare)).newest(_COMPARED))
        near |= dict.fromkeys(self._by_subject.places(_entry(statement.subject)).newest(_COMPARED))
        if words is not None:
            shared = [places for word in _said(statement.tokens) if (places := words.places(word))]
            for places in sorted(shared, key=len)[:6]:
                near |= dict.fromkeys(places.newest(_COMPARED))
        return list(near)


def _entry(words: frozenset[str]) -> str:
    return "\0".join(sorted(words))
