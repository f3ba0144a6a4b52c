"""Translate the server's errors into holdfast's, each with a next step. No message quotes the sent data."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from holdfast.errors import Corrupt, HoldfastError, Refused, Unavailable
from holdfast.storage import changed_between

if TYPE_CHECKING:
    import psycopg

#: SQLSTATE, or its first two characters -> sentence and next step.
_KNOWN: Final[Mapping[str, tuple[str, str]]] = {
    "28P01": (
        "refuses the password",
        "Store it with `holdfast auth set postgres`, or use HOLDFAST_POSTGRES_PASSWORD or a password file (~/.pgpass).",
    ),
    "28000": ("refuses this user", "Check the user in `storage.server`, and the server's pg_hba.conf."),
    "3D000": ("has no database of this name", "Create it with `createdb`, or correct `storage.server`."),
    "25006": (
        "is read-only and may be a standby",
        "Name all servers in `storage.server`, with `?target_session_attrs=read-write`, or wait for the failover.",
    ),
    "53100": ("has no disk space left", "Free space on the server, then try again."),
    "53300": ("has no connection left", "Try again later, raise max_connections, or put PgBouncer in front of it."),
    "53": ("lacks resources", "Try again later."),
    "57014": ("did not finish in time", "Try again, or raise `storage.timeout_s`."),
    "55P03": ("waits for another writer for too long", "Try again, or raise `storage.timeout_s`."),
    "57": ("is shutting down or restarting", "Try again when it is up."),
    "42501": (
        "denies access to the tables",
        "Ask the namespace's owner to make you a member of the role that owns it.",
    ),
    "42P01": (
        "has no holdfast tables",
        "Run `holdfast migrate` as a role that may create a schema, see docs/teams.md.",
    ),
    "40": ("found two writers in each other's way", "Try again."),
}

#: Words in an error without a state, of libpq, OpenSSL or the pool -> sentence and next step. The first that fit count.
_BY_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "password": _KNOWN["28P01"],
    r'role "[^"]*" does not exist': _KNOWN["28000"],
    "(role|database).*does not exist": _KNOWN["3D000"],
    "connections of this process": (
        "is not asked, because all connections of this process are in use",
        "Try again, or raise `storage.connections`.",
    ),
    "in time": ("did not answer in time", "Try again, or raise `storage.timeout_s`."),
    "does not match host name": (
        "shows a certificate for another name",
        "Write the certificate's name into `storage.server`, or give the server a certificate for this name.",
    ),
    "certificate verify failed|could not get local issuer": (
        "shows a certificate that no trusted authority signed",
        "Name your authority in `storage.server`: `?sslmode=verify-full&sslrootcert=/path/ca.pem`.",
    ),
    "does not support ssl": (
        "offers no TLS, and nothing is sent to another machine without it",
        "Switch TLS on at the server (`ssl = on`), see docs/teams.md.",
    ),
    "certificate|ssl": (
        "cannot be reached over TLS as `storage.server` asks",
        "Check `sslmode` and `sslrootcert` there.",
    ),
    "": ("does not answer", "Check that it is up and that `storage.server` is right, then try again."),
}
#: A missing column, a wrong type: another program changed the tables. And pages that the server cannot read.
_DAMAGE: Final = ("42703", "42804", "XX001", "XX002")
#: Raised by our functions, see the steps' SQL. The detail names the document, or the namespace.
CHANGED, SPOILED, NOT_ALLOWED = "HF002", "HF003", "HF004"
_RESTORE: Final = "Restore the row from a backup. Until then holdfast does not write to it."


def translated(error: psycopg.Error, server: str) -> HoldfastError:
    """The error for the user. ``server`` is its address without a password."""
    state = error.sqlstate or ""
    if state in _DAMAGE:
        return damaged(server)
    if state == CHANGED:
        return changed_between(error.diag.message_detail or "")
    if state == SPOILED:
        return spoiled(error.diag.message_detail or "")
    if state == NOT_ALLOWED:
        return foreign(error.diag.message_detail or "", server)
    if state:
        unknown = f"failed ({state})", "Look at the server's log, then try again."
        what, step = _KNOWN.get(state) or _KNOWN.get(state[:2]) or unknown
    else:
        text = str(error).casefold()
        what, step = next(explanation for words, explanation in _BY_WORDS.items() if re.search(words, text, re.DOTALL))
    return Unavailable(f"The PostgreSQL server {server} {what}.", next_step=step)


def spoiled(name: str) -> Corrupt:
    return Corrupt(f"The stored text of {name!r} differs from the written text.", next_step=_RESTORE)


def damaged(server: str) -> Corrupt:
    return Corrupt(
        f"The tables of holdfast on {server} are not in the form that holdfast created.",
        next_step="Restore the schema `holdfast` from a backup. Until then holdfast writes nothing.",
    )


def foreign(namespace: str, server: str) -> Refused:
    return Refused(
        f"This role is not allowed to use the namespace {namespace!r} on {server}, which belongs to another role.",
        next_step="Become a member of that role, or choose another `storage.namespace`. If the role was dropped or the "
        "database copied, the tables' owner gives the namespace away again (docs/teams.md).",
    )
