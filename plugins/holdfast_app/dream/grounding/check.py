"""Checks whether each line of a new memory is quoted from its sources, or can be, without a model.

A line with a source's words is *supported*. A line in words of its own is *unproven*, so that only a judge can
accept it (:mod:`.judging`). It is *invented* when a literal of it is in no source, or no single source has all of them:
a number, date, address, path, identifier, name, quotation or "not". Nothing else is concluded from words.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from holdfast.models import Finding
from holdfast.validation import ValidationRequest
from holdfast_app.dream.grounding.sources import (
    Literal,
    Near,
    Sources,
    has_negation,
    is_in,
    literals,
    plain,
    read,
    statement,
)

#: Maximum length of a line in words of its own, in characters.
MAX_CHARS: Final = 2_000
_SUPPORTS: Final = 3
_SAID: Final = {
    "misattributed": "no single source has {} and the rest",
    "negation": "the nearest source lines have no {}",
    "length": "is too long to be traced: {}",
}


class Grounded(NamedTuple):
    """The result for one line. ``supports`` are at most three source lines, best first. ``inventions`` are claims
    without a source: literals, and of the kinds misattributed (no single source has all literals), and length (too long
    to read)."""

    number: int
    text: str
    supports: tuple[Near, ...] = ()
    inventions: tuple[Literal, ...] = ()
    #: A source has the line word for word, or it says nothing.
    is_quoted: bool = False

    @property
    def answer(self) -> str:
        """``supported``, ``invented``, or ``unproven``."""
        return "invented" if self.inventions else "supported" if self.is_quoted else "unproven"


def ground(lines: Iterable[str], sources: Iterable[tuple[str, str]]) -> tuple[Grounded, ...]:
    """One result per line, in order, numbered from 1.

    ``sources`` are (name, text) pairs in any order. Blank lines are supported, and so are headings without an invented
    literal. Linear in the size of lines and sources. Never raises, whatever the text.
    """
    known = read(tuple(sorted(set(sources))))
    return tuple(_check(known, number, text) for number, text in enumerate(lines, 1))


def _check(sources: Sources, number: int, text: str) -> Grounded:
    body = plain(statement(text))
    places = sources.quoted(text, _SUPPORTS)
    if places or not any(map(str.isalnum, body)):
        found = tuple(Near(name, at, 1.0) for name, at in places)
        return Grounded(number=number, text=text, supports=found, is_quoted=True)
    if len(body) > MAX_CHARS:
        return Grounded(number=number, text=text, inventions=(Literal("length", body[:40]),))
    near = sources.nearest(body, _SUPPORTS * _SUPPORTS)
    is_heading = text.lstrip().startswith("#")
    wanted = [literal for literal in literals(body) if not (is_heading and literal.kind in ("name", "negation"))]
    inventions, documents = _missing(sources, wanted, near)
    near = [place for place in near if place.document in documents] or near
    return Grounded(
        number=number,
        text=text,
        supports=tuple(near[:_SUPPORTS]),
        inventions=inventions,
        is_quoted=is_heading and not inventions,
    )


def _missing(sources: Sources, wanted: list[Literal], near: list[Near]) -> tuple[tuple[Literal, ...], frozenset[str]]:
    """The literals that no source has, and the documents that have all of them."""
    denies = any(has_negation(plain(place.text)) for place in near[:1])
    missing = [literal for literal in wanted if literal.kind == "negation" and not denies]
    exact = [literal for literal in wanted if literal.kind != "negation"]
    having = {
        literal: {name for name, text in zip(sources.names, sources.bodies, strict=True) if is_in(literal, text)}
        for literal in exact
    }
    missing += [literal for literal in exact if not having[literal]]
    documents = frozenset(sources.names).intersection(*having.values())
    if exact and not missing and not documents:
        rarest = min(exact, key=lambda literal: len(having[literal]))
        return (Literal("misattributed", rarest.text),), documents
    return tuple(missing), documents


def findings(request: ValidationRequest, *, strict: bool) -> tuple[Finding, ...]:
    """Findings in line order, one per ungrounded line. ``strict`` accepts quotations only, whatever a judge said."""
    findings = []
    for line in ground(request.text.splitlines(), request.sources):
        if line.inventions:
            kind, token = line.inventions[0]
            message = _SAID.get(kind, "{} is in no source").format(f"`{token[:80]}`")
            more = [t for _, t in line.inventions[1:4]]
            message += f", nor {', '.join(f'`{t[:80]}`' for t in more)}" if more and kind not in _SAID else ""
            findings.append(_finding(request, line, kind, message))
        elif not line.is_quoted and strict:
            findings.append(_finding(request, line, "unsupported", "is not quoted from a source"))
        elif not line.is_quoted and line.text not in request.entailed:
            message = "cannot be proved by its sources: its words are not theirs"
            findings.append(_finding(request, line, "unproven", message))
    return tuple(findings)


def _finding(request: ValidationRequest, line: Grounded, kind: str, message: str) -> Finding:
    near = f"; nearest: {line.supports[0].document} line {line.supports[0].line}" if line.supports else ""
    return Finding(
        rule=f"grounding/{kind}",
        message=message + near,
        line=line.number,
        fix="Leave the line out, or write the words of the source.",
        name=request.name,
    )
