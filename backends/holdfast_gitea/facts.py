"""Facts as a log of operations. Every reader that replays the log gets the same facts, so no writer has to be first."""

import contextlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import attrs

from holdfast.api import AddResult, Corrupt, Fact, StorageError, Unavailable
from holdfast.config import serde
from holdfast.storage import Add, ComposedBackend, FactOrder, FactTable, Remove, Update, finite, storable
from holdfast.text import untrusted
from holdfast_gitea.documents import MOST_OF_BLOCK, check_text
from holdfast_gitea.index import FACTS
from holdfast_gitea.log import TRIES, Log
from holdfast_gitea.log_view import LogView
from holdfast_gitea.marker import readable
from holdfast_gitea.replay import OPERATIONS, SNAPSHOT, number

T = TypeVar("T")

TITLE: Final = FACTS
#: Bytes of one part of a snapshot.
_PART: Final = 256 << 10
#: Facts in the table that people read.
_SHOWN: Final = 200
#: A fact's fields that an update may change, with their types.
CHANGEABLE: Final[Mapping[str, type]] = {"content": str, "category": str, "confidence": float, "source": str}

Operation: TypeAlias = Add | Update | Remove
#: An operation's outcome: its result, or the error it raised without changing anything.
Outcome: TypeAlias = AddResult | Fact | StorageError


class Facts(ComposedBackend):
    log: Log
    _waiting: "_Batch | None" = None

    def add_fact(self, fact: Fact, limit: int) -> AddResult:
        outcome = self._do(Add(storable(fact, limit), limit))
        assert isinstance(outcome, AddResult)
        return outcome

    def _update(self, change: Update) -> Fact:
        if callable(change.source):
            with self.log.writing():
                return self._update(change._replace(source=change.source(self._table().get(change.fact_id).source)))
        if change.confidence is not None:
            change = change._replace(confidence=finite(change.confidence))
        outcome = self._do(change)
        assert isinstance(outcome, Fact)
        return outcome

    def _remove(self, change: Remove) -> Fact:
        outcome = self._do(change)
        assert isinstance(outcome, Fact)
        return outcome

    def facts(self, order: FactOrder = FactOrder.CREATED, limit: int | None = None) -> Iterator[Fact]:
        return self._table().listed(order, limit)

    @contextlib.contextmanager
    def _batch(self) -> Iterator[None]:
        """Write all changes of the block at its end, in as few comments as possible."""
        with self.log.writing():
            self._waiting = _Batch()
            try:
                yield
                waiting, self._waiting = self._waiting.operations, None
                for some in _packed([line_of(operation) for operation in waiting], MOST_OF_BLOCK):
                    self._write(some)
            finally:
                self._waiting = None

    def _table(self) -> FactTable:
        with self.log.reading():
            if self._waiting and self._waiting.table is not None:
                return self._waiting.table
            return replayed(self.log.load(TITLE))[0]

    def _do(self, operation: Operation) -> Outcome:
        line = line_of(operation)
        check_text(line, "a fact", MOST_OF_BLOCK)
        with self.log.writing():
            view = None
            table = self._waiting.table if self._waiting else None
            if table is None:
                view = self.log.load(TITLE)
                table = replayed(view)[0]
                if self._waiting:
                    self._waiting.table = table
            before = table.get(operation.fact_id) if isinstance(operation, Update) else None
            outcome = _apply(table, operation)  # raises the same errors as for every other writer
            if outcome == before or (isinstance(outcome, AddResult) and outcome.duplicate_of is not None):
                return outcome
            if self._waiting:
                self._waiting.operations.append(operation)
                return outcome
            # Its outcome depends on its position among other writers' operations, so it is read from the log.
            result = self._write(line, view)[0]
            if isinstance(result, StorageError):
                raise result
            return result

    def _write(self, lines: str, view: LogView | None = None) -> Sequence[Outcome]:
        count = lines.count("\n") + 1
        note = "An operation on the facts." if count == 1 else f"{count} operations on the facts."
        record_id = ""
        for _ in range(TRIES):
            view = view or self.log.load(TITLE)
            if view.is_full:  # a new issue starts with all current facts, so readers do not need the old one
                view = self.snapshot(self.log.room(view))
            if not view.accepts(record_id):
                view, record_id = self.log.post(view, OPERATIONS, lines, note, record_id=record_id, language="json")
            if view.accepts(record_id):
                table, outcomes = replayed(view)
                self.log.tell(view, shown(table))
                return outcomes[record_id]
            view = None  # the issue was full, so retry with the new one
        raise Unavailable("Too many processes write the facts at once.", next_step="Try again.")

    def snapshot(self, view: LogView) -> LogView:
        """Put all facts into the log's current issue, which is new. If another process writes to it first, the older
        issues remain in use."""
        table = replayed(view)[0]
        parts = _packed([_json(serde.fact_out(fact)) for fact in table], _PART) or [""]
        note = f"All {len(table)} facts."
        view, first = self.log.post(view, SNAPSHOT, parts[0], note, language="json", root=1, parts=len(parts))
        for part in parts[1:]:
            if view.accepts(first):
                view, _ = self.log.post(view, SNAPSHOT, part, note, language="json", of=first)
        self.log.tell(view, shown(table))
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
            outcomes[record.id] = [_applied(table, change) for change in _read(text, record.source.url, _operation)]
        elif place == 0 and record.kind == SNAPSHOT:
            if len(parts[record.id]) < number(record.fields.get("parts", "1")):
                raise Corrupt(
                    f"A part of the facts that {record.source.url} begins is gone from the server.",
                    next_step="Restore the server's database from a copy.",
                )
            table = FactTable(fact for part in parts[record.id] for fact in _read(part, record.source.url, _fact))
    return table, outcomes


