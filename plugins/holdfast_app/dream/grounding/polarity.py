"""Opposites: a line says what its best sources say, but one of the two denies it or has the opposite word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from holdfast_app.dream.grounding.evidence import Match
from holdfast_app.dream.grounding.lexicon import GENERIC, TURNING, canonical, words
from holdfast_app.dream.grounding.line import Line, is_negator
from holdfast_app.dream.grounding.tokens import Reader, Token, is_content

#: Words with which a "not" more or less proves nothing.
_UNDECIDED: Final = re.compile(
    r"\bnot (?:yet )?(?:confirmed|sure|certain|clear|decided)\b|\brather\b|\binstead\b", re.IGNORECASE
)


# --- a "not" in one of the two ---------------------------------------------------------------------------------


def turned(line: Line) -> Iterator[tuple[str, str]]:
    """("negation", words) when the units most like the line say it with a "not" more or less."""
    named = sum(root not in GENERIC for root in _roots(line.tokens))
    if named + any(t.kind in ("number", "version") for t in line.tokens) > 1 and (found := differs(line)):
        yield "negation", found


def differs(line: Line) -> str:
    """The line's "not", or that it has none, when the units most like it say it with one more or less."""
    mine = _roots(line.tokens)
    if len(mine) < 2:
        return ""
    negated, turning = _scope(line.tokens)
    found: list[tuple[float, bool]] = []
    for match in line.matches[:8]:
        theirs = _roots(match.unit.tokens)
        missing = {r for r in mine - theirs - GENERIC if not match.unit.says(r, alone=True)}
        common = mine & theirs
        other, other_turning = _scope(match.unit.tokens)
        if not common - GENERIC or len(missing) * (2 if other and negated else 4) > len(mine):
            continue
        here, there = negated & common, other & common
        undecided = _UNDECIDED.search(line.body) or _UNDECIDED.search(match.unit.text)
        same = turning != other_turning or bool(undecided) or bool(here) == bool(there)
        same = same or (bool(here) and _is_denied_beside(line, match))
        if here and there and not here & there and ", not " in line.body and ", not " in match.unit.text:
            same = False  # "by image, not by plant"
        found.append((len(common) / min(len(mine | theirs), 2 * len(mine)), same))
    most = max((alike for alike, _ in found), default=0.0)
    if most >= 0.5 and not any(same and alike >= 0.7 * most for alike, same in found):
        return " ".join(t.text for t in line.tokens if is_negator(t)) or "without a negation"
    return ""


def _roots(tokens: Iterable[Token]) -> set[str]:
    return {t.root for t in tokens if (is_content(t) or t.group == "entity") and not is_negator(t)}


def _is_denied_beside(line: Line, match: Match) -> bool:
    """Whether the sentence before or after a unit, in its block, has a "not": the line may join the two."""
    units = line.evidence.units
    beside = [units[at] for at in (match.at - 1, match.at + 1) if 0 <= at < len(units)]
    place = (match.unit.document, match.unit.line)
    return any((unit.document, unit.line) == place and any(map(is_negator, unit.tokens)) for unit in beside)


def _scope(tokens: Sequence[Token]) -> tuple[set[str], bool]:
    """The words that a statement's negations apply to (the next four content words, or those before), and whether it
    has other reversing words."""
    scope: set[str] = set()
    for index, token in enumerate(tokens):
        after = tokens[index + 1].text.lower() if index + 1 < len(tokens) else ""
        if is_negator(token) and after != "longer" and (not index or tokens[index - 1].text.lower() != "or"):
            later = [t.root for t in tokens[index + 1 :] if is_content(t) or t.group == "entity"]
            earlier = [t.root for t in tokens[:index] if is_content(t) or t.group == "entity"]
            scope.update(later[:4])
            if not set(later) - GENERIC:  # "tuning is not allowed"
                scope.update(earlier[-3:])
    return scope, any(t.text.lower() in TURNING for t in tokens)


# --- words that the sources only deny ----------------------------------------------------------------------------

#: After these, what follows is denied, given up or reserved.
_DENIED: Final = re.compile(
    r"\b(?:not|never|neither|nor|without|n't|cannot|rather than|instead of|nobody but|no longer|no"
    r"|stop(?:s|ped)?(?: being)?|g[ai]ves? up|gave up|abandon(?:s|ed)?|refuse[sd]?|reject(?:s|ed)?|decline[sd]?"
    r"|forb[ai]d(?:s|den)?"
    r"|drop(?:s|ped)?(?! (?:from|to|by)\b)|remove[sd]?|los(?:es?|t)|lack(?:s|ed)?|fail(?:s|ed)? to|skip(?:s|ped)?"
    r"|avoid(?:s|ed)?)\b",
    re.IGNORECASE,
)
_NOT: Final = re.compile(r"(?:\bnot|n't|\bnever)\s+\Z")
_BREAK: Final = re.compile(r"[,;:.(]\s|\b(?:but|and|because|since|while)\b")
#: Words that may replace the denial in a line with the same meaning.
_AKIN: Final = TURNING | words(
    """
    gone ended ends end lose loses lost gave given up abandon abandoned decline declined declines quit yet
    still remaining remain halted ceased closed disallow disables shut unable neither untouched
    """
)


