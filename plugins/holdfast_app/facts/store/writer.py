"""Checks facts' values, in the order content, category, confidence (reading A09), writes them to the store, and records
in the trail which facts leave."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final, NamedTuple

from attrs import evolve

from holdfast.errors import BadValue, Conflict, NotFound
from holdfast.fs import durable, private
from holdfast.journal import order
from holdfast.models import AddOutcome, AddResult, Fact
from holdfast.storage import delete_fact
from holdfast.text.lazy import Lazy, log
from holdfast.text.plain import cut
from holdfast.text.stored import CATEGORIES, duplicate_key
from holdfast_app.base import Services
from holdfast_app.facts.rejected import FactTrail, Rejected, key_of
from holdfast_app.facts.relation import Known, Relation
from holdfast_app.facts.store import origins

logger = log("holdfast.facts")

SURFACE = "fact"

_ID = Lazy(r"fact_[0-9a-f]{8}")
_DECIMAL = Lazy(r"\d+(\.\d*)?|\.\d+", re.ASCII)
_DRAWS = 100
_NEWER = "a newer value was stated"
#: A fact more confident than a newer statement by more than this stays.
_OUTRANKED: Final = 0.3


def draw_id() -> str:
    """A new id: ``fact_`` and 8 random hex digits, as a uuid4 begins with. Stores report collisions. Source: R043."""
    return "fact_" + os.urandom(4).hex()


def is_id(text: object) -> bool:
    """Whether ``text`` is formatted like an id."""
    return isinstance(text, str) and _ID.fullmatch(text) is not None


def check_content(value: object) -> str:
    """``value`` without surrounding whitespace. Raises: BadValue when it is blank or not a string."""
    if not isinstance(value, str) or not value.strip():
        raise BadValue(
            "content", "is blank" if isinstance(value, str) else "is not a string", next_step="Say what to keep."
        )
    return value.strip()


def check_category(value: object, *, other: str = "") -> str:
    """Normalise a category's name, or ``other`` for an unknown one. Case and outer whitespace are ignored.

    Raises: BadValue. Source: R037, R038, reading A08.
    """
    name = value.strip().casefold() if isinstance(value, str) else None
    if name not in CATEGORIES and other:
        return other
    if name not in CATEGORIES:
        raise BadValue(
            "category", f"cannot be {cut(repr(value), 40)}", next_step=f"Use one of: {', '.join(CATEGORIES)}."
        )
    return name


def check_confidence(value: object) -> float:
    """A number from 0.0 to 1.0. Raises: BadValue, for NaN, booleans and strings too. Source: R036, reading A07."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise BadValue("confidence", f"cannot be {cut(repr(value), 40)}", next_step="Use a number from 0.0 to 1.0.")
    return float(value) + 0.0  # -0.0 becomes 0.0


def check_source(value: object) -> str:
    """``value`` without surrounding whitespace, possibly empty. Raises: BadValue when it is not a string."""
    if not isinstance(value, str):
        raise BadValue("source", f"cannot be {cut(repr(value), 40)}", next_step="Use a string, which may be empty.")
    return value.strip()


def as_number(value: object) -> object:
    """Convert a numeric string, because models often write numbers as strings. Source: reading A07."""
    if isinstance(value, str) and _DECIMAL.fullmatch(value.strip()):
        return float(value)
    return value


class Value(NamedTuple):
    """A fact's values, checked and admitted. ``at`` is the instant at which it was stated, aware.

    ``id`` is the one to store it under, unless it is taken. A present statement is newer than everything stored,
    whatever the clocks say. A statement stored later than it was said has ``said``, its session's flushes in their
    order. They decide. The clock decides for other facts."""

    content: str
    category: str
    confidence: float
    source: str
    at: datetime
    said: tuple[str, ...] | None = None
    id: str | None = None

    def is_about(self, fact: Fact) -> bool:
        """Whether ``fact``, which contradicts it, is weak enough, and of the same origin."""
        return fact.confidence - self.confidence <= _OUTRANKED and origins.share(self.source, fact.source)

    def is_before(self, fact: Fact) -> bool:
        """Whether ``fact``, on the same subject, was stated later."""
        if self.said is None:
            return False
        after = order.is_after(self.said, origins.unsigned(fact.source), origins.unsigned(self.source))
        return fact.created_at > self.at if after is None else after


