"""The storage contract on SQLite (docs/storage-contract.md).

Documents are rows of text that joined give the document, exactly. Facts are rows, too: a unique index finds duplicates,
another index the weakest, all in one transaction.
"""

import os
import sqlite3
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ClassVar, Final, NamedTuple

from attrs import asdict, fields_dict, frozen

from holdfast.api import AddOutcome, AddResult, Corrupt, Fact, Refused
from holdfast.config import serde
from holdfast.fs import durable
from holdfast.storage import (
    ABSENT,
    FACT_COLUMNS,
    SQL_ORDERS,
    ComposedBackend,
    Condition,
    Document,
    FactOrder,
    Remove,
    Update,
    appended,
    block_ids,
    changed_between,
    check_block,
    check_name,
    check_text,
    columns_of,
    duplicate_digest,
    duplicate_of,
    fact_in,
    id_taken,
    leaving,
    no_document,
    no_fact,
    sha256,
    storable,
    updated,
)
from holdfast_sqlite import faults, opening
from holdfast_sqlite.database import Change, Database
from holdfast_sqlite.faults import RESTORE
from holdfast_sqlite.place import Place

_CORRECT: Final = "Correct its row with a tool for SQLite while nothing else uses the file, or restore an older copy."
SELECT: Final = f"SELECT {FACT_COLUMNS} FROM facts"  # noqa: S608 - nothing of it is given
_INSERT: Final = """
    INSERT INTO facts (seq, id, duplicate, content, category, confidence, created_us, source)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
#: The next fact to evict, never the new one.
_WEAKEST: Final = """
    SELECT seq, id FROM facts WHERE seq <> :new ORDER BY confidence, created_us, seq LIMIT :most"""


@frozen(kw_only=True)
class Options:
    """The keys of ``[storage]`` for this backend."""

    file: str = "holdfast.db"
    lock_timeout_s: float = 10.0


class _Stored(NamedTuple):
    id: int
    revision: str
    text: str


class _Documents(ComposedBackend):
    """Each read is compared with its digest."""

    _database: Database

    def read(self, name: str) -> Document | None:
        check_name(name)
        with self._database.reading() as sql:
            stored = None if sql is None else load(sql, name)
        return stored and Document(name=name, text=stored.text, revision=stored.revision)

    def write(self, name: str, text: str, expected: str | None = None) -> str:
        check_name(name)
        check_text(text, name)
        if expected not in (None, ABSENT) and self._database.missing():
            raise changed_between(name)
        with self._database.changing() as change:
            stored = load(change.sql, name)  # even if nothing is expected, because corrupt data is not overwritten
            if expected not in (None, stored.revision if stored else ABSENT):
                raise changed_between(name)
            if stored:
                self._empty(change, stored.id)
            return self._extend(change, name, stored, "", text)

    def append(self, name: str, block: str, header: str, block_id: str) -> str:
        check_name(name)
        check_block(name, block, header, block_id)
        with self._database.changing() as change:
            stored = load(change.sql, name)
            known = "SELECT 1 FROM blocks WHERE document = ? AND block_id = ?"
            if stored is None or change.sql.execute(known, (stored.id, block_id)).fetchone() is None:
                before = stored.text if stored else ""
                return self._extend(change, name, stored, before, appended(before, block, header))
        self._database.confirm()
        return stored.revision

    def delete(self, name: str) -> None:
        check_name(name)
        if self._database.missing():
            raise no_document(name)
        with self._database.changing() as change:
            row = change.sql.execute("SELECT id FROM documents WHERE name = ?", (name,)).fetchone()
            if row is None:
                raise no_document(name)
            self._empty(change, row[0])
            change.sql.execute("DELETE FROM documents WHERE id = ?", row)

    def names(self, prefix: str = "") -> list[str]:
        with self._database.reading() as sql:
            if sql is None:
                return []
            rows = sql.execute(
                "SELECT name FROM documents WHERE name >= :p AND substr(name, 1, length(:p)) = :p ORDER BY name",
                {"p": prefix},
            )
            return [name for (name,) in rows]

    def _extend(self, change: Change, name: str, stored: _Stored | None, before: str, added: str) -> str:
        """Add a piece after ``before``, the document's stored text."""
        revision = sha256(before + added)
        if stored:
            document = stored.id
            change.sql.execute("UPDATE documents SET revision = ? WHERE id = ?", (revision, document))
        else:
            made = change.sql.execute("INSERT INTO documents (name, revision) VALUES (?, ?)", (name, revision))
            document = int(made.lastrowid or 0)
            self._empty(change, document)  # pieces of a manually deleted row may remain
        if added:
            change.sql.execute("INSERT INTO pieces (document, text) VALUES (?, ?)", (document, added))
            change.sql.executemany(
                "INSERT OR IGNORE INTO blocks VALUES (?, ?)", [(document, block_id) for block_id in block_ids(added)]
            )
        return revision

    def _empty(self, change: Change, document: int) -> None:
        change.sql.execute("DELETE FROM pieces WHERE document = ?", (document,))
        change.sql.execute("DELETE FROM blocks WHERE document = ?", (document,))


