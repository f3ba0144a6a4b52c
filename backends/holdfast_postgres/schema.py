"""The tables, as the steps that led to them.

Every table begins with the namespace, which is the distribution key. No statement or transaction crosses it. Row
security ties a namespace to the role that owns it, so a project cannot read another role's. In steps 1 and 2 it was
the role's name. A released step never changes again.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Final

#: Rows of a namespace are visible to its owner's members. FORCE includes the tables' own owner.
_OWN: Final = "pg_has_role(current_user, owner, 'MEMBER')"
_VISIBLE: Final = "EXISTS (SELECT 1 FROM holdfast.namespaces AS own WHERE own.namespace = {table}.namespace)"
#: The same from step 3 on. A role that is gone has no members, and no error.
_BOUND: Final = "pg_has_role(role, 'MEMBER') AND server = (SELECT system_identifier FROM pg_control_system())"


def _secured(table: str, condition: str) -> tuple[str, ...]:
    return (
        f"ALTER TABLE holdfast.{table} ENABLE ROW LEVEL SECURITY",
        f"ALTER TABLE holdfast.{table} FORCE ROW LEVEL SECURITY",
        f"CREATE POLICY own ON holdfast.{table} USING ({condition}) WITH CHECK ({condition})",
    )


def _held(table: str) -> str:
    """The policy for a table's rows. The tables' owner sees all rows of ``namespaces``, so that is not enough."""
    found = f"SELECT 1 FROM holdfast.namespaces AS own WHERE own.namespace = {table}.namespace AND {_BOUND}"  # noqa: S608
    return f"CREATE POLICY own ON holdfast.{table} USING (EXISTS ({found})) WITH CHECK (EXISTS ({found}))"


def _read(name: str) -> str:
    return files("holdfast_postgres").joinpath(name).read_text("utf-8")


STEPS: Final[tuple[tuple[str, ...], ...]] = (
    (
        # Locking the namespace's row makes dedup, eviction and insertion one step. ``facts`` counts them, because
        # counting takes longer the more there are.
        """CREATE TABLE holdfast.namespaces (
            namespace text PRIMARY KEY, owner text NOT NULL DEFAULT current_user, facts bigint NOT NULL DEFAULT 0)""",
        """CREATE TABLE holdfast.documents (
            namespace text NOT NULL, name text COLLATE "C" NOT NULL, revision text NOT NULL, body text NOT NULL,
            PRIMARY KEY (namespace, name))""",
        # seq is the order of insertion; duplicate is a digest of the duplicate key; created_us counts from 1970, UTC.
        """CREATE TABLE holdfast.facts (
            namespace text NOT NULL, seq bigint GENERATED ALWAYS AS IDENTITY, id text NOT NULL,
            duplicate bytea NOT NULL, content text NOT NULL, category text NOT NULL,
            confidence double precision NOT NULL, created_us bigint NOT NULL, source text NOT NULL,
            PRIMARY KEY (namespace, seq), UNIQUE (namespace, id), UNIQUE (namespace, duplicate))""",
        "CREATE INDEX facts_weakest ON holdfast.facts (namespace, confidence, created_us, seq)",
        "CREATE INDEX facts_strongest ON holdfast.facts (namespace, confidence DESC, seq DESC)",
        *_secured("namespaces", _OWN),
        *_secured("documents", _VISIBLE.format(table="documents")),
        *_secured("facts", _VISIBLE.format(table="facts")),
        "GRANT USAGE ON SCHEMA holdfast TO PUBLIC",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON holdfast.namespaces, holdfast.documents, holdfast.facts TO PUBLIC",
        "GRANT SELECT ON holdfast.version TO PUBLIC",
    ),
    (_read("step2.sql"), *_secured("versions", _VISIBLE.format(table="versions"))),
    (
        _read("step3.sql"),
        f"CREATE POLICY own ON holdfast.namespaces USING ({_BOUND}) WITH CHECK ({_BOUND})",
        *(_held(table) for table in ("documents", "facts", "versions")),
    ),
)
LATEST: Final = len(STEPS)
#: Key for the advisory lock held while creating and upgrading the schema ("hold" in ASCII).
LOCK: Final = 0x686F6C64
VERSION: Final = "SELECT max(version) FROM holdfast.version"
BEGIN: Final = (
    "CREATE SCHEMA IF NOT EXISTS holdfast",
    "CREATE TABLE IF NOT EXISTS holdfast.version (version integer PRIMARY KEY)",
)
