"""Checks whether each line of a new memory is supported by its sources, with an index and plain rules, without a model.

A *hard invention* is a claim that no source makes: a number, date, version, address, path, identifier, name or
quotation. So is a claim that the sources make about something else (``misattributed``), and a reversed statement
(``negation``). Wording is free, so a paraphrase passes. What words cannot prove is a doubt (:mod:`.doubts`).
docs/grounding.md has the limits and error rates.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from attrs import frozen

from holdfast_app.dream.grounding import counting
from holdfast_app.dream.grounding.blocks import normal
from holdfast_app.dream.grounding.doubts import doubts
from holdfast_app.dream.grounding.evidence import Evidence, indexed, supporting
from holdfast_app.dream.grounding.line import Line, feature
from holdfast_app.dream.grounding.misplaced import misplaced
from holdfast_app.dream.grounding.polarity import turned
from holdfast_app.dream.grounding.tokens import MAX_CHARS
from holdfast_app.dream.grounding.unknown import misquoted, unknown
from holdfast_app.dream.grounding.wording import wording

_SUPPORTS: Final = 3
#: Kinds of inventions whose parts are all in the sources. Rules infer from other parts that they do not go together.
INFERRED: Final = frozenset(["misattributed", "negation"])
#: A match below this supports nothing.
_MIN_SCORE: Final = 0.15


class Support(NamedTuple):
    """A source line that supports a line: ``line`` is 1-based, ``score`` 0 to 1 (1 is word for word)."""

    document: str
    line: int
    score: float


class Invention(NamedTuple):
    """A claim without a source. ``kind``: number, unit, date, time, version, url, email, path, identifier, name, quote,
    misattributed, negation, or length (too long to read). ``token`` is its text in the line."""

    kind: str
    token: str


@frozen(kw_only=True)
class Grounded:
    """The result for one line. ``supports`` are at most three source lines, best first. ``coverage`` is the share of
    the line's words and claims that source sentences have, 0 to 1. It is only counted when nothing else is wrong.
    ``is_verbatim``: a source has the line word for word, or it has no words."""

    number: int
    text: str
    supports: tuple[Support, ...] = ()
    inventions: tuple[Invention, ...] = ()
    coverage: float = 1.0
    #: What words cannot prove: hedge, always, roles, cause, opposite, clause or wording (:mod:`.doubts`).
    doubts: tuple[Invention, ...] = ()
    is_verbatim: bool = False

    @property
    def answer(self) -> str:
        """``supported``, ``invented``, or ``unproven``."""
        return "invented" if self.inventions else "unproven" if self.doubts else "supported"

    @property
    def is_open(self) -> bool:
        """Whether every part of the line is in a source, so that a reader can check whether the sources say it."""
        return all(invention.kind in INFERRED for invention in self.inventions)

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
    return tuple(_judge(evidence, number, text) for number, text in enumerate(lines, 1))


def _judge(evidence: Evidence, number: int, text: str) -> Grounded:
    line = Line(evidence, text)
    places = evidence.places(normal(text), _SUPPORTS)
    if places or not line.tokens:
        found = tuple(Support(name, at, 1.0) for name, at in places)
        return Grounded(number=number, text=text, supports=found, is_verbatim=True)
    if len(line.body) > MAX_CHARS:  # text that was not read completely is not known to be grounded
        return Grounded(number=number, text=text, inventions=(Invention("length", line.body[:40]),))
    line.compare()
    is_rest = any(  # the line counts unfinished items
        counting.is_rest(token, line.body, line.matches)
        for token in line.tokens
        if token.kind == "number" and not evidence.offers(token.wants)
    )
    inventions = [*unknown(line), *misquoted(line), *counting.miscounted(line.body, line.matches)]
    unsure: Iterable[tuple[str, str]] = ()
    coverage = 1.0
    if not inventions and not line.is_heading:
        inventions = [*misplaced(line), *(() if is_rest else turned(line))]
        if not inventions and not is_rest and not (unsure := doubts(line)):
            words = wording(line)
            coverage = words.coverage
            unsure = (("wording", ", ".join(words.unsaid)),) if words.is_free else ()
    return Grounded(
        number=number,
        text=text,
        supports=_supports(line),
        inventions=tuple(Invention(*found) for found in dict.fromkeys(inventions)),
        coverage=coverage,
        doubts=tuple(Invention(*found) for found in unsure),
    )


def _supports(line: Line) -> tuple[Support, ...]:
    claims = [feature(t) for t in line.tokens if t.is_claim]
    places = supporting([match for match in line.matches if match.score >= _MIN_SCORE], claims)
    return tuple(Support(name, at, score) for (name, at), score in list(places.items())[:_SUPPORTS])