def load(sql: sqlite3.Connection, name: str) -> _Stored | None:
    """One statement, so that document and pieces are of one moment."""
    rows = sql.execute(
        "SELECT documents.id, revision, text FROM documents LEFT JOIN pieces ON document = documents.id"
        " WHERE name = ? ORDER BY pieces.id",
        (name,),
    ).fetchall()
    if not rows:
        return None
    strings = [text for _, _, text in rows if text is not None]
    whole = all(isinstance(text, str) for text in strings)
    text = "".join(strings) if whole else ""
    if not whole or sha256(text) != rows[0][1]:
        raise Corrupt(f"The stored text of {name!r} differs from the written text.", next_step=RESTORE)
    return _Stored(rows[0][0], rows[0][1], text)


class _Facts(ComposedBackend):
    _database: Database

    def facts(self, order: FactOrder = FactOrder.CREATED, limit: int | None = None) -> Iterator[Fact]:
        wanted = -1 if limit is None else min(max(limit, 0), sys.maxsize)
        with self._database.reading() as sql:
            query = f"{SELECT} ORDER BY {SQL_ORDERS[order]} LIMIT ?"
            return map(from_row, [] if sql is None else sql.execute(query, (wanted,)).fetchall())

    def add_fact(self, fact: Fact, limit: int) -> AddResult:
        fact = storable(fact, limit)
        row = columns_of(fact)
        with self._database.changing() as change:
            twin = _twin(change.sql, row[1])
            if twin is None:
                return self._insert(change, fact, row, limit)
        self._database.confirm()
        return AddResult(outcome=AddOutcome.DUPLICATE, fact=twin, duplicate_of=twin.id)

    def _update(self, change: Update) -> Fact:
        if self._database.missing():
            raise no_fact(change.fact_id)
        with self._database.changing() as transaction:
            seq, old = _row(transaction.sql, change.fact_id)
            new = updated(old, change)
            if new != old:
                digest = duplicate_digest(new.content)
                twin = _twin(transaction.sql, digest)
                if twin and twin.id != new.id:
                    raise duplicate_of(twin.id, new.id)
                transaction.sql.execute(
                    "UPDATE facts SET content = ?, duplicate = ?, category = ?, confidence = ?, source = ?"
                    " WHERE seq = ?",
                    (new.content, digest, new.category, new.confidence, new.source, seq),
                )
        self._database.confirm()
        return new

    def _remove(self, change: Remove) -> Fact:
        if self._database.missing():
            raise no_fact(change.fact_id)
        with self._database.changing() as transaction:
            seq, old = _row(transaction.sql, change.fact_id)
            fact = leaving(old, change)
            transaction.sql.execute("DELETE FROM facts WHERE seq = ?", (seq,))
            transaction.facts -= 1
            transaction.removed += 1
            transaction.last = transaction.sql.execute("SELECT ifnull(max(seq), 0) FROM facts").fetchone()[0]
        return fact

    def _batch(self) -> AbstractContextManager[object]:
        return self._database.changing()

    def _recount(self, change: Change) -> None:
        """Look at all facts for what ``state`` says of them. More said than there are would let facts leave."""
        change.facts = change.sql.execute("SELECT count(*) FROM facts").fetchone()[0]

    def _insert(self, change: Change, fact: Fact, row: Sequence[object], limit: int) -> AddResult:
        try:
            change.sql.execute(_INSERT, (change.last + 1, *row))
        except sqlite3.IntegrityError as error:
            raise id_taken(fact.id) from error
        change.last += 1
        evicted = self._evict(change, change.facts - (limit - 1))
        change.facts += 1 - len(evicted)
        change.removed += len(evicted)
        return AddResult(outcome=AddOutcome.ADDED, fact=fact, evicted=evicted)

    def _evict(self, change: Change, surplus: int) -> tuple[str, ...]:
        """Evict the weakest facts, never the new one. A damaged ``state`` may count more facts than there are."""
        if surplus <= 0:
            return ()
        weakest = change.sql.execute(_WEAKEST, {"new": change.last, "most": min(surplus, sys.maxsize)}).fetchall()
        change.sql.executemany("DELETE FROM facts WHERE seq = ?", [(seq,) for seq, _ in weakest])
        return tuple(fact_id for _, fact_id in weakest)


