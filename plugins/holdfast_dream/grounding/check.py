"""Checks whether each line of a new memory is supported by its sources, with an index and plain rules, without a model.

A *hard invention* is a claim that no source makes: a number, date, version, address, path, identifier, name or
quotation. So is a claim that the sources make about something else (``misattributed``), a reversed statement
(``negation``), and a reason without a source (``rationale``). Wording is free, so a paraphrase passes.
:attr:`Grounded.coverage` is the share of known words. docs/grounding.md has the limits and error rates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from attrs import frozen

from holdfast_dream.grounding import counting
from holdfast_dream.grounding.blocks import normal, strip_marks
from holdfast_dream.grounding.doubts import NOT_SURE, doubts
from holdfast_dream.grounding.evidence import Evidence, Match, indexed, is_abbreviation, supporting
from holdfast_dream.grounding.lexicon import (
    GENERIC,
    GIVEN_NAMES,
    NEGATORS,
    PAST,
    PERSON_VERBS,
    REASON,
    STOP,
    TOOL_NAMES,
    TURNING,
    USUAL_ACRONYMS,
    canonical,
    has_german,
    is_german,
    is_ordinary,
)
from holdfast_dream.grounding.relations import rebound
from holdfast_dream.grounding.tokens import MAX_CHARS, Reader, Token, is_content, plain, words_of
from holdfast_dream.grounding.units import Unit
from holdfast_dream.grounding.unsaid import unsaid

_SUPPORTS: Final = 3
#: A match below this supports nothing.
_MIN_SCORE: Final = 0.15
#: A claim in more units than this is not checked for misattribution, because it belongs to no single subject.
_COMMON: Final = 200
#: Kinds of claims that name things. Neighbouring words may be part of them.
_NAMED: Final = frozenset(["name", "id"])
_QUOTED: Final = re.compile(r"""(?<!\w)["“”„«]([^"“”„«»]{2,300})["“”»](?!\w)|(?<![\w'])'([^'\n]{3,200})'(?!\w)""")
_CODE: Final = re.compile(r"`+([^`\n]{1,300})`+")
_CLAUSE: Final = re.compile(r",\s+|\s+(?:and|but|while|und|aber)\s+|\s\(|、")


class Support(NamedTuple):
    """A source line that supports a line: ``line`` is 1-based, ``score`` 0 to 1 (1 is word for word)."""

    document: str
    line: int
    score: float


class Invention(NamedTuple):
    """A claim without a source. ``kind``: number, unit, date, time, version, url, email, path, identifier, name, quote,
    misattributed, negation, rationale, or length (too long to read). ``token`` is its text in the line."""

    kind: str
    token: str


@frozen(kw_only=True)
class Grounded:
    """The result for one line. ``supports`` are at most three source lines, best first. ``coverage`` is the share of
    the line's content words and claims in them, 0 to 1 (1 for a line without any)."""

    number: int
    text: str
    supports: tuple[Support, ...] = ()
    inventions: tuple[Invention, ...] = ()
    coverage: float = 1.0
    #: What words cannot prove: hedge, always, roles, cause, opposite or clause (:mod:`.doubts`).
    doubts: tuple[Invention, ...] = ()

    @property
    def answer(self) -> str:
        """``supported``, ``invented``, or ``unproven``."""
        return "invented" if self.inventions else "unproven" if self.doubts else "supported"

    @property
    def ok(self) -> bool:
        """Whether nothing in the line is a hard invention."""
        return not self.inventions


def ground(lines: Iterable[str], sources: Iterable[tuple[str, str]]) -> tuple[Grounded, ...]:
    """One result per line, in order, numbered from 1.

    ``sources`` are (name, text) pairs in any order. A date in a name (``memory/2026-11-21.md``) is the note's day.
    Blank lines are grounded. Words and names in headings are not checked. Linear in the size of lines and sources.
    Never raises, whatever the text.
    """
    evidence = indexed(sources)
    return tuple(_Line(evidence, number, text).judge() for number, text in enumerate(lines, 1))


