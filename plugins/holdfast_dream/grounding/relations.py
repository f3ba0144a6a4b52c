"""Doubts about structure: all words of a line are known, but the sources connect them differently.

Each clause of a line is compared with the clauses of the units that say most of it. A unit supports a clause if one of
its clauses has all its words in the same places. It contradicts it with a different word in one of these places: "Wim
works at the library" where Saskia does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from holdfast_dream.grounding.evidence import Evidence, Match
from holdfast_dream.grounding.lexicon import GENERIC, NEGATORS, NEUTRAL, PAST, canonical, stem
from holdfast_dream.grounding.tokens import Reader, Token, is_content
from holdfast_dream.grounding.units import Unit

_SPLIT: Final = re.compile(
    r"[;:(]\s*|\.\s+|,\s+|\s+-+>?\s+|\s+(?:and|but|while|whereas|which|so|since|because|until|when|if|und|aber|oder)\s+"
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


def clauses(text: str) -> list[Clause]:
    """A text's clauses. A part with fewer than two words belongs to the one before."""
    found: list[list[Token]] = []
    for part in _SPLIT.split(_LABEL.sub("", _ASIDE.sub(" ", text))):
        tokens = [t for t in Reader().tokens(part) if (is_content(t) or t.is_claim) and not _is_negator(t)]
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


def rebound(body: str, evidence: Evidence, group: Callable[[Token], str], matches: Sequence[Match]) -> Iterator[str]:
    """The words that the sources have in another place, of each clause of a line."""
    if len(_ASIDE.findall(body)) > 1 or "->" in body:  # a list
        return
    label = _HEAD.match(body)
    parts = clauses(body[label.end() :] if label else body)
    for number, clause in enumerate(parts):
        if len(clause.tokens) < 2:
            continue
        near = matches if len(parts) == 1 else evidence.best([_feature(t) for t in clause.tokens])
        carried = frozenset(r for part in parts[:number] for r in part.roots[:2])
        found = _judge(clause, body, near[:8], evidence, group, carried)
        if found:
            yield found
            return


def _feature(token: Token) -> tuple[str, tuple[str, ...]]:
    return token.root, token.wants if token.is_claim else ()


def _judge(
    clause: Clause,
    body: str,
    matches: Sequence[Match],
    evidence: Evidence,
    group: Callable[[Token], str],
    carried: frozenset[str],
) -> str:
    """A word of the clause that is out of its place; empty when a unit speaks for it or none against it."""
    against = ""
    ranked = sorted(
        ((sum(_has(match.unit, t) for t in clause.tokens), -n, match) for n, match in enumerate(matches)), reverse=True
    )
    if not ranked:
        return ""
    most = ranked[0][0]
    for count, _, match in ranked:
        if count < most or count < _MOST * len(clause.tokens) or count < 2:
            break
        found = _against(clause, body, match.unit, evidence, group, carried)
        if not found:
            return ""
        against = against or found
    return against


def _is_negator(token: Token) -> bool:
    return token.text.lower() in NEGATORS or token.text.lower().endswith("n't")


def _has(unit: Unit, token: Token) -> bool:
    return unit.says(*_feature(token), alone=True)


def _in(token: Token, clause: Clause) -> bool:
    return any(_same(token, other) for other in clause.tokens)


def _same(token: Token, other: Token) -> bool:
    if token.root == other.root or token.text.lower() == other.text.lower():
        return True
    return bool(token.wants) and (
        not set(token.wants).isdisjoint(other.offers) or not set(token.wants).isdisjoint(other.wants)
    )


def _against(
    clause: Clause, body: str, unit: Unit, evidence: Evidence, group: Callable[[Token], str], carried: frozenset[str]
) -> str:
    theirs = clauses(unit.text)
    if not theirs:
        return ""
    if found := _reversed(clause, theirs, body, unit.text) or _contrast(body, unit.text) or _agent(body, unit.text):
        return found
    best = max(sum(_in(t, their) for t in clause.tokens) for their in theirs)
    missing = sum(not _has(unit, t) for t in clause.tokens)
    against = ""
    for their in theirs:
        if sum(_in(t, their) for t in clause.tokens) < best:
            continue
        found = next(
            (
                t.text
                for at, t in enumerate(clause.tokens)
                if not _in(t, their)
                and t.root not in GENERIC
                and t.root not in carried
                and t.kind in ("word", "name", "identifier", "number", "version")
                and not (t.kind == "number" and t.text.isalpha())
                and not (t.is_claim and (t.kind != "name") and not _in(t, Clause(unit.tokens)))
                and missing <= 1
                and _replaces(at, clause, their, unit, evidence, group)
            ),
            "",
        )
        if not found and best == len(clause.tokens) - missing:
            return ""
        against = against or found
    return against or _modified(clause, theirs, group)


