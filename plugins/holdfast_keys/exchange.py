"""HTTP requests that end in time, and whose answers have a limit, whatever the server does.

The library's time limits are for one wait each, so a server that drips would hold a request for ever. Here every wait
also ends with the caller's :func:`holdfast.storage.deadline`. Imported at the first request, because the library takes
longer to import than everything else in an agent's event, and many events need no request.
"""

import json
import os
import socket
import ssl
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from string import punctuation
from typing import Any, Final
from urllib.parse import quote, unquote, urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore2

from holdfast.storage import deadline, time_left
from holdfast_keys import origins
from holdfast_keys.faults import MAX_ANSWER_BYTES, Closed, Service, within

#: Bytes that a server may send for one answer, with interim answers, headers and the frames of chunks.
_MOST_SENT: Final = MAX_ANSWER_BYTES + (1 << 20)
#: Bytes sent at once.
_PIECE: Final = 16 << 10
_JSON: Final = dict.fromkeys(("Accept", "Content-Type"), "application/json")
#: No compressed answers, because a short one may unpack to any length.
_HEADERS: Final = {**_JSON, "Accept-Encoding": "identity", "User-Agent": "holdfast"}


class Connections:
    """The connections to one server. Certificates are checked, and redirects are never followed, because the next
    address would get the key. The environment's proxies are used for HTTPS to other machines only, where they carry a
    tunnel and see no key."""

    def __init__(self, server: str, service: Service) -> None:
        self._server, self._service = server, service
        #: By process id, because a fork must not share connections.
        self._pools = defaultdict[int, httpcore2.ConnectionPool](partial(_pool, origins.of(server)))

    def close(self) -> None:
        if pool := self._pools.pop(os.getpid(), None):
            pool.close()

    def ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        *,
        params: Mapping[str, str | int] | None = None,
        send: Mapping[str, object] | None = None,
        wait_s: float,
        limit_s: float,
        most: int = MAX_ANSWER_BYTES,
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Send one request, with ``send`` as JSON. Returns the answer's status, its headers by their names in lower
        case, and its body, of which no more is read once it has more than ``most`` bytes.

        ``wait_s`` bounds connecting and every wait, ``limit_s`` all of it. Raises: Passing, also as TimedOut; Closed
        for an untrusted certificate.
        """
        url = quote(self._server + path, safe=punctuation) + (f"?{urlencode(params)}" if params else "")
        data = None if send is None else json.dumps(send, ensure_ascii=False).encode("utf-8", "replace")
        sent = {**_HEADERS, "Host": urlsplit(self._server).netloc, **headers}
        fields = [(name.encode(), value.encode()) for name, value in sent.items()]
        waits = {"timeout": dict.fromkeys(("connect", "read", "write", "pool"), wait_s)}
        exchange = self._pools[os.getpid()].stream(method, url, headers=fields, content=data, extensions=waits)
        try:
            with deadline(limit_s), exchange as response:
                body = bytearray()
                for piece in response.iter_stream():
                    body += piece
                    if len(body) > most:
                        break
        except (httpcore2.TimeoutException, TimeoutError) as error:
            raise self._service.unreachable(self._server) from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.ProxyError, OSError) as error:
            if isinstance(error.__context__, ssl.SSLCertVerificationError):
                problem = f"The {self._service.title} server's certificate is not trusted."
                step = "Set SSL_CERT_FILE to the signing authority's file, or give the server a valid certificate."
                raise Closed(problem, next_step=step) from error
            raise self._service.unreachable(self._server, type(error).__name__) from error
        names = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
        return response.status, names, bytes(body)


class _Network(httpcore2.NetworkBackend):
    """Connects within the caller's deadline."""

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, *_: Any, **__: Any) -> "_Stream":
        connect = httpcore2.SyncBackend().connect_tcp
        # One by one, because the library grants each address the whole time.
        rows = within(_wait(timeout), partial(socket.getaddrinfo, host, port))  # which has no limit of its own
        *others, last = dict.fromkeys(str(row[4][0]) for row in rows)
        for address in others:
            with suppress(httpcore2.ConnectError, httpcore2.ConnectTimeout):
                return _Stream(connect(address, port, _wait(timeout)))
        return _Stream(connect(last, port, _wait(timeout)))


class _Stream(httpcore2.NetworkStream):
    """A connection whose waits end at the caller's deadline. It accepts a limited number of bytes after each write."""

    def __init__(self, stream: httpcore2.NetworkStream) -> None:
        self._stream, self._room = stream, _MOST_SENT

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        data = self._stream.read(max_bytes, _wait(timeout))
        self._room -= len(data)
        if self._room < 0:
            raise httpcore2.ReadError("the answer does not end")
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._room = _MOST_SENT
        for start in range(0, len(buffer), _PIECE):  # the library grants each packet the whole time
            self._stream.write(buffer[start : start + _PIECE], _wait(timeout))

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, _wait(timeout)))

    def close(self) -> None:
        self._stream.close()

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _wait(timeout: float | None) -> float:
    """What is left of ``timeout`` seconds. Raises: TimeoutException at the caller's deadline."""
    left = time_left()
    if left <= 0:
        raise httpcore2.ReadTimeout("the time is over")
    return left if timeout is None else min(timeout, left)


def _pool(origin: str) -> httpcore2.ConnectionPool:
    proxies, proxy = getproxies(), None
    url = proxies.get("https") or proxies.get("all") or ""
    if url and origin.startswith("https://") and not origins.is_loopback(origin) and not proxy_bypass(origin[8:]):
        url = url if "://" in url else f"http://{url}"
        parts = urlsplit(url)
        user = (unquote(parts.username).encode(), unquote(parts.password or "").encode()) if parts.username else None
        proxy = httpcore2.Proxy(url, auth=user)
    return httpcore2.ConnectionPool(network_backend=_Network(), proxy=proxy)
