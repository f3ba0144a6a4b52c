"""The storage contract on PostgreSQL (docs/storage-contract.md)."""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, ClassVar, Final, TypeAlias

from attrs import asdict, fields_dict, frozen

from holdfast.api import AddOutcome, AddResult, ConfigError, Conflict, Fact, Refused
from holdfast.config import serde
from holdfast.storage import (
    FACT_COLUMNS,
    SQL_ORDERS,
    Add,
    Append,
    Capability,
    Change,
    Committed,
    Condition,
    Document,
    FactOrder,
    Hit,
    HitKind,
    Remove,
    StorageBackend,
    Update,
    Write,
    appended,
    block_ids,
    block_marker,
    check_block,
    check_name,
    check_text,
    columns_of,
    duplicate_digest,
    duplicate_of,
    fact_in,
    id_taken,
    no_document,
    no_fact,
    sha256,
    storable,
    updated,
)
from holdfast_keys import origins, secrets
from holdfast_postgres import faults
from holdfast_postgres.database import Database, Row, Statement, reading
from holdfast_postgres.schema import LATEST
from holdfast_postgres.words import lexemes, pattern, split, tsquery

_MOST_CHARS: Final = 200
Execute: TypeAlias = Callable[[str, Sequence[object]], list[Row]]
#: The kinds of answer of ``holdfast.add_fact``.
_TWIN, _TAKEN = 0, 1
_CORRECT: Final = "Correct its row with a database tool, or restore it from a backup."
_SELECT: Final = f"SELECT {FACT_COLUMNS} FROM holdfast.facts WHERE namespace = %s"  # noqa: S608 - nothing of it is given
_ADD: Final = """SELECT kind, id, content, category, confidence, created_us, source, gone
    FROM holdfast.add_fact(%s, %s, %s, %s, %s, %s, %s, %s, array_to_tsvector(%s::text[]), %s, %s)"""
_UPDATE: Final = """UPDATE holdfast.facts SET content = %s, category = %s, confidence = %s, source = %s, duplicate = %s,
    words = array_to_tsvector(%s::text[]) WHERE namespace = %s AND id = %s"""
_REMOVE: Final = f"""WITH gone AS (
        DELETE FROM holdfast.facts WHERE namespace = %s AND id = %s AND source = coalesce(%s, source)
        RETURNING {FACT_COLUMNS}),
    counted AS (UPDATE holdfast.namespaces SET facts = facts - (SELECT count(*) FROM gone) WHERE namespace = %s)
    SELECT * FROM gone"""  # noqa: S608 - nothing of it is given
_READ: Final = "SELECT name, body, revision FROM holdfast.documents WHERE namespace = %s AND name = ANY(%s)"
_NAMES: Final = "SELECT name FROM holdfast.documents WHERE namespace = %s AND starts_with(name, %s) ORDER BY name"
_PUT: Final = "SELECT holdfast.put_document(%s, %s, %s, %s, array_to_tsvector(%s::text[]), %s)"
_APPEND: Final = (
    "SELECT holdfast.append_block(%s, %s, %s, %s, %s, array_to_tsvector(%s::text[]), array_to_tsvector(%s::text[]))"
)


@frozen(kw_only=True)
class Options:
    """The keys of ``[storage]`` for this backend.

    ``server`` is a URL without a password. ``timeout_s`` limits connecting and one call, in seconds. ``connections`` is
    this process's maximum number of connections, and further threads wait.
    """

    server: str
    namespace: str
    timeout_s: float = 10.0
    connections: int = 4


def _password(server: str, root: str | os.PathLike[str]) -> str:
    """The password for the server, read when connecting, from the environment or otherwise the keyring. Empty when
    libpq should look for one (PGPASSWORD, a password file). Raises: KeyringUnusable; AddressNotTrusted."""
    own, usual = os.environ.get("HOLDFAST_POSTGRES_PASSWORD", ""), os.path.expanduser("~/.pgpass")
    if own or os.environ.get("PGPASSWORD") or os.environ.get("PGPASSFILE") or os.path.exists(usual):
        return own
    try:
        origin = origins.of(server, "storage.server")
        return secrets.get("postgres", origin=origin, root=root, settings=("storage.server",)) or ""
    except secrets.AddressNotTrusted:
        raise
    except ConfigError:
        return ""  # a socket has no origin, or the stored passwords are for other servers


