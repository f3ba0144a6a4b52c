"""The fake server on loopback: HTTP around the state, and a log of requests."""

import contextlib
import json
import socket
import threading
from email.utils import formatdate
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.support import local_server

from .calls import Answer, Call
from .routes import answer
from .state import World


class Seen(NamedTuple):
    """An answered request. ``path`` is without the query, ``size`` the bytes of both bodies."""

    method: str
    path: str
    query: str
    status: int
    size: int


class Server(local_server.Server):
    """Answers from ``world``. Stopping it cuts open connections, as a dying server would."""

    request_queue_size = 64

    def __init__(self, world: World, seen: list[Seen], port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.world = world
        self.seen = seen
        self._open: set[socket.socket] = set()
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.shutdown()
        self.server_close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)


class _Handler(local_server.Handler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    #: Headers and body leave in one piece.
    wbufsize = 1 << 16
    server: Server

    def _serve(self) -> None:
        split = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        world = self.server.world
        call = Call(
            world=world,
            method=self.command,
            path=unquote(split.path),
            query=dict(parse_qsl(split.query, keep_blank_values=True)),
            raw_query=split.query,
            headers={name.title(): value for name, value in self.headers.items()},
            body=self.rfile.read(length),
        )
        with world.lock:
            result = answer(call)
            data = _body(result.value)
            size = len(call.body) + len(data)
            self.server.seen.append(Seen(call.method, call.path, call.raw_query, result.status, size))
        self._send(result, data)

    def _send(self, result: Answer, data: bytes) -> None:
        self.send_response(result.status)
        for name, value in result.headers.items():
            self.send_header(name, value)
        if data and "Content-Type" not in result.headers:
            self.send_header("Content-Type", "application/json;charset=utf-8")
        if result.status not in (204, 304):
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _serve

    def date_time_string(self, timestamp: float | None = None) -> str:
        """The ``Date`` header, from the world's clock, skewed or not."""
        with self.server.world.lock:
            return formatdate(self.server.world.now() if timestamp is None else timestamp, usegmt=True)


def _body(value: object) -> bytes:
    if value is ...:
        return b""
    return value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode() + b"\n"