def _apply(table: FactTable, operation: Operation) -> AddResult | Fact:
    """Raises: Conflict, DuplicateFact, NotFound, without changing anything."""
    if isinstance(operation, Add):
        return table.add(*operation)
    return table.update(operation) if isinstance(operation, Update) else table.take(operation)


def _applied(table: FactTable, operation: Operation) -> Outcome:
    try:
        return _apply(table, operation)
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


def shown(table: FactTable) -> str:
    rows = ["| fact | category | confidence | since |", "|---|---|---|---|"]
    for fact in table.listed(FactOrder.STRONGEST, _SHOWN):
        content = readable(" ".join(fact.content.split())).replace("|", "\\|")
        rows.append(f"| {content} | {fact.category} | {fact.confidence:g} | {fact.created_at:%Y-%m-%d} |")
    more = f"\n\n{len(table) - _SHOWN} more are in the comments." if len(table) > _SHOWN else ""
    return "\n".join(rows) + more


# --- as lines of JSON, which is how a comment holds them


def line_of(operation: Operation) -> str:
    if isinstance(operation, Add):
        table = {"op": "put", "limit": operation.limit, "fact": serde.fact_out(operation.fact)}
    elif isinstance(operation, Update):
        changes = {key: value for key in CHANGEABLE if (value := getattr(operation, key)) is not None}
        table = {"op": "set", "id": operation.fact_id, **changes}
    else:
        condition = {} if operation.source is None else {"source": operation.source}
        table = {"op": "del", "id": operation.fact_id, **condition}
    return _json(table)


def _json(table: object) -> str:
    return json.dumps(table, ensure_ascii=False)


def _read(text: str, url: str, parse: Callable[[Mapping[str, Any]], T]) -> list[T]:
    """A record's operations or facts. Raises: Corrupt, naming the comment."""
    try:
        return [parse(untrusted.from_json(line)) for line in text.split("\n") if line]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        step = "Restore the earlier version from the comment's edit history on the server."
        raise Corrupt(f"The facts in a comment cannot be read: {url}", next_step=step) from error


def _operation(table: Mapping[str, Any]) -> Operation:
    kind = table["op"]
    if kind == "put":
        return Add(_fact(table["fact"]), _of(int, table["limit"]))
    if kind == "set":
        fields: dict[str, Any] = {key: _of(kind, table[key]) for key, kind in CHANGEABLE.items() if key in table}
        return Update(_of(str, table["id"]), **fields)
    if kind == "del":
        return Remove(_of(str, table["id"]), _of(str, table["source"]) if "source" in table else None)
    raise ValueError(kind)


def _fact(table: Mapping[str, Any]) -> Fact:
    return Fact(
        id=_of(str, table["id"]),
        created_at=serde.moment(_of(str, table["createdAt"])),
        **{key: _of(kind, table[key]) for key, kind in CHANGEABLE.items()},
    )


def _of(kind: type, value: object) -> Any:
    """The value, which must be of that type; a number without a fraction counts as one with. Raises: TypeError."""
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind or (isinstance(value, float) and not math.isfinite(value)):
        raise TypeError(kind.__name__)
    return value