class FactWriter:
    """Writes one project's facts. ``new_id`` draws ids. All methods may raise the store's Unavailable and Corrupt."""

    def __init__(self, services: Services, *, new_id: Callable[[], str] = draw_id) -> None:
        self.services = services
        self._new_id = new_id

    @property
    def trail(self) -> FactTrail:
        """The removals from the store, and the changes, with their reasons."""
        return FactTrail(self.services.state)

    @property
    def rejected(self) -> Rejected:
        """Statements removed or replaced on this machine, read now."""
        return Rejected(self.services)

    def _reject(self, *facts: Fact, stays: str | None = "") -> None:
        """Record facts that leave, before they do. The content that ``stays`` is none of them."""
        if stays is not None:
            keys = {key_of(fact.content) for fact in facts} - {key_of(stays)}
            self.rejected.add(keys, self.services.clock())

    def add_all(self, values: Sequence[Value], *, older: Sequence[Sequence[Fact]] = ()) -> list[AddResult]:
        """Store values already checked and admitted, in order, in one step where the backend can. New ids are drawn
        where there is none or it is taken. ``older`` has the facts that each value replaces, which leave in the same
        step. The trail gets their content first."""
        facts = [
            Fact(id=one.id or self._new_id(), content=one.content, category=one.category, confidence=one.confidence,
                 created_at=one.at.astimezone(UTC), source=one.source)
            for one in values
        ]  # fmt: skip
        replaced = list(older) or [()] * len(facts)
        if self.services.config.facts.rank_union:
            added = [self._ranked(fact, old) for fact, old in zip(facts, replaced, strict=True)]
        else:
            added = self._add(facts, replaced)
        results = []
        for fact, old, result in zip(facts, replaced, added, strict=True):
            result = result or self._redrawn(fact)
            if result.outcome is AddOutcome.ADDED:
                logger.debug("fact %s was added", fact.id)
            else:
                logger.info("a fact was skipped: %s", result.reason or f"duplicate of {result.duplicate_of}")
            if result.outcome is not AddOutcome.REFUSED:
                stays = result.duplicate_of or (result.fact.id if result.fact else "")
                result = evolve(result, replaced=[one.id for one in old if one.id != stays])
            results.append(result)
        return results

    def store(self, values: Sequence[Value | AddResult], stored: Sequence[Fact] | None = None) -> list[AddResult]:
        """The result for each value, in order. Results among the values stay unchanged.

        A new value replaces older ones, see :meth:`add_all`. Where the backend makes no single step of it, a crash
        leaves both and the next try replaces. It is not stored when a newer one is. Values of another person or
        machine stay, see :mod:`holdfast_app.facts.store.origins`. ``stored`` are all stored facts, read just before;
        None reads them. Raises: errors of the store."""
        results: dict[int, AddResult] = {}
        waiting: dict[int, Value] = {}
        said = Known[int]()  # the waiting values
        leaving: dict[int, list[Fact]] = {}
        unsaid: list[tuple[str, str]] = []  # facts that a source no longer states while others do: id and source
        known = Known[str]()  # the stored facts, by id
        by_id: dict[str, Fact] = {}

        def learn(found: Iterable[Fact]) -> None:
            for fact in found:
                known.add(fact.id, fact.content)
                by_id[fact.id] = fact

        def add_waiting() -> None:
            added = self.add_all(list(waiting.values()), older=[leaving.get(at, []) for at in waiting])
            learn(result.fact for result in added if result.fact is not None)
            results.update(zip(waiting, added, strict=True))
            for (at, value), result in zip(waiting.items(), added, strict=True):
                said.remove(at)
                if not self._cosign(value, result):  # who stated it first has just taken it back
                    results[at] = self.add_all([value])[0]
            for fact_id, by in unsaid:
                self.sign(fact_id, partial(origins.left, other=by))
            unsaid.clear()
            waiting.clear()

        if stored is None:
            stored = list(self.services.store.backend.facts()) if any(isinstance(one, Value) for one in values) else []
        learn(self.services.store.known_facts(stored))
        for at, value in enumerate(values):
            if isinstance(value, AddResult):
                results[at] = value
                continue
            value = value._replace(at=value.at.astimezone(UTC))
            if any(said.related(value.content)):
                add_waiting()
            related = [(by_id[key], how) for key, how in known.related(value.content)]
            for fact in (fact for fact, how in related if how is Relation.SAME):
                value = value._replace(content=fact.content)  # with the stored text, the store finds the duplicate
            older = [fact for fact, how in related if how is Relation.REPLACES and value.is_about(fact)]
            if newer := next((fact for fact in older if value.is_before(fact)), None):
                results[at] = AddResult(outcome=AddOutcome.REFUSED, reason=f"fact {newer.id} has a newer value")
                continue
            by = value.source  # a fact that others state, too, loses only this origin
            shared = [fact for fact in older if origins.of(by) and origins.of(origins.left(fact.source, by))]
            unsaid += [(fact.id, value.source) for fact in shared]
            leaving[at] = [fact for fact in older if fact not in shared]
            for fact in older:
                known.remove(fact.id)
            waiting[at] = value
            said.add(at, value.content)
        add_waiting()
        return [results[at] for at in range(len(values))]

    def _cosign(self, value: Value, result: AddResult) -> bool:
        """Add another origin to a value already stored by someone else. Returns False when the fact is gone."""
        places = origins.places(value.source)
        known = result.fact is not None and places <= origins.places(result.fact.source)
        if result.duplicate_of is None or not places or known:
            return True
        return self.sign(result.duplicate_of, lambda source: origins.joined(source, value.source))

    def _add(self, facts: Sequence[Fact], replaced: Sequence[Sequence[Fact]]) -> list[AddResult | None]:
        """Store ``facts``, delete what each replaced, and record in the trail which facts the full store evicted. The
        result is None for a fact whose id is taken. A crash right after it loses the lines of the evicted ones, and
        deleted facts that others have stated meanwhile."""
        leaving = [self._recorded(fact, older) for fact, older in zip(facts, replaced, strict=True)]
        gone = [[old.id for old in some] for some in leaving]
        results, removed = self.services.store.add_facts(facts, self.services.config.facts.max_facts, gone)
        seen = {old.id: old for some in leaving for old in some}
        for one in removed:
            self._put_back(one, seen[one.id])
        for fact, result in zip(facts, results, strict=True):
            if result is not None and result.evicted:
                self.trail.evicted(result.evicted, fact.id, self.services.clock())
                logger.info("evicted for %s: %s", fact.id, ", ".join(result.evicted))
        return results

    def _put_back(self, removed: Fact, seen: Fact) -> None:
        """Store a removed fact again for those who stated it, too, after it was ``seen``."""
        source = origins.left(removed.source, seen.source)
        if origins.of(source):
            again = evolve(removed, source=source)
            (result,), _ = self.services.store.add_facts([again], self.services.config.facts.max_facts, [()])
            if result is not None and result.duplicate_of:
                self.sign(result.duplicate_of, partial(origins.joined, other=source))

    def _ranked(self, fact: Fact, older: Sequence[Fact]) -> AddResult | None:
        """Like :meth:`_add`, but at the cap a fact weaker than all stored ones is refused (reading A01), unless it is
        a duplicate. Only this machine's processes take turns."""
        private.make(self.services.state)
        with durable.lock(self.services.private("facts.lock")):
            stored = self.services.store.known_facts(self.services.store.backend.facts())
            is_weakest = all(fact.confidence < one.confidence for one in stored)
            is_new = duplicate_key(fact.content) not in {duplicate_key(one.content) for one in stored}
            if not is_weakest or not is_new or len(stored) < self.services.config.facts.max_facts:
                return self._add([fact], [older])[0]
        reason = "the store is full of facts that are at least as strong"
        return AddResult(outcome=AddOutcome.REFUSED, reason=reason)

    def _recorded(self, fact: Fact, replaced: Sequence[Fact]) -> list[Fact]:
        """The facts that ``fact`` replaces, recorded in the trail. A stored twin of ``fact`` stays instead of it."""
        key = duplicate_key(fact.content)
        by = next((old.id for old in replaced if duplicate_key(old.content) == key), fact.id)
        leaving = [old for old in replaced if old.id != by]
        for old in leaving:
            self.trail.replaced(old, by, self.services.clock(), why=_NEWER)
        if leaving:
            self._reject(*leaving, stays=fact.content)
        return leaving

    def _redrawn(self, fact: Fact) -> AddResult:
        """Add a fact whose id is taken. Raises: Conflict."""
        for _ in range(_DRAWS - 1):
            result = self._add([evolve(fact, id=self._new_id())], [()])[0]
            if result is not None:
                return result
        raise Conflict(f"{_DRAWS} new ids were all taken.", next_step="The source of ids is broken.")

    def sign(self, fact_id: str, change: Callable[[str], str]) -> bool:
        """Change a fact's source, which names who states it. Returns False for a fact that is gone meanwhile."""
        try:
            self.services.store.update_fact(fact_id, source=change)
        except NotFound:
            return False
        return True

    def retire(self, fact: Fact, *, by: str = "", why: str = _NEWER) -> None:
        """Remove an obsolete fact. Its content goes to the trail first, durably. A missing fact is not an
        error."""
        if fact.id == by:
            return
        self.trail.replaced(fact, by, self.services.clock(), why=why)
        self._reject(fact)
        try:
            self._put_back(delete_fact(self.services.store.backend, fact.id), fact)
        except NotFound:
            return
        logger.info("fact %s was replaced", fact.id)