class _Line:
    """One line, judged against the evidence."""

    def __init__(self, evidence: Evidence, number: int, text: str) -> None:
        self.evidence = evidence
        self.number, self.text = number, text
        self.heading = text.lstrip().startswith("#")
        self.body = plain(strip_marks(text))
        self.tokens = Reader().tokens(self.body)
        self.german = is_german(words_of(self.body))
        self.features = [_feature(t) for t in self.tokens if t.is_claim or is_content(t)]
        self.matches: list[Match] = []
        self.is_rest = False  # the line counts unfinished items

    def judge(self) -> Grounded:
        """The judgement."""
        places = self.evidence.places(normal(self.text), _SUPPORTS)
        if places or not self.tokens:
            supports = tuple(Support(name, line, 1.0) for name, line in places)
            return Grounded(number=self.number, text=self.text, supports=supports)
        if len(self.body) > MAX_CHARS:  # text that was not read completely is not known to be grounded
            return Grounded(number=self.number, text=self.text, inventions=(Invention("length", self.body[:40]),))
        self.matches = self.evidence.best(self.features)
        counted = [Invention("number", part) for part in counting.miscounted(self.body, self.matches)]
        found = [*self._unknown(), *self._misquoted(), *counted]
        if not found and not self.heading:
            turned = () if self.is_rest else self._turned()
            found = [*self._misattributed(), *turned, *self._unreasoned()]
        return Grounded(
            number=self.number,
            text=self.text,
            supports=self._supports(),
            inventions=tuple(dict.fromkeys(found)),
            coverage=self._coverage(),
            doubts=() if found or self.heading or self.is_rest else tuple(self._doubts()),
        )

    def _doubts(self) -> Iterable[Invention]:
        found = [Invention(*one) for one in doubts(self.body, self.tokens, self.matches, self.evidence.has_word)]
        if not found and not self.heading and not has_german(words_of(self.body)):
            found = [Invention("roles", word) for word in rebound(self.body, self.evidence, self._group, self.matches)]
        if not found and not self.heading:
            found = [Invention(*one) for one in unsaid(self.body, self.tokens, self.matches, self.evidence)]
        return found

    def _supports(self) -> tuple[Support, ...]:
        claims = [_feature(t) for t in self.tokens if t.is_claim]
        places = supporting([match for match in self.matches if match.score >= _MIN_SCORE], claims)
        return tuple(Support(name, line, score) for (name, line), score in list(places.items())[:_SUPPORTS])

    def _coverage(self) -> float:
        units = [m.unit for m in self.matches[:_SUPPORTS]]
        features = dict.fromkeys(self.features)
        said = sum(any(u.says(root, wants) for u in units) for root, wants in features)
        return round(said / len(features), 3) if features else 1.0

    # --- what no source has --------------------------------------------------------------------------------------

    def _unknown(self) -> Iterable[Invention]:
        for index, token in enumerate(self.tokens):
            if token.is_claim:
                if not self._is_known(token, index):
                    yield Invention(self._kind(token), token.text)
            elif token.wants and not self.evidence.offers(token.wants) and self._is_sibling(token):
                yield Invention("identifier", token.wants[0][2:])
            elif not self.heading and self._is_new_name(token, index):
                yield Invention("name", token.text)

    def _kind(self, token: Token) -> str:
        if token.kind == "number" and token.group != "number:":
            values = [f"#{w[1:]}" for w in token.wants if w[0] == "="]
            return "unit" if self.evidence.offers(values) else "number"
        return token.kind

    def _is_known(self, token: Token, index: int) -> bool:
        if self.evidence.offers(token.wants):
            return True
        if token.kind in ("identifier", "path", "name") and not token.text.startswith(("-", "#", "!")):
            low = token.text.lower()
            if token.text.isalpha() and self.evidence.has_word(low):
                return True
            parts = low.split("/")
            if token.kind == "path" and all(p.isalpha() and self.evidence.has_word(p) for p in parts):
                return True  # west/CMake: two things, not a path
            if counting.is_share(low, self.matches):
                return True
            return (not low.isdigit() and self.evidence.has_phrase(token.text)) or self._is_initialism(token.text)
        if token.kind == "number":
            if counting.is_rest(token, self.body, self.matches):
                self.is_rest = True
                return True
            listed = index + 2 < len(self.tokens) and counting.is_listed(token, self.body)
            return self._is_spaced(index) or listed or counting.is_reckoned(token, self.body, self.matches)
        return False

    def _is_initialism(self, text: str) -> bool:
        """``DLQ`` where the supporting lines say "dead letter queue"."""
        if not (text.isalpha() and text.isupper()):
            return False
        for match in self.matches[:6]:
            initials = "".join(t.text[:1].lower() for t in match.unit.tokens if len(text) > 2 or is_content(t))
            if text.lower() in initials:
                return True
        return False

    def _is_spaced(self, index: int) -> bool:
        """Part of ``48 210``, where a source says 48,210; or with zeros before it, as a part of a name: ``0017``."""
        text = self.tokens[index].text
        for first in (index - 1, index):
            pair = [t.text for t in self.tokens[max(first, 0) : first + 2]]
            joined = "".join(pair)
            if len(pair) == 2 and len(pair[1]) == 3 and joined.isdigit() and self.evidence.offers((f"#{joined}",)):
                return True
        return text.startswith("0") and text in self.evidence.words

    def _is_sibling(self, token: Token) -> bool:
        """``billing-api`` where the sources know other names that end in ``-api`` and no ``billing``."""
        whole = token.wants[0][2:]
        first, _, last = whole.rpartition("-")
        unknown = not all(self.evidence.has_word(part) for part in whole.split("-") if len(part) > 1)
        return unknown and self.evidence.has_compound(first, last)

    def _is_new_name(self, token: Token, index: int) -> bool:
        low = token.text.lower().removesuffix("'s").strip("'")
        if (
            not token.text[:1].isupper()
            or len(low) < 2
            or low in STOP
            or low in USUAL_ACRONYMS
            or (self.evidence.has_word(low) and not self._is_longer_name(low))
        ):
            return False
        if low in GIVEN_NAMES or low in TOOL_NAMES:
            return True
        if is_abbreviation(low, self.matches) or (
            token.opens and self.body[token.at + len(token.text) :].startswith(":")
        ):
            return False
        if self.german or canonical(low) in GENERIC:
            return False
        if not token.opens:
            return not is_ordinary(low, inside=True)
        if is_ordinary(low):
            return False
        after = self.tokens[index + 1] if index + 1 < len(self.tokens) else None
        if after is None:
            return False
        verb = after.text.lower()
        acts = (
            verb in PERSON_VERBS
            or verb in PAST
            or (after.text.islower() and verb.endswith("ed"))
            or (after.kind == "word" and verb.endswith("s") and not verb.endswith("ss"))
        )
        person = acts or token.text.endswith("'s")
        named = after.text[:1].isupper() and after.kind == "word" and not is_ordinary(after.text.lower(), inside=True)
        return person or named

    def _is_longer_name(self, low: str) -> bool:
        """``Domenica``, where the sources know a Domenic."""
        evidence = self.evidence
        return low not in evidence.words and any(evidence.is_name(low[:size]) for size in range(5, len(low)))

    def _misquoted(self) -> Iterable[Invention]:
        for pattern, kind in ((_QUOTED, "quote"), (_CODE, "identifier")):
            for found in pattern.finditer(self.body):
                said = next(g for g in found.groups() if g is not None)
                words = words_of(said)
                if not words or self.evidence.has_phrase(said) or (kind == "identifier" and self._is_code(said)):
                    continue
                if len(words) > 1 or not self.evidence.has_word(words[0]):
                    yield Invention(kind, said)

    def _is_code(self, said: str) -> bool:
        """Whether one source line contains all parts of a code span, in any order."""
        words = set(words_of(said))
        for match in self.matches[:6]:
            have = {w for t in match.unit.tokens for w in words_of(t.text)}
            if words <= have:
                return True
        return False

    # --- where the sources say otherwise ---------------------------------------------------------------------------

    def _misattributed(self) -> Iterable[Invention]:
        """A known claim in another's place: a source line with the rest of this line has a different claim there, and
        no source line with this claim is about the subject."""
        offered = {key for t in self.tokens for key in (*t.offers, *t.wants)} | {t.root for t in self.tokens}
        for index, token in enumerate(self.tokens):
            group = self._group(token)
            if not group:
                continue
            keys = token.wants if token.is_claim else (token.root,)
            holders = self.evidence.units_with(keys, _COMMON)
            if holders is None or (not holders and group != "date"):
                continue
            if group == "date" and any(m.unit.says("", keys) for m in self.matches[:1]):
                continue  # noted on that day
            same = self._name_around(index) if group in _NAMED else {token.root}
            rest = [f for f in self.features if f[0] not in same and f[0] not in GENERIC]
            near = self._near(self.tokens, index)
            if any(self._is_beside(self.evidence.units[at], token, group, keys, rest, offered) for at in holders[:8]):
                yield Invention("misattributed", token.text)
                continue
            for match in self.matches[:6]:
                if match.unit.says(token.root, keys, alone=True):
                    continue
                # Earlier sentences name the subject, unless the claim comes from them.
                merged = any(0 < match.at - at <= 2 for at in holders)
                said = _said(match.unit, rest, alone=merged)
                if not said or len(said) * 2 < len(rest):
                    continue
                whole = len(said) == len(rest) > 1 and group not in _NAMED
                if not self._competes(match.unit, group, near, offered, anywhere=whole):
                    continue
                if all(self._is_other(self.evidence.units[at], match.unit, rest, said) for at in holders):
                    yield Invention("misattributed", token.text)
                    break

    def _is_beside(
        self,
        unit: Unit,
        token: Token,
        group: str,
        keys: Sequence[str],
        rest: Sequence[tuple[str, tuple[str, ...]]],
        offered: set[str],
    ) -> bool:
        """Whether a claim's clause has its own subject (``aggregates 400 days``), and the line's subject is in another
        clause of the unit that has a claim of the same sort (``raw events 14 days``)."""
        if len(_said(unit, rest)) < max(1, len(rest)) or group in _NAMED:
            return False
        clauses = [Reader().tokens(part) for part in _CLAUSE.split(unit.text)]
        mine = [c for c in clauses if any(not set(keys).isdisjoint(t.offers) for t in c)]
        if len(clauses) < 2 or len(mine) != 1:
            return False
        roots = _roots(mine[0]) - GENERIC
        wanted = {f[0] for f in rest}
        for clause in clauses:
            if clause is mine[0]:
                continue
            rivals = [t for t in clause if self._group(t) == group and offered.isdisjoint(t.wants)]
            own, theirs = roots - _roots(clause), _roots(clause) - roots  # without what both clauses say
            if not rivals or not theirs & wanted:
                continue
            # The first clause's subject applies to the later clauses, but not the reverse.
            first = clauses.index(mine[0]) < clauses.index(clause)
            if own - wanted if first else own and not own & wanted:
                return True
        return False

    def _name_around(self, index: int) -> set[str]:
        """The roots of all parts of the name that a token is part of."""
        found = {self.tokens[index].root}
        for step in (range(index - 1, -1, -1), range(index + 1, len(self.tokens))):
            for at in step:
                if not (self.tokens[at].kind == "word" and self._group(self.tokens[at])):
                    break
                found.add(self.tokens[at].root)
        return found

    def _group(self, token: Token) -> str:
        if token.is_claim:
            return token.group if token.group != "entity" else "name" if token.text.isalpha() else "id"
        low = token.text.lower().removesuffix("'s")
        if len(low) < 2:
            return ""
        return "name" if token.text[:1].isupper() and self.evidence.is_name(low) else ""

    def _near(self, tokens: Sequence[Token], index: int) -> set[str]:
        """The roots of the nearest three content words on each side."""
        found: set[str] = set()
        for step in (range(index - 1, -1, -1), range(index + 1, len(tokens))):
            count = 0
            for at in step:
                if is_content(tokens[at]) or tokens[at].group == "entity":
                    found.add(tokens[at].root)
                    count += 1
                    if count == 3:
                        break
        return found

    def _competes(self, unit: Unit, group: str, near: set[str], offered: set[str], *, anywhere: bool) -> bool:
        """Whether a unit has a claim of the same sort that the line lacks, next to a word they share or
        ``anywhere``."""
        if group not in _NAMED and any(
            self._group(t) == group and not offered.isdisjoint(t.wants) for t in unit.tokens
        ):
            return False  # the line has the unit's claim in this place
        for at, other in enumerate(unit.tokens):
            if self._group(other) != group or not offered.isdisjoint(other.wants or (other.root,)):
                continue
            if group in _NAMED and any(
                t.text[:1].isupper() and t.root in offered for t in unit.tokens[max(at - 1, 0) : at + 2]
            ):
                continue  # the other part of a name that the line has
            if anywhere or near & self._near(unit.tokens, at):
                return True
        return False

    def _is_other(self, holder: Unit, rival: Unit, rest: Sequence[tuple[str, tuple[str, ...]]], said: set[str]) -> bool:
        """Whether the unit that holds a claim is about something else than the line, which ``rival`` is about."""
        mine = _said(holder, rest, alone=True)
        if mine - said:
            return False
        newer = holder.day is not None and (rival.day is None or holder.day > rival.day)
        if newer and len(mine) * 2 >= len(said):
            return False
        if len(mine) >= len(said):
            # The same subject. Only where the line is the rival's wording, and not the holder's, is the claim a slip.
            line = _roots(self.tokens)
            return not newer and _alike(line, rival) >= 0.8 > _alike(line, holder) + 0.2
        subject = {f[0] for f in self.features} | GENERIC | rival.roots
        return not mine or bool(holder.roots - subject)

    def _turned(self) -> Iterable[Invention]:
        """The line says what its best support says, but for a "not"."""
        mine = _roots(self.tokens)
        if len(mine - GENERIC) + any(t.kind in ("number", "version") for t in self.tokens) < 2:
            return
        negated, turning = _scope(self.tokens)
        told: list[tuple[float, bool]] = []
        for match in self.matches[:8]:
            theirs = _roots(match.unit.tokens)
            missing = {r for r in mine - theirs - GENERIC if not match.unit.says(r, alone=True)}
            common = mine & theirs
            other, other_turning = _scope(match.unit.tokens)
            if not common - GENERIC or len(missing) * (2 if other and negated else 4) > len(mine):
                continue
            here, there = negated & common, other & common
            same = turning != other_turning or NOT_SURE.search(match.unit.text) is not None or bool(here) == bool(there)
            if here and there and not here & there and ", not " in self.body and ", not " in match.unit.text:
                same = False  # "by image, not by plant"
            told.append((len(common) / min(len(mine | theirs), 2 * len(mine)), same))
        most = max((alike for alike, _ in told), default=0.0)
        if most >= 0.5 and not any(same and alike >= 0.7 * most for alike, same in told):
            words = [t.text for t in self.tokens if _is_negator(t)]
            yield Invention("negation", " ".join(words) or "without a negation")

    def _unreasoned(self) -> Iterable[Invention]:
        """A reason without any word near the supporting lines."""
        found = REASON.search(self.body)
        if found is None or not self.matches or self.matches[0].score < 0.3:
            return
        clause = [t for t in Reader().tokens(self.body[found.end() :]) if t.is_claim or is_content(t)]
        words = {t.root for t in clause if t.root not in GENERIC}
        if len(words) < 2:
            return
        near: set[str] = set()
        for match in self.matches[:_SUPPORTS]:
            if match.score < 0.6 * self.matches[0].score:
                break
            for at in range(max(0, match.at - 4), min(len(self.evidence.units), match.at + 5)):
                unit = self.evidence.units[at]
                if unit.document == match.unit.document:
                    near |= unit.roots | unit.keys
        if not words & near:
            yield Invention("rationale", self.body[found.start() :].strip(" ."))


