"""The ``holdfast doctor`` checks for PostgreSQL: server, encryption, and who may read the namespace."""

from collections.abc import Iterator

from holdfast.api import Check, Holdfast
from holdfast_postgres.backend import PostgresBackend
from holdfast_postgres.database import Database

_ROLE = """SELECT current_setting('server_version'), current_user, rolsuper OR rolbypassrls, coalesce(
        has_table_privilege(to_regclass('holdfast.namespaces'), 'INSERT'),
        has_database_privilege(current_database(), 'CREATE')
    ) FROM pg_roles WHERE rolname = current_user"""


def checks(memory: Holdfast) -> Iterator[Check]:
    """Nothing for another backend. Asks the server, changes nothing."""
    backend = memory.store.backend
    if isinstance(backend, PostgresBackend):
        yield from inspect(backend.database)


def inspect(database: Database) -> Iterator[Check]:
    """Checks for one namespace. Raises: Unavailable."""
    version, role, bypasses, may_begin = database.ask((_ROLE, ()))[0][0]
    yield Check.good(f"{database.server} runs PostgreSQL {version}")
    if database.is_encrypted() or database.address.is_local:
        how = "is encrypted" if database.is_encrypted() else "stays on this machine"
        yield Check.good(f"the connection {how}")
    else:
        step = "Switch TLS on at the server, and add `?sslmode=verify-full` to `storage.server`."
        yield Check.warn("The connection crosses the network without encryption.", step)
    if bypasses:
        step = "Connect as a plain role; see docs/teams.md."
        yield Check.warn(f"The role {role!r} bypasses row security, so it reads and writes every namespace.", step)
    rows = database.read(("SELECT pg_get_userbyid(holdfast.owning_role(%s))", (database.namespace,)))[0]
    owner = f"belongs to the role {rows[0][0]!r}" if rows and rows[0][0] else ""
    if owner or may_begin:
        yield Check.good(f"the namespace {database.namespace!r} {owner or 'is empty'}; connected as {role!r}")
    else:
        step = "The tables' owner runs `holdfast migrate`, or creates the namespace; see docs/teams.md."
        yield Check.fail(f"The role {role!r} may not begin the namespace {database.namespace!r}.", step)
