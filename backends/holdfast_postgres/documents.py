"""Documents as rows. Each change is one statement, which checks the stored text against its digest."""

from __future__ import annotations

import re
from typing import Final

from holdfast.errors import Conflict, Corrupt, NotFound
from holdfast.storage import ABSENT, Document, block_marker, check_name, sha256
from holdfast_postgres import faults
from holdfast_postgres.database import Database, Row, Statement, reading, writing

_BEFORE_ID, _, _AFTER_ID = block_marker("@").partition("@")
_MARKER: Final = re.compile(rf"(?m)^{re.escape(_BEFORE_ID)}(.*){re.escape(_AFTER_ID)}\r?$")
_RESTORE: Final = "Restore the row from a backup; nothing writes to it until then."
_READ: Final = "SELECT body, revision FROM holdfast.documents WHERE namespace = %s AND name = %s"
_SHA: Final = "encode(sha256(convert_to({}, 'UTF8')), 'hex')"
_WHOLE: Final = f"{_SHA.format('documents.body')} = documents.revision"
_INSERT: Final = """
    INSERT INTO holdfast.documents AS documents (namespace, name, body, revision) VALUES (%s, %s, %s, %s)
    ON CONFLICT (namespace, name)"""
_CREATE: Final = f"{_INSERT} DO NOTHING RETURNING revision"
_REPLACE: Final = f"""{_INSERT} DO UPDATE SET body = EXCLUDED.body, revision = EXCLUDED.revision
    WHERE {_WHOLE} RETURNING revision"""
_EXPECTED: Final = f"""
    UPDATE holdfast.documents AS documents SET body = %s, revision = %s
    WHERE namespace = %s AND name = %s AND revision = %s AND {_WHOLE} RETURNING revision"""  # noqa: S608 - nothing of it is given
#: A block's marker counts when it is alone on its line, with or without a CR.
_HAS: Final = "position(E'\\n' || %s || E'\\n' IN E'\\n' || replace(documents.body, E'\\r\\n', E'\\n') || E'\\n') > 0"
_JOINED: Final = """
    CASE WHEN documents.body = '' THEN %s
         WHEN right(documents.body, 1) = E'\\n' THEN documents.body || %s
         ELSE documents.body || E'\\n' || %s END"""
_APPEND: Final = f"""{_INSERT} DO UPDATE SET
    body = CASE WHEN {_HAS} THEN documents.body ELSE {_JOINED} END,
    revision = CASE WHEN {_HAS} THEN documents.revision ELSE {_SHA.format(f"({_JOINED})")} END
    WHERE {_WHOLE} RETURNING revision"""


class Documents:
    """The documents of one namespace."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, name: str) -> Document | None:
        check_name(name)
        rows = reading(lambda: self._database.run((_READ, (self._database.namespace, name)))[0])
        if not rows:
            return None
        body, revision = rows[0]
        if sha256(body) != revision:
            raise Corrupt(f"The stored text of {name!r} is not what was written.", next_step=_RESTORE)
        return Document(name=name, text=body, revision=revision)

    def write(self, name: str, text: str, expected: str | None) -> str:
        check_name(name)
        _check_text(text, name)
        space, revision = self._database.namespace, sha256(text)
        statement: Statement
        if expected is None:
            statement = _REPLACE, (space, name, text, revision)
        elif expected == ABSENT:
            statement = _CREATE, (space, name, text, revision)
        else:
            statement = _EXPECTED, (text, revision, space, name, expected)
        if not self._changed(*statement):
            repeated = self._database.was_repeated
            stored = self.read(name)  # raises Corrupt
            if not (repeated and stored and stored.revision == revision):  # else the first try's answer was lost
                raise Conflict(f"{name!r} was changed in between.", next_step="Read it again and redo the change.")
        return revision

    def append(self, name: str, block: str, header: str, block_id: str) -> str:
        check_name(name)
        _check_text(header + block, name)
        marker = block_marker(block_id)
        if block_id not in _MARKER.findall(block):
            raise ValueError(f"the block does not hold its marker line {marker!r}")
        first = (header if not header or header.endswith("\n") else f"{header}\n") + block
        joined = (first, block, block)
        values = (self._database.namespace, name, first, sha256(first), marker, *joined, marker, *joined)
        rows = self._changed(_APPEND, values)
        if not rows:
            self.read(name)  # raises Corrupt
            raise Conflict(f"{name!r} was changed in between.", next_step="Try again.")
        return str(rows[0][0])

    def delete(self, name: str) -> None:
        check_name(name)
        query = "DELETE FROM holdfast.documents WHERE namespace = %s AND name = %s RETURNING 1"
        gone = reading(lambda: self._database.run((query, (self._database.namespace, name)))[0])
        if not gone and not self._database.was_repeated:  # repeated: the answer of the try that removed it was lost
            raise NotFound(f"There is no document {name!r}.", next_step="List the documents with `holdfast show`.")

    def names(self, prefix: str) -> list[str]:
        if not _is_storable(prefix):
            return []
        query = "SELECT name FROM holdfast.documents WHERE namespace = %s AND starts_with(name, %s) ORDER BY name"
        rows = reading(lambda: self._database.run((query, (self._database.namespace, prefix)))[0]) or []
        return [str(name) for (name,) in rows]

    def _changed(self, query: str, values: tuple[object, ...]) -> list[Row]:
        # Inserting needs the namespace to exist: without it the row would be invisible to its own writer.
        lock = self._database.lock_statement()
        return writing(self._database, lambda: self._database.run(lock, (query, values))[1])


def _is_storable(text: str) -> bool:
    try:
        return "\0" not in text and bool(text.encode() or True)
    except UnicodeEncodeError:
        return False


def _check_text(text: str, name: str) -> None:
    if "\0" in text:
        raise faults.bad_text(repr(name), "a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise faults.bad_text(repr(name), f"a lone surrogate at character {error.start}") from error
