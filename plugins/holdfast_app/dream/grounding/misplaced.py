"""Inventions: known values and names in another's place.

A source unit says the rest of the line with another claim of the same sort, and no unit with the line's claim is about
its subject.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from holdfast_app.dream.grounding.lexicon import GENERIC
from holdfast_app.dream.grounding.line import Feature, Line, said
from holdfast_app.dream.grounding.tokens import Token, is_content
from holdfast_app.dream.grounding.units import RELATIVE, Unit

#: A claim in more units than this belongs to no single subject and is not checked.
_COMMON: Final = 200
#: Groups of claims that name things. Neighbouring words may be part of them.
_NAMED: Final = frozenset(["name", "id"])


def misplaced(line: Line) -> Iterator[tuple[str, str]]:
    """("misattributed", text) of each such claim."""
    offered = {key for t in line.tokens for key in (*t.offers, *t.wants)} | {t.root for t in line.tokens}
    for index, token in enumerate(line.tokens):
        group = line.group(token)
        if not group:
            continue
        keys = token.wants if token.is_claim else (token.root,)
        holders = line.evidence.units_with(keys, _COMMON)
        if holders is None or (not holders and group != "date"):
            continue
        if group == "date" and any(m.unit.says("", keys) for m in line.matches[:1]):
            continue  # noted on that day
        same = _name_around(line, index) if group in _NAMED else {token.root}
        rest = [f for f in line.features if f[0] not in same and f[0] not in GENERIC]
        near = _near(line.tokens, index)
        for match in line.matches[:6]:
            if match.unit.says(token.root, keys, alone=True):
                continue
            # Earlier sentences name the subject, unless the claim comes from them.
            merged = any(0 < match.at - at <= 2 for at in holders)
            shared = said(match.unit, rest, alone=merged)
            if not shared or len(shared) * 2 < len(rest):
                continue
            whole = len(shared) == len(rest) > 1 and group not in _NAMED
            if not _competes(line, match.unit, group, near, offered, anywhere=whole):
                continue
            if all(_is_other(line, line.evidence.units[at], match.unit, rest, shared) for at in holders):
                yield "misattributed", token.text
                break


def _name_around(line: Line, index: int) -> set[str]:
    """The roots of all parts of the name that a token is part of."""
    found = {line.tokens[index].root}
    for step in (range(index - 1, -1, -1), range(index + 1, len(line.tokens))):
        for at in step:
            if not (line.tokens[at].kind == "word" and line.group(line.tokens[at])):
                break
            found.add(line.tokens[at].root)
    return found


def _near(tokens: Sequence[Token], index: int) -> set[str]:
    """Roots of the nearest three content words on each side."""
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


def _competes(line: Line, unit: Unit, group: str, near: set[str], offered: set[str], *, anywhere: bool) -> bool:
    """Whether a unit has a claim of the same sort that the line lacks, next to a word they share or ``anywhere``."""
    if group not in _NAMED and any(line.group(t) == group and not offered.isdisjoint(t.wants) for t in unit.tokens):
        return False  # the line has the unit's claim in this place
    if anywhere and group == "date" and unit.day and any(t.text.lower() in RELATIVE for t in unit.tokens):
        return True  # "today" is the day of its whole sentence
    for at, other in enumerate(unit.tokens):
        if line.group(other) != group or not offered.isdisjoint(other.wants or (other.root,)):
            continue
        if group in _NAMED and any(
            t.text[:1].isupper() and t.root in offered for t in unit.tokens[max(at - 1, 0) : at + 2]
        ):
            continue  # the other part of a name that the line has
        if anywhere or near & _near(unit.tokens, at):
            return True
    return False


def _is_other(line: Line, holder: Unit, rival: Unit, rest: Sequence[Feature], shared: set[str]) -> bool:
    """Whether the unit that holds a claim is about something else than the line, which ``rival`` is about."""
    mine = said(holder, rest, alone=True)
    if mine - shared:
        return False
    newer = holder.day is not None and (rival.day is None or holder.day > rival.day)
    if newer and len(mine) * 2 >= len(shared):
        return False
    if len(mine) >= len(shared):
        return False  # the same subject
    subject = {f[0] for f in line.features} | GENERIC | rival.roots
    return not mine or bool(holder.roots - subject)