class PostgresBackend(StorageBackend):
    """Documents and facts of a namespace in the database that a server's address names. ``options`` are those of
    :class:`Options`.

    Calling ``password`` supplies the password when connecting. No request is sent before the first call, and reading
    creates nothing.
    """

    name: ClassVar[str] = "postgres"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.REMOTE, Capability.SEARCH, Capability.TRANSACTIONS}
    )

    def __init__(
        self, root: str | os.PathLike[str], *, password: Callable[[], str] | None = None, **options: Any
    ) -> None:
        """Raises: ConfigError."""
        settings = Options(**options)
        namespace = settings.namespace
        if settings.connections < 1 or settings.timeout_s <= 0:
            raise ConfigError("storage.connections and storage.timeout_s must be above 0.", next_step="Correct them.")
        if not namespace.strip() or len(namespace) > _MOST_CHARS or not namespace.isprintable():
            raise ConfigError(
                "storage.namespace is not a usable name.", next_step='Write it like "team/project", in one line.'
            )
        self.database = Database(password=password, **asdict(settings))

    # --- documents

    def read(self, name: str) -> Document | None:
        return found([name], self.database.read(self._asked([name]))[0])[name]

    def write(self, name: str, text: str, expected: str | None = None) -> str:
        statement = self._statement(Write(name=name, text=text, expected=expected))
        revision = sha256(text)
        try:
            self.database.commit(statement)
        except Conflict:
            stored = self.read(name) if self.database.was_repeated else None
            if stored is None or stored.revision != revision:  # else the first try's answer was lost
                raise
        return revision

    def append(self, name: str, block: str, header: str, block_id: str) -> str:
        statement = self._statement(Append(name=name, block=block, header=header, block_id=block_id))
        return str(self.database.commit(statement)[0][0][0])

    def delete(self, name: str) -> None:
        check_name(name)
        query = "DELETE FROM holdfast.documents WHERE namespace = %s AND name = %s RETURNING 1"
        gone = self.database.read((query, (self.database.namespace, name)))[0]
        if not gone and not self.database.was_repeated:  # a repeat means that the response to the deletion was lost
            raise no_document(name)

    def names(self, prefix: str = "") -> list[str]:
        if not _is_storable(prefix):
            return []
        return [str(name) for (name,) in self.database.read((_NAMES, (self.database.namespace, prefix)))[0]]

    def _asked(self, names: Sequence[str]) -> Statement:
        """The statement that reads documents, and :func:`found` its rows."""
        return _READ, (self.database.namespace, [check_name(name) for name in names])

    # --- facts

    def facts(self, order: FactOrder = FactOrder.CREATED, limit: int | None = None) -> Iterator[Fact]:
        most = None if limit is None else min(max(limit, 0), sys.maxsize)
        return map(_fact_of, self.database.read(self._listing(order, most))[0])

    def add_fact(self, fact: Fact, limit: int) -> AddResult:
        result = self.commit([Add(fact, limit)]).added[0]
        if result is None:
            raise id_taken(fact.id)
        return result

    def _listing(self, order: FactOrder = FactOrder.CREATED, limit: int | None = None) -> Statement:
        return f"{_SELECT} ORDER BY {SQL_ORDERS[order]} LIMIT %s", (self.database.namespace, limit)

    def _result(self, change: Add, row: Row) -> AddResult | None:
        """An addition's result. None when the id is taken."""
        fact = _checked(change)
        kind, *columns, gone = row
        if kind == _TAKEN:
            return None
        if kind == _TWIN:
            twin = _fact_of(columns)
            if twin.id != fact.id or not self.database.was_repeated:  # otherwise the first response was lost
                return AddResult(outcome=AddOutcome.DUPLICATE, fact=twin, duplicate_of=twin.id)
        return AddResult(outcome=AddOutcome.ADDED, fact=fact, evicted=tuple(gone or ()))

    def _update(self, change: Update, execute: Execute) -> list[Row]:
        """Make an update inside of a transaction. The new fact's row."""
        space = self.database.namespace
        rows = execute(f"{_SELECT} AND id = %s", (space, change.fact_id)) if _is_storable(change.fact_id) else []
        if not rows:
            raise no_fact(change.fact_id)
        new = updated(_fact_of(rows[0]), change)
        _check(new.content, new.category, new.source)
        digest = duplicate_digest(new.content)
        twin = execute(f"{_SELECT} AND duplicate = %s", (space, digest))
        if twin and twin[0][0] != new.id:
            raise duplicate_of(twin[0][0], new.id)
        words = lexemes(new.content)
        execute(_UPDATE, (new.content, new.category, new.confidence, new.source, digest, words, space, new.id))
        return execute(f"{_SELECT} AND id = %s", (space, new.id))

    def search(self, words: Sequence[str], limit: int = 20) -> list[Hit]:
        """Facts and documents with any of ``words``, those with more of them first, then those with more occurrences.
        Of equals, facts come first."""
        wanted = [split(word) for word in dict.fromkeys(words) if _is_storable(word)]
        wanted = [parts for parts in wanted if parts]
        if not wanted or limit < 1:
            return []
        space, has = self.database.namespace, "namespace = %s AND (words @@ %s::tsquery OR words IS NULL)"
        values = (space, " | ".join(f"({tsquery(parts)})" for parts in wanted))
        facts = f"SELECT id, content FROM holdfast.facts WHERE {has} ORDER BY seq"  # noqa: S608 - nothing of it is given
        documents = f"SELECT name, body FROM holdfast.documents WHERE {has} ORDER BY name"  # noqa: S608
        answers = self.database.read((facts, values), (documents, values))
        patterns = [pattern(parts) for parts in wanted]
        kinds = ((HitKind.FACT, answers[0]), (HitKind.DOCUMENT, answers[1]))
        hits = [_hit(kind, name, text, patterns) for kind, rows in kinds for name, text in rows]
        return [hit for _, hit in sorted(filter(None, hits), key=itemgetter(0), reverse=True)[:limit]]

    # --- several changes

    def commit(self, changes: Sequence[Change] = (), *, names: Iterable[str] = (), listing: bool = False) -> Committed:
        wanted = list(dict.fromkeys([*(edit.name for edit in changes if isinstance(edit, Append | Write)), *names]))
        after = [self._asked(wanted)] if wanted else []
        after += [self._listing()] if listing else []
        if any(isinstance(change, Update) for change in changes):

            def in_turn(execute: Execute) -> list[list[Row]]:
                return [
                    self._update(change, execute) if isinstance(change, Update) else execute(*self._statement(change))
                    for change in changes
                ]

            made = reading(lambda: self.database.change(in_turn))
            if made is None:  # nothing was ever written, so the fact is missing
                raise no_fact(next(change.fact_id for change in changes if isinstance(change, Update)))
            read = self.database.read(*after)
        else:
            made, read = self._at_once(changes, wanted, after)
        pairs = list(zip(changes, made, strict=True))
        return Committed(
            documents=found(wanted, read[0]) if wanted else {},
            facts=list(map(_fact_of, read[-1])) if listing else [],
            added=[self._result(change, rows[0]) for change, rows in pairs if isinstance(change, Add)],
            updated=[_fact_of(rows[0]) for change, rows in pairs if isinstance(change, Update)],
            removed=[_fact_of(rows[0]) if rows else None for change, rows in pairs if isinstance(change, Remove)],
        )

    def _at_once(
        self, changes: Sequence[Change], wanted: Sequence[str], after: list[Statement]
    ) -> tuple[list[list[Row]], list[list[Row]]]:
        """Make the changes and read, in one round trip. The rows of both."""
        statements = [self._statement(change) for change in changes if not isinstance(change, Update)]
        try:
            rows = self.database.commit(*statements, after=after) if statements else self.database.read(*after)
        except Conflict:  # was this the lost answer of the first try?
            if not self.database.was_repeated:
                raise
            rows = [[] for _ in statements] + self.database.run(*after)
            stored = found(wanted, rows[len(statements)])
            if not all(_is_there(edit, stored[edit.name]) for edit in changes if isinstance(edit, Append | Write)):
                raise
        return rows[: len(statements)], rows[len(statements) :]

    def _statement(self, change: Append | Write | Add | Remove) -> Statement:
        """The statement that makes a change. Raises: Refused; ValueError for a block without its marker."""
        space = self.database.namespace
        if isinstance(change, Remove):
            can_match = _is_storable(change.fact_id) and _is_storable(change.source or "")
            return _REMOVE, (space, *(change if can_match else ("", None)), space)
        if isinstance(change, Add):
            fact, most = _checked(change), min(change.limit, sys.maxsize)
            return _ADD, (space, *columns_of(fact), lexemes(fact.content), most, self.database.patience())
        name = check_name(change.name)
        if isinstance(change, Write):
            check_text(change.text, name)
            return _PUT, (space, name, change.text, sha256(change.text), lexemes(change.text), change.expected)
        check_block(name, change.block, change.header, change.block_id)
        marker, first = block_marker(change.block_id), appended("", change.block, change.header)
        return _APPEND, (space, name, marker, first, change.block, lexemes(first), lexemes(change.block))

    def check(self, *, thorough: bool = False) -> Condition:
        return Condition(version=(self.database.version(), LATEST)) if thorough else Condition()

    def repair(self) -> None:
        self.database.create()

    def compact(self) -> None:
        self.database.vacuum()

    def where(self, name: str = "") -> str:
        address = f"{self.database.server}#{self.database.namespace}"
        return f"{address}/{name}" if name else address

    def close(self) -> None:
        self.database.close()


