"""Documents as rows of text that joined give the document, exactly."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from holdfast.errors import Corrupt
from holdfast.storage import (
    ABSENT,
    Document,
    appended,
    block_ids,
    changed_between,
    check_block,
    check_name,
    check_text,
    no_document,
    sha256,
)
from holdfast_sqlite.database import Change, Database
from holdfast_sqlite.faults import RESTORE


class _Stored(NamedTuple):
    id: int
    revision: str
    text: str


class Documents:
    """One store's documents. Each read is compared with its digest."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, name: str) -> Document | None:
        check_name(name)
        with self._database.reading() as sql:
            stored = None if sql is None else load(sql, name)
        return stored and Document(name=name, text=stored.text, revision=stored.revision)

    def write(self, name: str, text: str, expected: str | None) -> str:
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

    def names(self, prefix: str) -> list[str]:
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
                "INSERT OR IGNORE INTO blocks VALUES (?, ?)", [(document, found) for found in block_ids(added)]
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
