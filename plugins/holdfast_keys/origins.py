"""Origins, the addresses that keys belong to: scheme, host and port of a server, and who named it.

An address is checked strictly, so that no two parsers can read another host in it.
"""

import ipaddress
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from holdfast.api import Config, ConfigError

_URL: Final = re.compile(
    r"(?P<scheme>https?)://"
    r"(?P<host>[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?|\[[0-9a-f:.]+\])"
    r"(?::(?P<port>[0-9]{1,5}))?"
    r"(?:[/?][!\"$-\[\]-~]*)?",  # printable ASCII without # and backslash
    re.IGNORECASE | re.ASCII,  # ASCII: else the Kelvin sign counts as a k
)
#: A database server's address may name a user, a database and several hosts. Only the hosts belong to the origin,
#: because any of them gets the password.
_DATABASE: Final = re.compile(
    r"postgres(?:ql)?://(?:[^@/?#:]*@)?(?P<hosts>[a-z0-9._:,\[\]-]+)(?:[/?][!\"$-\[\]-~]*)?", re.IGNORECASE | re.ASCII
)


def of(url: str, what: str = "The address") -> str:
    """The origin of ``url`` like ``https://git.example.org:8443``, in lower case and without a scheme's usual port.

    ``what`` names the address in errors. Raises: ConfigError for anything but plain ``http://``, ``https://`` or
    ``postgresql://`` addresses, with an ASCII host, no password, no fragment, and a name only for a database.
    """
    if database := _DATABASE.fullmatch(url.strip()):
        return "postgresql://" + ",".join(host.removesuffix(":5432") for host in database["hosts"].lower().split(","))
    match = _URL.fullmatch(url.strip())
    port = int(match["port"]) if match and match["port"] else None
    # Parsers disagree on anything but an IPv6 address in brackets.
    is_host = match is not None and (not match["host"].startswith("[") or _ip(match["host"]))
    if match is None or not is_host or (port is not None and not 0 < port < 65536):
        if "@" in url.partition("://")[2].partition("/")[0]:
            raise ConfigError(f"{what} holds a name or a password.", next_step="Remove it; keys are set separately.")
        raise ConfigError(f"{what} is not a server address.", next_step='Write it like "https://example.org".')
    scheme, host = match["scheme"].lower(), match["host"].lower()
    return f"{scheme}://{host}" + (f":{port}" if port not in (None, {"http": 80, "https": 443}[scheme]) else "")


def _ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address that a host is, of version 6 in brackets; None for a name."""
    with suppress(ValueError):
        return ipaddress.IPv6Address(host[1:-1]) if host.startswith("[") else ipaddress.IPv4Address(host)
    return None


def safe(url: str, what: str = "The address", *, insecure_http: bool = False) -> str:
    """:func:`of` for an address that a key or a conversation is sent to.

    Raises: ConfigError also for plain HTTP to another machine, unless ``insecure_http``.
    """
    origin = of(url, what)
    if not origin.startswith(("http://", "https://")):
        raise ConfigError(f"{what} is not a web server address.", next_step='Write it like "https://a.example".')
    if origin.startswith("http://") and not insecure_http and not is_loopback(origin):
        raise ConfigError(
            f"{what} is plain HTTP to another machine, so others on the network could read the key.",
            next_step="Use https://, or set `insecure_http = true` if the network is yours alone.",
        )
    return origin


def is_loopback(origin: str) -> bool:
    """Whether an origin is on this machine: ``localhost``, or an address in loopback's range."""
    host = re.sub(r":\d+$", "", origin.partition("://")[2])
    address = _ip(host)
    return address.is_loopback if address else host == "localhost"


def named_by_user(settings: Sequence[str], root: str | os.PathLike[str]) -> list[str]:
    """The origins that the user names for ``settings`` (keys like ``storage.server``), in order of precedence.

    The user's word is the environment, the user's own settings file, and this project's settings that the user
    trusted. Unusable addresses and files that cannot be read name nothing.
    """
    tables, _ = Config.tables_of(os.fspath(root))
    return list(dict.fromkeys(origin for table in tables for origin in _named(table, settings)))


def only_project_names(origin: str, settings: Sequence[str], root: str | os.PathLike[str]) -> bool:
    """Whether the project's own file names ``origin`` for any of ``settings`` and the user names it nowhere.

    False for an address that neither names, because the program that uses holdfast chose it.
    """
    _, written = Config.tables_of(os.fspath(root))
    return origin in _named(written, settings) and origin not in named_by_user(settings, root)


def _named(table: Mapping[str, Any], settings: Sequence[str]) -> Iterator[str]:
    """The origins in a table of settings, whose dotted keys may be written as one key or as nested tables."""
    for setting in settings:
        value: object = table
        for part in [setting] if setting in table else setting.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if isinstance(value, str):
            with suppress(ConfigError):
                yield of(value)
