"""Doubts about lines that mix two statements of a source: "beans move to the north bed", where the north bed gets
tomatoes and beans move to the south bed.

Each clause of a line is compared with pairs of source clauses. A mixture takes words that only one clause of the pair
has and words that only the other has, and leaves out words of both. A clause that says all of it, or two clauses linked
by a pronoun, prove the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final, NamedTuple

from holdfast_dream.grounding.evidence import Evidence, Match
from holdfast_dream.grounding.lexicon import GENERIC, NEGATORS, NEUTRAL, PAST, is_ordinary, words
from holdfast_dream.grounding.tokens import Reader, Token, is_content

_SPLIT: Final = re.compile(
    r"[;(|]\s*|\.\s+|,\s+|\s\)?(?:and|but|while|whereas|otherwise|und|aber|sondern|et|mais|y|pero)\s+", re.IGNORECASE
)
#: A label that all clauses after it have in common.
_HEAD: Final = re.compile(r"\A([^:;,.|]{1,40}):\s")
#: A clause that begins so speaks about the one before it.
_LINK: Final = re.compile(
    r"(?:(?:so|for|with|of|one|some|most|all|none|both|each|[0-9]+)\s+(?:of\s+)?)?"
    r"(?:it|its|they|their|them|this|that|these|those|he|she|his|her|which|who|whose|where|then|there|same"
    r"|the (?:same|former|latter)|neither|either|both|maybe|perhaps|later)\b",
    re.IGNORECASE,
)
#: Prepositions that separate two values.
_SIDES: Final = words("before after until off")
_PREPOSITIONS: Final = words("from to at in on by with for of into until before after under over per as")
_ASIDE: Final = re.compile(r"\s\([^\s()]+(?:\s[^\s()]+)?\)")
_UNITS: Final = 6
_CLAUSES: Final = 12
#: A unit counts from this share of the best one's score on.
_NEAR: Final = 0.6


class _Part(NamedTuple):
    """A clause of the sources: its words and claims, their keys, the block it is in, and whether it has a link."""

    tokens: Sequence[Token]
    keys: frozenset[str]
    above: frozenset[str]
    block: int
    linked: bool


def mixed(body: str, matches: Sequence[Match], evidence: Evidence) -> Iterator[str]:
    """The word of each clause of a line that the sources say in another statement."""
    if not matches or "->" in body:
        return
    parts = _pool(matches, evidence)
    if len(parts) < 2:
        return
    label, mine = _parts(body)
    for tokens, _ in mine:
        if any(t.text.lower() in NEGATORS for t in tokens):
            continue
        if len(tokens) + len(label) > 1 and (found := _mixture([*label, *tokens], parts)):
            yield found
            return


def _pool(matches: Sequence[Match], evidence: Evidence) -> list[_Part]:
    """The clauses of the best units and of their blocks."""
    found: list[_Part] = []
    seen: set[int] = set()
    for match in matches[:_UNITS]:
        if match.score < _NEAR * matches[0].score:
            break
        block = evidence.units.block(match.at)
        for at in block:
            if at in seen:
                continue
            seen.add(at)
            unit = evidence.units[at]
            label, parts = _parts(unit.text)
            above = frozenset[str]().union(*unit.above, *(_keys(t) for t in label))
            for number, (tokens, linked) in enumerate(parts[:_CLAUSES]):
                keys = frozenset[str]().union(*map(_keys, tokens))
                found.append(_Part(tokens, keys, above, block[0], linked and (number > 0 or at > block[0])))
    return found


def _parts(text: str) -> tuple[list[Token], list[tuple[list[Token], bool]]]:
    """A text's label, and its clauses with whether each belongs to the one before it. A part without a verb, a value
    or a preposition of the part before it is no clause: "sessions and minutes"."""
    text = _ASIDE.sub(" ", text)
    head = _HEAD.match(text)
    label = _content(head[1]) if head else []
    found: list[tuple[list[Token], bool]] = []
    before, hard = frozenset[str](), True
    start = head.end() if head else 0
    for sign in [*_SPLIT.finditer(text, start), None]:
        part = text[start : sign.start() if sign else len(text)]
        tokens = _content(part)
        prepositions = _PREPOSITIONS.intersection(part.lower().split())
        if (
            tokens
            and found
            and not (len(tokens) > 1 and len(found[-1][0]) > 1 and _is_clause(tokens, hard, prepositions & before))
        ):
            found[-1][0].extend(tokens)
            before |= prepositions
        elif tokens:
            found.append((tokens, bool(_LINK.match(part.strip())) or _is_past(tokens[0])))
            before = prepositions
        if sign:
            start, hard = sign.end(), sign[0][0] in ".;|"
    return label, found


def _is_clause(tokens: Sequence[Token], hard: bool, shared: frozenset[str]) -> bool:
    return hard or bool(shared) or any(t.is_claim or _is_verb(t) for t in tokens)


def _is_verb(token: Token) -> bool:
    return _is_past(token) or (token.kind == "word" and token.text.islower() and token.text.endswith("s"))


def _is_past(token: Token) -> bool:
    low = token.text.lower()
    return token.kind == "word" and (low.endswith("ed") or low in PAST)


def _content(text: str) -> list[Token]:
    return [
        t
        for t in Reader().tokens(text)
        if (t.is_claim or is_content(t) or t.text.lower() in _SIDES or t.text.lower() in NEGATORS)
        and not (t.root in GENERIC | NEUTRAL and not t.is_claim and t.text.lower() not in NEGATORS)
    ]


def _keys(token: Token) -> set[str]:
    """What a token is compared by."""
    return {*token.offers, *token.wants, token.root} if token.is_claim else {token.root, *token.offers}


def _wanted(token: Token) -> set[str]:
    return {*token.wants, token.root} if token.is_claim else {token.root}


def _mixture(tokens: Sequence[Token], parts: Sequence[_Part]) -> str:
    """A word that comes from another statement than the rest; empty if none does."""
    wants = [_wanted(t) for t in tokens]
    said = [frozenset(n for n, want in enumerate(wants) if not want.isdisjoint(p.keys)) for p in parts]
    above = [frozenset(n for n, want in enumerate(wants) if not want.isdisjoint(p.above)) for p in parts]
    whole = [here | over for here, over in zip(said, above, strict=True)]
    known = frozenset[int]().union(*whole)
    best = max(map(len, whole))
    if best == len(known) or len(known) < len(tokens):
        return ""  # a clause says it all, or the line has its own words for the rest
    for one, two in combinations(range(len(parts)), 2):
        if max(len(whole[one]), len(whole[two])) < best:
            continue
        if parts[one].block == parts[two].block and (parts[one].linked or parts[two].linked):
            continue
        first, second = said[one] - whole[two], said[two] - whole[one]
        if not first or not second or any(here >= first | second for here in said):
            continue
        if found := _crossed(parts[one], parts[two], wants):
            return found
    return ""


def _crossed(one: _Part, two: _Part, wants: Sequence[set[str]]) -> str:
    """A word that the line took from one clause in place of the other's, if it did so in both directions."""
    mine = set[str]().union(*wants)
    taken: list[list[tuple[int, Token]]] = []
    left: list[list[tuple[int, Token]]] = []
    for part, other in ((one, two), (two, one)):
        own = [(at, t) for at, t in enumerate(part.tokens) if _keys(t).isdisjoint(other.keys)]
        taken.append([(at, t) for at, t in own if not mine.isdisjoint(_keys(t))])
        left.append([(at, t) for at, t in own if mine.isdisjoint(_keys(t))])
    found = ""
    for n, (here, there) in enumerate(((one, two), (two, one))):
        grades = [(_grade(p, left[1 - n], here, there), _grade(p, taken[1 - n], here, there), p[1]) for p in taken[n]]
        if not any(grade for grade, _, _ in grades):
            return ""
        # A word whose counterpart is in the line, too, was not replaced.
        found = found or next((token.text for grade, merged, token in grades if grade > max(1, merged)), "")
    return found


