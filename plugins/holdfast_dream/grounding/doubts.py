"""Doubts: all words of a line are known, but it may say something different from its sources.

A doubt does not prove an invention. It keeps a line out until a person accepts it. ``hedge``: the sources only suppose
it. ``always``: they do not say it of all. ``roles``: they say it of another person. ``cause``: they give another cause.
``opposite``: one of the two has a "not". ``clause``: part of the line is in no source.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from holdfast_dream.grounding.evidence import Match
from holdfast_dream.grounding.lexicon import GENERIC, NEGATORS, PAST, TURNING, canonical, words
from holdfast_dream.grounding.tokens import Reader, Token, is_content
from holdfast_dream.grounding.units import Unit

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
NOT_SURE: Final = re.compile(
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
#: After these, what follows is an opinion.
_OPINION: Final = re.compile(
    r"\b(?:thinks?|believes?|guess(?:es)?|suspects?|assumes?|suggests?|looks like|it seems)\b(?: that)?", re.IGNORECASE
)
_OFTEN: Final = words("usually often sometimes mostly typically generally occasionally rarely normally partly")
_SOFT: Final = _OFTEN | words("most usual tends tend typical regular regularly some many majority main mainly several")
_EVERY: Final = re.compile(
    r"\bevery (?=\d|other|second|third|few|two|three|four|six|ten|half|\w+day\b|day|night|morning|evening|hour"
    r"|minute|week"
    r"|month|quarter|year|spring|summer|autumn|winter|time)",
    re.IGNORECASE,
)
_LIMIT: Final = re.compile(
    r"\b(?:at most|up to|no more than)\b|\bmay(?: not)?(?:\s+[\w'-]+){0,3}?\s+(?:only|exceed)\b"
    r"|\b(?:only|nobody but)\s+(?:[\w'-]+\s+){1,4}may\b",
    re.IGNORECASE,
)
#: Words for a permission, which the source's "may" then is, too.
_PERMITS: Final = words("can allowed permitted entitled")
_ALL: Final = words(
    "always all every everyone everybody anyone anybody everything everywhere entirely completely invariably"
)
_SOME: Final = words("always all every each everyone everybody everything entirely completely never any")
_CAUSE: Final = frozenset(map(canonical, ("cause", "caused", "causes", "causing")))
_ADDED: Final = re.compile(r",\s+(?:which|including|and|as well as|plus|along with)\b|\s+and\s+", re.IGNORECASE)
_CLAUSE: Final = re.compile(
    r"[,;.:()]\s|\b(?:and|or|but|while|when|if|because|since|after|before|which|that|und|oder|et|ou|y|o|e|en|of|и)\b",
    re.IGNORECASE,
)
_PASSIVE: Final = re.compile(
    r"\b(?:by|von|vom|par|por|da|door|wird|werden|wurde)\b|\b(?:is|are|was|were|be|been|being|gets?"
    r"|got)\s+\w+(?:ed|en|wn|[dl]t)\b",
    re.IGNORECASE,
)


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
    | upload uploads / download downloads | always / never
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
#: Clauses that share this much of their words are one statement, whatever its order.
_WHOLE: Final = 1.0
#: Words for relations that hold both ways.
_SYMMETRIC: Final = frozenset(
    map(
        canonical,
        words("differ equal match meet same share together between next near versus conflict compete overlap"),
    )
)
#: A line and a source that share this much of their words say the same apart from the doubted part.
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
    if (
        not low & _LOOSE
        and not _is_hedged(body, low)
        and not (low & _PERMITS and all(there & _HEDGES == {"may"} for there in said))
        and all(
            _is_part_hedged(match.unit.text, there, tokens) or _is_opinion(match.unit.text, tokens)
            for match, there in zip(best, said, strict=True)
        )
    ):
        yield "hedge", next(iter(sorted(said[0] & _HEDGES)), "not confirmed")
        return
    everything = low & (_ALL - {"every"} if _EVERY.search(body) else _ALL)
    if everything and not any(there & _SOME for there in said):
        yield "always", min(everything)
        return
    if not low & (_SOFT | _LOOSE) and all(there & _OFTEN for there in said) and _is_about(tokens, best[0].unit):
        yield "hedge", min(said[0] & _OFTEN)
        return
    if found := _other_role(tokens, best) or _exchanged(body, best):
        yield "roles", found
    if found := _other_cause(tokens, best):
        yield "cause", found
    if found := _other_course(body, best):
        yield "roles", found
    if (
        found := _opposite(tokens, best, matches)
        or (";" not in body and _antonym(tokens, matches))
        or _switched(body, best)
    ):
        yield "opposite", found
    yield from (("clause", clause) for clause in _added(body, has_word))


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
    if hedges == {"may"} and _LIMIT.search(text):  # a permission
        return False
    return bool(hedges) or bool(NOT_SURE.search(text))


def _is_part_hedged(text: str, low: set[str], tokens: Sequence[Token]) -> bool:
    """Whether a source is hedged in each part that speaks of the line."""
    if text.rstrip().endswith("?"):
        return True
    if not _is_hedged(text, low):
        return False
    mine = {t.root for t in tokens if is_content(t) or t.is_claim}
    sure: set[str] = set()
    for part in _PARTS.split(text):
        said = Reader().tokens(part)
        if not _is_hedged(part, _lower(said)):
            sure.update(t.root for t in said)
        elif sum(map(is_content, said)) < 3:  # "Perhaps, ..."
            return True
    return 2 * len(mine & sure) <= len(mine)


_PARTS: Final = re.compile(r"[;()]\s*|,\s+|\s(?=\()|\bbut\b")


def _is_about(tokens: Sequence[Token], unit: Unit) -> bool:
    """Whether the line states the words after "usually" or the like."""
    low = [t.text.lower() for t in unit.tokens]
    at = next((n for n, word in enumerate(low) if word in _OFTEN), 0)
    after = [t.root for t in unit.tokens[at + 1 :] if is_content(t) or t.is_claim][:2]
    mine = {t.root for t in tokens}
    return any(root in mine for root in after)


def _is_opinion(text: str, tokens: Sequence[Token]) -> bool:
    """Whether a source only reports the line's statement as someone's opinion."""
    found = _OPINION.search(text)
    if not found:
        return False
    thought = {t.root for t in Reader().tokens(text[found.end() :]) if is_content(t) and t.root not in GENERIC}
    mine = {t.root for t in tokens if is_content(t) and t.root not in GENERIC}
    return len(thought & mine) * 2 > len(mine)


def _deeds(tokens: Sequence[Token]) -> dict[str, set[str]]:
    """Each person's action: the root of the next content word after a capitalised one."""
    found: dict[str, set[str]] = {}
    for at, token in enumerate(tokens[:-1]):
        after = tokens[at + 1]
        is_name = token.text[:1].isupper() and token.text[1:].islower()
        acts = after.text.endswith(("s", "ed")) or after.text in PAST
        if is_name and after.text.islower() and is_content(after) and acts:
            found.setdefault(token.text.lower(), set()).add(after.root)
    return found