#: Words between two things that cannot change places.
_BETWEEN: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        (
            r"\b(?:rather than|instead of|and not|over)\b|,\s+not\b"
            r"|(?<!from)(?<!up)\bto (?:the )?(?=\w+(?: \w+)?(?:\.|,|;|\Z))"
        ),
        r"\bthan\b",
        r"\bbefore\b",
        r"\bafter\b",
        r"\bfrom\b",
        r"\b(?:with|into)\b",
    )
)


def _contrast(body: str, text: str) -> str:
    """A word that has changed sides: "the tablet rather than paper", where it is paper rather than the tablet."""
    for between in _BETWEEN:
        mine, theirs = _sides(between, body), _sides(between, text)
        if mine and theirs:
            left, right = mine[0] & theirs[1], mine[1] & theirs[0]
            if left and right and not (left | right) & (mine[0] & theirs[0] | mine[1] & theirs[1]):
                return min(left)
    return ""


def _sides(between: re.Pattern[str], text: str) -> tuple[set[str], set[str]] | None:
    text = _ASIDE.sub(" ", text)
    found = between.search(text)
    if not found:
        return None
    left = [t.root for t in Reader().tokens(text[: found.start()]) if is_content(t)][-4:]
    right = [t.root for t in Reader().tokens(text[found.end() :]) if is_content(t)][:3]
    return set(left) - set(right) - GENERIC, set(right) - set(left) - GENERIC


def _modified(clause: Clause, theirs: Sequence[Clause], group: Callable[[Token], str]) -> str:
    """A value of the line that another clause of the source gives to the same word with another word before it."""
    for modifier, head in zip(clause.tokens, clause.tokens[1:], strict=False):
        if modifier.is_claim or head.is_claim or modifier.root in GENERIC:
            continue
        for their in theirs:
            pairs = zip(their.tokens, their.tokens[1:], strict=False)
            if not any(_same(modifier, a) and _same(head, b) for a, b in pairs):
                continue
            for value in (t for t in clause.tokens if t.is_claim and not _in(t, their)):
                given = any(group(t) == group(value) and not _in(t, clause) for t in their.tokens if t.is_claim)
                if given and any(_in(value, other) and not _in(modifier, other) for other in theirs):
                    return value.text
    return ""


def _replaces(
    at: int, clause: Clause, their: Clause, unit: Unit, evidence: Evidence, group: Callable[[Token], str]
) -> bool:
    """Whether a source's clause has a different word where this clause has a known word."""
    token = clause.tokens[at]
    keys = token.wants if token.is_claim else (token.root,)
    known = evidence.offers(keys) or evidence.has_word(token.text.lower())
    if any(token.root in said or not said.isdisjoint(keys) for said in unit.above):
        return False
    holders = [k for k in clauses(unit.text) if _in(token, k)]
    if (_has(unit, token) and not holders) or token.root in NEUTRAL:
        return False
    if any(not _is_parallel(k, clause, their) for k in holders):
        return False
    sort = group(token)
    rivals = [t for t in their.tokens if t.root not in GENERIC and not any(_same(mine, t) for mine in clause.tokens)]
    if sort and any(group(rival) == sort for rival in rivals):
        return not _is_bound(at, clause, unit, evidence)
    if not known:  # another word for a thing; but a thing with a name has no other word
        rivals = [t for t in rivals if t.kind in ("identifier", "name")]
    before = clause.tokens[at - 1] if at else None
    after = clause.tokens[at + 1] if at + 1 < len(clause.tokens) else None
    for place, rival in enumerate(their.tokens):
        if rival not in rivals or not (not known or rival.opens or token.opens or bool(group(rival)) == bool(sort)):
            continue
        left = their.tokens[place - 1] if place else None
        right = their.tokens[place + 1] if place + 1 < len(their.tokens) else None
        if (before or after) and _fits(before, left, rivals) and _fits(after, right, rivals):
            return not _is_bound(at, clause, unit, evidence)
    return False


