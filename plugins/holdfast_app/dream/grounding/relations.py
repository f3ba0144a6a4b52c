"""Roles: all words of a line are known, but the sources connect them differently.

Each clause of a line is compared with the clauses of the units that say most of it. A unit supports a clause if one of
its clauses has all its words in the same places. It contradicts it with a different word in one of these places: "Wim
works at the library" where Saskia does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from holdfast_app.dream.grounding.evidence import Match
from holdfast_app.dream.grounding.lexicon import GENERIC, PAST, canonical, stem
from holdfast_app.dream.grounding.line import Line, feature, is_negator
from holdfast_app.dream.grounding.tokens import Reader, Token, is_content
from holdfast_app.dream.grounding.units import Unit

_SPLIT: Final = re.compile(
    r"[;:(]\s*|\.\s+|,\s+|(?<!\s)\s+(?:-+>?|and|but|while|whereas|which|so|since|because|until|when|if|und|aber|oder)\s+"
)
_LABEL: Final = re.compile(r"\A(?:[-*] )?(?:Fact|Decision|Decided|Fixed|Note): ")
#: A word in brackets.
_ASIDE: Final = re.compile(r"\s\([^\s()]+(?:\s[^\s()]+)?\)")
#: A line's subject, before a colon.
_HEAD: Final = re.compile(r"\A[^:;,.]{1,40}:\s")
_PASSIVE: Final = re.compile(r"\b(?:by|is|are|was|were|be|been|being|gets?|got|wird|werden|wurde|von)\b", re.IGNORECASE)
#: Verbs whose subject without an object is the object otherwise: "2.4 breaks the loader", "the loader breaks".
_EITHER_WAY: Final = frozenset(
    map(canonical, ("break", "open", "close", "start", "stop", "change", "move", "run", "crash", "fail", "grow", "end"))
)
#: A unit counts from this share of a clause's words on.
_MOST: Final = 0.5


class Clause(NamedTuple):
    """A clause's content words and claims, in order."""

    tokens: tuple[Token, ...]

    @property
    def roots(self) -> tuple[str, ...]:
        return tuple(token.root for token in self.tokens)

    def has(self, token: Token) -> bool:
        """Whether one of its words is this one."""
        return any(_same(token, other) for other in self.tokens)


def rebound(line: Line) -> str:
    """The first word that the sources have in another place; empty without one."""
    if len(_ASIDE.findall(line.body)) > 1 or "->" in line.body:  # a list
        return ""
    if found := _other_course(line) or _other_deed(line):
        return found
    label = _HEAD.match(line.body)
    parts = clauses(line.body[label.end() :] if label else line.body)
    for number, clause in enumerate(parts):
        if len(clause.tokens) < 2:
            continue
        near = line.matches if len(parts) == 1 else line.near(clause.tokens)
        carried = frozenset(root for part in parts[:number] for root in part.roots[:2])
        if found := _out_of_place(line, clause, near[:8], carried):
            return found
    return ""


def clauses(text: str) -> list[Clause]:
    """A text's clauses. A part with fewer than two words belongs to the one before."""
    found: list[list[Token]] = []
    for part in _SPLIT.split(_LABEL.sub("", _ASIDE.sub(" ", text))):
        tokens = [t for t in Reader().tokens(part) if (is_content(t) or t.is_claim) and not is_negator(t)]
        if found and tokens and (len(tokens) < 2 or len(found[-1]) < 2):
            found[-1] += tokens
        elif found and tokens and _is_verb(tokens[0]):
            found.append([*_subject(found[-1]), *tokens])
        elif tokens:
            found.append(tokens)
    return [Clause(tuple(tokens)) for tokens in found]


def _is_verb(token: Token) -> bool:
    text = token.text
    return token.kind == "word" and text.islower() and (text.endswith(("s", "ed")) or text in PAST)