def _other_role(tokens: Sequence[Token], best: Sequence[Match]) -> str:
    if any(t.text == "by" for t in tokens):
        return ""
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


class _Around(NamedTuple):
    """At most two words with content before and after a word, and all of its clause."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    clause: frozenset[str]


def _exchanged(body: str, best: Sequence[Match]) -> str:
    """A word that has changed places with another around a third: "the meter polls the gateway", where it is polled."""
    if _PASSIVE.search(body) or any(_PASSIVE.search(match.unit.text) for match in best):
        return ""
    mine = _around(body)
    theirs = [_around(match.unit.text) for match in best]
    for middle, here in mine.items():
        rivals = [there[middle] for there in theirs if middle in there and _alike(here, there[middle]) >= _WHOLE]
        if any(_meet(here.before, there.before) and _meet(here.after, there.after) for there in rivals):
            continue
        if any(_meet(here.before, there.after) and _meet(here.after, there.before) for there in rivals):
            return here.before[-1]
    return ""


def _alike(mine: _Around, theirs: _Around) -> float:
    return len(mine.clause & theirs.clause) / len(mine.clause | theirs.clause)


def _meet(mine: Sequence[str], theirs: Sequence[str]) -> bool:
    return not set(mine).isdisjoint(theirs)


def _around(body: str) -> dict[str, _Around]:
    """The possible verbs, with their neighbours."""
    found: dict[str, _Around] = {}
    for clause in _CLAUSE.split(body):
        tokens = Reader().tokens(clause)
        content = [(at, token) for at, token in enumerate(tokens) if is_content(token) or token.group == "entity"]
        roots = [token.root for _, token in content]
        for place, (at, token) in enumerate(content):
            is_verb = token.text.islower() and (token.text.endswith(("s", "ed")) or token.text in PAST)
            follows = at > 0 and (is_content(tokens[at - 1]) or tokens[at - 1].group == "entity")
            if token.kind == "word" and is_verb and follows and token.root not in _SYMMETRIC:
                around = _Around(
                    tuple(roots[max(0, place - 2) : place]), tuple(roots[place + 1 : place + 3]), frozenset(roots)
                )
                if around.before and around.after:
                    found[token.root] = around
    return found


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


_COURSE: Final = re.compile(r"\bfrom (\d[\d.,]*\d|\d)(?: ?[^\W\d]+| ?%)? to (\d[\d.,]*\d|\d)")


def _other_course(body: str, best: Sequence[Match]) -> str:
    """Another change than the best unit's: "from 1.1 to 2.4", where it is from 2.4 to 1.1."""
    mine, theirs = _COURSE.search(body), _COURSE.search(best[0].unit.text)
    if mine is None or theirs is None or mine.groups() == theirs.groups():
        return ""
    return mine[0] if set(mine.groups()) & set(theirs.groups()) else ""  # otherwise in other units


