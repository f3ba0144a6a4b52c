"""The server's address: checked, shown without a user, and with TLS for other machines."""

from __future__ import annotations

import ipaddress
import os
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from holdfast.errors import ConfigError

_LOCAL_NAMES: Final = ("", "localhost")


class Address:
    """``given`` is a URL as libpq reads it, with one or several hosts, and without a password."""

    def __init__(self, given: str) -> None:
        """Raises: ConfigError."""
        parts = urlsplit(given)
        self._options = dict(parse_qsl(parts.query))
        _, _, places = parts.netloc.rpartition("@")
        self._hosts = [_host(place) for place in (self._options.get("host") or places).split(",")]
        if parts.scheme not in ("postgresql", "postgres") or (not places and "host" not in self._options):
            raise ConfigError(
                "storage.server is not a PostgreSQL server address.",
                next_step='Write it like "postgresql://user@db.example/database".',
            )
        if parts.password or "password" in self._options:
            raise ConfigError(
                "storage.server holds a password, which does not belong in a file.",
                next_step="Remove it there, and store it with `holdfast auth set postgres`, in"
                " HOLDFAST_POSTGRES_PASSWORD or in a password file (~/.pgpass).",
            )
        self.given = given
        self.user = parts.username or ""
        #: For people, receipts and error messages.
        self.shown = f"{parts.scheme}://{places}{parts.path}"

    @property
    def origin(self) -> str:
        """The servers that a stored password is for: hosts and ports, without user and database."""
        return self.shown.partition("://")[2].partition("/")[0] or ",".join(self._hosts)

    @property
    def is_local(self) -> bool:
        """Whether every host is this machine, through a socket or the loopback."""
        return all(_is_local(host) for host in self._hosts)

    def encryption(self) -> dict[str, str]:
        """TLS parameters for an address that names none: another machine's server must prove its name, by the system's
        certificates. libpq alone would fall back to plain text."""
        if self.is_local or "sslmode" in self._options or "PGSSLMODE" in os.environ:
            return {}
        given = "sslrootcert" in self._options or "PGSSLROOTCERT" in os.environ
        return {"sslmode": "verify-full", **({} if given else {"sslrootcert": "system"})}


def _host(place: str) -> str:
    if place.startswith("["):
        return place[1:].partition("]")[0]
    return place.partition(":")[0] if place.count(":") == 1 else place


def _is_local(host: str) -> bool:
    if host in _LOCAL_NAMES or host.startswith(("/", "%2F", "%2f", "@")):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
