"""What words cannot prove: all of a line is known, and yet it may say something else than its sources do.

A doubt is no proof of an invention. It keeps a line out until a person lets it in. ``hedge``: the sources only
suppose it. ``always``: they do not say it of all. ``roles``: they say it of another person. ``cause``: they name
another cause. ``opposite``: one of the two has a "not". ``clause``: a part of the line is in no source.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from holdfast_dream.evidence import Match
from holdfast_dream.lexicon import GENERIC, NEGATORS, TURNING, canonical, words
from holdfast_dream.tokens import Reader, Token, is_content

_HEDGES: Final = words(
    """
    may might could possibly perhaps maybe probably likely unlikely unconfirmed presumably apparently seems seem seemed
    suspected suspect rumoured rumored supposedly allegedly unclear unsure tentative tentatively proposed considering
    vielleicht möglicherweise vermutlich wohl
    """
)
_NOT_SURE: Final = re.compile(r"\bnot (?:yet )?(?:confirmed|sure|certain|clear|decided)\b", re.IGNORECASE)
_LIMIT: Final = re.compile(r"\b(?:at most|up to|no more than|only)\b", re.IGNORECASE)
_ALL: Final = words("always all everyone everybody everything entirely completely invariably")
_SOME: Final = words("always all every each everyone everybody everything entirely completely never only any")
_CAUSE: Final = frozenset(map(canonical, ("cause", "caused", "causes", "causing")))
_ADDED: Final = re.compile(r",\s+(?:which|including|and|as well as|plus|along with)\b|\s+and\s+", re.IGNORECASE)
#: A line and a source that share this much of their words say the same but for what is doubted.
_ALIKE: Final = 0.6


def doubts(
    body: str, tokens: Sequence[Token], matches: Sequence[Match], has_word: Callable[[str], bool]
) -> Iterator[tuple[str, str]]:
    """(kind, words) of each doubt. ``matches`` are the best units for the line, best first."""
    if not matches:
        return
    best = [match for match in matches[:6] if match.score >= 0.8 * matches[0].score]
    low = _lower(tokens)
    said = [_lower(match.unit.tokens) for match in best]
    if not _is_hedged(body, low) and all(
        _is_hedged(match.unit.text, there) for match, there in zip(best, said, strict=True)
    ):
        yield "hedge", next(iter(sorted(said[0] & _HEDGES)), "not confirmed")
        return
    everything = low & _ALL
    if everything and not any(there & _SOME for there in said):
        yield "always", min(everything)
    if found := _other_role(tokens, best):
        yield "roles", found
    if found := _other_cause(tokens, best):
        yield "cause", found
    if found := _opposite(tokens, best):
        yield "opposite", found
    yield from (("clause", clause) for clause in _added(body, has_word))


def _lower(tokens: Sequence[Token]) -> set[str]:
    """The words in lower case, without the month of May."""
    return {token.text.lower() for token in tokens if token.kind == "word"}


def _is_hedged(text: str, low: set[str]) -> bool:
    hedges = low & _HEDGES
    if hedges == {"may"} and _LIMIT.search(text):  # a permission
        return False
    return bool(hedges) or bool(_NOT_SURE.search(text))


def _deeds(tokens: Sequence[Token]) -> dict[str, set[str]]:
    """What each person does: the root of the next word with content after a capital one."""
    found: dict[str, set[str]] = {}
    for at, token in enumerate(tokens[:-1]):
        after = tokens[at + 1]
        is_name = token.text[:1].isupper() and token.text[1:].islower()
        if is_name and after.text.islower() and is_content(after) and after.text.endswith(("s", "ed")):
            found.setdefault(token.text.lower(), set()).add(after.root)
    return found


def _other_role(tokens: Sequence[Token], best: Sequence[Match]) -> str:
    mine = _deeds(tokens)
    for name, deeds in mine.items():
        for match in best:
            theirs = _deeds(match.unit.tokens)
            for other, done in theirs.items():
                shared = deeds & done - theirs.get(name, set())
                known = {t.text.lower() for m in best for t in m.unit.tokens}
                if other != name and shared and name in known and other.isalpha() and len(theirs) > 1:
                    return name
    return ""


def _causes(tokens: Sequence[Token]) -> tuple[set[str], set[str]] | None:
    """The roots of cause and effect."""
    at = next((i for i, t in enumerate(tokens) if t.root in _CAUSE), None)
    if at is None:
        return None
    before = {t.root for t in tokens[:at] if is_content(t) or t.is_claim}
    after = {t.root for t in tokens[at + 1 :] if is_content(t) or t.is_claim}
    passive = at + 1 < len(tokens) and tokens[at + 1].text.lower() == "by"
    return (after, before) if passive else (before, after)


def _other_cause(tokens: Sequence[Token], best: Sequence[Match]) -> str:
    mine = _causes(tokens)
    theirs = [found for match in best if (found := _causes(match.unit.tokens))]
    if mine is None or not theirs or any(mine[0] & cause and mine[1] & effect for cause, effect in theirs):
        return ""
    return " ".join(sorted(mine[0])) or "cause"


def _opposite(tokens: Sequence[Token], best: Sequence[Match]) -> str:
    mine = _content(tokens)
    if len(mine - GENERIC) < 2:
        return ""
    differs = ""
    for match in best:
        theirs = _content(match.unit.tokens)
        alike = len(mine & theirs) / max(1, len(mine | theirs))
        if alike < _ALIKE or _turns(tokens) != _turns(match.unit.tokens):
            continue
        if _negations(tokens) % 2 == _negations(match.unit.tokens) % 2:
            return ""
        differs = "not"
    return differs


def _content(tokens: Sequence[Token]) -> set[str]:
    return {t.root for t in tokens if (is_content(t) or t.is_claim) and t.text.lower() not in NEGATORS}


def _negations(tokens: Sequence[Token]) -> int:
    return sum(t.text.lower() in NEGATORS or t.text.lower().endswith("n't") for t in tokens)


def _turns(tokens: Sequence[Token]) -> bool:
    return any(t.text.lower() in TURNING for t in tokens)


def _added(body: str, has_word: Callable[[str], bool]) -> Iterator[str]:
    for found in _ADDED.finditer(body):
        clause = re.split(r"[,;.(]\s", body[found.end() :], maxsplit=1)[0]
        content = [t for t in Reader().tokens(clause) if is_content(t) and t.root not in GENERIC]
        claims = any(t.is_claim for t in Reader().tokens(clause))
        if content and not claims and not any(has_word(t.text.lower()) for t in content):
            yield clause.strip()
