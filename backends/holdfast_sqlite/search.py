"""Full-text search over facts and documents with FTS5, updated in the same transactions as the indexed data.

Indexing one short string costs FTS5 as much as storing it, and sixty-four cost little more than one. So facts enter the
index in batches, and facts after ``state.indexed`` are searched one by one meanwhile. An evicted fact waits in
``unindexed`` for the next batch. Results are checked against ``facts``, so it is never shown. SQLite without FTS5 marks
the index as untrusted (``indexed = -1``), and the next writer with FTS5 rebuilds it.

The tokenizer ``unicode61`` defines words. A search finds whole words or beginnings of words, in any case, with or
without accents. A run of Chinese or Japanese characters is one word.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import unicodedata
from typing import Final

from holdfast.storage import Hit, HitKind
from holdfast_sqlite.database import Change

BATCH: Final = 64
_BEFORE: Final = 60
_AFTER: Final = 160
_TOKENIZE: Final = "tokenize = 'unicode61 remove_diacritics 2'"
_TABLES: Final = (
    f"CREATE VIRTUAL TABLE facts_text USING fts5 (content, content = 'facts', content_rowid = 'seq', {_TOKENIZE})",
    f"CREATE VIRTUAL TABLE pieces_text USING fts5 (text, content = 'pieces', content_rowid = 'id', {_TOKENIZE})",
    "INSERT INTO facts_text (facts_text) VALUES ('rebuild')",
    "INSERT INTO pieces_text (pieces_text) VALUES ('rebuild')",
)


def available() -> bool:
    """Whether this SQLite was compiled with FTS5."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE probe USING fts5 (text)")
        except sqlite3.OperationalError:
            return False
    return True


class SearchIndex:
    """The index's updates, called by writers of facts and documents inside their transactions, and the search."""

    def __init__(self, *, enabled: bool) -> None:
        self.enabled = enabled

    def prepare(self, change: Change) -> None:
        """Called first in every change: from here on the index is whole, or known not to be."""
        if not self.enabled:
            change.indexed = -1
        elif change.indexed < 0:
            change.sql.execute("DROP TABLE IF EXISTS facts_text")
            change.sql.execute("DROP TABLE IF EXISTS pieces_text")
            change.sql.execute("DELETE FROM unindexed")
            for statement in _TABLES:
                change.sql.execute(statement)
            change.indexed = change.last

    def rebuild(self, change: Change) -> None:
        """Rebuild the index from the stored data, or remove it where search is switched off."""
        change.indexed = -1
        self.prepare(change)
        if not self.enabled:
            change.sql.execute("DELETE FROM unindexed")
            if available():  # otherwise tables created by another Python cannot be read
                for table in ("facts_text", "pieces_text"):
                    change.sql.execute(f"DROP TABLE IF EXISTS {table}")

    def fact_added(self, change: Change) -> None:
        """``change.last`` is in ``facts`` now."""
        if self.enabled and change.last - change.indexed >= BATCH:
            self._forget_evicted(change)
            change.sql.execute(
                "INSERT INTO facts_text (rowid, content) SELECT seq, content FROM facts WHERE seq > ?",
                (change.indexed,),
            )
            change.indexed = change.last

    def fact_evicted(self, change: Change, seq: int, content: str) -> None:
        """The fact has left ``facts``."""
        if self.enabled and seq <= change.indexed:
            change.sql.execute("INSERT INTO unindexed VALUES (?, ?)", (seq, content))

    def fact_deleted(self, change: Change, seq: int, content: str) -> None:
        """Forget a fact deleted from ``facts`` now, with all facts evicted before it."""
        if self.enabled:
            self.fact_evicted(change, seq, content)
            self._forget_evicted(change)

    def fact_changed(self, change: Change, seq: int, old: str, new: str) -> None:
        """The fact's content in ``facts`` is ``new`` now."""
        if self.enabled and seq <= change.indexed and new != old:
            change.sql.execute(
                "INSERT INTO facts_text (facts_text, rowid, content) VALUES ('delete', ?, ?)", (seq, old)
            )
            change.sql.execute("INSERT INTO facts_text (rowid, content) VALUES (?, ?)", (seq, new))

    def piece_added(self, change: Change, piece: int, text: str) -> None:
        """The piece is in ``pieces`` now."""
        if self.enabled:
            change.sql.execute("INSERT INTO pieces_text (rowid, text) VALUES (?, ?)", (piece, text))

    def pieces_leave(self, change: Change, document: int) -> None:
        """The document's pieces are about to be removed from ``pieces``."""
        if self.enabled:
            change.sql.execute(
                "INSERT INTO pieces_text (pieces_text, rowid, text)"
                " SELECT 'delete', id, text FROM pieces WHERE document = ?",
                (document,),
            )

    def _forget_evicted(self, change: Change) -> None:
        change.sql.execute(
            "INSERT INTO facts_text (facts_text, rowid, content) SELECT 'delete', seq, content FROM unindexed"
        )
        change.sql.execute("DELETE FROM unindexed")

    @staticmethod
    def usable(sql: sqlite3.Connection) -> bool:
        """Whether the store has an index that can be trusted."""
        known = sql.execute("SELECT 1 FROM pragma_table_info('state') WHERE name = 'indexed'").fetchone()
        return bool(known) and sql.execute("SELECT indexed FROM state").fetchone()[0] >= 0

    @staticmethod
    def find(sql: sqlite3.Connection, query: str, limit: int) -> list[Hit]:
        """Facts, then documents, each best first. Call it in a transaction. It changes nothing in the store."""
        words = _expression(query)
        if not words or limit <= 0:
            return []
        facts = sql.execute(_INDEXED_FACTS, (words, limit)).fetchall() + _recent_facts(sql, words)
        hits = [Hit(kind=HitKind.FACT, name=row[1], text=row[2]) for row in sorted(facts)]
        found: dict[str, str] = {}
        for name, text in sql.execute(_DOCUMENTS, (words,)):
            if name not in found:
                found[name] = _excerpt(text, query)
            if len(hits) + len(found) >= limit:
                break
        return (hits + [Hit(kind=HitKind.DOCUMENT, name=name, text=text) for name, text in found.items()])[:limit]