def _twin(sql: sqlite3.Connection, digest: bytes) -> Fact | None:
    row = sql.execute(f"{SELECT} WHERE duplicate = ?", (digest,)).fetchone()
    return None if row is None else from_row(row)


def _row(sql: sqlite3.Connection, fact_id: str) -> tuple[int, Fact]:
    """The fact and its seq. Raises: NotFound, also for half of a character, which no stored id has."""
    query = f"{SELECT.replace('SELECT', 'SELECT seq,', 1)} WHERE id = ?"
    try:
        row = sql.execute(query, (fact_id,)).fetchone()
    except UnicodeEncodeError:
        row = None
    if row is None:
        raise no_fact(fact_id)
    return row[0], from_row(row[1:])


def from_row(row: Sequence[Any]) -> Fact:
    """The fact in a row of :data:`SELECT`. Raises: Corrupt."""
    return fact_in(row, _CORRECT)


class SqliteBackend(_Documents, _Facts):
    """Documents and facts in the database ``file`` in the folder ``path`` under ``root``, made by the first write.

    ``lock_timeout_s`` bounds how long a write waits for another process, in seconds.
    """

    name: ClassVar[str] = "sqlite"

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        path: str = ".holdfast",
        file: str = "holdfast.db",
        lock_timeout_s: float = 10.0,
    ) -> None:
        self._database = Database(Place(root, path=path, file=file), timeout_s=lock_timeout_s)

    def check(self, *, thorough: bool = False) -> Condition:
        return Condition(lost=self._database.lost())

    def repair(self) -> None:
        self._database.accept(self._recount)

    def compact(self) -> None:
        if self._database.missing():
            return
        with self._database.changing() as change:
            self._recount(change)
        self._database.compact()

    def put_aside(self, path: str) -> str:
        """Rename this store's database when it is the file at ``path`` and of another origin, so that the next write
        makes a new one. Returns the path to read it from. Raises: Refused when the database is in use; Unavailable."""
        place = self._database.place
        if os.path.realpath(path) != place.database:
            return path
        try:
            with self._database.reading():
                pass
        except (Corrupt, Refused):
            return place.put_aside()
        raise Refused(f"{place.path} is this project's store.", next_step="Import another file.")

    def close(self) -> None:
        self._database.close()

    def where(self, name: str = "") -> str:
        return f"{self._database.place.path}#{name}" if name else self._database.place.path


def from_options(root: str | os.PathLike[str], path: str, options: Mapping[str, object]) -> SqliteBackend:
    """The backend as ``[storage]`` describes it; keys of other backends are left alone. Raises: ConfigError."""
    own = {key: options[key] for key in fields_dict(Options) if key in options}
    return SqliteBackend(root, path=path, **asdict(serde.structure(own, Options, what="`[storage]`")))


class ForeignStore:
    """The data in the database ``path`` of any origin, read-only; nothing else in it is used. Close it. Each method
    raises Corrupt for damaged data, and Unavailable."""

    def __init__(self, path: str) -> None:
        self._shown = os.path.basename(path)
        with self._translated(), durable.reporting(path, "read"):
            self._sql = opening.foreign(os.path.realpath(path), self._shown)

    def facts(self) -> Iterator[Fact]:
        with self._translated():
            yield from map(from_row, self._sql.execute(f"{SELECT} ORDER BY seq"))

    def documents(self) -> Iterator[tuple[str, str]]:
        with self._translated():
            for (name,) in self._sql.execute("SELECT name FROM documents ORDER BY name").fetchall():
                if stored := load(self._sql, str(name)):
                    yield str(name), stored.text

    def close(self) -> None:
        self._sql.close()

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise faults.translate(error, self._shown, opening.WAIT_S) from error
