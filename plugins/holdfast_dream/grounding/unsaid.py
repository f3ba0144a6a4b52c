"""Doubts about words: causes, denials, habits and actions that a line's supporting units do not mention.

These rules know classes of words but no subjects. They only doubt, and a person or a judge can still accept the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from holdfast_dream.grounding.evidence import Evidence, Match
from holdfast_dream.grounding.lexicon import GENERIC, GIVEN_NAMES, NEGATORS, NEUTRAL, PAST, TURNING, is_ordinary, words
from holdfast_dream.grounding.tokens import Reader, Token, is_content
from holdfast_dream.grounding.units import Unit

#: Before the cause, and after it.
_FOR: Final = re.compile(
    r"\b(?:because(?: of)?|due to|owing to|thanks to|caused by|as a result of|came from|traced to"
    r"|on account of|since(?! (?:\d|January|February|March|April|May|June|July|August|September|October|November"
    r"|December)))\b",
    re.IGNORECASE,
)
_SO: Final = re.compile(r"\b(?:causes?|caused(?! by)|led to|leads to|results? in|resulted in|made)\b", re.IGNORECASE)
#: Signs of a cause in a source: any of the above, or a mark after which an explanation follows.
_GIVEN: Final = re.compile(
    r"[:(;]|\b(?:because|due|owing|thanks|cause[sd]?|result|from|traced|since|so|as|led|leads|made|makes|reason"
    r"|after|until)\b",
    re.IGNORECASE,
)
_UNKNOWN: Final = re.compile(
    r"\b(?:cause|reason) (?:is|was|remains|stays) (?:still |yet )?(?:unknown|unclear|open|not (?:known|clear))\b"
    r"|\b(?:nobody|no one) (?:yet )?knows why\b",
    re.IGNORECASE,
)
#: After these, what follows is denied, given up or reserved.
_DENIED: Final = re.compile(
    r"\b(?:not|never|neither|nor|without|n't|cannot|rather than|instead of|nobody but|no longer|no"
    r"|stop(?:s|ped)?(?: being)?|g[ai]ves? up|gave up|abandon(?:s|ed)?|refuse[sd]?|reject(?:s|ed)?|decline[sd]?"
    r"|forb[ai]d(?:s|den)?"
    r"|drop(?:s|ped)?(?! (?:from|to|by)\b)|remove[sd]?|los(?:es?|t)|lack(?:s|ed)?|fail(?:s|ed)? to|skip(?:s|ped)?"
    r"|avoid(?:s|ed)?)\b",
    re.IGNORECASE,
)
_BREAK: Final = re.compile(r"[,;:.(]\s|\b(?:but|and|because|since|while)\b")
_AFTER_FACT: Final = re.compile(
    r"\b(?:w(?:as|ere)|been|is|are) (?:rejected|refused|declined|abandoned|dropped|given up|removed)\b"
    r"|\bgave up\b|\bgiven up\b",
    re.IGNORECASE,
)
#: Words that may replace the denial in a line with the same meaning.
_AKIN: Final = TURNING | words(
    """
    gone ended ends end lose loses lost gave given up abandon abandoned decline declined declines quit yet
    still remaining remain halted ceased closed disallow disables shut unable neither untouched
    """
)


def unsaid(
    body: str, tokens: Sequence[Token], matches: Sequence[Match], evidence: Evidence
) -> Iterator[tuple[str, str]]:
    """(kind, words) of each doubt; ``matches`` are the best units for the line, best first."""
    if not matches:
        return
    best = [match for match in matches[:5] if match.score >= 0.75 * matches[0].score]
    if found := _cause(body, best, evidence):
        yield "cause", found
    elif found := _denied(body, tokens, best):
        yield "opposite", found
    elif found := _deed(tokens, matches):
        yield "predicate", found
    elif found := _addition(body, matches, evidence):
        yield "clause", found


# --- causes -----------------------------------------------------------------------------------------------------------


def _cause(body: str, best: Sequence[Match], evidence: Evidence) -> str:
    """The cause that a line names, unless a unit near its support names it too."""
    found = _FOR.search(body)
    if found:
        cause, effect = body[found.end() :], body[: found.start()]
        if not effect.strip(" -"):
            cause, _, effect = cause.partition(",")
    else:
        found = _SO.search(body)
        if not found or found[0] == "made":
            return ""
        cause, effect = body[: found.start()], body[found.end() :]
    cause = re.split(r"[:;.]\s", cause, maxsplit=1)[0]
    effect = re.split(r"[;,]\s", effect.rstrip(" ,;"))[-1]
    wanted, effects = _roots(cause), _roots(effect)
    if not wanted or not effects or _negates(body):
        return ""
    top = best[0]
    same_line = (evidence.units[at] for at in (top.at, top.at + 1) if at < len(evidence.units))
    where = (top.unit.document, top.unit.line)
    if any(_UNKNOWN.search(unit.text) for unit in same_line if (unit.document, unit.line) == where):
        return "" if _UNKNOWN.search(body) else cause.strip(" .")
    for match in best:
        near = range(max(0, match.at - 1), min(len(evidence.units), match.at + 2))
        around = [evidence.units[at] for at in near if evidence.units[at].document == match.unit.document]
        for unit in around:
            here = unit.roots | unit.keys
            said = wanted & here
            least = len(wanted) if any(root[0] in "#=" for root in said) else len(wanted) * 4 / 3  # a value proves more
            if len(said) * 2 < least or said <= _denials(unit.text):
                continue
            whole = len(said) == len(wanted) and effects <= here and not _negates(unit.text)
            beside = any(len(effects & (o.roots | o.keys)) * 2 > len(effects) for o in around if o is not unit)
            if whole or beside or (effects & here and _GIVEN.search(unit.text)):
                return ""
    return cause.strip(" .")


def _roots(text: str) -> set[str]:
    return {t.root for t in Reader().tokens(text) if (is_content(t) or t.is_claim) and t.root not in GENERIC}


# --- denials ----------------------------------------------------------------------------------------------------------


def _denials(text: str) -> set[str]:
    """The roots that the text denies: the next content word after each sign of denial."""
    found: set[str] = set()
    for sign in _DENIED.finditer(text):
        if re.search(r"(?:\bnot|n't|\bnever)\s+\Z", text[: sign.start()]):  # "does not stop" denies nothing
            continue
        rest = _BREAK.split(text[sign.end() :], maxsplit=1)[0]
        span = [t for t in Reader().tokens(rest) if is_content(t) or t.is_claim][:3]
        if span and not span[0].is_claim and span[0].text.lower() not in TURNING:
            found.add(span[0].root if span[0].root not in GENERIC or len(span) < 2 else span[1].root)
    if _AFTER_FACT.search(text):
        found |= _roots(_AFTER_FACT.split(text, maxsplit=1)[0])
    return found - GENERIC


def _negates(text: str) -> bool:
    return any(t.text.lower() in NEGATORS or t.text.lower().endswith("n't") for t in Reader().tokens(text))


def _denied(body: str, tokens: Sequence[Token], best: Sequence[Match]) -> str:
    """A word of the line that its sources only deny."""
    low = {t.text.lower() for t in tokens}
    if _negates(body) or low & _AKIN or _DENIED.search(body):
        return ""
    whole = {t.root for t in tokens if is_content(t) or t.is_claim}
    mine = whole - GENERIC
    if len(whole) > 1 and all(_is_negated(whole, match.unit) for match in best):
        return min(whole)
    if len(mine) < 2:
        return ""
    found = ""
    for match in best[:1]:
        said = {root for root in mine if match.unit.says(root, alone=True)}
        if len(said) * 4 < len(mine) * 3:
            continue
        denied = _denials(match.unit.text) & mine
        if not _AFTER_FACT.search(match.unit.text):
            denied -= set().union(*(_roots(p) for p in _BREAK.split(match.unit.text) if not _denials(p)))
        if not denied:
            return ""
        if not _AFTER_FACT.search(match.unit.text) and _is_said(mine, match.unit):
            return ""
        found = found or min(denied)
    return found


def _is_negated(whole: set[str], unit: Unit) -> bool:
    """Whether each clause of the unit with all words of a line has a "not" before one of them."""
    clauses = [part for part in _BREAK.split(unit.text) if whole <= {t.root for t in Reader().tokens(part)}]
    return bool(clauses) and all(_negates_later(part, whole) for part in clauses)


def _negates_later(clause: str, whole: set[str]) -> bool:
    tokens = Reader().tokens(clause)
    at = next((n for n, t in enumerate(tokens) if _is_plain_not(t.text.lower())), len(tokens))
    return any(t.root in whole for t in tokens[at + 1 : at + 3])


def _is_plain_not(low: str) -> bool:
    return low in ("not", "never", "cannot", "nicht") or low.endswith("n't")


def _is_said(mine: set[str], unit: Unit) -> bool:
    """Whether a clause of the unit says all of the line and denies nothing of it."""
    return any(mine <= _roots(part) and not _denials(part) & mine for part in _BREAK.split(unit.text))


# --- deeds ------------------------------------------------------------------------------------------------------------


def _deed(tokens: Sequence[Token], matches: Sequence[Match]) -> str:
    """A verb of the line that no unit near its support has, nor a word for it."""
    near = _near(matches)
    denies = any(
        _negates(m.unit.text) or _DENIED.search(m.unit.text) or {t.text.lower() for t in m.unit.tokens} & _AKIN
        for m in matches[:2]
    )
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.kind != "word" or not token.text.islower() or not is_content(token):
            continue
        text = token.text
        ends = text.endswith("ed") or text in PAST
        third = text.endswith("s") and not text.endswith("ss") and before is not None and _is_person(before)
        if not (ends or third) or token.root in NEUTRAL or token.root in near:
            continue
        if text.startswith("un") or (token.root in GENERIC and text not in TURNING):
            continue
        if denies and text in TURNING:
            continue
        if "w:" + text in near or any(_akin(text, key) for key in near):
            continue
        return text
    return ""


def _near(matches: Sequence[Match]) -> set[str]:
    """Everything in the best units, their headings and the sentences before them."""
    near: set[str] = set()
    for match in matches[:4]:
        unit = match.unit
        near |= unit.roots.union(unit.keys, *unit.above, *unit.before)
    return near


_MORE: Final = re.compile(
    r",?\s+(?:and|plus|including|with|without|after|before|while|for which|which|but|where|so)\s+|,\s+|;\s+",
    re.IGNORECASE,
)


def _addition(body: str, matches: Sequence[Match], evidence: Evidence) -> str:
    """A later part of the line that is half made of words which no unit near its support has."""
    near = _near(matches)
    for part in _MORE.split(body)[1:]:
        content = [t for t in Reader().tokens(part) if (is_content(t) and t.root not in GENERIC) or t.is_claim]
        content = [t for t in content if t.text.lower() not in NEGATORS]
        unknown = [
            t
            for t in content
            if not t.is_claim
            and t.root not in near | NEUTRAL
            and t.text.islower()
            and not any(_akin(t.text, key) for key in near)
        ]
        if not unknown or 2 * len(unknown) < len(content) or any(t.is_claim for t in content):
            continue
        if "i:" + "".join(t.text[0].lower() for t in content) in near:
            continue  # "dead-letter queue", where the sources say DLQ
        features: list[tuple[str, tuple[str, ...]]] = [(t.root, ()) for t in content]
        said = (sum(m.unit.says(*f) for f in features) for m in evidence.best(features)[:3])
        if len(content) > 1 and any(count * 3 >= 2 * len(content) for count in said):
            continue
        return part.strip(" .")
    return ""


def _akin(text: str, key: str) -> bool:
    """Whether two words begin alike: approve, approval."""
    size = max(4, len(text) - 4)
    return key.removeprefix("w:")[:size] == text[:size]


def _is_person(token: Token) -> bool:
    return (
        token.text[:1].isupper()
        and token.text[1:].islower()
        and (token.text.lower() in GIVEN_NAMES if token.opens else not is_ordinary(token.text.lower()))
    )