def _opposite(tokens: Sequence[Token], best: Sequence[Match], matches: Sequence[Match]) -> str:
    mine = _content(tokens)
    if len(mine) < 2:
        return ""
    if _is_denied_too(tokens, matches):
        return ""
    few = len(mine - GENERIC) < 2
    differs = ""
    for match in best:
        if NOT_SURE.search(match.unit.text):
            return ""
        said = _without_contrast(match.unit, mine)
        theirs = _content(said)
        alike = len(mine & theirs) / max(1, len(mine | theirs))
        if alike < (1.0 if few else _ALIKE) or _turns(tokens) != _turns(said):
            continue
        if _negations(tokens) % 2 == _negations(said) % 2:
            return ""
        differs = "not"
    return differs


def _is_denied_too(tokens: Sequence[Token], matches: Sequence[Match]) -> bool:
    """Whether a source with a "not" has the words after each "not" of the line, which may join two sources."""
    after: set[str] = set()
    for at, token in enumerate(tokens):
        if _negations([token]):
            after.update([t.root for t in tokens[at + 1 :] if is_content(t) or t.is_claim][:3])
    return bool(after) and any(_negations(m.unit.tokens) and after <= m.unit.roots | m.unit.keys for m in matches[:6])


_CONTRAST: Final = re.compile(r",?\s+(?:and |but )?(?:not|rather than|instead of)\s+([^,;.]*)", re.IGNORECASE)


_STATE: Final = re.compile(r"\b(?:is|are|was|were|stays?|be) (?:switched |turned )?(on|off)\b", re.IGNORECASE)


def _switched(body: str, best: Sequence[Match]) -> str:
    mine = _STATE.search(body)
    theirs = _STATE.search(best[0].unit.text)
    return mine[1] if mine and theirs and mine[1].lower() != theirs[1].lower() else ""


def _without_contrast(unit: Unit, mine: set[str]) -> Sequence[Token]:
    """A unit's tokens without a ", not ..." part that the line does not mention."""
    found = _CONTRAST.search(unit.text)
    if not found or mine & _content(Reader().tokens(found[1])):
        return unit.tokens
    return Reader().tokens(unit.text[: found.start()] + unit.text[found.end() :])


def _antonym(tokens: Sequence[Token], matches: Sequence[Match]) -> str:
    """A word of the line whose opposite the best unit has in its place."""
    unit = matches[0].unit
    mine, theirs = {t.text.lower() for t in tokens}, {t.text.lower() for t in unit.tokens}
    for word in sorted(mine & _OPPOSITES.keys()):
        roots = {canonical(other) for other in _OPPOSITES[word]}
        if (
            _OPPOSITES[word] & theirs
            and word not in theirs
            and canonical(word) not in unit.roots
            and not roots & {t.root for t in tokens}
        ):
            return "" if _negations(tokens) != _negations(unit.tokens) else word
    return ""


def _content(tokens: Sequence[Token]) -> set[str]:
    return {t.root for t in tokens if (is_content(t) or t.is_claim) and t.text.lower() not in NEGATORS}


def _negations(tokens: Sequence[Token]) -> int:
    low = [t.text.lower() for t in tokens]
    return sum(
        (word in NEGATORS or word.endswith("n't") or word in ("rather", "instead")) and after != "even"
        for word, after in zip(low, [*low[1:], ""], strict=True)
    )


def _turns(tokens: Sequence[Token]) -> bool:
    """Whether words other than a negation reverse the statement. "no longer" counts as a negation."""
    low = [t.text.lower() for t in tokens]
    return any(
        (word in TURNING or (word.startswith("un") and len(word) > 7)) and (before, word) != ("no", "longer")
        for before, word in zip(["", *low], low, strict=False)
    )


def _added(body: str, has_word: Callable[[str], bool]) -> Iterator[str]:
    for found in _ADDED.finditer(body):
        clause = re.split(r"[,;.(]\s", body[found.end() :], maxsplit=1)[0]
        content = [t for t in Reader().tokens(clause) if is_content(t) and t.root not in GENERIC]
        claims = any(t.is_claim for t in Reader().tokens(clause))
        if content and not claims and not any(has_word(t.text.lower()) for t in content):
            yield clause.strip()
