"""Facts' values, checked in the order content, category, confidence (reading A09), and the facts in whose place they
go."""

from collections.abc import Container, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple, Self

from holdfast.errors import BadValue, must_be
from holdfast.journal import order
from holdfast.models import AddOutcome, AddResult, Fact
from holdfast.text.plain import same_key
from holdfast.text.stored import CATEGORIES
from holdfast_app.facts.store import origins
from holdfast_app.printable import cut
from holdfast_app.sentences.relation import Known, Relation

#: A fact more confident than a newer statement by more than this stays.
_OUTRANKED: Final = 0.3


def check_content(value: object) -> str:
    """``value`` without surrounding whitespace. Raises: BadValue when it is blank or not a string."""
    if not isinstance(value, str) or not value.strip():
        problem = "is blank" if isinstance(value, str) else "is not a string"
        raise BadValue("content", problem, next_step="Say what to keep.")
    return value.strip()


def check_category(value: object, *, other: str = "") -> str:
    """Normalise a category's name, or ``other`` for an unknown one. Case and outer whitespace are ignored.

    Raises: BadValue. Source: R037, R038, reading A08.
    """
    name = value.strip().casefold() if isinstance(value, str) else ""
    name = name if name in CATEGORIES else other
    if not name:
        step = f"Use one of: {', '.join(CATEGORIES)}."
        raise BadValue("category", f"cannot be {cut(repr(value), 40)}", next_step=step)
    return name


def check_confidence(value: object) -> float:
    """A number from 0.0 to 1.0. Raises: BadValue, for NaN, booleans and strings too. Source: R036, reading A07."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise BadValue("confidence", f"cannot be {cut(repr(value), 40)}", next_step="Use a number from 0.0 to 1.0.")
    return float(value) + 0.0  # -0.0 becomes 0.0


def check_source(value: object) -> str:
    """``value`` without surrounding whitespace, possibly empty. Raises: BadValue when it is not a string."""
    must_be(str, value, "source")
    return str(value).strip()


class Value(NamedTuple):
    """A fact's values, checked and admitted. ``at`` is the instant at which it was stated, aware.

    ``id`` is the one to store it under, unless it is taken. A present statement is newer than everything stored,
    whatever the clocks say. A statement stored later than it was said has ``said``, its session's flushes in their
    order. They decide. The clock decides for other facts. ``leaving`` are the facts that it replaces, ``shared`` those
    that others state, too, which lose only its origin."""

    content: str
    category: str
    confidence: float
    source: str
    at: datetime
    said: tuple[str, ...] | None = None
    id: str | None = None
    leaving: Sequence[Fact] = ()
    shared: Sequence[Fact] = ()

    def is_about(self, fact: Fact) -> bool:
        """Whether ``fact``, which contradicts it, is weak enough, and of the same origin."""
        return fact.confidence - self.confidence <= _OUTRANKED and origins.share(self.source, fact.source)

    def is_before(self, fact: Fact) -> bool:
        """Whether ``fact``, on the same subject, was stated later."""
        if self.said is None:
            return False
        after = order.is_after(self.said, origins.unsigned(fact.source), origins.unsigned(self.source))
        return fact.created_at > self.at if after is None else after

    def placed(self, known: Known[Fact], together: Container[tuple[str, datetime]]) -> Self | AddResult:
        """The value with the facts in its place, which leave ``known``, or the refusal if one is newer. What was
        stated ``together`` (key and time) has no order, so all of it holds."""
        value, older = self._replace(at=self.at.astimezone(UTC)), list[Fact]()
        for fact, how in known.related(value.content):
            if how is Relation.SAME:
                value = value._replace(content=fact.content)  # with the stored text, the store finds the duplicate
            elif how is Relation.ENDS and value.is_before(fact):
                continue
            elif value.is_about(fact) and (same_key(fact.content), value.at) not in together:
                older.append(fact)
        if newer := next(filter(value.is_before, older), None):
            return AddResult(outcome=AddOutcome.REFUSED, reason=f"fact {newer.id} has a newer value")
        for fact in older:
            known.remove(fact)
        by = value.source
        shared = [fact for fact in older if origins.of(by) and origins.of(origins.left(fact.source, by))]
        return value._replace(leaving=[fact for fact in older if fact not in shared], shared=shared)