def denied(line: Line) -> str:
    """A word of the line that its best sources only deny."""
    low = {t.text.lower() for t in line.tokens}
    if any(map(is_negator, line.tokens)) or low & _AKIN or _DENIED.search(line.body):
        return ""
    mine = {t.root for t in line.tokens if (is_content(t) or t.is_claim) and t.root not in GENERIC}
    unit = line.matches[0].unit
    known = {root for root in mine if unit.says(root, alone=True)}
    if len(mine) < 2 or len(known) * 4 < len(mine) * 3:
        return ""
    roots = {t.root for t in line.tokens}
    if any(canonical(word) in roots for sign in _DENIED.findall(unit.text) for word in sign.lower().split()):
        return ""  # the line has a word for the denial: deleted, for drop
    parts = [(content_roots(part), denials(part)) for part in _BREAK.split(unit.text)]
    affirmed = set[str]().union(*(roots for roots, refused in parts if not refused))
    if any(mine <= roots and not refused & mine for roots, refused in parts):
        return ""
    return min((denials(unit.text) & mine) - affirmed, default="")


def content_roots(text: str) -> set[str]:
    """The roots of the words and claims in ``text``."""
    return {t.root for t in Reader().tokens(text) if (is_content(t) or t.is_claim) and t.root not in GENERIC}


def denials(text: str) -> set[str]:
    """The denied roots, each from the next content word after a sign of denial."""
    found: set[str] = set()
    for sign in _DENIED.finditer(text):
        if _NOT.search(text[: sign.start()]):  # "does not stop" denies nothing
            continue
        rest = _BREAK.split(text[sign.end() :], maxsplit=1)[0]
        span = [t for t in Reader().tokens(rest) if is_content(t) or t.is_claim][:3]
        if span and not span[0].is_claim and span[0].text.lower() not in TURNING:
            found.add(span[0].root if span[0].root not in GENERIC or len(span) < 2 else span[1].root)
    return found - GENERIC


# --- opposite words ----------------------------------------------------------------------------------------------


def _opposites() -> dict[str, frozenset[str]]:
    table: dict[str, frozenset[str]] = {}
    for pair in _PAIRS.split("|"):
        left, right = (frozenset(side.split()) for side in pair.split("/"))
        for mine, others in ((left, right), (right, left)):
            for word in mine:
                table[word] = table.get(word, frozenset()) | others
    return table


_PAIRS: Final = """
    like likes liked love loves / dislike dislikes disliked hate hates | join joins joined / leave leaves left
    | small smaller / large larger big bigger | allow allows allowed / forbid forbids forbidden ban banned
    | accept accepts accepted approve approves approved / reject rejects rejected refuse refuses refused objects
    | enable enables enabled / disable disables disabled | open opens opened / close closes closed
    | start starts started begin begins began / stop stops stopped end ends ended | done finished / postponed unfinished
    | add adds added / remove removes removed | more / fewer less | first / last | before / after | above / below
    | increase increases increased rose raised grew / decrease decreases decreased fell lowered shrank
    | public / private | faster / slower | early earlier / late later | internal / external | required / optional
    | with / without | synchronous / asynchronous | up / down | passed passes / failed fails | newest / oldest
    | upload uploads / download downloads | always / never | on / off
    | open opened / shut locked | encourage encourages encouraged / discourage discourages discouraged | new / old
    | gave granted / withdrew revoked | hired / fired dismissed | won / lost
    | include includes included / exclude excludes excluded | grant grants / revoke revokes deny denies
    | lock locks locked / unlock unlocks unlocked | install installs installed / uninstall uninstalls uninstalled
    | import imports imported / export exports exported | agrees agreed / declined refused disagrees disagreed
    | cheap cheaper / expensive dearer | best / worst | upgraded / downgraded
    | fix fixes fixed repairs repaired / break breaks broke broken
    | succeeded succeeds works worked work / failed fails fail
"""
_OPPOSITES: Final = _opposites()


def antonym(line: Line) -> str:
    """A word of the line whose opposite the best unit has in its place."""
    unit = line.matches[0].unit
    mine, theirs = ({t.text.lower() for t in tokens} for tokens in (line.tokens, unit.tokens))
    roots = {t.root for t in line.tokens}
    for word in sorted(mine & _OPPOSITES.keys()):
        if (
            _OPPOSITES[word] & theirs
            and word not in theirs
            and canonical(word) not in unit.roots
            and roots.isdisjoint(map(canonical, _OPPOSITES[word]))
        ):
            return "" if _count(line.tokens) != _count(unit.tokens) else word
    return ""


def _count(tokens: Sequence[Token]) -> int:
    return sum(map(is_negator, tokens))