def _is_parallel(holder: Clause, clause: Clause, rival: Clause) -> bool:
    """Whether the clause that holds a word says something of its own about it."""
    return any(not _in(t, clause) and not _in(t, rival) and not t.text.endswith(("ed", "ing")) for t in holder.tokens)


def _fits(mine: Token | None, theirs: Token | None, rivals: Sequence[Token]) -> bool:
    """Whether two words have the same neighbour, or the line ends where the source continues."""
    if mine is None:
        return theirs is None or theirs in rivals
    return theirs is not None and _same(mine, theirs)


def _is_bound(at: int, clause: Clause, unit: Unit, evidence: Evidence) -> bool:
    """Whether another unit has the word with the same neighbour."""
    token = clause.tokens[at]
    holders = evidence.units_with(token.wants if token.is_claim else (token.root,), 200)
    if holders is None:
        return True
    others = [t for n, t in enumerate(clause.tokens) if n != at and t.root not in GENERIC]
    beside = [clause.tokens[n] for n in (at - 1, at + 1) if 0 <= n < len(clause.tokens)]
    for number in holders:
        holder = evidence.units[number]
        if holder is unit or not any(t.root == o.root for t in beside for o in holder.tokens):
            continue
        if 2 * sum(_has(holder, t) for t in others) >= len(others):
            return True
    return False


def _reversed(clause: Clause, theirs: Iterable[Clause], body: str, text: str) -> str:
    """A word that acts in the line and is acted upon in the source."""
    if _PASSIVE.search(body) or _PASSIVE.search(text):
        return ""
    for their in theirs:
        for at, verb in enumerate(clause.tokens[:-1]):
            if not at or verb.kind != "word" or not verb.text.islower():
                continue
            acts, acted = clause.tokens[at - 1], clause.tokens[at + 1 :]
            for place, other in enumerate(their.tokens[:-1]):
                actor = their.tokens[place - 1]
                if (
                    not place
                    or verb.root in _EITHER_WAY
                    or other.kind != "word"
                    or stem(other.text.lower()) != stem(verb.text)
                ):
                    continue
                if any(_same(actor, t) for t in clause.tokens[:at]) or not any(_same(actor, t) for t in acted):
                    continue
                if "word" not in (acts.kind, actor.kind):
                    continue
                named = _is_named(acts) and _is_named(actor)
                if named or (_is_verb(verb) and any(_same(acts, t) for t in their.tokens[place + 1 :])):
                    return acts.text
    return ""


_BY: Final = re.compile(r"\b([a-z]+)\s+by\s+(?:the\s+|a\s+)?([\w-]+)")
_OWNED: Final = re.compile(r"\b([\w-]+)'s ([a-z]+) is ([\w-]+)|\b([\w-]+) is ([\w-]+)'s ([a-z]+)")


def _agent(body: str, text: str) -> str:
    """Another doer than a passive source names, or the owner and the owned exchanged."""
    done = {canonical(verb): canonical(agent.lower()) for verb, agent in _BY.findall(text)}
    if done and not _BY.search(body):
        tokens = [t for t in Reader().tokens(body) if is_content(t) or t.is_claim]
        for before, verb in pairwise(tokens):
            agent = done.get(verb.root, before.root)
            if _is_verb(verb) and agent != before.root and before.root in done.values():
                return before.text
    mine, theirs = _owned(body), _owned(text)
    if mine and theirs and mine[1] == theirs[1] and (mine[0], mine[2]) == (theirs[2], theirs[0]):
        return mine[0]
    return ""


def _owned(text: str) -> tuple[str, str, str] | None:
    """Owner, noun and bearer of "Ana's deputy is Jon" and of "Jon is Ana's deputy"."""
    found = _OWNED.search(text)
    if not found:
        return None
    return (found[1], found[2], found[3]) if found[1] else (found[5], found[6], found[4])


def _is_named(token: Token) -> bool:
    return token.kind == "word" and token.text[:1].isupper() and token.text[1:].islower()
