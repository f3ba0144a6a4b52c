"""The tables and functions.

Every table begins with the namespace, which is the distribution key. No statement or transaction crosses it. Row
security ties a namespace to the role that owns it, so a project cannot read another role's.

A namespace belongs to a role by its OID. A name would break on DROP ROLE, and pass to the next role with that name.
OIDs mean other roles on another server, so a row counts only on the server on which it was written: in a restored or
replicated copy nothing is owned until the tables' owner gives it again.
"""

from importlib.resources import files
from typing import Final

#: The tables' version.
LATEST: Final = 4
#: A role that is gone has no members, and no error.
_BOUND: Final = "pg_has_role(role, 'MEMBER') AND server = (SELECT system_identifier FROM pg_control_system())"


def _secured(table: str) -> tuple[str, ...]:
    """Row security for a table's rows. The tables' owner sees all rows of ``namespaces``, so that is not enough."""
    query = f"SELECT 1 FROM holdfast.namespaces AS own WHERE own.namespace = {table}.namespace AND {_BOUND}"  # noqa: S608
    condition = _BOUND if table == "namespaces" else f"EXISTS ({query})"
    force = "" if table == "namespaces" else ", FORCE ROW LEVEL SECURITY"  # its owner gives namespaces to roles
    return (
        f"ALTER TABLE holdfast.{table} ENABLE ROW LEVEL SECURITY{force}",
        f"CREATE POLICY own ON holdfast.{table} USING ({condition}) WITH CHECK ({condition})",
    )


_FUNCTIONS: Final = files("holdfast_postgres").joinpath("functions.sql").read_text("utf-8")
TABLES: Final = (
    # Locking the namespace's row makes dedup, eviction and insertion one step. ``facts`` counts them, because counting
    # takes longer the more there are.
    """CREATE TABLE holdfast.namespaces (
        namespace text PRIMARY KEY, owner text NOT NULL DEFAULT current_user, facts bigint NOT NULL DEFAULT 0,
        role oid, server bigint)""",
    # A note grows by appends, each of which writes it anew: compressing it would take longer than all the rest.
    """CREATE TABLE holdfast.documents (
        namespace text NOT NULL, name text COLLATE "C" NOT NULL, revision text NOT NULL, body text NOT NULL,
        words tsvector, PRIMARY KEY (namespace, name))""",
    "ALTER TABLE holdfast.documents ALTER COLUMN body SET STORAGE EXTERNAL, ALTER COLUMN words SET STORAGE EXTERNAL",
    # seq is the order of insertion; duplicate is a digest of the duplicate key; created_us counts from 1970, UTC.
    """CREATE TABLE holdfast.facts (
        namespace text NOT NULL, seq bigint GENERATED ALWAYS AS IDENTITY, id text NOT NULL,
        duplicate bytea NOT NULL, content text NOT NULL, category text NOT NULL,
        confidence double precision NOT NULL, created_us bigint NOT NULL, source text NOT NULL,
        words tsvector, evicted text[],
        PRIMARY KEY (namespace, seq), UNIQUE (namespace, id), UNIQUE (namespace, duplicate))""",
    "CREATE INDEX facts_weakest ON holdfast.facts (namespace, confidence, created_us, seq)",
    "CREATE INDEX facts_strongest ON holdfast.facts (namespace, confidence DESC, seq DESC)",
    _FUNCTIONS,
    """CREATE TRIGGER bind_owner BEFORE INSERT OR UPDATE OF owner, role, server ON holdfast.namespaces
        FOR EACH ROW EXECUTE FUNCTION holdfast.bind_owner()""",
    *(statement for table in ("namespaces", "documents", "facts") for statement in _secured(table)),
    "GRANT USAGE ON SCHEMA holdfast TO PUBLIC",
    "GRANT SELECT, INSERT, UPDATE, DELETE ON holdfast.namespaces, holdfast.documents, holdfast.facts TO PUBLIC",
    "GRANT SELECT ON holdfast.version TO PUBLIC",
    f"INSERT INTO holdfast.version VALUES ({LATEST})",  # noqa: S608 - nothing of it is given
)
#: Key for the advisory lock held while creating the schema ("hold" in ASCII).
LOCK: Final = 0x686F6C64
VERSION: Final = "SELECT max(version) FROM holdfast.version"
BEGIN: Final = (
    "CREATE SCHEMA IF NOT EXISTS holdfast",
    "CREATE TABLE IF NOT EXISTS holdfast.version (version integer PRIMARY KEY)",
)
