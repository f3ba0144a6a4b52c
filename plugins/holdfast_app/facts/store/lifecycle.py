"""A fact's life: how it is added, changed and removed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import evolve

from holdfast.clock import must_be_moment
from holdfast.config.serde import fact_out
from holdfast.errors import BadValue, DuplicateFact, NotFound, Refused, must_be, must_be_whole
from holdfast.models import AddOutcome, AddResult, Fact
from holdfast.storage import FactOrder, delete_fact, get_fact
from holdfast.text.lazy import Lazy, log
from holdfast.text.plain import cut
from holdfast.text.stored import DEFAULT_CATEGORY, DEFAULT_CONFIDENCE, duplicate_key
from holdfast_app.facts.rejected import REASON, key_of
from holdfast_app.facts.store import origins
from holdfast_app.facts.store.factfile import ImportReport, import_rows
from holdfast_app.facts.store.writer import (
    SURFACE,
    FactWriter,
    Value,
    check_category,
    check_confidence,
    check_content,
    check_source,
)

if TYPE_CHECKING:  # its module takes long to import, and remembering a fact needs none of it
    from holdfast.models import FactCandidate

FactList: TypeAlias = list[Fact]  # inside the class `list` is the method

logger = log("holdfast.facts")

_DECIMAL = Lazy(r"\d+(\.\d*)?|\.\d+", re.ASCII)
_EXPORTED = 1_000  # facts masked together on their way out


class Facts(FactWriter):
    """One project's facts. Content passes the gate before it is stored.

    All methods may raise Unavailable and Corrupt from the store.
    """

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
        found = self.services.store.backend.facts(FactOrder(order), limit if wanted is None else None)
        return list(islice((fact for fact in found if wanted in (None, fact.category)), limit))

    def count(self) -> int:
        """The number of stored facts."""
        return sum(1 for _ in self.services.store.backend.facts())

    def export(self) -> Iterator[dict[str, object]]:
        """Every fact in its published form, masked, in order of insertion, lazily: what :meth:`import_` reads.

        Raises: PluginError."""
        facts = iter(self.services.store.backend.facts())
        while part := list(islice(facts, _EXPORTED)):
            yield from map(fact_out, self.shown(part))

    def shown(self, facts: Sequence[Fact]) -> FactList:
        """The facts as they may leave the store: masked. Raises: PluginError."""
        strings = [text for fact in facts for text in (fact.content, fact.source)]
        masked = self.services.gate.outgoing_all(strings, surface=SURFACE)
        if masked == strings:
            return list(facts)
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
        The older facts that it makes obsolete (:mod:`holdfast_app.facts.relation`) leave: ``replaced`` has their ids,
        the log their content.

        Raises: as :meth:`create`.
        """
        if at is not None:
            must_be_moment(at)
        said = None if at is None else ()
        return self.store([self.stated(content, category, confidence, source, at=at, said=said)])[0]

    def proposed(self, candidate: FactCandidate, at: datetime | None = None) -> Value | AddResult:
        """A valid candidate's values, for :meth:`store`; the result for an invalid one. ``at`` is when it was said, if
        that was earlier. Raises: PluginError."""
        rules = self.services.config.facts
        try:
            content = check_content(candidate.content)
            category = check_category(candidate.category, other="context" if rules.bad_category == "context" else "")
            given = candidate.confidence
            if isinstance(given, str) and _DECIMAL.fullmatch(given.strip()):  # models often write numbers so
                given = float(given)
            confidence, source = check_confidence(given), check_source(candidate.source)
            if confidence < rules.threshold:
                reason = f"confidence {confidence:.2f} is below the threshold {rules.threshold:.2f}"
                logger.info("a fact was skipped: %s", reason)
                return AddResult(outcome=AddOutcome.BELOW_THRESHOLD, reason=reason)
            content, source = self._admitted(content, source)
        except (BadValue, Refused) as error:
            logger.info("a fact was skipped: %s", f"bad {error.field}" if isinstance(error, BadValue) else "refused")
            return AddResult(outcome=AddOutcome.REFUSED, reason=error.message.rstrip("."))
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
        """A stated fact's values, for :meth:`store`, see :class:`~holdfast_app.facts.store.writer.Value`.

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
        content = check_content(self.services.gate.admit(content, surface=SURFACE))
        source = self.services.gate.admit(source, surface=SURFACE) if source else ""
        return content, origins.signed(source, self.services.origin())

    def conflicts(self) -> Sequence[origins.Conflict]:
        """The facts on which two machines disagree, the newest conflict first. Reads all facts."""
        return origins.conflicts(self.list())

    def keep(self, fact_id: str) -> FactList:
        """Decide a fact's conflict in its favour, as :meth:`decide`. Raises: NotFound for an unknown id, or a fact
        without a conflict."""
        kept = self.get(fact_id)
        for conflict in self.conflicts():
            if kept in conflict.facts:
                return self.decide(conflict, kept, why="a person decided the conflict")
        raise NotFound(f"Fact {fact_id} is in no conflict.", next_step="`holdfast facts conflicts` lists them.")

    def decide(self, conflict: origins.Conflict, kept: Fact, *, why: str) -> FactList:
        """Remove the other facts of a conflict, and return them. The log has their content, with ``why``."""
        gone = [fact for fact in conflict.facts if fact.id != kept.id]
        for fact in gone:
            self.retire(fact, by=kept.id, why=why)
        return gone

    def import_(self, rows: Iterable[object], *, is_archive: bool = False) -> ImportReport:
        """Store rows as :meth:`export` gives them (``id``, ``createdAt`` and ``source`` may be missing). Bad rows are
        skipped and reported by number. The threshold does not apply. A row that orders something is marked, except
        those of an archive of holdfast.
        """
        must_be(Iterable, rows, "rows")
        return import_rows(self.services, self, rows, is_archive=is_archive)

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
        content = None if content is None else check_content(content)
        category = None if category is None else check_category(category)
        confidence = None if confidence is None else check_confidence(confidence)
        if content is not None:
            content = check_content(self.services.gate.admit(content, surface=SURFACE))
            key = duplicate_key(content)
            for other in self.services.store.backend.facts():
                if other.id != fact_id and duplicate_key(other.content) == key:
                    step = "Update that one, or delete it first."
                    raise DuplicateFact(f"Fact {other.id} already says that.", next_step=step)
        given: dict[str, Any] = {"content": content, "category": category, "confidence": confidence}
        fields = [name for name, value in given.items() if value is not None and value != getattr(old, name)]
        if fields:
            if content is not None and key_of(content) != key_of(old.content):
                self._reject(old)
            self.rejected.lift(content or "")
        new = self.services.store.update_fact(fact_id, is_own=content is not None, **given)
        if fields:
            self._trace("updated", f"{' and '.join(fields)} changed by hand", old)
        logger.info("fact %s was updated", fact_id)
        return new

    def delete(self, fact_id: str) -> Fact:
        """Forget the fact; returns it. The trail keeps its id, never its content.

        Raises: NotFound (a KeyError) carrying the id, having changed nothing.
        """
        fact = self.get(fact_id)
        self._reject(fact)
        fact = delete_fact(self.services.store.backend, fact.id)
        self._trace("deleted", "deleted by hand", fact)
        logger.info("fact %s was deleted", fact_id)
        return fact