def from_options(root: str | os.PathLike[str], path: str, options: Mapping[str, object]) -> PostgresBackend:
    """The backend as ``[storage]`` describes it; keys of other backends are left alone. Raises: ConfigError."""
    own = {key: options[key] for key in fields_dict(Options) if key in options}
    made = serde.structure(own, Options, what="`[storage]`", next_step="See docs/teams.md.")
    return PostgresBackend(root, password=partial(_password, made.server, root), **asdict(made))


def found(names: Iterable[str], rows: Iterable[Row]) -> dict[str, Document | None]:
    """The documents by name, None for those without a row. Raises: Corrupt."""
    documents: dict[str, Document | None] = dict.fromkeys(names)
    for name, body, revision in rows:
        if sha256(body) != revision:
            raise faults.spoiled(name)
        documents[name] = Document(name=name, text=body, revision=revision)
    return documents


def _is_there(edit: Append | Write, stored: Document | None) -> bool:
    """Whether the change is in the stored document."""
    if stored is None:
        return False
    return stored.text == edit.text if isinstance(edit, Write) else edit.block_id in block_ids(stored.text)


def _is_storable(text: str) -> bool:
    try:
        return "\0" not in text and bool(text.encode() or True)
    except UnicodeEncodeError:
        return False


def _hit(
    kind: HitKind, name: str, text: str, words: Sequence[Sequence[re.Pattern[str]]]
) -> tuple[tuple[int, int], Hit] | None:
    """The numbers of words and of occurrences, and the hit. None if the index was too coarse."""
    plain = text.casefold()
    starts: list[list[int]] = []
    for patterns in words:
        places = [[match.start() for match in part.finditer(plain)] for part in patterns]
        if all(places):
            starts.append([place for places_of_part in places for place in places_of_part])
    if not starts:
        return None
    at = min(map(min, starts))
    shown = text if kind is HitKind.FACT else text[max(0, at - 60) : at + 160]
    return (len(starts), sum(map(len, starts))), Hit(kind=kind, name=name, text=shown)


def _checked(change: Add) -> Fact:
    fact = storable(change.fact, change.limit)
    _check(fact.id, fact.content, fact.category, fact.source)
    return fact


def _check(*strings: str) -> None:
    if not all(map(_is_storable, strings)):
        raise Refused("The text for a fact holds a lone surrogate or a NUL character.", next_step="Remove it.")


def _fact_of(row: Sequence[Any]) -> Fact:
    """The fact in a row. Raises: Corrupt."""
    return fact_in(row, _CORRECT)
