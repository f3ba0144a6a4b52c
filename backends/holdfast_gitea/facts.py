"""Facts as a log of operations. Every reader that replays the log gets the same facts, so no writer has to be first."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from holdfast.errors import Corrupt, StorageError, Unavailable
from holdfast.models import AddOutcome, AddResult, Fact
from holdfast.storage import Add, FactOrder, Remove, Update, finite, storable
from holdfast_gitea.documents import MOST_OF_BLOCK, check_text
from holdfast_gitea.facttable import (
    FactTable,
    Operation,
    Outcome,
    facts_in,
    line_of,
    line_of_fact,
    operations_in,
    shown,
)
from holdfast_gitea.index import FACTS
from holdfast_gitea.log import TRIES, Log
from holdfast_gitea.log_view import LogView
from holdfast_gitea.replay import OPERATIONS, SNAPSHOT, number

TITLE: Final = FACTS
#: Bytes of one part of a snapshot.
_PART: Final = 256 << 10


class Facts:
    """One store's facts."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._batch: _Batch | None = None

    def add(self, fact: Fact, limit: int) -> AddResult:
        outcome = self._do(Add(storable(fact, limit), limit))
        assert isinstance(outcome, AddResult)
        return outcome

    def update(self, change: Update) -> Fact:
        if callable(change.source):
            with self._log.writing():
                return self.update(change._replace(source=change.source(self._table().get(change.fact_id).source)))
        if change.confidence is not None:
            change = change._replace(confidence=finite(change.confidence))
        outcome = self._do(change)
        assert isinstance(outcome, Fact)
        return outcome

    def delete(self, fact_id: str) -> Fact:
        outcome = self._do(Remove(fact_id))
        assert isinstance(outcome, Fact)
        return outcome

    def all(self, order: FactOrder, limit: int | None) -> Iterator[Fact]:
        return iter(self._table().listed(order, limit))

    @contextlib.contextmanager
    def batch(self) -> Iterator[None]:
        """Write all changes of the block at its end, in as few comments as possible."""
        with self._log.writing():
            if self._batch is not None:
                yield
                return
            self._batch = _Batch()
            try:
                yield
                waiting, self._batch = self._batch.operations, None
                for some in _packed([line_of(operation) for operation in waiting], MOST_OF_BLOCK):
                    self._write(some)
            finally:
                self._batch = None

    def _table(self) -> FactTable:
        with self._log.reading():
            if self._batch and self._batch.table is not None:
                return self._batch.table
            return replayed(self._log.load(TITLE))[0]

    def _do(self, operation: Operation) -> Outcome:
        line = line_of(operation)
        check_text(line, "a fact", MOST_OF_BLOCK)
        with self._log.writing():
            view = None
            table = self._batch.table if self._batch else None
            if table is None:
                view = self._log.load(TITLE)
                table = replayed(view)[0]
                if self._batch:
                    self._batch.table = table
            before = table.get(operation.fact_id) if isinstance(operation, Update) else None
            outcome = table.apply(operation)  # raises the same errors as for every other writer
            if outcome == before or (isinstance(outcome, AddResult) and outcome.outcome is not AddOutcome.ADDED):
                return outcome
            if self._batch:
                self._batch.operations.append(operation)
                return outcome
            # Its outcome depends on its position among other writers' operations, so it is read from the log.
            found = self._write(line, view)[0]
            if isinstance(found, StorageError):
                raise found
            return found

    def _write(self, lines: str, view: LogView | None = None) -> Sequence[Outcome]:
        """Write operations as one record; what each of them came to."""
        count = lines.count("\n") + 1
        note = "An operation on the facts." if count == 1 else f"{count} operations on the facts."
        record_id = ""
        for _ in range(TRIES):
            view = self._room(view or self._log.load(TITLE))
            if not view.accepts(record_id):
                view, record_id = self._log.post(view, OPERATIONS, lines, note, record_id=record_id, language="json")
            if view.accepts(record_id):
                table, outcomes = replayed(view)
                self._log.tell(view, shown(table))
                return outcomes[record_id]
            view = None  # the issue was full, so retry with the new one
        raise Unavailable("Too many processes write the facts at once.", next_step="Try again.")

    def _room(self, view: LogView) -> LogView:
        """The log with room for a record. A new issue starts with all current facts, so readers do not need the old
        issue."""
        if not view.is_full:
            return view
        view = self._log.room(view)
        return self.snapshot(view)

    def snapshot(self, view: LogView) -> LogView:
        """Put all facts into the log's current issue, which is new. If another process writes to it first, the older
        issues remain in use."""
        table = replayed(view)[0]
        parts = _packed([line_of_fact(fact) for fact in table], _PART) or [""]
        note = f"All {len(table)} facts."
        view, first = self._log.post(view, SNAPSHOT, parts[0], note, language="json", root=1, parts=len(parts))
        for part in parts[1:]:
            if view.accepts(first):
                view, _ = self._log.post(view, SNAPSHOT, part, note, language="json", of=first)
        self._log.tell(view, shown(table))
        return view


@attrs.define
class _Batch:
    """A batch's changes so far. ``table`` holds the resulting facts, read at the first call."""

    table: FactTable | None = None
    operations: list[Operation] = attrs.field(factory=list)


def replayed(view: LogView) -> tuple[FactTable, dict[str, list[Outcome]]]:
    """The facts that a log holds, and what each operation of each record came to. Raises: Corrupt."""
    view.check()
    table = FactTable()
    outcomes: dict[str, list[Outcome]] = {}
    parts: dict[str, list[str]] = {}
    for record in view.replay.accepted:
        if record.kind == SNAPSHOT:
            parts.setdefault(record.fields.get("of", record.id), []).append(view.check_text(record))
    for place, record in enumerate(view.replay.accepted):
        if record.kind == OPERATIONS:
            text = view.check_text(record)
            outcomes[record.id] = [_applied(table, one) for one in operations_in(text, record.url)]
        elif place == 0 and record.kind == SNAPSHOT:
            if len(parts[record.id]) < number(record.fields.get("parts", "1")):
                raise Corrupt(
                    f"A part of the facts that {record.url} begins is gone from the server.",
                    next_step="Restore the server's database from a copy.",
                )
            table.load(fact for part in parts[record.id] for fact in facts_in(part, record.url))
    return table, outcomes


def _applied(table: FactTable, operation: Operation) -> Outcome:
    try:
        return table.apply(operation)
    except StorageError as error:
        return error


def _packed(lines: Sequence[str], most: int) -> list[str]:
    """The lines joined into as few strings as possible, each at most ``most`` bytes or a single line."""
    groups: list[list[str]] = []
    size = most + 1
    for line in lines:
        needed = len(line.encode()) + 1
        if size + needed > most:
            groups.append([])
            size = 0
        groups[-1].append(line)
        size += needed
    return ["\n".join(some) for some in groups]
