"""Requests to one server with its token, for every forge and for the store on one."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar
from urllib.parse import parse_qsl, urlsplit

from attrs import frozen

from holdfast.errors import ConfigError, PluginLoadFailed, Refused
from holdfast.storage import time_left
from holdfast.text import untrusted
from holdfast_keys import faults, origins, secrets
from holdfast_memory import extra

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

#: A longer answer is read only up to here.
MAX_ANSWER_BYTES: Final = 16 << 20
#: Kept of an answer that is too long: enough for the fields before its text.
_START: Final = 64 << 10
_FIRST_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 5.0
_TOKEN: Final = re.compile(r"[\x21-\x7e]+")
_NEXT: Final = re.compile(r'<([^>]*)>\s*;[^,]*\brel="?next"?')
#: Maximum pages of one list.
_PAGES: Final = 200


@frozen(kw_only=True)
class Answer:
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
        self._mutex = threading.Lock()
        self._client: httpx2.Client | None = None
        self._pid = 0
        if importlib.util.find_spec("httpx2") is None:
            raise PluginLoadFailed(
                f"The library httpx2, required for {service.title}, is not installed.",
                next_step=f"Install it with `{extra(service.extra)}`.",
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:  # without the token
        return f"{type(self).__name__}({self.server!r})"

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
        most: int = MAX_ANSWER_BYTES,
    ) -> Answer:
        """Send one request once. ``path`` begins after the service's own. A ``public`` request goes without the token.

        Raises: Passing when a retry may succeed, even if this request took effect; TooLong after ``most`` bytes;
        Absent, Closed, Conflict, Refused.
        """
        import httpx2  # slower than everything else in an agent's event, and many events need no request

        end = time.monotonic() + min(max(self._timeout_s, self._patience_s), time_left())
        timeout = min(self._timeout_s, time_left())
        if timeout <= 0:
            raise self.service.overdue()
        try:
            with self._connected().stream(
                method,
                f"{self.server}{self.service.path}{path}",
                params=params,
                timeout=timeout,
                **_content(send, token=not public),
            ) as response:
                body = self._read(response, end, most)
        except httpx2.TimeoutException as error:
            if time_left() <= 0:
                raise self.service.overdue() from error
            raise self.service.unreachable(self.server, "does not answer, or took too long") from error
        except httpx2.HTTPError as error:
            if _is_distrust(error):
                step = "Set SSL_CERT_FILE to the signing authority's file, or give the server a valid certificate."
                raise faults.Closed(
                    f"The {self.service.title} server's certificate is not trusted.", next_step=step
                ) from error
            reason = f"cannot be reached, or broke off its answer ({type(error).__name__})"
            raise self.service.unreachable(self.server, reason) from error
        headers = response.headers
        data, is_json = None, True
        try:
            data = untrusted.from_json(body) if body else None
        except ValueError:
            is_json = False
        if not 200 <= response.status_code < 300:
            message = str(data.get("message", "")) if isinstance(data, Mapping) else ""
            raise self.service.refused(response.status_code, headers, message, repository=_named(path), is_json=is_json)
        if not is_json:
            raise self.service.garbled("it is not JSON, or was cut")
        total, at = _told(headers)
        # The rest of the next page's address is ignored, so the token goes nowhere else.
        match = _NEXT.search(headers.get("link", ""))
        following = dict(parse_qsl(urlsplit(match[1]).query)) if match else {}
        return Answer(status=response.status_code, data=data, total=total, at=at, following=following)

    def get(self, path: str, **params: str | int) -> Answer:
        """Read something, again after transient errors. Raises: as :meth:`once`."""
        return self.patiently(lambda: self.once("GET", path, params=params))

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
        """Call ``attempt`` until it stops raising Passing, with growing pauses or those the server requests.

        Raises: Passing, the last one, when the next pause would end after ``patience_s``.
        """
        end = time.monotonic() + min(self._patience_s, time_left())
        pause = _FIRST_PAUSE_S
        while True:
            try:
                return attempt()
            except faults.Passing as error:
                wait = pause if error.retry_after_s is None else error.retry_after_s
                if time.monotonic() + wait >= end:
                    raise
                time.sleep(wait)
                pause = min(pause * 2, _LONGEST_PAUSE_S)

    def close(self) -> None:
        """Close the connections. The next request opens new ones."""
        with self._mutex:
            client, self._client = self._client, None
            if client is not None and self._pid == os.getpid():
                client.close()

    def _connected(self) -> httpx2.Client:
        """This process's client, because connections are not shared with a fork."""
        with self._mutex:
            if self._client is None or self._pid != os.getpid():
                self._pid = os.getpid()
                import httpx2

                self._client = httpx2.Client(
                    headers={"Authorization": f"{self.service.scheme} {self._token}", "Accept": "application/json"},
                    timeout=self._timeout_s,
                    **origins.http_options(origins.of(self.server)),
                )
            return self._client

    def _read(self, response: httpx2.Response, end: float, most: int) -> bytes:
        """The whole body. An answer that trickles or never ends is given up."""
        pieces: list[bytes] = []
        size = 0
        for piece in response.iter_bytes():
            pieces.append(piece)
            size += len(piece)
            if time.monotonic() > end:
                raise self.service.unreachable(self.server, "took too long to send its answer")
            if size > most:
                raise faults.TooLong(self.service.title, most, b"".join(pieces)[:_START], *_told(response.headers))
        return b"".join(pieces)


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
        raise ConfigError(
            f"There is no token for the {service.title} server {origin}.",
            next_step=f"Set {secrets.variables(name)[0]}, or keep one in the keyring: {secrets.command(name, origin)}.",
        )
    return token


def _is_distrust(error: BaseException | None) -> bool:
    """Whether the cause is an untrusted certificate."""
    while error is not None and type(error).__name__ != "SSLCertVerificationError":  # without an import of ssl
        error = error.__cause__ or error.__context__
    return error is not None


def _content(send: Mapping[str, object] | None, *, token: bool = True) -> dict[str, Any]:
    """The request's body, as UTF-8, and its headers. Raises: Refused for text that no JSON or database holds."""
    if send is None:
        return {} if token else {"headers": {"Authorization": ""}}
    try:
        data = json.dumps(send, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise Refused("The text holds a lone surrogate.", next_step="Remove it.") from error
    if b"\\u0000" in data and "\0" in "".join(v for v in send.values() if isinstance(v, str)):
        raise Refused("The text holds a NUL character.", next_step="Remove it.")
    return {"content": data, "headers": {"Content-Type": "application/json"}}


def _told(headers: Mapping[str, str]) -> tuple[int | None, datetime | None]:
    """How many things there are in all, and the server's clock."""
    total = headers.get("x-total-count", "")
    is_number = total.isascii() and total.isdigit() and len(total) < 12
    return int(total) if is_number else None, faults.date(headers.get("date"))


def _named(path: str) -> str:
    """The repository that a path is about."""
    parts = path.split("/")
    return "/".join(parts[2:4]) if parts[1:2] == ["repos"] else ""
