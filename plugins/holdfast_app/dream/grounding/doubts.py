"""Doubts: everything in a line is known, but its words cannot prove that the sources say it.

A doubt does not prove an invention. It keeps a line out until a person accepts it. ``hedge``: the sources only suppose
it. ``always``: they do not say it of all. ``cause``: they give another cause. ``opposite``: one of the two denies it.
``clause``: a part of the line is in no source. ``roles``: they say it of another thing. A further doubt, ``wording``,
is that they have other words (:mod:`.wording`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from holdfast_app.dream.grounding.lexicon import GENERIC, has_german, words
from holdfast_app.dream.grounding.line import Line, is_negator
from holdfast_app.dream.grounding.polarity import antonym, content_roots, denials, denied, differs
from holdfast_app.dream.grounding.relations import rebound
from holdfast_app.dream.grounding.tokens import Reader, Token, is_content, words_of


def doubts(line: Line) -> tuple[tuple[str, str], ...]:
    """(kind, words) of the first doubt about a compared line, or nothing."""
    if not line.matches:
        return ()
    for kind, find in _RULES:
        if found := find(line):
            return ((kind, found),)
    return ()


# --- certainty ---------------------------------------------------------------------------------------------------

_HEDGES: Final = words(
    """
    may might could possibly perhaps maybe probably likely unlikely unconfirmed presumably apparently seems seem seemed
    suspected suspect rumoured rumored supposedly allegedly unclear unsure tentative tentatively proposed considering
    vielleicht möglicherweise vermutlich wohl wahrscheinlich eventuell angeblich anscheinend könnte dürfte
    probablement pourrait semble quizá quizás probablemente posiblemente talvez provavelmente possivelmente
    forse probabilmente misschien waarschijnlijk wellicht kanske måske prawdopodobnie
    возможно вероятно наверное кажется
    """
)
_NOT_SURE: Final = re.compile(
    r"\bpossible:|\bnot (?:yet )?(?:confirmed|sure|certain|clear|decided)\b|\bthinking (?:about|of)\b"
    r"|\bpeut-être\b|\bsans doute\b"
    r"|\b(?:tal vez|puede que|può darsi|может быть)\b|かもしれ|たぶん|おそらく|可能|也许|大概",
    re.IGNORECASE,
)
#: Words that are a hedge in a line, whatever the source's own word is.
_LOOSE: Final = _HEDGES | words(
    """
    suspects thinks think believes believe guess assume assumes assumed appears appear plan planned plans considers
    consider looks or reconsider pending outstanding open wants expects hopes would should unconfirmed
    """
)
#: Words that limit a habit, and words that may replace them.
_OFTEN: Final = words("usually often sometimes mostly typically generally occasionally rarely normally partly")
_SOFT: Final = _OFTEN | words("most usual tends tend typical regular regularly some many majority main mainly several")
#: After these, what follows is an opinion.
_OPINION: Final = re.compile(
    r"\b(?:thinks?|believes?|guess(?:es)?|suspects?|assumes?|suggests?|looks like|it seems)\b(?: that)?", re.IGNORECASE
)
#: A "may" that is a permission or a limit.
_PERMISSION: Final = re.compile(
    r"\b(?:at most|up to|no more than)\b|\bmay(?: not)?(?:\s+[\w'-]+){0,3}?\s+(?:only|exceed)\b"
    r"|\b(?:only|nobody but)\s+(?:[\w'-]+\s+){1,4}may\b",
    re.IGNORECASE,
)
_PERMITS: Final = words("can allowed permitted entitled")
_UNABLE: Final = re.compile(r"\bcould(?: not|n't)\b", re.IGNORECASE)
_PARTS: Final = re.compile(r"[;()]\s*|,\s+|\s(?=\()|\bbut\b")


def _hedge(line: Line) -> str:
    """The hedge that all best sources have and the line does not."""
    low = _lower(line.tokens)
    if low & _LOOSE or _is_hedged(line.body, low):
        return ""
    best = [(match.unit, _lower(match.unit.tokens)) for match in line.best(6, 0.8)]
    if not low & _SOFT and all(there & _OFTEN for _, there in best):
        return min(best[0][1] & _OFTEN)
    if low & _PERMITS and all(there & _HEDGES == {"may"} for _, there in best):
        return ""
    if all(_is_part_hedged(unit.text, line.tokens) or _is_opinion(unit.text, line.tokens) for unit, _ in best):
        return min(best[0][1] & _HEDGES, default="not confirmed")
    return ""


def _lower(tokens: Sequence[Token]) -> set[str]:
    """The words in lower case, without the month of May."""
    after = [*(token.text for token in tokens[1:]), ""]
    return {
        token.text.lower()
        for token, next_ in zip(tokens, after, strict=False)
        if token.kind == "word" and (token.text != "May" or (token.opens and next_.islower()))
    }


def _is_hedged(text: str, low: set[str]) -> bool:
    hedges = low & _HEDGES
    if hedges == {"may"} and _PERMISSION.search(text):
        return False
    if hedges == {"could"} and _UNABLE.search(text):
        return False
    return bool(hedges) or bool(_NOT_SURE.search(text))


def _is_part_hedged(text: str, tokens: Sequence[Token]) -> bool:
    """Whether a source is hedged in each part that speaks of the line."""
    if text.rstrip().endswith("?"):
        return True
    if not _is_hedged(text, _lower(Reader().tokens(text))):
        return False
    mine = {t.root for t in tokens if is_content(t) or t.is_claim}
    sure: set[str] = set()
    for part in _PARTS.split(text):
        told = Reader().tokens(part)
        if not _is_hedged(part, _lower(told)):
            sure.update(t.root for t in told)
        elif sum(map(is_content, told)) < 3:  # "Perhaps, ..."
            return True
    return 2 * len(mine & sure) <= len(mine)


def _is_opinion(text: str, tokens: Sequence[Token]) -> bool:
    """Whether a source only reports the line's statement as someone's opinion."""
    found = _OPINION.search(text)
    thought = content_roots(text[found.end() :]) if found else set()
    mine = {t.root for t in tokens if is_content(t) and t.root not in GENERIC}
    return len(thought & mine) * 2 > len(mine)


# --- generality --------------------------------------------------------------------------------------------------

_ALL: Final = words("always all every everyone everybody anyone anybody entirely completely invariably")
_SOME: Final = words("always all every each everyone everybody everything entirely completely never any")
#: An "every" that counts time or things and does not generalise.
_EVERY: Final = re.compile(
    r"\bevery (?=\d|other|second|third|few|two|three|four|six|ten|half|\w+day\b|day|night|morning|evening|hour"
    r"|minute|week"
    r"|month|quarter|year|spring|summer|autumn|winter|time)",
    re.IGNORECASE,
)


def _always(line: Line) -> str:
    """A word for all or always that no best source has."""
    low = _lower(line.tokens)
    general = low & (_ALL - {"every"} if _EVERY.search(line.body) else _ALL)
    if general and not any(_lower(match.unit.tokens) & _SOME for match in line.best(6, 0.8)):
        return min(general)
    return ""


# --- causes ------------------------------------------------------------------------------------------------------

#: Before the cause, and after it.
_FOR: Final = re.compile(
    r"\b(?:because(?: of)?|due to|owing to|thanks to|caused by|as a result of|came from|traced to"
    r"|on account of|since(?! (?:\d|January|February|March|April|May|June|July|August|September|October|November"
    r"|December)))\b",
    re.IGNORECASE,
)
_SO: Final = re.compile(r"\b(?:causes?|caused(?! by)|led to|leads to|results? in|resulted in)\b", re.IGNORECASE)
#: Signs of a cause in a source: any of the above, or a mark after which an explanation follows.
_GIVEN: Final = re.compile(
    r"[:(;]|\b(?:because|due|owing|thanks|cause[sd]?|result|from|traced|since|so|as|led|leads|made|makes|reason"
    r"|after|until)\b",
    re.IGNORECASE,
)


def _cause(line: Line) -> str:
    """The cause that a line names, unless a unit near its support names it too."""
    cause, effect = _cause_and_effect(line.body)
    wanted, effects = content_roots(cause), content_roots(effect)
    if not wanted or not effects or any(map(is_negator, line.tokens)):
        return ""
    units = line.evidence.units
    for match in line.best(5, 0.75):
        near = range(max(0, match.at - 1), min(len(units), match.at + 2))
        around = [units[at] for at in near if units[at].document == match.unit.document]
        for unit in around:
            here = unit.roots | unit.keys
            known = wanted & here
            least = len(wanted) if any(root[0] in "#=" for root in known) else len(wanted) * 4 / 3  # a value says more
            if len(known) * 2 < least or known <= denials(unit.text):
                continue
            whole = len(known) == len(wanted) and effects <= here and not any(map(is_negator, unit.tokens))
            beside = any(len(effects & (o.roots | o.keys)) * 2 > len(effects) for o in around if o is not unit)
            if whole or beside or (effects & here and _GIVEN.search(unit.text)):
                return ""
    return cause.strip(" .")


def _cause_and_effect(body: str) -> tuple[str, str]:
    found = _FOR.search(body)
    if found:
        cause, effect = body[found.end() :], body[: found.start()]
        if not effect.strip(" -"):
            cause, _, effect = cause.partition(",")
    else:
        found = _SO.search(body)
        if not found:
            return "", ""
        cause, effect = body[: found.start()], body[found.end() :]
    return re.split(r"[:;.]\s", cause, maxsplit=1)[0], re.split(r"[;,]\s", effect.rstrip(" ,;"))[-1]


# --- additions, opposites and roles ------------------------------------------------------------------------------


_ADDED: Final = re.compile(r",\s+(?:which|including|and|as well as|plus|along with)\b|(?<!\s)\s+and\s+", re.IGNORECASE)


def _added(line: Line) -> str:
    """A part of the line without a value, all words of which are new."""
    for found in _ADDED.finditer(line.body):
        clause = re.split(r"[,;.(]\s", line.body[found.end() :], maxsplit=1)[0]
        tokens = Reader().tokens(clause)
        content = [t for t in tokens if is_content(t) and t.root not in GENERIC]
        if (
            content
            and not any(t.is_claim for t in tokens)
            and not any(line.evidence.has_word(t.text.lower()) for t in content)
        ):
            return clause.strip()
    return ""


def _roles(line: Line) -> str:
    """A word that the sources have in another place. German has another word order."""
    return "" if has_german(words_of(line.body)) else rebound(line)


def _antonym(line: Line) -> str:
    return "" if ";" in line.body else antonym(line)


_RULES: Final = (
    ("always", _always),
    ("hedge", _hedge),
    ("opposite", _antonym),
    ("clause", _added),
    ("roles", _roles),
    ("cause", _cause),
    ("opposite", denied),
    ("opposite", differs),
)