def _feature(token: Token) -> tuple[str, tuple[str, ...]]:
    return token.root, token.wants if token.is_claim else ()


def _said(unit: Unit, features: Iterable[tuple[str, tuple[str, ...]]], *, alone: bool = False) -> set[str]:
    return {root for root, wants in features if unit.says(root, wants, alone=alone)}


def _roots(tokens: Iterable[Token]) -> set[str]:
    return {t.root for t in tokens if (is_content(t) or t.group == "entity") and not _is_negator(t)}


def _alike(words: set[str], unit: Unit) -> float:
    theirs = _roots(unit.tokens)
    return len(words & theirs) / max(len(words | theirs), 1)


def _is_negator(token: Token) -> bool:
    return token.kind == "word" and (token.text.lower() in NEGATORS or token.text.lower().endswith("n't"))


def _scope(tokens: Sequence[Token]) -> tuple[set[str], bool]:
    """The words that a statement's negations apply to (the next four content words, or those before), and whether it
    has other reversing words."""
    scope: set[str] = set()
    for index, token in enumerate(tokens):
        if (_is_negator(token) or token.text.lower() in ("rather", "instead")) and not (
            index + 1 < len(tokens) and tokens[index + 1].text == "longer"
        ):
            after = [t.root for t in tokens[index + 1 :] if is_content(t) or t.group == "entity"]
            before = [t.root for t in tokens[:index] if is_content(t) or t.group == "entity"]
            scope.update(after[:4])
            if not set(after) - GENERIC:  # "tuning is not allowed"
                scope.update(before[-3:])
    return scope, any(t.text.lower() in TURNING for t in tokens)