def _subject(tokens: Sequence[Token]) -> Sequence[Token]:
    """At most two words before the first verb. A clause without a subject takes the previous clause's subject."""
    at = next((n for n, token in enumerate(tokens) if n and _is_verb(token)), 0)
    return tokens[max(0, at - 2) : at]


def _same(token: Token, other: Token) -> bool:
    if token.root == other.root or token.text.lower() == other.text.lower():
        return True
    return bool(token.wants) and (
        not set(token.wants).isdisjoint(other.offers) or not set(token.wants).isdisjoint(other.wants)
    )


def _has(unit: Unit, token: Token) -> bool:
    return unit.says(*feature(token), alone=True)


def _out_of_place(line: Line, clause: Clause, matches: Sequence[Match], carried: frozenset[str]) -> str:
    """A word of the clause that is out of its place; empty when a unit speaks for it or none against it."""
    counts = [(sum(_has(match.unit, t) for t in clause.tokens), match.unit) for match in matches]
    most = max((count for count, _ in counts), default=0)
    against = ""
    for unit in (unit for count, unit in counts if count == most >= max(2, _MOST * len(clause.tokens))):
        theirs = clauses(unit.text)
        found = theirs and (_reversed(line, clause, theirs, unit) or _replaced(line, clause, theirs, unit, carried))
        if not found:
            return ""
        against = against or found
    return against


# --- another word in the same place -------------------------------------------------------------------------------


def _replaced(line: Line, clause: Clause, theirs: Sequence[Clause], unit: Unit, carried: frozenset[str]) -> str:
    missing = sum(not _has(unit, t) for t in clause.tokens)
    if missing > 1:
        return ""
    counts = [sum(map(their.has, clause.tokens)) for their in theirs]
    against = ""
    for their, count in zip(theirs, counts, strict=True):
        if count < max(counts):
            continue
        found = next(_rivals(line, clause, their, unit, carried), "")
        if not found and count == len(clause.tokens) - missing:
            return ""
        against = against or found
    return against


def _rivals(line: Line, clause: Clause, their: Clause, unit: Unit, carried: frozenset[str]) -> Iterator[str]:
    """The clause's words for which the unit's clause has another word."""
    for at, token in enumerate(clause.tokens):
        if their.has(token) or token.root in GENERIC or token.root in carried or token.kind in ("date", "time", "url"):
            continue
        if token.is_claim and (token.text.isalpha() or not Clause(unit.tokens).has(token)) and token.kind != "name":
            continue
        if _replaces(line, at, clause, their, unit):
            yield token.text


def _replaces(line: Line, at: int, clause: Clause, their: Clause, unit: Unit) -> bool:
    """Whether a source's clause has a different word where this clause has a known word."""
    token = clause.tokens[at]
    keys = token.wants if token.is_claim else (token.root,)
    if any(token.root in said or not said.isdisjoint(keys) for said in unit.above):
        return False
    holders = [k for k in clauses(unit.text) if k.has(token)]
    if (_has(unit, token) and not holders) or not all(_is_parallel(k, clause, their) for k in holders):
        return False
    group = line.group(token)
    rivals = [t for t in their.tokens if t.root not in GENERIC and not clause.has(t)]
    if group and any(line.group(rival) == group for rival in rivals):
        return True
    is_known = line.evidence.offers(keys) or line.evidence.has_word(token.text.lower())
    if not is_known:  # another word for a thing; but a thing with a name has no other word
        rivals = [t for t in rivals if t.kind in ("identifier", "name")]
    before = clause.tokens[at - 1] if at else None
    after = clause.tokens[at + 1] if at + 1 < len(clause.tokens) else None
    for place, rival in enumerate(their.tokens):
        alike = not is_known or rival.opens or token.opens or bool(line.group(rival)) == bool(group)
        if rival not in rivals or not alike:
            continue
        left = their.tokens[place - 1] if place else None
        right = their.tokens[place + 1] if place + 1 < len(their.tokens) else None
        if (before or after) and _fits(before, left, rivals) and _fits(after, right, rivals):
            return True
    return False


