"""A fact's life: how it is added, changed and removed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import evolve

from holdfast.clock import must_be_moment
from holdfast.config.layout import Surface
from holdfast.config.serde import fact_out
from holdfast.errors import BadValue, NotFound, Refused, must_be, must_be_whole
from holdfast.fs import durable, paths, private
from holdfast.models import AddOutcome, AddResult, Fact
from holdfast.storage import FactOrder, Remove, delete_fact, get_fact
from holdfast.text.lazy import Lazy, log
from holdfast.text.plain import same_key
from holdfast.text.stored import DEFAULT_CATEGORY, DEFAULT_CONFIDENCE, duplicate_key
from holdfast_app.base import Services
from holdfast_app.facts.rejected import REASON, Departure, FactTrail, Rejected, key_of
from holdfast_app.facts.store import origins
from holdfast_app.facts.store.values import Value, check_category, check_confidence, check_content, check_source
from holdfast_app.printable import cut
from holdfast_app.sentences.relation import Known

if TYPE_CHECKING:  # its module takes long to import, and remembering a fact needs none of it
    from holdfast.models import FactCandidate
    from holdfast_app.facts.store.factfile import ImportReport

FactList: TypeAlias = list[Fact]  # inside the class `list` is the method
_Results: TypeAlias = list[AddResult]

logger = log("holdfast.facts")

_DECIMAL = Lazy(r"\d+(\.\d*)?|\.\d+", re.ASCII)
_CHECKS = {"content": check_content, "category": check_category, "confidence": check_confidence}
_NEWER = "a newer value was stated"


def draw_id() -> str:
    """As a uuid4 begins with. Stores report collisions. Source: R043."""
    return "fact_" + os.urandom(4).hex()


class Facts:
    """One project's facts. Content passes the gate before it is stored.

    All methods may raise Unavailable and Corrupt from the store.
    """

    def __init__(self, services: Services) -> None:
        self.services = services

    # reading

    def get(self, fact_id: str) -> Fact:
        """Raises: NotFound, which is a KeyError, carrying the id."""
        if not isinstance(fact_id, str):
            raise NotFound(f"There is no fact {fact_id!r}.", next_step="List the facts with `holdfast facts`.")
        return get_fact(self.services.store.backend, fact_id)

    def list(
        self, *, order: FactOrder | str = "created", limit: int | None = None, category: str | None = None
    ) -> FactList:
        """Facts in order of insertion (``created``) or by ``confidence``, highest first, equals as inserted.

        Raises: BadValue for an unknown order, a negative limit or an unknown category.
        """
        known = (FactOrder.CREATED, FactOrder.CONFIDENCE)
        if order not in known:
            raise BadValue("order", f"cannot be {cut(repr(order), 40)}", next_step=f"Use one of: {', '.join(known)}.")
        if limit is not None:
            must_be_whole(limit, "limit")
        wanted = None if category is None else check_category(category)
        facts = self.services.store.backend.facts(FactOrder(order), limit if wanted is None else None)
        return list(islice((fact for fact in facts if wanted in (None, fact.category)), limit))

    def count(self) -> int:
        """The number of stored facts."""
        return sum(1 for _ in self.services.store.backend.facts())

    def export(self) -> Iterator[dict[str, object]]:
        """Every fact in its published form, masked, in order of insertion: what :meth:`import_` reads.

        Raises: PluginError."""
        return map(fact_out, self.shown(list(self.services.store.backend.facts())))

    def shown(self, facts: Sequence[Fact]) -> FactList:
        """The facts as they may leave the store: masked. Raises: PluginError."""
        strings = [text for fact in facts for text in (fact.content, fact.source)]
        masked = self.services.gate.outgoing_all(strings, surface=Surface.FACT)
        pairs = zip(facts, masked[::2], masked[1::2], strict=True)
        return [evolve(fact, content=content, source=source) for fact, content, source in pairs]

    # coming in

    def create(
        self, content: str, category: str = DEFAULT_CATEGORY, confidence: float = DEFAULT_CONFIDENCE, source: str = ""
    ) -> AddResult:
        """Store a stated fact. The threshold does not apply, and duplicates change nothing.

        The outcome is ADDED, with the ids evicted for it, or DUPLICATE with the existing fact's id.
        Raises: BadValue (a ValueError) for content, category, confidence or source, checked in this order; Refused
        and PluginError from the gate.
        """
        return self.add_all([self.stated(content, category, confidence, source)])[0]

    def remember(
        self,
        content: str,
        category: str = DEFAULT_CATEGORY,
        confidence: float = DEFAULT_CONFIDENCE,
        source: str = "",
        *,
        at: datetime | None = None,
    ) -> AddResult:
        """:meth:`create`, stated now or at the earlier instant ``at``, unless a newer fact on the subject is stored.
        The older facts that it makes obsolete (:mod:`holdfast_app.sentences.relation`) leave: ``replaced`` has their
        ids, the log their content.

        Raises: as :meth:`create`.
        """
        if at is not None:
            must_be_moment(at)
        flushes = None if at is None else ()
        result = self.store([self.stated(content, category, confidence, source, at=at, said=flushes)])[0]
        if result.replaced:
            self.services.retract([e.content for e in self.trail.entries() if e.id in result.replaced and e.content])
        return result

    def proposed(self, candidate: FactCandidate, at: datetime | None = None) -> Value | AddResult:
        """A candidate's values, for :meth:`store`; the result for one below the threshold. ``at`` is when it was said,
        if that was earlier. Raises: BadValue for a malformed one; Refused, PluginError."""
        rules = self.services.config.facts
        content = check_content(candidate.content)
        category = check_category(candidate.category, other="context" if rules.bad_category == "context" else "")
        stated = candidate.confidence
        if isinstance(stated, str) and _DECIMAL.fullmatch(stated.strip()):  # models often write numbers so
            stated = float(stated)
        confidence, source = check_confidence(stated), check_source(candidate.source)
        if confidence < rules.threshold:
            reason = f"confidence {confidence:.2f} is below the threshold {rules.threshold:.2f}"
            logger.info("a fact was skipped: %s", reason)
            return AddResult(outcome=AddOutcome.BELOW_THRESHOLD, reason=reason)
        content, source = self._admitted(content, source)
        return Value(content, category, confidence, source, at or self.services.clock(), () if at else None)

    def stated(
        self,
        content: str,
        category: str,
        confidence: float,
        source: str = "",
        *,
        at: datetime | None = None,
        said: tuple[str, ...] | None = None,
    ) -> Value:
        """A stated fact's values, for :meth:`store`, see :class:`~holdfast_app.facts.store.values.Value`.

        Raises: BadValue, Refused, PluginError."""
        content, category, confidence = check_content(content), check_category(category), check_confidence(confidence)
        content, source = self._admitted(content, check_source(source))
        rejected = self.rejected
        if at is not None and rejected.has(content, at):
            raise Refused(REASON, next_step="")
        rejected.lift(content)
        return Value(content, category, confidence, source, at or self.services.clock(), said)

    def _admitted(self, content: str, source: str) -> tuple[str, str]:
        """Both as they may be stored, the source with who states the fact. Raises: BadValue, Refused, PluginError."""
        source = self._portable(source) if source else ""
        return check_content(self._portable(content)), origins.signed(source, self.services.origin())

    def _portable(self, text: str) -> str:
        """``text`` through the gate, and without this machine's paths, because others read the facts too."""
        return self.services.gate.admit(paths.rewrite(text, self.services.root), surface=Surface.FACT)

    def conflicts(self) -> Sequence[origins.Conflict]:
        """The facts on which two machines disagree, the newest conflict first. Reads all facts."""
        return origins.conflicts(self.list())

    def keep(self, fact_id: str) -> FactList:
        """Decide a conflict in a fact's favour, as :meth:`decide`. Raises: NotFound, also without a conflict."""
        fact = self.get(fact_id)
        for conflict in self.conflicts():
            if fact in conflict:
                return self.decide(conflict, fact, why="a person decided the conflict")
        raise NotFound(f"Fact {fact_id} is in no conflict.", next_step="`holdfast facts conflicts` lists them.")

    def decide(self, conflict: origins.Conflict, kept: Fact, *, why: str) -> FactList:
        """Remove the other facts of a conflict, and return them. The log has their content, with ``why``."""
        gone = [fact for fact in conflict if fact.id != kept.id]
        for fact in gone:
            self.retire(fact, by=kept.id, why=why)
        self.services.retract([fact.content for fact in gone])
        return gone

    def import_(self, rows: Iterable[object], *, is_archive: bool = False) -> ImportReport:
        """Store rows as :meth:`export` gives them (``id``, ``createdAt`` and ``source`` may be missing). Bad rows are
        skipped and reported by number. The threshold does not apply. A row that orders something is marked, except
        those of an archive of holdfast.
        """
        from holdfast_app.facts.store.factfile import import_rows

        must_be(Iterable, rows, "rows")
        return import_rows(self.services, self.add_all, rows, is_archive=is_archive)

    # changing and leaving

    def update(
        self, fact_id: str, content: str | None = None, category: str | None = None, confidence: float | None = None
    ) -> Fact:
        """Change the fields given (0.0 is given, None is not) and no other; ``created_at`` stays. Returns the fact.

        Everything is checked before anything changes. Raises: NotFound (a KeyError) first, carrying the id; BadValue
        for content, category or confidence; Refused and PluginError from the gate; DuplicateFact (a ValueError) when
        another fact has that content.
        """
        old = self.get(fact_id)
        stated = {"content": content, "category": category, "confidence": confidence}
        changes: dict[str, Any] = {name: _CHECKS[name](value) for name, value in stated.items() if value is not None}
        if content is not None:
            changes["content"] = check_content(self._portable(changes["content"]))
        fields = [name for name, value in changes.items() if value != getattr(old, name)]
        new = self.services.store.update_fact(fact_id, is_own=content is not None, **changes)
        if fields:
            if key_of(new.content) != key_of(old.content):
                self._reject(old)
                self.services.retract([old.content])
            self.rejected.lift(changes.get("content", ""))
            self._trace("updated", f"{' and '.join(fields)} changed by hand", old)
        return new

    def delete(self, fact_id: str) -> Fact:
        """Forget the fact; returns it. The trail keeps its id, never its content.

        Raises: NotFound (a KeyError) carrying the id, having changed nothing.
        """
        fact = self.get(fact_id)
        self._reject(fact)
        self.services.retract([fact.content])
        fact = delete_fact(self.services.store.backend, fact.id)
        self._trace("deleted", "deleted by hand", fact)
        return fact

    # writing

    @property
    def trail(self) -> FactTrail:
        """The removals from the store, and the changes, with their reasons."""
        return FactTrail(self.services.state)

    @property
    def rejected(self) -> Rejected:
        """Statements removed or replaced on this machine, read now."""
        return Rejected(self.services)

    def _reject(self, *facts: Fact) -> None:
        """Record facts that leave, before they do."""
        self.rejected.add({key_of(fact.content) for fact in facts}, self.services.clock())

    def _trace(self, event: str, why: str, *facts: Fact, by: str = "", is_kept: bool = False) -> None:
        """Record what happened to facts, with ``is_kept`` durably and with their content."""
        names = ("id", "category", "confidence", *(("content", "source") if is_kept else ()))
        at = self.services.clock().astimezone(UTC)
        rows = ({name: getattr(fact, name) for name in names} for fact in facts)
        self.trail.add(*(Departure(at=at, event=event, why=why, by=by, **row) for row in rows), flush=is_kept)

    def add_all(self, values: Sequence[Value]) -> _Results:
        """Store values already checked and admitted, in order, in one step where the backend can. New ids are drawn
        where there is none or it is taken. The facts that a value replaces leave in the same step. The trail gets
        their content first."""
        return list(map(self._ranked, values)) if self.services.config.facts.rank_union else self._add(values)

    def store(self, values: Sequence[Value | AddResult], stored: Sequence[Fact] | None = None) -> _Results:
        """The result for each value, in order. Results among the values stay unchanged.

        A new value replaces older ones, see :meth:`add_all`. Where the backend makes no single step of it, a crash
        leaves both and the next try replaces. It is not stored when a newer one is. Values of another person or
        machine stay, see :mod:`holdfast_app.facts.store.origins`. ``stored`` are all stored facts, read just before;
        None reads them. Raises: errors of the store."""
        if stored is None:
            stored = list(self.services.store.backend.facts()) if any(isinstance(v, Value) for v in values) else []
        known = Known((fact, fact.content) for fact in self.services.store.known_facts(stored))
        together = {(same_key(v.content), v.at.astimezone(UTC)) for v in values if isinstance(v, Value)}
        results: dict[int, AddResult] = {}
        waiting, unstored = dict[int, Value](), Known[int]()
        for at, value in enumerate(values):
            if isinstance(value, Value) and any(unstored.related(value.content)):
                self._store_together(waiting, known, results)
                unstored = Known()
            outcome = value.placed(known, together) if isinstance(value, Value) else value
            if isinstance(outcome, Value):
                unstored.add(at, outcome.content)
                waiting[at] = outcome
            else:
                results[at] = outcome
        self._store_together(waiting, known, results)
        return [results[at] for at in range(len(values))]

    def _store_together(self, waiting: dict[int, Value], known: Known[Fact], results: dict[int, AddResult]) -> None:
        """Move what is ``waiting`` to the ``results``; ``known`` gets the new facts."""
        for (at, value), result in zip(waiting.items(), self.add_all([*waiting.values()]), strict=True):
            if result.fact is not None:
                known.add(result.fact, result.fact.content)
            # Without the fact to cosign, who stated it first has just taken it back.
            results[at] = result if self._cosign(value, result) else self.add_all([value._replace(leaving=())])[0]
            for fact in value.shared:
                self.sign(fact.id, partial(origins.left, other=value.source))
        waiting.clear()

    def _cosign(self, value: Value, result: AddResult) -> bool:
        """Add another origin to a value already stored by someone else. Returns False when the fact is gone."""
        places = origins.places(value.source)
        known = result.fact is not None and places <= origins.places(result.fact.source)
        if result.duplicate_of is None or not places or known:
            return True
        return self.sign(result.duplicate_of, lambda source: origins.joined(source, value.source))

    def _add(self, values: Sequence[Value]) -> _Results:
        """Store the values, delete what each replaces, and record in the trail which facts the full store evicted. A
        crash right after it loses the lines of the evicted ones."""
        facts = [
            Fact(id=value.id or draw_id(), content=value.content, category=value.category, confidence=value.confidence,
                 created_at=value.at.astimezone(UTC), source=value.source)
            for value in values
        ]  # fmt: skip
        for fact, value in zip(facts, values, strict=True):
            if value.leaving:
                self._trace("replaced", _NEWER, *value.leaving, by=fact.id, is_kept=True)
                self._reject(*value.leaving)
        most, leaving = self.services.config.facts.max_facts, [value.leaving for value in values]
        added, stayed = self.services.store.add_facts(facts, most, leaving)
        for old in stayed:
            self._take_back(old)
        results = []
        for fact, value, stored in zip(facts, values, added, strict=True):
            # Without a result the id is taken.
            result = stored or self._add([value._replace(id=None, leaving=())])[0]
            if result.outcome is AddOutcome.DUPLICATE:
                logger.info("a fact was skipped: duplicate of %s", result.duplicate_of)
            elif stored is not None and stored.evicted:
                at, why = self.services.clock(), "the store was full"
                gone = (Departure(at=at, event="evicted", id=name, why=why, by=fact.id) for name in stored.evicted)
                self.trail.add(*gone, flush=False)
                logger.info("evicted for %s: %s", fact.id, ", ".join(stored.evicted))
            results.append(evolve(result, replaced=[old.id for old in value.leaving]))
        return results

    def _take_back(self, fact: Fact) -> None:
        """Remove a fact. Where others have stated it, too, since it was read, it stays theirs."""
        with suppress(NotFound):
            while not self.services.store.backend.commit([Remove(fact.id, fact.source)]).removed[0]:
                now = get_fact(self.services.store.backend, fact.id)
                if origins.of(origins.left(now.source, fact.source)):
                    self.sign(fact.id, partial(origins.left, other=fact.source))
                    return
                fact = now

    def _ranked(self, value: Value) -> AddResult:
        """Like :meth:`_add`, but at the cap a fact weaker than all stored ones is refused (reading A01), unless it is
        a duplicate. Only this machine's processes take turns."""
        private.make(self.services.state)
        with durable.lock(self.services.private("facts.lock")):
            stored = self.services.store.known_facts(self.services.store.backend.facts())
            is_weakest = all(value.confidence < fact.confidence for fact in stored)
            is_new = duplicate_key(value.content) not in {duplicate_key(fact.content) for fact in stored}
            if not is_weakest or not is_new or len(stored) < self.services.config.facts.max_facts:
                return self._add([value])[0]
        return AddResult(outcome=AddOutcome.REFUSED, reason="the store is full of facts that are at least as strong")

    def sign(self, fact_id: str, change: Callable[[str], str]) -> bool:
        """Change a fact's source, which names who states it. Returns False for a fact that is gone meanwhile."""
        with suppress(NotFound):
            self.services.store.update_fact(fact_id, source=change)
            return True
        return False

    def retire(self, fact: Fact, *, by: str = "", why: str = _NEWER) -> None:
        """Remove an obsolete fact, its content durably to the trail first. A missing fact is not an error."""
        if fact.id == by:
            return
        self._trace("replaced", why, fact, by=by, is_kept=True)
        self._reject(fact)
        self._take_back(fact)