_INDEXED_FACTS: Final = """
    SELECT bm25(facts_text), facts.id, facts.content FROM facts_text JOIN facts ON facts.seq = facts_text.rowid
    WHERE facts_text MATCH ? ORDER BY 1 LIMIT ?"""
_DOCUMENTS: Final = """
    SELECT documents.name, pieces.text
    FROM pieces_text JOIN pieces ON pieces.id = pieces_text.rowid JOIN documents ON documents.id = pieces.document
    WHERE pieces_text MATCH ? ORDER BY bm25(pieces_text)"""


def _excerpt(text: str, query: str) -> str:
    """The text around the first word of the query. FTS5's own ``snippet`` and ``highlight`` take minutes when a word is
    repeated a hundred thousand times."""
    words = (unicodedata.normalize("NFD", word) for word in query.split())
    plain = (re.escape(_folded("".join(c for c in word if not unicodedata.combining(c)))) for word in words)
    match = re.search(rf"(?<!\w)(?:{'|'.join(plain)})", _folded(text))
    at = match.start() if match else 0
    start, end = max(0, at - _BEFORE), at + _AFTER
    if start:
        start = next((i + 1 for i in range(start, at) if text[i].isspace()), start)
    if end < len(text):
        end = next((i for i in range(end, at, -1) if text[i].isspace()), end)
    if start == 0 and end >= len(text):
        return text
    return ("... " if start else "") + text[start:end].strip() + (" ..." if end < len(text) else "")


def _folded(text: str) -> str:
    """Lower case without accents, as the tokenizer sees it, but with every character at its offset."""
    if text.isascii():
        return text.lower()
    return "".join(unicodedata.normalize("NFD", c)[0].lower()[0] for c in text)


def _recent_facts(sql: sqlite3.Connection, words: str) -> list[tuple[float, str, str]]:
    """The matches among the few facts not indexed yet."""
    sql.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.recent USING fts5 (id UNINDEXED, content, {_TOKENIZE})")
    sql.execute("DELETE FROM temp.recent")
    sql.execute("INSERT INTO temp.recent SELECT id, content FROM facts WHERE seq > (SELECT indexed FROM state)")
    return sql.execute("SELECT bm25(recent), id, content FROM temp.recent WHERE recent MATCH ?", (words,)).fetchall()


def _expression(query: str) -> str:
    """All words must be there, the last as the beginning of one; quotes keep FTS5's own syntax out."""
    words = ['"' + word.replace('"', '""') + '"' for word in query.replace("\0", " ").split()]
    return " ".join(words) + "*" if words else ""
