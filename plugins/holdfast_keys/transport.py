"""Requests to one server with its token, for every forge and for the store on one."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeVar
from urllib.parse import parse_qsl, urlsplit

from holdfast.errors import ConfigError, PluginLoadFailed, Refused
from holdfast.storage import deadline
from holdfast.text import untrusted
from holdfast_keys import faults, origins, secrets
from holdfast_memory import extra

if TYPE_CHECKING:
    from holdfast_keys.exchange import Connections

T = TypeVar("T")

#: Kept of an answer that is too long: enough for the fields before its text.
_START: Final = 64 << 10
_TOKEN: Final = re.compile(r"[\x21-\x7e]+")
_NEXT: Final = re.compile(r'<([^>]*)>\s*;[^,]*\brel="?next"?')
#: Maximum pages of one list.
_PAGES: Final = 200


class Answer(NamedTuple):
    """A successful answer: its JSON (None without a body), how many things there are in all, the server's clock.
    ``following`` are the next page's parameters, empty on the last."""

    status: int
    data: Any
    total: int | None
    at: datetime | None
    following: Mapping[str, str]


class Transport:
    """The connection to one server, as a context. Certificates are checked, redirects are never followed, no proxy
    sees the token, and no wait is endless.

    ``timeout_s`` bounds connecting and every wait for a piece of an answer, ``patience_s`` one call with all its tries.
    Raises: ConfigError for an address or token that cannot be one; PluginLoadFailed without the HTTP library.
    """

    def __init__(
        self,
        server: str,
        token: str,
        *,
        service: faults.Service,
        timeout_s: float = 10.0,
        patience_s: float = 20.0,
        insecure_http: bool = False,
    ) -> None:
        self.server = check_server(server, f"{service.table}.server", insecure_http=insecure_http)
        self.service = service
        if not _TOKEN.fullmatch(token):
            raise ConfigError(
                f"The {service.title} token is blank or holds a character that no token has.",
                next_step=f"Set it again with `holdfast auth set {service.key}`.",
            )
        self._token = token
        self._timeout_s = timeout_s
        self._patience_s = patience_s
        if importlib.util.find_spec("httpcore2") is None:
            raise PluginLoadFailed(
                f"The library httpcore2, required for {service.title}, is not installed.",
                next_step=f"Install it with `{extra(service.extra)}`.",
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def token_id(self) -> str:
        """A digest of the token, short enough to say nothing of it."""
        return hashlib.sha256(self._token.encode()).hexdigest()[:16]

    def once(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, str | int] | None = None,
        send: Mapping[str, object] | None = None,
        public: bool = False,
        most: int = faults.MAX_ANSWER_BYTES,
    ) -> Answer:
        """Send one request once. ``path`` begins after the service's own. A ``public`` request goes without the token.

        Raises: Passing when a retry may succeed, even if this request took effect; TooLong after ``most`` bytes;
        Absent, Closed, Conflict, Refused.
        """
        text = "".join(value for value in (send or {}).values() if isinstance(value, str))
        if "\0" in text or text.encode(errors="ignore").decode() != text:
            raise Refused("The text holds a NUL character or a lone surrogate.", next_step="Remove it.")
        status, headers, body = self._connections.ask(
            method,
            f"{self.service.path}{path}",
            {} if public else {"Authorization": f"{self.service.scheme} {self._token}"},
            params=params,
            send=send,
            wait_s=self._timeout_s,
            limit_s=max(self._timeout_s, self._patience_s),
            most=most,
        )
        count, at = headers.get("x-total-count", ""), faults.date(headers.get("date"))
        total = int(count) if count.isascii() and count.isdigit() and len(count) < 12 else None
        if len(body) > most:
            raise faults.TooLong(self.service.title, most, body[:_START], total, at)
        data, is_json = None, True
        try:
            data = untrusted.from_json(body) if body else None
        except ValueError:
            is_json = False
        if not 200 <= status < 300:
            message = str(data.get("message", "")) if isinstance(data, Mapping) else ""
            repository = "/".join(path.split("/")[2:4]) if path.startswith("/repos/") else ""
            raise self.service.refused(status, headers, message, repository=repository, is_json=is_json)
        if not is_json:
            raise self.service.garbled("it is not JSON, or was cut")
        # The rest of the next page's address is ignored, so the token goes nowhere else.
        match = _NEXT.search(headers.get("link", ""))
        following = dict(parse_qsl(urlsplit(match[1]).query)) if match else {}
        return Answer(status=status, data=data, total=total, at=at, following=following)

    def get(self, path: str, most: int = faults.MAX_ANSWER_BYTES, /, **params: str | int) -> Answer:
        """Read something, again after transient errors. Raises: as :meth:`once`."""
        with deadline(max(self._timeout_s, self._patience_s)):
            return self.patiently(lambda: self.once("GET", path, params=params, most=most))

    def rows(self, path: str, **params: str | int) -> Iterator[Mapping[str, Any]]:
        """A list's objects, page by page along its ``Link`` headers. Raises: as :meth:`once`."""
        for _ in range(_PAGES):
            answer = self.get(path, **params)
            if not isinstance(answer.data, list) or not all(isinstance(row, dict) for row in answer.data):
                raise self.service.garbled("a list is expected")
            yield from answer.data
            if not answer.following:
                return
            params = dict(answer.following)
        raise self.service.garbled("a list does not end")

    def patiently(self, attempt: Callable[[], T]) -> T:
        """See :func:`holdfast_keys.faults.patiently`. Raises: Passing after ``patience_s``."""
        return faults.patiently(attempt, patience_s=self._patience_s)

    @cached_property
    def _connections(self) -> Connections:
        from holdfast_keys.exchange import Connections  # the library waits for the first request

        return Connections(self.server, self.service)

    def close(self) -> None:
        """Close the connections. The next request opens new ones."""
        if "_connections" in self.__dict__:
            self._connections.close()


def check_server(server: str, what: str, *, insecure_http: bool = False) -> str:
    """The address without a slash at its end. Plain HTTP is for this machine only, since the token goes with it.

    ``what`` names the setting in errors. Raises: ConfigError.
    """
    server = server.strip()
    origins.safe(server, what, insecure_http=insecure_http)
    if "?" in server:
        raise ConfigError(f"{what} holds a query.", next_step='Write it like "https://git.example.org".')
    return server.rstrip("/")


def find_token(service: faults.Service, server: str, root: str | os.PathLike[str], *, insecure_http: bool) -> str:
    """The token for ``server``, which the service's settings table names in the project ``root``.

    Raises: ConfigError when there is none for this server, or when only the project names the server; KeyringUnusable
    when the keyring is locked.
    """
    setting = f"{service.table}.server"
    origin = origins.of(check_server(server, setting, insecure_http=insecure_http))
    name = service.key
    token = secrets.get(name, origin=origin, root=root, settings=(setting,))
    if not token:
        message = f"There is no token for the {service.title} server {origin}."
        raise ConfigError(message, next_step=f"Set {secrets.places(name, origin)}.")
    return token