def _is_parallel(holder: Clause, clause: Clause, rival: Clause) -> bool:
    """Whether the clause that holds a word says something of its own about it."""
    own = (t for t in holder.tokens if not t.text.endswith(("ed", "ing")))
    return any(not clause.has(t) and not rival.has(t) for t in own)


def _fits(mine: Token | None, theirs: Token | None, rivals: Sequence[Token]) -> bool:
    """Whether two words have the same neighbour, or the line ends where the source continues."""
    if mine is None:
        return theirs is None or theirs in rivals
    return theirs is not None and _same(mine, theirs)


# --- actor and object exchanged ------------------------------------------------------------------------------------


def _reversed(line: Line, clause: Clause, theirs: Iterable[Clause], unit: Unit) -> str:
    """A word that acts in the line and is acted upon in the source."""
    if _PASSIVE.search(line.body) or _PASSIVE.search(unit.text):
        return ""
    for their in theirs:
        for at, verb in enumerate(clause.tokens[1:-1], 1):
            if verb.kind != "word" or not verb.text.islower() or verb.root in _EITHER_WAY:
                continue
            actor, before, acted = clause.tokens[at - 1], clause.tokens[:at], clause.tokens[at + 1 :]
            for place, other in enumerate(their.tokens[1:-1], 1):
                rival = their.tokens[place - 1]
                if other.kind != "word" or stem(other.text.lower()) != stem(verb.text):
                    continue
                if any(_same(rival, t) for t in before) or not any(_same(rival, t) for t in acted):
                    continue
                named = _is_named(actor) and _is_named(rival)
                if named or (_is_verb(verb) and any(_same(actor, t) for t in their.tokens[place + 1 :])):
                    return actor.text
    return ""


_VALUE: Final = r"(-?[$€£]?\d(?:[\d.,]*\d)?)"
_FROM_TO: Final = re.compile(rf"\bfrom {_VALUE}(?: ?%| ?[^\W\d]+)? (?:to|->) {_VALUE}")
_OLD: Final = re.compile(rf"\b(?:was|before|previously|formerly|used to (?:be|have)|instead of)(?: the| at)? {_VALUE}")


def _other_course(line: Line) -> str:
    """A change in the other direction: "from 1.1 to 2.4", where it is from 2.4 to 1.1, or 1.1 and was 2.4."""
    mine = _FROM_TO.search(line.body)
    for match in line.best(3, 0.6) if mine else ():
        theirs, old = _FROM_TO.search(match.unit.text), _OLD.search(match.unit.text)
        if mine and ((theirs and theirs.groups() == mine.groups()[::-1]) or (old and old[1] == mine[2])):
            return mine[0]
    return ""


def _other_deed(line: Line) -> str:
    """A person with the other person's action: "Jonas reviews, Elif writes", where the source says the reverse."""
    if any(t.text == "by" for t in line.tokens):
        return ""
    best = line.best(6, 0.8)
    known = {t.text.lower() for match in best for t in match.unit.tokens}
    for name, mine in _deeds(line.tokens).items():
        for theirs in (_deeds(match.unit.tokens) for match in best):
            own = theirs.get(name, set())
            others = [done for other, done in theirs.items() if other != name and other.isalpha()]
            if name in known and len(theirs) > 1 and any(mine & done - own for done in others):
                return name
    return ""


def _deeds(tokens: Sequence[Token]) -> dict[str, set[str]]:
    """Each person's action, the verb root right after a name."""
    found: dict[str, set[str]] = {}
    for token, after in pairwise(tokens):
        if _is_named(token) and is_content(after) and _is_verb(after):
            found.setdefault(token.text.lower(), set()).add(after.root)
    return found


def _is_named(token: Token) -> bool:
    return token.kind == "word" and token.text[:1].isupper() and token.text[1:].islower()
