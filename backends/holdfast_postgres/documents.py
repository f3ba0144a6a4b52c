"""Documents as rows. Each change is one function call, which checks the stored text against its digest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from holdfast.errors import Conflict, NotFound
from holdfast.storage import Append, Document, Write, block_ids, block_marker, check_name, check_text, sha256
from holdfast_postgres import faults
from holdfast_postgres.database import Database, Row, Statement, reading
from holdfast_postgres.words import lexemes

_READ: Final = "SELECT name, body, revision FROM holdfast.documents WHERE namespace = %s AND name = ANY(%s)"
_NAMES: Final = "SELECT name FROM holdfast.documents WHERE namespace = %s AND starts_with(name, %s) ORDER BY name"
_LAST: Final = """SELECT name, body, revision FROM holdfast.documents WHERE namespace = %s AND starts_with(name, %s)
    AND strpos(substr(name, length(%s) + 1), '/') = 0 ORDER BY name DESC LIMIT 1"""
_PUT: Final = "SELECT holdfast.put_document(%s, %s, %s, %s, array_to_tsvector(%s::text[]), %s)"
_APPEND: Final = (
    "SELECT holdfast.append_block(%s, %s, %s, %s, %s, array_to_tsvector(%s::text[]), array_to_tsvector(%s::text[]))"
)


class Documents:
    """A namespace's documents."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, name: str) -> Document | None:
        rows = reading(lambda: self._database.run(self.asked([name]))[0])
        return self.found([name], rows or [])[name]

    def write(self, name: str, text: str, expected: str | None) -> str:
        statement = self._written(Write(name=name, text=text, expected=expected))
        revision = sha256(text)
        try:
            self._changed(statement)
        except Conflict:
            repeated = self._database.was_repeated
            stored = self.read(name) if repeated else None
            if stored is None or stored.revision != revision:  # else the first try's answer was lost
                raise
        return revision

    def append(self, name: str, block: str, header: str, block_id: str) -> str:
        statement = self._appended(Append(name=name, block=block, header=header, block_id=block_id))
        return str(self._changed(statement)[0][0][0])

    def delete(self, name: str) -> None:
        check_name(name)
        space = self._database.namespace
        query = "DELETE FROM holdfast.documents WHERE namespace = %s AND name = %s RETURNING 1"
        versions = "DELETE FROM holdfast.versions WHERE namespace = %s AND name = %s"
        gone = reading(lambda: self._database.run((query, (space, name)), (versions, (space, name)))[0])
        if not gone and not self._database.was_repeated:  # a repeat means that the response to the deletion was lost
            raise NotFound(f"There is no document {name!r}.", next_step="List the documents with `holdfast show`.")

    def names(self, prefix: str) -> list[str]:
        if not _is_storable(prefix):
            return []
        rows = reading(lambda: self._database.run((_NAMES, (self._database.namespace, prefix)))[0]) or []
        return [str(name) for (name,) in rows]

    def last(self, prefix: str) -> Document | None:
        rows = reading(lambda: self._database.run((_LAST, (self._database.namespace, prefix, prefix)))[0])
        return next(iter(self.found([], rows or []).values()), None)

    # statements and rows

    def asked(self, names: Sequence[str]) -> Statement:
        """The statement that reads documents, and :meth:`found` its rows."""
        return _READ, (self._database.namespace, [check_name(name) for name in names])

    def found(self, names: Iterable[str], rows: Iterable[Row]) -> dict[str, Document | None]:
        """Raises: Corrupt."""
        found: dict[str, Document | None] = dict.fromkeys(names)
        for name, body, revision in rows:
            if sha256(body) != revision:
                raise faults.spoiled(name)
            found[name] = Document(name=name, text=body, revision=revision)
        return found

    def change(self, one: Append | Write) -> Statement:
        """The statement that makes a change."""
        return self._appended(one) if isinstance(one, Append) else self._written(one)

    def _written(self, one: Write) -> Statement:
        check_text(one.text, check_name(one.name))
        space, text = self._database.namespace, one.text
        return _PUT, (space, one.name, text, sha256(text), lexemes(text), one.expected)

    def _appended(self, one: Append) -> Statement:
        check_text(one.header + one.block, check_name(one.name))
        marker = block_marker(one.block_id)
        if one.block_id not in block_ids(one.block):
            raise ValueError(f"the block does not hold its marker line {marker!r}")
        header = one.header if not one.header or one.header.endswith("\n") else f"{one.header}\n"
        first = header + one.block
        values = (self._database.namespace, one.name, marker, first, one.block, lexemes(first), lexemes(one.block))
        return _APPEND, values

    def _changed(self, statement: Statement) -> list[list[Row]]:
        return self._database.commit([statement])


def is_there(one: Append | Write, stored: Document | None) -> bool:
    """Whether the change is in the stored document."""
    if stored is None:
        return False
    return stored.text == one.text if isinstance(one, Write) else one.block_id in block_ids(stored.text)


def _is_storable(text: str) -> bool:
    try:
        return "\0" not in text and bool(text.encode() or True)
    except UnicodeEncodeError:
        return False