def _grade(pair: tuple[int, Token], rest: Sequence[tuple[int, Token]], here: _Part, there: _Part) -> int:
    """How well the best of the other clause's words would replace a word: 3 next to the same word, 2 in the same place
    or of the same sort, 1 for another word of its kind or a "not", 0 for none."""
    at, token = pair
    best = 0
    for place, other in rest:
        if other.text.lower() in NEGATORS:
            best = max(best, 1)
        elif token.is_claim or other.is_claim:
            best = max(best, 2 * (token.is_claim and other.is_claim and token.group == other.group))
        elif _is_named(token) != _is_named(other):
            continue
        elif _is_beside(at, place, here, there):
            best = 3
        else:
            last = at == len(here.tokens) - 1 and place == len(there.tokens) - 1
            best = max(best, 2 if at == place == 0 or last or _is_named(token) else 1)
    return best


def _is_named(token: Token) -> bool:
    return not token.text.islower() and not (token.opens and is_ordinary(token.text.lower()))


def _is_beside(at: int, place: int, here: _Part, there: _Part) -> bool:
    """Whether both words are just before, or just after, the same word."""
    return any(
        0 <= at + step < len(here.tokens)
        and 0 <= place + step < len(there.tokens)
        and not _keys(here.tokens[at + step]).isdisjoint(_keys(there.tokens[place + step]))
        for step in (-1, 1)
    )
