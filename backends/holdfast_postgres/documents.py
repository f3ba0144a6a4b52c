"""Documents as rows. Each change is one function call, which checks the stored text against its digest.

Search words are stored as a ``tsvector``, which PostgreSQL compares. They are split here, so that stored text and
queries are split alike, whatever the server's locale and dictionaries. A word is a run of letters, digits and
underscores, casefolded. Chinese, Japanese and Korean text has no reliable word boundaries, so a run of it gives all of
its pairs of characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from holdfast.errors import Conflict
from holdfast.storage import (
    Append,
    Document,
    StorageBackend,
    Write,
    appended,
    block_ids,
    block_marker,
    check_block,
    check_name,
    check_text,
    no_document,
    sha256,
)
from holdfast_postgres import faults
from holdfast_postgres.database import Database, Row, Statement, reading

_READ: Final = "SELECT name, body, revision FROM holdfast.documents WHERE namespace = %s AND name = ANY(%s)"
_NAMES: Final = "SELECT name FROM holdfast.documents WHERE namespace = %s AND starts_with(name, %s) ORDER BY name"
_PUT: Final = "SELECT holdfast.put_document(%s, %s, %s, %s, array_to_tsvector(%s::text[]), %s)"
_APPEND: Final = (
    "SELECT holdfast.append_block(%s, %s, %s, %s, %s, array_to_tsvector(%s::text[]), array_to_tsvector(%s::text[]))"
)
_CJK: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_RUN: Final = re.compile(rf"([{_CJK}]+)|[^\W{_CJK}]+")
#: A word's maximum length in the index, in characters. Longer words are found by their beginning, then compared.
_LONGEST: Final = 60
#: Maximum size of all words in a string, in bytes. A tsvector holds less than 1 MB.
_MOST: Final = 400_000


class Documents(StorageBackend):
    """A namespace's documents."""

    _database: Database

    def read(self, name: str) -> Document | None:
        rows = reading(lambda: self._database.run(self._asked([name]))[0])
        return found([name], rows or [])[name]

    def write(self, name: str, text: str, expected: str | None = None) -> str:
        statement = self._document_statement(Write(name=name, text=text, expected=expected))
        revision = sha256(text)
        try:
            self._database.commit([statement])
        except Conflict:
            stored = self.read(name) if self._database.was_repeated else None
            if stored is None or stored.revision != revision:  # else the first try's answer was lost
                raise
        return revision

    def append(self, name: str, block: str, header: str, block_id: str) -> str:
        statement = self._document_statement(Append(name=name, block=block, header=header, block_id=block_id))
        return str(self._database.commit([statement])[0][0][0])

    def delete(self, name: str) -> None:
        check_name(name)
        query = "DELETE FROM holdfast.documents WHERE namespace = %s AND name = %s RETURNING 1"
        gone = reading(lambda: self._database.run((query, (self._database.namespace, name)))[0])
        if not gone and not self._database.was_repeated:  # a repeat means that the response to the deletion was lost
            raise no_document(name)

    def names(self, prefix: str = "") -> list[str]:
        if not is_storable(prefix):
            return []
        rows = reading(lambda: self._database.run((_NAMES, (self._database.namespace, prefix)))[0]) or []
        return [str(name) for (name,) in rows]

    def _asked(self, names: Sequence[str]) -> Statement:
        """The statement that reads documents, and :func:`found` its rows."""
        return _READ, (self._database.namespace, [check_name(name) for name in names])

    def _document_statement(self, one: Append | Write) -> Statement:
        """The statement that makes a change. Raises: Refused; ValueError for a block without its marker."""
        space, name = self._database.namespace, check_name(one.name)
        if isinstance(one, Write):
            check_text(one.text, name)
            return _PUT, (space, name, one.text, sha256(one.text), lexemes(one.text), one.expected)
        check_block(name, one.block, one.header, one.block_id)
        marker, first = block_marker(one.block_id), appended("", one.block, one.header)
        return _APPEND, (space, name, marker, first, one.block, lexemes(first), lexemes(one.block))


def found(names: Iterable[str], rows: Iterable[Row]) -> dict[str, Document | None]:
    """The documents by name, None for those without a row. Raises: Corrupt."""
    documents: dict[str, Document | None] = dict.fromkeys(names)
    for name, body, revision in rows:
        if sha256(body) != revision:
            raise faults.spoiled(name)
        documents[name] = Document(name=name, text=body, revision=revision)
    return documents


def is_there(one: Append | Write, stored: Document | None) -> bool:
    """Whether the change is in the stored document."""
    if stored is None:
        return False
    return stored.text == one.text if isinstance(one, Write) else one.block_id in block_ids(stored.text)


def is_storable(text: str) -> bool:
    """Whether the server can hold the string."""
    try:
        return "\0" not in text and bool(text.encode() or True)
    except UnicodeEncodeError:
        return False


def lexemes(text: str) -> list[str] | None:
    """A string's distinct words, for the index. None if there are too many, and every query then reads the string."""
    found: set[str] = set()
    for run in _RUN.finditer(text.casefold()):
        word = run[0]
        if run[1]:
            found.update(word[at : at + 2] for at in range(len(word)))
        else:
            found.add(word[:_LONGEST])
    return sorted(found) if sum(len(word.encode()) + 4 for word in found) < _MOST else None


def split(query: str) -> list[tuple[str, bool]]:
    """A query's words, each with whether it is Chinese, Japanese or Korean."""
    return [(run[0], bool(run[1])) for run in _RUN.finditer(query.casefold())]


def tsquery(words: Sequence[tuple[str, bool]]) -> str:
    """A condition that matches content with all ``words``, matching the last as a prefix.

    It holds no query syntax except ours, because words consist of letters, digits and underscores.
    """
    parts: list[str] = []
    for number, (word, is_cjk) in enumerate(words, start=1):
        if is_cjk and len(word) > 1:
            parts += [f"'{word[at : at + 2]}'" for at in range(len(word) - 1)]
        else:
            is_open = is_cjk or number == len(words) or len(word) > _LONGEST
            parts.append(f"'{word[:_LONGEST]}'" + (":*" if is_open else ""))
    return " & ".join(dict.fromkeys(parts))


def pattern(words: Sequence[tuple[str, bool]]) -> list[re.Pattern[str]]:
    """For each word the expression that finds it in casefolded text."""
    out = []
    for number, (word, is_cjk) in enumerate(words, start=1):
        before, after = ("", "") if is_cjk else (rf"(?<![^\W{_CJK}])", rf"(?![^\W{_CJK}])")
        out.append(re.compile(before + re.escape(word) + ("" if number == len(words) else after)))
    return out
